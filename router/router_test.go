package router

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/internal/kafka/kafkatest"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/placements"
)

// env is a cluster with an intake and a shard topic, and a store with placements.
type env struct {
	t      *testing.T
	k      *kafkatest.Cluster
	client *kafka.Client
	keeper *placements.Keeper
	cfg    Config
}

const (
	intakeLimit = 100_000
	shardCount  = 4
)

func newEnv(t *testing.T, partitions int32) *env {
	t.Helper()
	e := &env{t: t, k: kafkatest.New(t), cfg: DefaultConfig()}
	e.k.Topic("events", partitions, map[string]string{"max.message.bytes": fmt.Sprint(intakeLimit)})
	e.k.Topic("shards", shardCount, ShardTopicConfigs(intakeLimit, false))
	e.client = e.k.Client()
	e.cfg.CommitEvery = 20 * time.Millisecond
	var err error
	e.keeper, err = placements.NewKeeper(placements.Config{Store: objstore.NewMemory(), Hasher: hasher, Logger: kafkatest.Quiet()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.keeper.Init(t.Context(), placements.NewGenesis(shardCount)); err != nil {
		t.Fatal(err)
	}
	return e
}

func testLog() *slog.Logger {
	if os.Getenv("TOGO_TEST_LOG") != "" {
		return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelInfo}))
	}
	return kafkatest.Quiet()
}

// start runs a router until stop is called or the test ends.
func (e *env) start() (r *Router, stop func()) {
	e.t.Helper()
	return e.startWith(func(*Router) {})
}

func (e *env) startWith(change func(*Router)) (r *Router, stop func()) {
	e.t.Helper()
	r, err := New(e.cfg, Deps{
		Intake: e.client, Topics: []string{"events"}, Shards: e.client, ShardTopic: "shards",
		Placements: e.keeper, Hasher: hasher, Limits: limits, Log: testLog(),
		Read: kafka.ReaderConfig{MaxWait: 50 * time.Millisecond, CheckEvery: 200 * time.Millisecond, MaxBytes: 8 << 20},
	})
	if err != nil {
		e.t.Fatal(err)
	}
	change(r)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			e.t.Errorf("run: %v", err)
		}
	})
	e.t.Cleanup(stop)
	return r, stop
}

func (e *env) context() context.Context {
	ctx, cancel := context.WithTimeout(e.t.Context(), 20*time.Second)
	e.t.Cleanup(cancel)
	return ctx
}

// awaitCommit waits until the group's offset of a partition is what is wanted.
func (e *env) awaitCommit(partition int32, want int64) {
	e.t.Helper()
	e.k.AwaitCommit(e.context(), e.cfg.Group, "events", partition, want)
}

