// Command demo shows Togo at work on a fresh folder: it starts the program, sends
// real events with copies and bad records among them, kills the program with
// SIGKILL in the middle, starts it again, and compares what is stored with what
// it sent. It exits with status 1 if anything is lost or double.
package main

import (
	"context"
	_ "embed"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/togodb/togo/internal/e2e/feed"
	"github.com/togodb/togo/internal/e2e/oracle"
	"github.com/togodb/togo/internal/e2e/proc"
	"github.com/togodb/togo/internal/e2e/tool"
	"github.com/togodb/togo/internal/kafka"
)

//go:embed togo.yaml
var configuration []byte

func main() {
	togo := flag.String("togo", "bin/togo", "the program")
	dir := flag.String("dir", "demo-data", "folder for its data; removed first")
	seed := flag.Uint64("seed", 1, "decides the order, the copies and the moments of the kills")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	failed, err := run(ctx, *togo, *dir, *seed)
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
	if failed {
		os.Exit(1)
	}
}

// demo is one run.
type demo struct {
	tool.Tool
	kafkaAddr, httpAddr string
	log                 *os.File // what the program prints
	proc                *proc.Process
}

func run(ctx context.Context, bin, dir string, seed uint64) (failed bool, err error) {
	d, err := newDemo(bin, dir)
	if err != nil {
		return false, err
	}
	defer d.log.Close()
	rng := rand.New(rand.NewPCG(seed, 0))
	msgs, err := messages(rng, 0.05)
	if err != nil {
		return false, err
	}
	fmt.Printf("starting togo dev in %s (broker on %s; its log is %s)\n", dir, d.kafkaAddr, d.log.Name())
	if err := d.start(ctx); err != nil {
		return false, err
	}
	defer func() { d.proc.Kill() }()

	began := time.Now()
	ledger, err := d.sendAndKill(ctx, msgs)
	if err != nil {
		return false, err
	}
	stored, err := d.Await(ctx, "everything is stored", tool.Status.Done)
	if err != nil {
		return false, err
	}
	fmt.Printf("all stored after %.1f s\n\n", time.Since(began).Seconds())
	fmt.Printf("%d fragments and %d id segments; waiting for the compactor\n", stored.Fragments, stored.IDSegments)
	d.showObjects()
	before, err := d.answers(ctx, ledger.Tenants())
	if err != nil {
		return false, err
	}
	if err := d.compacted(ctx); err != nil {
		return false, err
	}
	afterwards, err := d.answers(ctx, ledger.Tenants())
	if err != nil {
		return false, err
	}
	after, err := d.Status(ctx)
	if err != nil {
		return false, err
	}
	fmt.Printf("\n%d fragments and %d id segments after compaction; what they replaced is deleted\n", after.Fragments, after.IDSegments)
	d.showObjects()
	fmt.Println()
	failed, err = d.report(ctx, ledger, stored.Fragments, changed(before, afterwards))
	if err != nil {
		return false, err
	}
	return failed, d.proc.Stop(20 * time.Second)
}

func newDemo(bin, dir string) (*demo, error) {
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	cfg := filepath.Join(dir, "togo.yaml")
	if err := os.WriteFile(cfg, configuration, 0o644); err != nil {
		return nil, err
	}
	d := &demo{}
	var err error
	if d.log, err = os.Create(filepath.Join(dir, "togo.log")); err != nil {
		return nil, err
	}
	if d.kafkaAddr, err = proc.FreeAddr(); err != nil {
		return nil, err
	}
	if d.httpAddr, err = proc.FreeAddr(); err != nil {
		return nil, err
	}
	d.Tool = tool.Tool{Bin: bin, Args: []string{
		"--config", cfg, "--dir", dir,
		"--set", "kafka={main: {brokers: [\"" + d.kafkaAddr + "\"]}}", "--set", "http.listen=" + d.httpAddr,
	}}
	return d, nil
}

func (d *demo) start(ctx context.Context) (err error) {
	args := append(append([]string{}, d.Args...), "dev", "--kafka-listen", d.kafkaAddr)
	if d.proc, err = proc.Start(d.Bin, args, d.log); err != nil {
		return err
	}
	if err := d.proc.WaitOK(ctx, "http://"+d.httpAddr+"/ready"); err != nil {
		return fmt.Errorf("%w (see %s)", err, d.log.Name())
	}
	return nil
}

// sendAndKill sends everything at a steady rate and kills the program twice: while
// events come in, and right after the last was acknowledged.
func (d *demo) sendAndKill(ctx context.Context, msgs []feed.Message) (*oracle.Ledger, error) {
	ledger := oracle.New()
	s, err := feed.NewSender(ctx, kafka.ClusterConfig{Brokers: []string{d.kafkaAddr}}, func(m feed.Message) error { return m.Note(ledger) })
	if err != nil {
		return nil, err
	}
	defer s.Close()
	const seconds = 6 // of sending, so that the kill falls between commits
	done := make(chan error, 1)
	go func() {
		done <- s.SendAll(ctx, msgs, seconds*time.Second)
	}()
	fmt.Printf("sending %d records in %d s\n", len(msgs), seconds)
	if err := s.Await(ctx, len(msgs)/2); err != nil {
		return nil, err
	}
	if err := d.killAndStart(ctx, "in the middle"); err != nil {
		return nil, err
	}
	if err := <-done; err != nil {
		return nil, err
	}
	if err := d.killAndStart(ctx, "right after the last record was acknowledged"); err != nil {
		return nil, err
	}
	return ledger, nil
}

