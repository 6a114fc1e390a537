package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/togodb/togo/bench/load"
	"github.com/togodb/togo/bench/measure"
	"github.com/togodb/togo/bench/result"
	"github.com/togodb/togo/cmd/togo/config"
	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/internal/objstore"
)

type benchRunCmd struct {
	Workload string        `help:"small, wide, many, or a file (docs/bench.md)." default:"small" placeholder:"NAME|FILE"`
	For      time.Duration `help:"How long events are sent; default: as the workload says." placeholder:"DURATION"`
	Rate     string        `help:"Events a second, or max; default: as the workload says." placeholder:"N|max"`
	Seed     uint64        `help:"The same seed gives the same events." default:"1"`
	Ahead    int64         `help:"Sending waits while so many events are sent and not closed; 0: it never does." default:"1000000"`
	Kafka    []string      `help:"Brokers of a Kafka that is there; without it and without --config: one of its own, in the folder." placeholder:"HOST:PORT"`
	Out      string        `help:"The file for the result; the page of plots lies beside it." default:"bench/results/latest.json" placeholder:"FILE"`
	Folder   string        `help:"Folder for the store, the broker's data and the logs, kept; default: a temporary one, removed if all goes well." placeholder:"DIR"`
	Prices   string        `help:"A file of prices (bench/measure/prices.yaml); default: list prices." type:"existingfile" placeholder:"FILE"`
	Queries  bool          `help:"Ask twelve queries all the time." default:"true" negatable:""`
	Profile  bool          `help:"CPU time by step, from CPU profiles." default:"true" negatable:""`
	Token    string        `help:"Token for the queries, if http.tokens are configured." env:"TOGO_TOKEN" placeholder:"TOKEN"`
}

func (c benchRunCmd) Run(a *app) error {
	w, err := load.Open(c.Workload)
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	if c.Rate != "" {
		if w.Rate, err = load.ParseRate(c.Rate); err != nil {
			return fmt.Errorf("bench: --rate: %w", err)
		}
	}
	if c.For == 0 {
		c.For = time.Duration(w.Duration)
	}
	prices, err := measure.ReadPrices(c.Prices)
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	folder, clean, err := c.folder()
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	b, err := c.setup(a, folder)
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	plan := measure.Plan{
		Program: b.program, Arguments: b.arguments, Folder: folder, Broker: b.broker,
		Cluster: b.cfg.Kafka[b.topic.Cluster], Topic: b.topic.Name, Store: func(context.Context) (objstore.Store, error) { return a.store(b.cfg) },
		Workload: w, Seed: c.Seed, For: c.For, Ahead: c.Ahead, FlushAge: b.cfg.Writer.FlushAge, Queries: c.Queries, Token: c.Token,
		Profile: c.Profile, Prices: prices, Progress: os.Stderr, Rewrite: isTerminal(os.Stderr), Logger: quiet, WriterStop: b.cfg.Writer.StopTimeout,
	}
	if b.cfg.Writer.SmallTenantBytes > 0 {
		plan.SmallAge, plan.SmallBytes = max(b.cfg.Writer.SmallTenantAge, b.cfg.Writer.FlushAge), b.cfg.Writer.SmallTenantBytes
	}
	machine := result.ThisMachine()
	doc, err := measure.Run(a.ctx, plan)
	if plan.Rewrite {
		fmt.Fprintln(os.Stderr)
	}
	if err != nil {
		return fmt.Errorf("bench: %w\n(all logs are in %s)", err, filepath.Join(folder, "logs"))
	}
	doc.Program = result.Program{Version: programVersion(), Go: runtime.Version()}
	doc.Command, doc.Machine, doc.Setup = strings.Join(os.Args, " "), machine, b.setup
	doc.Workload = result.Workload{
		Name: w.Name, Seed: c.Seed, Tenants: w.Tenants, EventBytes: doc.EventBytes(), Keys: w.Keys(), DuplicateShare: w.Duplicates.Share,
		LateShare: w.Late.Share, RatePerS: float64(w.Rate), DurationS: c.For.Seconds(),
	}
	body, err := doc.Encode()
	if err == nil {
		err = result.WriteFile(c.Out, body)
	}
	if err == nil {
		_, err = writePage(c.Out, doc)
	}
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	clean()
	return c.tell(a.out, doc)
}

// folder is where everything lies, and what removes it if it is nobody's.
func (c benchRunCmd) folder() (string, func(), error) {
	if c.Folder != "" {
		path, err := filepath.Abs(c.Folder)
		if err == nil {
			err = os.MkdirAll(path, 0o755)
		}
		return path, func() {}, err
	}
	path, err := os.MkdirTemp("", "togo-bench-")
	return path, func() { _ = os.RemoveAll(path) }, err
}

// benchSetup is what a run works on.
type benchSetup struct {
	program   string
	arguments []string // of every child, before its command
	cfg       *config.Config
	topic     config.Topic
	broker    string // address of the embedded one; "": none
	setup     result.Setup
}

// partitions of an intake topic that a run makes.
const benchPartitions = 4

