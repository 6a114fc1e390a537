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
	r, err := New(e.cfg, Deps{
		Intake: e.client, Topics: []string{"events"}, Shards: e.client, ShardTopic: "shards",
		Placements: e.keeper, Hasher: hasher, Limits: limits, Log: testLog(),
		Read: kafka.ReaderConfig{MaxWait: 50 * time.Millisecond, CheckEvery: 200 * time.Millisecond, MaxBytes: 8 << 20},
	})
	if err != nil {
		e.t.Fatal(err)
	}
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

func TestFault_tombstones(t *testing.T) {
	e := newEnv(t, 1)
	e.k.Produce(
		intakeRecord(0, []byte("k"), nil),
		intakeRecord(0, nil, nil),
		intakeRecord(0, nil, []byte{}),
		intakeRecord(0, nil, []byte("null")),
		intakeRecord(0, nil, []byte(" \t\n")),
		intakeRecord(0, []byte("k"), []byte(" null\r\n")),
		intakeRecord(0, nil, []byte(`{"a":1}`)),
		intakeRecord(0, []byte("k"), nil), // the last offset, too
	)
	r, _ := e.start()
	e.awaitCommit(0, 8)
	e.expect(0, "0 empty", "1 empty", "2 empty", "3 empty", "4 empty", "5 empty", "6 event", "7 empty")
	e.awaitStatus(r, func(s Status) bool { return len(s.Partitions) == 1 && s.Partitions[0].End == s.Partitions[0].Committed })
}

func TestFault_poison(t *testing.T) {
	e := newEnv(t, 1)
	e.k.Produce(
		intakeRecord(0, nil, []byte(`{"a":`)),
		intakeRecord(0, nil, []byte(`{"a":`+strings.Repeat("1", 90_000)+`}`)),
		intakeRecord(0, nil, []byte(strings.Repeat(`{"a":`, 10_000)+"1"+strings.Repeat("}", 10_000))),
		intakeRecord(0, nil, []byte{0, 0, 0, 0, 1, 2}),
		intakeRecord(0, nil, []byte("{\"a\":\"\xff\"}")),
		intakeRecord(0, nil, []byte(`[1]`)),
		intakeRecord(0, nil, []byte(`{"a":1}`)),
	)
	e.start()
	e.awaitCommit(0, 7)
	e.expect(0, "0 malformed", "1 event", "2 too_deep", "3 malformed", "4 malformed", "5 not_an_object", "6 event")
	for _, s := range e.stored() {
		if s.Origin.Offset == 0 && string(s.Payload) != `{"a":` {
			t.Fatalf("the letter holds %q", s.Payload)
		}
	}
}

func TestFault_offset_gaps(t *testing.T) {
	e := newEnv(t, 2)
	e.k.Values("events", 0, `{"n":0}`)
	e.k.Transaction(false, "events", 0, `{"n":1}`, `{"n":2}`) // 1, 2, marker 3
	e.k.Transaction(true, "events", 0, `{"n":4}`)             // 4, marker 5
	e.k.Transaction(false, "events", 0, `{"n":6}`)            // 6, marker 7
	e.k.Transaction(false, "events", 1, `{"n":0}`)            // nothing but a gap
	e.start()
	e.awaitCommit(0, 8)
	e.awaitCommit(1, 2)
	e.expect(0, "0 event", "1 skipped to 4", "4 event", "5 skipped to 8")
	e.expect(1, "0 skipped to 2")
}

func TestFault_offset_gaps_first_and_last_record_dead(t *testing.T) {
	e := newEnv(t, 1)
	e.k.Values("events", 0, `{`, `{"n":1}`, `}`)
	e.start()
	e.awaitCommit(0, 3)
	e.expect(0, "0 malformed", "1 event", "2 malformed")
}