func (d *demo) killAndStart(ctx context.Context, when string) error {
	pid := d.proc.Pid()
	d.proc.Kill()
	fmt.Printf("kill -9 %d, %s; starting again\n", pid, when)
	return d.start(ctx)
}

// compacted waits until every bucket has had its last merges, and nothing is left of what they
// replaced.
func (d *demo) compacted(ctx context.Context) error {
	for {
		out, err := d.Output(ctx, "gc", "--dry-run")
		if err != nil {
			return err
		}
		resting, err := d.resting(ctx)
		if err != nil {
			return err
		}
		if resting && strings.Contains(out, " garbage=0 ") {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the compactor (see %s): %w", d.log.Name(), ctx.Err())
		case <-time.After(time.Second):
		}
	}
}

// resting says whether the compactor has nothing left to merge.
func (d *demo) resting(ctx context.Context) (bool, error) {
	var status struct {
		Compactor []struct {
			Position uint64 `json:"position"`
			Waiting  int    `json:"waiting"`
		} `json:"compactor"`
	}
	if err := proc.GetJSON(ctx, "http://"+d.httpAddr+"/status", &status); err != nil {
		return false, err
	}
	for _, s := range status.Compactor {
		if s.Position == 0 || s.Waiting > 0 {
			return false, nil
		}
	}
	return len(status.Compactor) > 0, nil
}

// report compares and prints; failed says that a promise does not hold.
func (d *demo) report(ctx context.Context, ledger *oracle.Ledger, before int, wrong []string) (failed bool, err error) {
	stored, err := d.Stored(ctx, ledger.Tenants())
	if err != nil {
		return false, err
	}
	rows := tool.Rows(stored)
	lost, extra := ledger.Compare(stored)
	status, err := d.Status(ctx)
	if err != nil {
		return false, err
	}
	sent, unique, _, _, bad := ledger.Counts()
	t := status.Totals
	tw := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range []struct {
		n    any
		what string
	}{
		{sent, "records sent and acknowledged"},
		{unique, "distinct events among them (tenant, timestamp, id)"},
		{rows, "events stored, read back from the Parquet files"},
		{t.Duplicate, "duplicates dropped: our copies, and what was read again after the kills"},
		{t.Conflict, "conflicts: same identity, other payload; kept in dead_letters"},
		{t.Dead, fmt.Sprintf("dead letters (%d bad records were sent)", bad)},
		{len(lost), "lost"},
		{len(extra), "extra"},
	} {
		fmt.Fprintf(tw, "%v\t %s\n", row.n, row.what)
	}
	if err := tw.Flush(); err != nil {
		return false, err
	}
	miscounted, err := d.miscounted(ctx, stored, ledger.Tenants())
	if err != nil {
		return false, err
	}
	wrong = append(wrong, miscounted...)
	for _, l := range slices.Concat(lost, extra, wrong) {
		fmt.Println("WRONG:", l)
	}
	d.show(ctx, "where", "where")
	d.show(ctx, "events --tenant shop --limit 3", "events", "--tenant", "shop", "--limit", "3")
	for _, q := range shown {
		d.show(ctx, fmt.Sprintf("query --tenant %s %q", q.tenant, q.text), "query", "--server", "http://"+d.httpAddr, "--tenant", q.tenant, q.text)
	}
	d.show(ctx, "dead-letters --tenant security --limit 3", "dead-letters", "--tenant", "security", "--limit", "3")
	verified := d.show(ctx, "verify", "verify")
	fmt.Printf("\nGo on with: %s --dir %s --config %s dev\n", d.Bin, filepath.Dir(d.log.Name()), filepath.Join(filepath.Dir(d.log.Name()), "togo.yaml"))
	fmt.Printf("then, elsewhere: curl -H 'X-Scope-OrgID: me' --data-binary '{\"event_id\":\"1\",\"hello\":\"world\"}' http://localhost:8080/v1/ingest\n")
	fmt.Printf("and: %s query --tenant me 'SELECT * FROM events'\n\n", d.Bin)
	failed = len(lost)+len(extra)+len(wrong) > 0 || !verified || status.Fragments >= before
	fmt.Printf("RESULT sent=%d unique=%d stored=%d duplicates=%d conflicts=%d dead=%d lost=%d extra=%d fragments_before=%d fragments_after=%d wrong_answers=%d\n",
		sent, unique, rows, t.Duplicate, t.Conflict, t.Dead, len(lost), len(extra), before, status.Fragments, len(wrong))
	return failed, nil
}

// show runs a command for people to see; it says whether it succeeded.
func (d *demo) show(ctx context.Context, title string, args ...string) bool {
	fmt.Printf("\n$ togo %s\n", title)
	cmd := d.Command(ctx, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run() == nil
}

// showObjects counts the store's objects by kind.
func (d *demo) showObjects() {
	root := filepath.Join(filepath.Dir(d.log.Name()), "store")
	counts, sizes := map[string]int{}, map[string]int64{}
	err := filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		kind, _, _ := strings.Cut(rel, string(filepath.Separator))
		info, err := e.Info()
		if err != nil {
			return err
		}
		counts[kind]++
		sizes[kind] += info.Size()
		return nil
	})
	fmt.Println("\nobjects in the store:")
	for _, kind := range []string{"data", "letters", "ids", "shards", "columns", "placements"} {
		fmt.Printf("  %-10s %5d objects %10d bytes\n", kind, counts[kind], sizes[kind])
	}
	if err != nil {
		fmt.Println("  (", err, ")")
	}
}