// setup lays what a run needs over the configuration. Children get the same by --set.
func (c benchRunCmd) setup(a *app, folder string) (*benchSetup, error) {
	b := &benchSetup{}
	var err error
	if b.program, err = os.Executable(); err != nil {
		return nil, err
	}
	set := map[string]string{}
	switch {
	case len(c.Kafka) > 0:
		set["kafka"] = "{main: {brokers: [" + strings.Join(quoted(c.Kafka), ", ") + "]}}"
		b.setup.Kafka = strings.Join(c.Kafka, ",")
	case a.cli.Config == "":
		if b.broker, err = loopback(); err != nil {
			return nil, err
		}
		set["kafka"] = `{main: {brokers: ["` + b.broker + `"]}}`
		b.setup.Kafka = "embedded"
	}
	if a.cli.Config == "" {
		set["intake.topics"] = fmt.Sprintf("[{cluster: main, name: events, partitions: %d}]", benchPartitions)
	}
	given, err := config.Load(a.cli.Config, a.cli.Set, os.LookupEnv)
	if err != nil {
		return nil, err
	}
	if given.Store.Dir == "" && given.Store.S3.Bucket == "" {
		set["store.dir"] = filepath.Join(folder, "store")
	}
	for name, value := range set {
		if !isSet(a.cli.Set, name) {
			a.cli.Set = append(a.cli.Set, name+"="+value)
		}
	}
	if a.cli.Config != "" {
		b.arguments = append(b.arguments, "--config", a.cli.Config)
	}
	for _, s := range a.cli.Set {
		b.arguments = append(b.arguments, "--set", s)
	}
	if b.cfg, err = a.config(); err != nil {
		return nil, err
	}
	b.topic = b.cfg.Intake.Topics[0]
	if b.setup.Kafka == "" {
		b.setup.Kafka = strings.Join(b.cfg.Kafka[b.topic.Cluster].Brokers, ",")
	}
	b.setup.Store = "directory " + b.cfg.Store.Dir
	if c.Folder == "" && set["store.dir"] != "" {
		b.setup.Store = "directory, temporary"
	}
	if b.cfg.Store.Dir == "" {
		b.setup.Store = "bucket " + b.cfg.Store.S3.Bucket
	}
	b.setup.Shards, b.setup.IntakePartitions = int(b.cfg.ShardTopic.Partitions), int(b.topic.Partitions)
	b.setup.Processes = map[string]int{"router": 1, "writer": 1, "compactor": 1, "query": 1, "generator": 1}
	b.setup.Settings = map[string]string{}
	for _, s := range a.cli.Set {
		if name, value, _ := strings.Cut(s, "="); set[name] == "" && !strings.HasPrefix(name, "kafka") && !strings.Contains(name, "tokens") && !strings.Contains(name, "secret") {
			b.setup.Settings[name] = value
		}
	}
	return b, nil
}

// isSet says whether a setting is among PATH=VALUE.
func isSet(sets []string, name string) bool {
	for _, s := range sets {
		if strings.HasPrefix(s, name+"=") {
			return true
		}
	}
	return false
}

func quoted(in []string) []string {
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = `"` + s + `"`
	}
	return out
}

// loopback is an address whose port was free a moment ago.
func loopback() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// tell prints what a run found, and its RESULT line.
func (c benchRunCmd) tell(out io.Writer, d *result.Document) error {
	for _, n := range d.Notes {
		fmt.Fprintln(out, "note:", n)
	}
	fresh, requests := "none", "none"
	if d.Store != nil {
		requests = fmt.Sprintf("%.0f", d.Store.PerMillion)
	}
	if d.Freshness != nil {
		fresh = fmt.Sprintf("%.2f", d.Freshness.P99S)
	}
	_, err := fmt.Fprintf(out, "RESULT bench workload=%s sent=%d closed=%d duplicates=%d copies=%d events_per_s=%.0f cpu_s_per_million=%.2f memory_mib=%d "+
		"fresh_p99_s=%s requests_per_million=%s interrupted=%t result=%s\n",
		d.Workload.Name, d.Run.Sent, d.Run.Closed, d.Run.Duplicates, d.Run.Copies, d.Run.ClosedPerS, d.Run.CPUSPerMillion, d.Run.PeakMemoryBytes>>20,
		fresh, requests, d.Interrupted, c.Out)
	return err
}

// benchBrokerCmd is the embedded broker as a process of its own.
type benchBrokerCmd struct {
	Listen string `help:"Address." required:"" placeholder:"HOST:PORT"`
	Data   string `help:"Folder of its data." required:"" placeholder:"DIR"`
}

func (c benchBrokerCmd) Run(a *app) error {
	b, err := kafka.StartEmbedded(a.ctx, kafka.EmbeddedConfig{Dir: c.Data, Addr: c.Listen, MaxMessageBytes: devMaxMessageBytes}, a.log)
	if err != nil {
		return err
	}
	<-a.ctx.Done()
	b.Close()
	return nil
}

// benchGenerateCmd is the generator as a process of its own.
type benchGenerateCmd struct {
	Workload string        `help:"small, wide, many, or a file." default:"small" placeholder:"NAME|FILE"`
	For      time.Duration `help:"How long." default:"1m"`
	Rate     string        `help:"Events a second, or max." default:"max" placeholder:"N|max"`
	Seed     uint64        `help:"The same seed gives the same events." default:"1"`
	Ahead    int64         `help:"Wait while so many events are sent and not closed, as standard input says, a number a line."`
	Topic    string        `help:"Name of the intake topic; default: the first one that is configured." placeholder:"TOPIC"`
}

func (c benchGenerateCmd) Run(a *app) error {
	w, err := load.Open(c.Workload)
	if err != nil {
		return err
	}
	if w.Rate, err = load.ParseRate(c.Rate); err != nil {
		return err
	}
	cfg, err := a.config()
	if err != nil {
		return err
	}
	topic := cfg.Intake.Topics[0]
	for _, t := range cfg.Intake.Topics {
		if t.Name == c.Topic {
			topic = t
		}
	}
	if c.Topic != "" && topic.Name != c.Topic {
		return errors.New("no intake topic " + c.Topic + " is configured")
	}
	client, err := connectKafka(a.ctx, cfg, topic.Cluster, a.log, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	return measure.Generate(a.ctx, measure.Generation{Workload: w, Seed: c.Seed, Begin: time.Now(), For: c.For, Ahead: c.Ahead}, client, topic.Name, os.Stdin, a.out)
}