func TestFault_seek_after_rebalance_to_a_start_above_zero(t *testing.T) {
	e := newEnv(t, 1)
	e.k.Values("events", 0, `{"n":0}`, `{"n":1}`, `{"n":2}`)
	if err := e.k.DeleteRecords("events", 0, 2); err != nil {
		t.Fatal(err)
	}
	e.start()
	e.awaitCommit(0, 3)
	e.expect(0, "2 event")
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

func TestFault_offset_out_of_range(t *testing.T) {
	e := newEnv(t, 2)
	e.k.Values("events", 0, `{"n":0}`)
	_, stop := e.start()
	e.awaitCommit(0, 1)
	stop()
	e.k.Values("events", 0, `{"n":1}`, `{"n":2}`, `{"n":3}`)
	e.k.Values("events", 1, `{"n":0}`)
	if err := e.k.DeleteRecords("events", 0, 3); err != nil {
		t.Fatal(err)
	}
	r, stop := e.start()
	e.awaitCommit(1, 1)
	e.awaitStatus(r, func(s Status) bool {
		return strings.Contains(s.Stopped["events[0]"], "2 offsets are lost")
	})
	if err := r.Ready(); err == nil {
		t.Fatal("ready, with a stopped partition")
	}
	stop()
	e.awaitCommit(0, 1)
	e.expect(0, "0 event")
	// An operator accepts the loss by the group's offset.
	if err := e.client.CommitGroup(e.context(), e.cfg.Group, "events", map[int32]int64{0: 3}, ""); err != nil {
		t.Fatal(err)
	}
	e.start()
	e.awaitCommit(0, 4)
	e.expect(0, "0 event", "3 event")
}

func TestFault_topic_recreated(t *testing.T) {
	for _, records := range []int{2, 6} { // the new end below and above the committed offset
		for _, running := range []bool{true, false} {
			t.Run(fmt.Sprintf("%d records, running %v", records, running), func(t *testing.T) {
				e := newEnv(t, 1)
				e.k.Values("events", 0, `{"n":0}`, `{"n":1}`, `{"n":2}`, `{"n":3}`)
				old, err := e.client.Topic(e.context(), "events")
				if err != nil {
					t.Fatal(err)
				}
				_, stop := e.start()
				e.awaitCommit(0, 4)
				if !running {
					stop()
				}
				if err := e.k.DeleteTopic("events"); err != nil {
					t.Fatal(err)
				}
				e.k.Topic("events", 1, nil)
				for range records {
					e.k.Values("events", 0, `{"new":true}`)
				}
				if !running {
					e.start()
				}
				e.awaitCommit(0, int64(records))
				now, err := e.client.Topic(e.context(), "events")
				if err != nil {
					t.Fatal(err)
				}
				count := map[event.TopicID]int{}
				for _, s := range e.stored() {
					count[s.Origin.Topic]++
				}
				if want := map[event.TopicID]int{old.ID: 4, now.ID: records}; !maps.Equal(count, want) {
					t.Fatalf("stored %v, want %v", count, want)
				}
			})
		}
	}
}

func TestFault_too_large(t *testing.T) {
	e := newEnv(t, 1)
	// At the intake's limit: it goes through.
	whole := `{"event_id":"` + strings.Repeat("i", 60_000) + `","x":"` + strings.Repeat("x", intakeLimit-60_000-200) + `"}`
	e.k.Values("events", 0, whole)
	_, stop := e.start()
	e.awaitCommit(0, 1)
	e.expect(0, "0 event")
	stop()
	// A shard topic with a smaller limit: it is dead, and nothing is stuck.
	if err := e.k.DeleteTopic("shards"); err != nil {
		t.Fatal(err)
	}
	e.k.Topic("shards", shardCount, map[string]string{"max.message.bytes": "10000"})
	e.k.Values("events", 0, whole, `{"n":1}`)
	e.start()
	e.awaitCommit(0, 3)
	e.expect(0, "1 too_large", "2 event")
	for _, s := range e.stored() {
		if s.Reason == event.ReasonTooLarge && (len(s.Payload) < 8000 || !strings.HasPrefix(whole, string(s.Payload))) {
			t.Fatalf("the letter holds %d bytes", len(s.Payload))
		}
	}
}

func TestFault_far_future(t *testing.T) {
	e := newEnv(t, 1)
	ahead := func(d time.Duration) string {
		return fmt.Sprintf(`{"timestamp":%q}`, time.Now().Add(d).Format(time.RFC3339))
	}
	e.k.Values("events", 0, `{"n":0}`, ahead(10*365*24*time.Hour), `{"timestamp":"9999-12-31T23:59:59Z"}`, ahead(11*time.Minute), ahead(8*time.Minute), `{"n":5}`)
	e.start()
	e.awaitCommit(0, 6)
	e.expect(0, "0 event", "1 too_far_in_future", "2 too_far_in_future", "3 too_far_in_future", "4 event", "5 event")
	// The horizon went up for the event that is eight minutes ahead, and for no other.
	if h := time.Unix(0, int64(e.keeper.Current().Horizon())); h.After(time.Now().Add(15 * time.Minute)) {
		t.Errorf("the horizon is at %s", h)
	}
}

func TestFault_far_past(t *testing.T) {
	e := newEnv(t, 1)
	e.k.Values("events", 0, `{"n":0}`, `{"timestamp":"1900-01-01T00:00:00Z"}`, `{"timestamp":"0001-01-01T00:00:00Z"}`, `{"timestamp":0}`, `{"timestamp":"2000-01-01T00:00:00Z"}`, `{"n":5}`)
	e.start()
	e.awaitCommit(0, 6)
	e.expect(0, "0 event", "1 too_far_in_past", "2 too_far_in_past", "3 too_far_in_past", "4 event", "5 event")
	for _, s := range e.stored() { // where a dead record lies is said by its Kafka timestamp
		if s.Kind == event.KindDead && time.Since(time.Unix(0, int64(s.FirstSeen))).Abs() > time.Hour {
			t.Errorf("offset %d was first seen at %d", s.Origin.Offset, s.FirstSeen)
		}
	}
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

func TestFault_catch_up(t *testing.T) {
	e := newEnv(t, 1)
	e.cfg.MaxBytes = 1 << 20
	value := []byte(`{"event_id":"e","text":"` + strings.Repeat("x", 2000) + `"}`)
	const n = 5000 // 10 MB, ten times what may be held
	records := make([]*kafka.Record, n)
	for i := range records {
		records[i] = intakeRecord(0, nil, value)
	}
	e.k.Produce(records...)
	r, _ := e.start()
	var most int64
	ctx := e.context()
	for {
		most = max(most, r.Status().HeldBytes)
		if e.k.Committed(e.cfg.Group, "events", 0) == n {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("stuck: %+v", r.Status())
		}
		time.Sleep(5 * time.Millisecond)
	}
	// One poll may come on top of what is held.
	if bound := e.cfg.MaxBytes + 8<<20; most > bound {
		t.Fatalf("held %d bytes, bound %d", most, bound)
	}
	if all := e.stored(); len(all) < n {
		t.Fatalf("stored %d", len(all))
	}
}

func TestFault_catch_up_empty_topic(t *testing.T) {
	e := newEnv(t, 1)
	r, _ := e.start()
	e.awaitStatus(r, func(s Status) bool { return s.Running && len(s.Partitions) == 1 })
	e.awaitCommit(0, 0)
	e.k.Values("events", 0, `{"n":0}`)
	e.awaitCommit(0, 1)
	e.expect(0, "0 event")
}

func TestFault_seek_after_rebalance(t *testing.T) {
	e := newEnv(t, 6)
	stopProducing := make(chan struct{})
	var produced [6]int64
	var producing sync.WaitGroup
	producing.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stopProducing:
				return
			default:
			}
			p := int32(i % 6)
			value := `{"n":1}`
			if i%7 == 0 {
				value = `{` // some batches hold dead letters only
			}
			e.k.Values("events", p, value)
			produced[p]++
		}
	})
	_, stop1 := e.start()
	for range 3 {
		_, stop2 := e.start()
		e.k.AwaitMembers(e.context(), e.cfg.Group, 2)
		stop1()
		stop1 = stop2
	}
	close(stopProducing)
	producing.Wait()
	seen := map[event.Source]map[int64]bool{}
	for p := range int32(6) {
		e.awaitCommit(p, produced[p])
	}
	for _, s := range e.stored() {
		if seen[s.Origin.Source] == nil {
			seen[s.Origin.Source] = map[int64]bool{}
		}
		seen[s.Origin.Source][s.Origin.Offset] = true
	}
	for src, offsets := range seen {
		if int64(len(offsets)) != produced[src.Partition] {
			t.Errorf("partition %d: %d of %d offsets stored", src.Partition, len(offsets), produced[src.Partition])
		}
	}
	if len(seen) != 6 {
		t.Fatalf("%d sources", len(seen))
	}
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

// TestFault_topic_recreated_shard_topic: what was not committed is sent again to the
// topic that is there.
func TestFault_topic_recreated_shard_topic(t *testing.T) {
	e := newEnv(t, 1)
	r, _ := e.start()
	e.k.Values("events", 0, `{"n":0}`)
	e.awaitCommit(0, 1)
	if err := e.k.DeleteTopic("shards"); err != nil {
		t.Fatal(err)
	}
	e.k.Values("events", 0, `{"n":1}`)
	e.awaitStatus(r, func(s Status) bool { return s.LastError != "" })
	e.k.Topic("shards", shardCount, ShardTopicConfigs(intakeLimit, false))
	e.awaitCommit(0, 2)
	e.expect(0, "1 event")
	if err := r.Ready(); err != nil {
		t.Fatal(err)
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
