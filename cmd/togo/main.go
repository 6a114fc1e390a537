// Command togo is the whole program: each role, and the tools that look into a store.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/togodb/togo/cmd/togo/config"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/objstore/s3store"
)

type cli struct {
	Config string   `short:"c" help:"Configuration file (YAML). Without it: the local store and broker of 'togo dev'." env:"TOGO_CONFIG" type:"existingfile" placeholder:"FILE"`
	Set    []string `help:"Override a setting, such as --set writer.flush_age=2s ('togo config' lists all)." placeholder:"PATH=VALUE" sep:"none"`
	Dir    string   `help:"Folder of the local store (and of the embedded broker) where no store is configured." default:"togo-data" env:"TOGO_DIR" placeholder:"DIR"`

	Dev         devCmd         `cmd:"" help:"Run everything in one process: a Kafka broker with its data on disk, and every role."`
	Run         runCmd         `cmd:"" help:"Run roles against the configured Kafka and store."`
	Status      statusCmd      `cmd:"" help:"Per shard: owner, epoch, committed position, lag, open offsets, age of the last commit."`
	Verify      verifyCmd      `cmd:"" help:"Walk a store and check every promise on it."`
	Events      eventsCmd      `cmd:"" help:"A tenant's events as NDJSON."`
	DeadLetters deadLettersCmd `cmd:"" help:"A tenant's dead letters and conflicts as NDJSON."`
	Query       queryCmd       `cmd:"" help:"Answer SQL over a tenant's events, from a server or straight from the store."`
	Files       filesCmd       `cmd:"" help:"A tenant's live fragments, for engines that read Parquet."`
	Where       whereCmd       `cmd:"" help:"Where a tenant's events lie: placements, shards, files, rows, bytes."`
	Log         logCmd         `cmd:"" help:"A shard's log, for people."`
	Placements  placementsCmd  `cmd:"" help:"Show or change which shards hold a tenant."`
	Tenants     tenantsCmd     `cmd:"" help:"Show or change what holds for a tenant: retention, sort key, sizes, limits."`
	Gap         gapCmd         `cmd:"" help:"Accept offsets that Kafka lost, so that a stopped shard goes on."`
	GC          gcCmd          `cmd:"" name:"gc" help:"Delete what nothing names any more, after a grace; --dry-run shows it and why."`
	Bench       benchCmd       `cmd:"" help:"Measure Togo under a load, and compare results."`
	Cfg         configCmd      `cmd:"" name:"config" help:"Every setting with its value, its meaning and its environment variable."`
	Version     versionCmd     `cmd:"" help:"The program's version."`
}

// app is what a command gets: the configuration, made valid on demand, and where to write.
type app struct {
	cli *cli
	out io.Writer
	log *slog.Logger
	ctx context.Context
}

func main() {
	var c cli
	k := kong.Parse(&c, kong.Name("togo"), kong.UsageOnError(),
		kong.Description("An exactly-once, sharded, multi-tenant event store on Kafka and an object store."))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := k.Run(&app{cli: &c, out: os.Stdout, log: slog.Default(), ctx: ctx})
	if err == nil {
		return
	}
	if !errors.Is(err, errFailed) { // the command has said what failed
		fmt.Fprintln(os.Stderr, "togo:", err)
	}
	stop()
	os.Exit(1)
}

// errFailed ends the program with status 1 without another word.
var errFailed = errors.New("failed")

// config loads and validates the configuration; without a configured store it is
// the local one under --dir.
func (a *app) config() (*config.Config, error) {
	c, err := config.Load(a.cli.Config, a.cli.Set, os.LookupEnv)
	if err != nil {
		return nil, err
	}
	if c.Store.Dir == "" && c.Store.S3.Bucket == "" {
		c.Store.Dir = filepath.Join(a.cli.Dir, "store")
	}
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("configuration:\n%w", err)
	}
	a.log = newLogger(c.Log)
	for _, problem := range config.Unknown(os.Environ()) {
		a.log.Warn("environment variable", "warning", problem)
	}
	return c, nil
}

func newLogger(c config.Log) *slog.Logger {
	opts := &slog.HandlerOptions{Level: c.Level}
	if c.Format == "json" {
		return slog.New(slog.NewJSONHandler(os.Stderr, opts))
	}
	return slog.New(slog.NewTextHandler(os.Stderr, opts))
}

// store opens the configured object store.
func (a *app) store(c *config.Config) (objstore.Store, error) {
	if c.Store.Dir != "" {
		return objstore.OpenDir(c.Store.Dir)
	}
	return s3store.New(a.ctx, c.Store.S3)
}

// existing is the configuration and its store for commands that only look: nothing
// is created.
func (a *app) existing() (*config.Config, objstore.Store, error) {
	c, err := a.config()
	if err != nil {
		return nil, nil, err
	}
	if c.Store.Dir != "" {
		if _, err := os.Stat(filepath.Join(c.Store.Dir, objstore.MetaKey)); err != nil {
			return nil, nil, fmt.Errorf("%s holds no Togo store (name it with --dir, --config or --set store.dir=...): %w", c.Store.Dir, err)
		}
	}
	store, err := a.store(c)
	return c, store, err
}

// quiet is the log of tools that say themselves what went wrong.
var quiet = slog.New(slog.DiscardHandler)

type configCmd struct{}

func (configCmd) Run(a *app) error {
	c, err := config.Load(a.cli.Config, a.cli.Set, os.LookupEnv)
	if err != nil {
		return err
	}
	fmt.Fprint(a.out, config.Document(c))
	return nil
}
