// Command demo shows Togo at work on a fresh folder: it starts the program, sends
// real events with copies and bad records among them, kills the program with
// SIGKILL in the middle, starts it again, and compares what is stored with what
// it sent. It exits with status 1 if anything is lost or double.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/togodb/togo/internal/e2e/oracle"
	"github.com/togodb/togo/internal/e2e/proc"
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
	tool
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
	if err := d.waitForLagZero(ctx); err != nil {
		return false, err
	}
	fmt.Printf("all stored after %.1f s\n\n", time.Since(began).Seconds())
	failed, err = d.report(ctx, ledger)
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
	d.tool = tool{bin: bin, args: []string{
		"--config", cfg, "--dir", dir,
		"--set", "kafka={main: {brokers: [\"" + d.kafkaAddr + "\"]}}", "--set", "http.listen=" + d.httpAddr,
	}}
	return d, nil
}

func (d *demo) start(ctx context.Context) (err error) {
	args := append(append([]string{}, d.args...), "dev", "--kafka-listen", d.kafkaAddr)
	if d.proc, err = proc.Start(d.bin, args, d.log); err != nil {
		return err
	}
	if err := d.proc.WaitOK(ctx, "http://"+d.httpAddr+"/ready"); err != nil {
		return fmt.Errorf("%w (see %s)", err, d.log.Name())
	}
	return nil
}

// sendAndKill sends everything at a steady rate and kills the program twice: while
// events come in, and right after the last was acknowledged.
func (d *demo) sendAndKill(ctx context.Context, msgs []message) (*oracle.Ledger, error) {
	s, err := newSender(ctx, d.kafkaAddr)
	if err != nil {
		return nil, err
	}
	defer s.close()
	const seconds = 6 // of sending, so that the kill falls between commits
	half := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- s.sendAll(ctx, msgs, seconds*time.Second, half)
	}()
	fmt.Printf("sending %d records in %d s\n", len(msgs), seconds)
	select {
	case <-half:
	case err := <-done:
		return nil, errors.Join(errors.New("sending ended early"), err)
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
	return s.ledger, nil
}

func (d *demo) killAndStart(ctx context.Context, when string) error {
	pid := d.proc.Pid()
	d.proc.Kill()
	fmt.Printf("kill -9 %d, %s; starting again\n", pid, when)
	return d.start(ctx)
}

// waitForLagZero asks the program's own status until nothing is left to do.
func (d *demo) waitForLagZero(ctx context.Context) error {
	for {
		s, err := d.status(ctx)
		if err == nil && s.RouterLag != nil && s.WriterLag != nil && *s.RouterLag == 0 && *s.WriterLag == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the lag did not reach 0: router %s, writer %s: %w (last error: %v)", show(s.RouterLag), show(s.WriterLag), ctx.Err(), err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func show(n *int64) string {
	if n == nil {
		return "unknown"
	}
	return fmt.Sprint(*n)
}

// report compares and prints; failed says that a promise does not hold.
func (d *demo) report(ctx context.Context, ledger *oracle.Ledger) (failed bool, err error) {
	stored := oracle.Stored{}
	for _, t := range ledger.Tenants() {
		if err := d.addEvents(ctx, t, stored); err != nil {
			return false, err
		}
	}
	rows := 0
	for _, r := range stored {
		rows += len(r)
	}
	lost, extra := ledger.Compare(stored)
	status, err := d.status(ctx)
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
		{t.Duplicate, "duplicates dropped (our copies, and what the kills made Kafka clients send again)"},
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
	for _, l := range append(lost, extra...) {
		fmt.Println("WRONG:", l)
	}
	d.showObjects()
	d.show(ctx, "where", "where")
	d.show(ctx, "events --tenant shop --limit 3", "events", "--tenant", "shop", "--limit", "3")
	d.show(ctx, "dead-letters --tenant security --limit 3", "dead-letters", "--tenant", "security", "--limit", "3")
	verified := d.show(ctx, "verify", "verify")
	fmt.Printf("\nGo on with: %s --dir %s --config %s dev\n", d.bin, filepath.Dir(d.log.Name()), filepath.Join(filepath.Dir(d.log.Name()), "togo.yaml"))
	fmt.Printf("then, elsewhere: curl -H 'X-Scope-OrgID: me' --data-binary '{\"event_id\":\"1\",\"hello\":\"world\"}' http://localhost:8080/v1/ingest\n")
	fmt.Printf("and: %s --dir %s events --tenant me\n\n", d.bin, filepath.Dir(d.log.Name()))
	failed = len(lost)+len(extra) > 0 || !verified
	fmt.Printf("RESULT sent=%d unique=%d stored=%d duplicates=%d conflicts=%d dead=%d lost=%d extra=%d\n",
		sent, unique, rows, t.Duplicate, t.Conflict, t.Dead, len(lost), len(extra))
	return failed, nil
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

// sender produces messages and keeps the ledger of what was acknowledged.
type sender struct {
	client    *kafka.Client
	producers map[string]*kafka.Producer
	mu        sync.Mutex
	ledger    *oracle.Ledger // guarded by mu
	err       error          // the first failure; guarded by mu
	acked     int            // guarded by mu
}

func newSender(ctx context.Context, addr string) (*sender, error) {
	log := slog.New(slog.DiscardHandler) // the client's complaints about a killed broker
	client, err := kafka.Connect(ctx, kafka.ClusterConfig{Brokers: []string{addr}, ClientID: "demo"}, log, nil)
	if err != nil {
		return nil, err
	}
	return &sender{client: client, producers: map[string]*kafka.Producer{}, ledger: oracle.New()}, nil
}

func (s *sender) close() {
	for _, p := range s.producers {
		p.Close()
	}
	s.client.Close()
}

func (s *sender) producer(ctx context.Context, topic string) (*kafka.Producer, error) {
	if p := s.producers[topic]; p != nil {
		return p, nil
	}
	info, err := s.client.Topic(ctx, topic)
	if err != nil {
		return nil, err
	}
	p, err := s.client.NewProducer(info, kafka.ProducerConfig{Spread: true})
	if err == nil {
		s.producers[topic] = p
	}
	return p, err
}

// sendAll spreads the messages over the time, closes half when half of them are
// acknowledged, and returns when all are.
func (s *sender) sendAll(ctx context.Context, msgs []message, over time.Duration, half chan<- struct{}) error {
	began := time.Now()
	for i, m := range msgs {
		p, err := s.producer(ctx, m.topic)
		if err != nil {
			return err
		}
		var headers []kafka.Header
		if m.tenant != "" {
			headers = []kafka.Header{{Key: "X-Scope-OrgID", Value: []byte(m.tenant)}}
		}
		due := began.Add(over * time.Duration(i) / time.Duration(len(msgs)))
		if wait := time.Until(due); wait > 0 {
			time.Sleep(wait)
		}
		p.Produce(ctx, kafka.Message{Key: []byte(m.key), Value: m.value, Headers: headers}, func(_ int64, err error) {
			s.acknowledged(m, err, len(msgs)/2, half)
		})
	}
	for _, p := range s.producers {
		if err := p.Flush(ctx); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *sender) acknowledged(m message, err error, at int, half chan<- struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && !m.bad {
		err = s.ledger.Sent(oracle.Key{Tenant: m.wantFor, ID: m.wantID}, m.value)
	} else if err == nil {
		s.ledger.SentBad()
	}
	if err != nil && s.err == nil {
		s.err = fmt.Errorf("record for topic %s: %w", m.topic, err)
	}
	if s.acked++; s.acked == at {
		close(half)
	}
}