// awaitStatus waits until the router's status is as wanted.
func (e *env) awaitStatus(r *Router, want func(Status) bool) {
	e.t.Helper()
	ctx := e.context()
	for !want(r.Status()) {
		select {
		case <-ctx.Done():
			e.t.Fatalf("status is %+v", r.Status())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// stored reads the whole shard topic: how often each intake offset of each source was
// stored, by what it became.
func (e *env) stored() []sent {
	e.t.Helper()
	ctx := e.context()
	info, err := e.client.Topic(ctx, "shards")
	if err != nil {
		e.t.Fatal(err)
	}
	logs, err := e.client.Offsets(ctx, "shards")
	if err != nil {
		e.t.Fatal(err)
	}
	r, err := e.client.NewReader(info, kafka.ReaderConfig{MaxWait: 50 * time.Millisecond})
	if err != nil {
		e.t.Fatal(err)
	}
	defer r.Close()
	for p, log := range logs {
		if log.End > log.Start {
			r.Add(p, log.Start, -1)
		} else {
			delete(logs, p)
		}
	}
	var all []sent
	for len(logs) > 0 {
		batches, err := r.Poll(ctx)
		if err != nil {
			e.t.Fatal(err)
		}
		for _, b := range batches {
			if b.Err != nil {
				e.t.Fatal(b.Err)
			}
			for _, rec := range b.Records {
				var env event.Envelope
				if err := event.DecodeEnvelope(rec.Value, &env); err != nil {
					e.t.Fatal(err)
				}
				for _, it := range env.Items {
					all = append(all, sent{shard: event.ShardID(b.Partition), tenant: env.Tenant, Item: it})
				}
			}
			if b.Next >= logs[b.Partition].End {
				delete(logs, b.Partition)
			}
		}
	}
	return all
}

// summary says what became of each offset of a partition, "3 event", and how often
// if not once.
func summary(all []sent, partition int32) []string {
	type key struct {
		offset int64
		text   string
	}
	times := map[key]int{}
	for _, s := range all {
		if s.Origin.Partition != partition {
			continue
		}
		switch s.Kind {
		case event.KindSkipped:
			times[key{s.Origin.Offset, fmt.Sprintf("skipped to %d", s.SkipTo)}]++
		case event.KindDead:
			times[key{s.Origin.Offset, string(s.Reason)}]++
		default:
			times[key{s.Origin.Offset, "event"}]++
		}
	}
	keys := slices.SortedFunc(maps.Keys(times), func(a, b key) int { return int(a.offset - b.offset) })
	var lines []string
	for _, k := range keys {
		line := fmt.Sprintf("%d %s", k.offset, k.text)
		if n := times[k]; n != 1 {
			line += fmt.Sprintf(" x%d", n)
		}
		lines = append(lines, line)
	}
	return lines
}

func (e *env) expect(partition int32, want ...string) {
	e.t.Helper()
	if got := summary(e.stored(), partition); !slices.Equal(got, want) {
		e.t.Fatalf("partition %d: stored\n  %s\nwant\n  %s", partition, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func intakeRecord(partition int32, key, value []byte) *kafka.Record {
	return &kafka.Record{Topic: "events", Partition: partition, Key: key, Value: value}
}

func TestRestartGoesOnWhereItWas(t *testing.T) {
	e := newEnv(t, 1)
	e.k.Values("events", 0, `{"n":0}`, `{"n":1}`)
	_, stop := e.start()
	e.awaitCommit(0, 2)
	stop()
	e.k.Values("events", 0, `{"n":2}`)
	e.start()
	e.awaitCommit(0, 3)
	e.expect(0, "0 event", "1 event", "2 event")
}

func TestStopSendsAndCommitsWhatIsOpen(t *testing.T) {
	e := newEnv(t, 1)
	e.cfg.Linger = time.Second
	e.cfg.CommitEvery = time.Minute
	r, stop := e.start()
	e.k.Values("events", 0, `{"n":0}`, `{"n":1}`)
	e.awaitStatus(r, func(s Status) bool { return len(s.Partitions) == 1 && s.Partitions[0].Next == 2 })
	stop()
	e.awaitCommit(0, 2)
	e.expect(0, "0 event", "1 event")
}

func TestKafkaTimestampFromTheFutureHoldsItsPartitionAlone(t *testing.T) {
	e := newEnv(t, 2)
	e.k.Produce(
		&kafka.Record{Topic: "events", Partition: 0, Value: []byte(`{"n":0}`)},
		&kafka.Record{Topic: "events", Partition: 0, Value: []byte(`{"n":1}`), Timestamp: time.Now().Add(3 * time.Hour)},
		&kafka.Record{Topic: "events", Partition: 1, Value: []byte(`{"n":0}`)},
	)
	r, _ := e.start()
	e.awaitCommit(0, 1)
	e.awaitCommit(1, 1)
	e.awaitStatus(r, func(s Status) bool {
		return slices.ContainsFunc(s.Partitions, func(l Lag) bool { return l.Partition == 0 && l.Waiting && l.Next == 1 })
	})
}

// TestWaitingRecordsDoNotStarveOtherPartitions: more waits for a horizon than may be
// held, and the other partition goes on all the same.
func TestWaitingRecordsDoNotStarveOtherPartitions(t *testing.T) {
	e := newEnv(t, 2)
	e.cfg.MaxBytes = 1 << 20
	ahead := time.Now().Add(3 * time.Hour)
	value := []byte(`{"text":"` + strings.Repeat("x", 10_000) + `"}`)
	for range 30 {
		var records []*kafka.Record
		for range 10 {
			r := intakeRecord(0, nil, value)
			r.Timestamp = ahead
			records = append(records, r)
		}
		e.k.Produce(records...)
	}
	r, _ := e.start()
	e.awaitStatus(r, func(s Status) bool {
		return slices.ContainsFunc(s.Partitions, func(l Lag) bool { return l.Partition == 0 && l.Waiting })
	})
	for range 20 {
		e.k.Values("events", 1, string(value), string(value), string(value), string(value), string(value))
	}
	e.awaitCommit(1, 100)
}

// TestCrashBetweenProduceAndCommit: the commit fails although the records are
// stored; the next router sends them again, with the same identities.
func TestCrashBetweenProduceAndCommit(t *testing.T) {
	e := newEnv(t, 1)
	e.k.Values("events", 0, `{"n":0}`, `{`, `{"event_id":"x"}`)
	allow := e.k.RefuseCommits()
	r, stop := e.start()
	e.awaitStatus(r, func(s Status) bool { return len(s.Partitions) == 1 && s.Partitions[0].Next == 3 && s.HeldBytes == 0 })
	stop()
	allow()
	e.start()
	e.awaitCommit(0, 3)
	e.expect(0, "0 event x2", "1 malformed x2", "2 event x2")
	ids := map[int64]string{}
	for _, s := range e.stored() {
		id := fmt.Sprint(s.tenant, s.shard, s.Timestamp, string(s.ID))
		if ids[s.Origin.Offset] != "" && ids[s.Origin.Offset] != id {
			t.Fatalf("offset %d: %s, then %s", s.Origin.Offset, ids[s.Origin.Offset], id)
		}
		ids[s.Origin.Offset] = id
	}
}

func TestStalled(t *testing.T) {
	h := newHarness(t, nil, nil)
	s := &session{r: &Router{deps: Deps{ShardTopic: "shards"}}, core: h.core}
	h.assign(0, 0)
	now := start
	for _, step := range []struct {
		what  string
		after time.Duration
		do    func()
		want  string
	}{
		{"nothing to do", time.Second, func() {}, ""},
		{"a batch is on its way", time.Second, func() { h.fetch(0, record(0, `{}`)); h.linger() }, ""},
		{"and stays so", stallAfter + time.Second, func() {}, "no acknowledgement by shards"},
		{"it is acknowledged", time.Second, func() { h.ackAll() }, ""},
		{"and not committed", stallAfter + time.Second, func() {}, "no commit"},
		{"it is committed", time.Second, func() { h.commitNow(0) }, ""},
		{"again nothing to do", stallAfter + time.Second, func() {}, ""},
	} {
		now = now.Add(step.after)
		step.do()
		if got := s.stalled(now); !strings.HasPrefix(got, step.want) || step.want == "" && got != "" {
			t.Fatalf("%s: stalled %q, want %q", step.what, got, step.want)
		}
	}
}

func TestConfigValidate(t *testing.T) {
	if err := DefaultConfig().Validate(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*Config){
		"group":        func(c *Config) { c.Group = "" },
		"linger":       func(c *Config) { c.Linger = time.Minute },
		"batch_bytes":  func(c *Config) { c.BatchBytes = 1 },
		"batch_events": func(c *Config) { c.BatchEvents = 0 },
		"max_bytes":    func(c *Config) { c.MaxBytes = 1 },
		"commit_every": func(c *Config) { c.CommitEvery = 0 },
		"stop_timeout": func(c *Config) { c.StopTimeout = -1 },
		"compression":  func(c *Config) { c.Compression = "rar" },
	} {
		c := DefaultConfig()
		spoil(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New(DefaultConfig(), Deps{}); err == nil {
		t.Error("a router without topics")
	}
}
