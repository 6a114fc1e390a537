package router

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/internal/kafka/kafkatest"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/placements"
)

var (
	start  = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) // the clock of all tests
	hasher = event.NewHasher(event.Seed{1, 2, 3})
	limits = event.Limits{
		MinTime:   event.Timestamp(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()),
		MaxFuture: 10 * time.Minute,
	}
	topicID = event.TopicID{7}
)

func ts(t time.Time) event.Timestamp { return event.Timestamp(t.UnixNano()) }

func source(partition int32) event.Source {
	return event.Source{Cluster: "test", Topic: topicID, Partition: partition}
}

func tp(partition int32) kafka.TopicPartition {
	return kafka.TopicPartition{Topic: "events", Partition: partition}
}

// newKeeper keeps placements in memory, with a horizon some minutes ahead of start.
func newKeeper(t testing.TB, change func(*placements.Genesis)) *placements.Keeper {
	t.Helper()
	store := objstore.NewMemory()
	store.Now = func() time.Time { return start }
	k, err := placements.NewKeeper(placements.Config{
		Store: store, Hasher: hasher, Now: func() time.Time { return start }, Logger: kafkatest.Quiet(),
	})
	if err != nil {
		t.Fatal(err)
	}
	g := placements.NewGenesis(4)
	if change != nil {
		change(&g)
	}
	if _, err := k.Init(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Extend(t.Context(), ts(start)); err != nil {
		t.Fatal(err)
	}
	return k
}

// harness drives a Core and keeps what it produced.
type harness struct {
	t      testing.TB
	keeper *placements.Keeper
	core   *Core
	now    time.Time
	out    []Produce // not acknowledged
	pauses []string
	commit map[kafka.TopicPartition]kafka.Position // of the last Step
	seeks  map[kafka.TopicPartition]kafka.Position // of the last Step
	sent   []sent
}

// sent is an item as it was produced.
type sent struct {
	batch  BatchID
	shard  event.ShardID
	tenant event.TenantID
	event.Item
}

func newHarness(t testing.TB, cfg func(*CoreConfig), genesis func(*placements.Genesis)) *harness {
	t.Helper()
	h := &harness{t: t, keeper: newKeeper(t, genesis), now: start}
	c := CoreConfig{Config: DefaultConfig(), Hasher: hasher, Limits: limits, MaxRecordBytes: 1 << 20}
	if cfg != nil {
		cfg(&c)
	}
	h.core = NewCore(c, h.keeper.Current())
	return h
}

func (h *harness) step(in Input) {
	h.t.Helper()
	e := h.core.Step(h.now, in)
	if e.Fatal != nil {
		h.t.Fatal(e.Fatal)
	}
	h.commit = maps.Clone(e.Commit)
	h.seeks = maps.Clone(e.Seek)
	for _, p := range e.Produce {
		p.Value = slices.Clone(p.Value)
		h.out = append(h.out, p)
		var env event.Envelope
		if err := event.DecodeEnvelope(p.Value, &env); err != nil {
			h.t.Fatalf("envelope of batch %d: %v", p.Batch, err)
		}
		if len(p.Value) > h.core.cfg.MaxRecordBytes {
			h.t.Fatalf("envelope of %d bytes", len(p.Value))
		}
		for _, it := range env.Items {
			h.sent = append(h.sent, sent{p.Batch, p.Shard, env.Tenant, it})
		}
	}
	for _, p := range e.Pause {
		h.pauses = append(h.pauses, fmt.Sprintf("pause %d", p.Partition))
	}
	for _, p := range e.Resume {
		h.pauses = append(h.pauses, fmt.Sprintf("resume %d", p.Partition))
	}
}

func (h *harness) assign(partition int32, from int64) {
	h.step(Assigned{[]kafka.Assignment{{
		TopicPartition: tp(partition), Source: source(partition), Start: kafka.Position{Offset: from, LeaderEpoch: -1},
	}}})
}

func (h *harness) fetch(partition int32, records ...*kafka.Record) {
	h.step(Fetched{kafka.Batch{
		Topic: "events", Source: source(partition), Partition: partition, Records: records,
		Next: records[len(records)-1].Offset + 1, End: records[len(records)-1].Offset + 1,
	}})
}

// linger lets open batches come due.
func (h *harness) linger() {
	h.now = h.now.Add(h.core.cfg.Linger)
	h.step(Tick{})
}

// ackAll acknowledges everything that was produced.
func (h *harness) ackAll() {
	out := h.out
	h.out = nil
	for _, p := range out {
		h.step(Acked{Batch: p.Batch})
	}
}

// commitNow lets the interval pass and returns the offset committed for a partition; -1: none.
func (h *harness) commitNow(partition int32) int64 {
	h.now = h.now.Add(h.core.cfg.CommitEvery)
	h.step(Tick{})
	pos, ok := h.commit[tp(partition)]
	if h.commit != nil {
		h.step(Committed{h.commit, true})
	}
	if !ok {
		return -1
	}
	return pos.Offset
}

func record(offset int64, value string) *kafka.Record {
	return &kafka.Record{Offset: offset, Value: []byte(value), Timestamp: start, LeaderEpoch: 3}
}

func at(r *kafka.Record, t time.Time) *kafka.Record { r.Timestamp = t; return r }

func of(r *kafka.Record, tenant string) *kafka.Record {
	r.Headers = append(r.Headers, kafka.Header{Key: "X-Scope-OrgID", Value: []byte(tenant)})
	return r
}

func TestCoreRoutesByPlacement(t *testing.T) {
	h := newHarness(t, nil, nil)
	h.assign(0, 10)
	h.fetch(0,
		of(record(10, `{"event_id":"a","timestamp":"2026-03-01T11:59:00Z"}`), "shop"),
		of(record(11, `{"event_id":"a","timestamp":"2026-03-01T11:59:00Z"}`), "bank"),
		record(12, `{"n":1}`),
		record(13, `{"timestamp":"nonsense"}`),
		of(record(14, `{"timestamp":"2036-03-01T11:59:00Z"}`), "shop"),
		record(15, ``),
	)
	h.linger()
	table := h.keeper.Current()
	type row struct {
		tenant event.TenantID
		shard  event.ShardID
		reason event.Reason
		id     string
	}
	place := func(tenant event.TenantID, id []byte, t event.Timestamp) event.ShardID {
		s, ok := table.Shard(tenant, t, hasher.Routing(id))
		if !ok {
			panic("above the horizon")
		}
		return s
	}
	seen := ts(start)
	minuteAgo := ts(start.Add(-time.Minute))
	origin := func(o int64) event.Origin {
		return event.Origin{Source: source(0), LeaderEpoch: 3, Offset: o}
	}
	dead := table.DeadShard(source(0))
	position := event.PositionID(origin(12))
	want := map[int64]row{
		10: {"shop", place("shop", []byte("a"), minuteAgo), "", "a"},
		11: {"bank", place("bank", []byte("a"), minuteAgo), "", "a"},
		12: {"anonymous", place("anonymous", position, seen), "", string(position)},
		13: {"anonymous", dead, event.ReasonBadTimestamp, string(event.LetterID(origin(13)))},
		14: {"shop", dead, event.ReasonTooFarInFuture, string(event.LetterID(origin(14)))},
		15: {"anonymous", dead, event.ReasonEmpty, string(event.LetterID(origin(15)))},
	}
	got := map[int64]row{}
	for _, s := range h.sent {
		got[s.Origin.Offset] = row{s.tenant, s.shard, s.Reason, string(s.ID)}
		if s.Origin.Source != source(0) || s.FirstSeen != seen {
			t.Errorf("offset %d: origin %v, first seen %v", s.Origin.Offset, s.Origin, s.FirstSeen)
		}
	}
	for offset, w := range want {
		if got[offset] != w {
			t.Errorf("offset %d: got %+v, want %+v", offset, got[offset], w)
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %d items", len(got))
	}
}

// TestCorePlacesByTheEventsOwnTime: a copy that comes later, or earlier, goes where the
// first one went, whatever its record's Kafka timestamp.
func TestCorePlacesByTheEventsOwnTime(t *testing.T) {
	h := newHarness(t, nil, func(g *placements.Genesis) {
		g.Tenants = map[event.TenantID]placements.Shards{"shop": {0}}
	})
	edge := h.keeper.Current().Horizon()
	_, err := h.keeper.Propose(t.Context(), func(*placements.Table) (placements.Record, error) {
		return placements.Record{Kind: placements.KindPlace, Place: &placements.Place{Placements: []placements.TenantPlacement{
			{Tenant: "shop", Placement: placements.Placement{From: edge, Shards: placements.Shards{3}}},
		}}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	table, err := h.keeper.Extend(t.Context(), edge+event.Timestamp(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	h.step(NewTable{table})
	h.assign(0, 0)
	before, after := edge.Time().Add(-time.Second), edge.Time()
	text := func(at time.Time) string {
		return fmt.Sprintf(`{"event_id":"a","timestamp":%q}`, at.Format(time.RFC3339Nano))
	}
	h.fetch(0,
		of(at(record(0, text(before)), before), "shop"),
		of(at(record(1, text(before)), after.Add(time.Second)), "shop"), // comes late
		of(at(record(2, text(after)), after), "shop"),
		of(at(record(3, text(after)), before), "shop"), // was sent with a clock ahead
	)
	h.linger()
	if len(h.sent) != 4 {
		t.Fatalf("%d items sent", len(h.sent))
	}
	for _, s := range h.sent {
		want := event.ShardID(0)
		if s.Origin.Offset >= 2 {
			want = 3
		}
		if s.shard != want || s.Kind != event.KindEvent {
			t.Errorf("offset %d: in shard %d, want %d: %+v", s.Origin.Offset, s.shard, want, s.Item)
		}
	}
}

func TestCoreCommitsWhatIsAcknowledgedInOrder(t *testing.T) {
	h := newHarness(t, func(c *CoreConfig) { c.BatchEvents = 1 }, nil)
	h.assign(0, 0)
	h.fetch(0, record(0, `{}`), record(1, `{}`), record(2, `{}`))
	if len(h.out) != 3 {
		t.Fatalf("%d batches", len(h.out))
	}
	for _, step := range []struct {
		ack  int
		want int64
	}{{1, -1}, {0, 2}, {2, 3}} {
		h.step(Acked{Batch: h.out[step.ack].Batch})
		if got := h.commitNow(0); got != step.want {
			t.Fatalf("after ack %d: committed %d, want %d", step.ack, got, step.want)
		}
	}
	// A commit that failed is tried again.
	h.fetch(0, record(3, `{}`))
	h.step(Acked{Batch: h.out[3].Batch})
	h.now = h.now.Add(h.core.cfg.CommitEvery)
	h.step(Tick{})
	if h.commit[tp(0)].Offset != 4 || h.commit[tp(0)].LeaderEpoch != 3 {
		t.Fatalf("commit %v", h.commit)
	}
	h.step(Committed{h.commit, false})
	if got := h.commitNow(0); got != 4 {
		t.Fatalf("committed %d", got)
	}
}

func TestCoreGathers(t *testing.T) {
	h := newHarness(t, func(c *CoreConfig) { c.BatchEvents = 10; c.BatchBytes = 2000 }, nil)
	h.assign(0, 0)
	for i := range 25 {
		h.fetch(0, of(record(int64(i), `{"event_id":"same"}`), "shop"))
	}
	if len(h.out) != 2 || len(h.sent) != 20 {
		t.Fatalf("%d batches, %d events before the linger", len(h.out), len(h.sent))
	}
	if due := h.core.NextDue(); !due.Equal(start.Add(h.core.cfg.Linger)) {
		t.Fatalf("due %v", due)
	}
	h.linger()
	if len(h.out) != 3 || len(h.sent) != 25 {
		t.Fatalf("%d batches, %d events after the linger", len(h.out), len(h.sent))
	}
	big := `{"event_id":"same","text":"` + strings.Repeat("x", 900) + `"}`
	h.fetch(0, of(record(25, big), "shop"), of(record(26, big), "shop"), of(record(27, big), "shop"))
	h.linger()
	if len(h.out) != 6 {
		t.Fatalf("%d batches: not divided by size", len(h.out))
	}
	for _, p := range h.out {
		if len(p.Value) > 2000 {
			t.Fatalf("a batch of %d bytes", len(p.Value))
		}
	}
}

func TestCoreSkipsOffsetsWithoutRecords(t *testing.T) {
	control := func(offset int64) *kafka.Record {
		return kafka.AsControl(record(offset, ""))
	}
	h := newHarness(t, nil, nil)
	h.assign(0, 5)
	h.fetch(0, record(8, `{}`), record(9, `{}`), control(12), control(13), record(14, `{}`))
	h.fetch(0, control(20))
	h.linger()
	var got []string
	for _, s := range h.sent {
		if s.Kind == event.KindSkipped {
			if s.tenant != event.Unroutable || s.shard != h.keeper.Current().DeadShard(source(0)) {
				t.Errorf("skip of %s in shard %s", s.tenant, s.shard)
			}
			got = append(got, fmt.Sprintf("%d-%d", s.Origin.Offset, s.SkipTo))
		}
	}
	if want := []string{"5-8", "10-14", "15-21"}; !slices.Equal(got, want) {
		t.Fatalf("skipped %v, want %v", got, want)
	}
	h.ackAll()
	if c := h.commitNow(0); c != 21 {
		t.Fatalf("committed %d", c)
	}
}

func TestCoreWaitsForTheHorizon(t *testing.T) {
	h := newHarness(t, nil, nil)
	h.assign(0, 0)
	h.assign(1, 0)
	soon := start.Add(9 * time.Minute)
	h.fetch(0, record(0, `{}`), record(1, fmt.Sprintf(`{"timestamp":%q}`, soon.Format(time.RFC3339))), record(2, `{}`))
	h.fetch(0, record(3, `{}`))
	h.fetch(1, record(0, `{}`))
	h.linger()
	if len(h.sent) != 2 || !slices.Equal(h.pauses, []string{"pause 0"}) {
		t.Fatalf("%d sent, %v", len(h.sent), h.pauses)
	}
	need, ok := h.core.Need()
	if !ok || need.Horizon != ts(soon) || len(need.Admit) > 0 {
		t.Fatalf("need %+v", need)
	}
	held := h.core.Bytes()
	h.ackAll()
	if c := h.commitNow(0); c != 1 {
		t.Fatalf("committed %d", c)
	}
	table, err := h.keeper.Extend(t.Context(), need.Horizon)
	if err != nil {
		t.Fatal(err)
	}
	h.step(NewTable{table})
	h.linger()
	if len(h.sent) != 5 || !slices.Equal(h.pauses, []string{"pause 0", "resume 0"}) {
		t.Fatalf("%d sent, %v", len(h.sent), h.pauses)
	}
	h.ackAll()
	if c := h.commitNow(0); c != 4 {
		t.Fatalf("committed %d", c)
	}
	if held == 0 || h.core.Bytes() != 0 {
		t.Fatalf("held %d, then %d bytes", held, h.core.Bytes())
	}
	if _, ok := h.core.Need(); ok {
		t.Fatal("still in need")
	}
}

func TestCoreGivesBackWhatWaitsTooLong(t *testing.T) {
	h := newHarness(t, func(c *CoreConfig) { c.MaxBytes = 1 << 20 }, nil)
	h.assign(0, 0)
	h.fetch(0, record(0, `{}`), at(record(1, `{"text":"`+strings.Repeat("x", 1<<20)+`"}`), start.Add(time.Hour/2)), record(2, `{}`))
	if !h.core.Crowded() {
		t.Fatal("there is room")
	}
	h.step(Rewind{})
	if len(h.seeks) != 1 || h.seeks[tp(0)] != (kafka.Position{Offset: 1, LeaderEpoch: 3}) || h.core.Full() {
		t.Fatalf("seek %v, %d bytes", h.seeks, h.core.Bytes())
	}
	need, ok := h.core.Need()
	if !ok {
		t.Fatal("the need is forgotten")
	}
	table, err := h.keeper.Extend(t.Context(), need.Horizon)
	if err != nil {
		t.Fatal(err)
	}
	h.step(NewTable{table})
	if !slices.Equal(h.pauses, []string{"pause 0", "resume 0"}) {
		t.Fatalf("%v", h.pauses)
	}
	h.fetch(0, record(1, `{}`), record(2, `{}`))
	h.linger()
	h.ackAll()
	if c := h.commitNow(0); c != 3 {
		t.Fatalf("committed %d", c)
	}
}

func TestCoreStopsAtAKafkaTimestampFromTheFuture(t *testing.T) {
	for _, claimed := range []time.Time{start.Add(2 * time.Hour), start.AddDate(400, 0, 0)} { // the latter is beyond 64 bits of ns
		h := newHarness(t, nil, nil)
		h.assign(0, 0)
		h.fetch(0, at(record(0, `{}`), claimed), record(1, `{}`))
		h.linger()
		need, ok := h.core.Need()
		if !ok || len(h.sent) != 0 {
			t.Fatalf("need %+v, sent %v", need, h.sent)
		}
		if _, err := h.keeper.Extend(t.Context(), need.Horizon); err == nil {
			t.Fatal("the horizon went there")
		}
	}
}

func TestCoreAdmitsTenants(t *testing.T) {
	h := newHarness(t, nil, func(g *placements.Genesis) { g.Admission.MaxTenants = 1 })
	h.assign(0, 0)
	h.fetch(0, of(record(0, `{}`), "first"), of(record(1, `{}`), "second"), of(record(2, `{`), "third"))
	for range 2 {
		need, ok := h.core.Need()
		if !ok {
			break
		}
		table, err := h.keeper.Admit(t.Context(), need.Admit...)
		if err != nil {
			t.Fatal(err)
		}
		h.step(NewTable{table})
	}
	h.linger()
	var got []string
	for _, s := range h.sent {
		got = append(got, fmt.Sprintf("%d %s %s", s.Origin.Offset, s.tenant, s.Reason))
	}
	slices.Sort(got)
	want := []string{"0 first ", "1 _unroutable unknown_tenant", "2 _unroutable malformed"}
	if !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
}

func TestCoreCutsWhatIsTooLarge(t *testing.T) {
	h := newHarness(t, func(c *CoreConfig) { c.MaxRecordBytes = 2000 }, nil)
	h.assign(0, 0)
	big := `{"event_id":"x","text":"` + strings.Repeat("x", 3000) + `"}`
	h.fetch(0, of(record(0, `{"event_id":"x"}`), "shop"), of(record(1, big), "shop"), of(record(2, "{"+strings.Repeat("x", 3000)), "shop"))
	h.linger()
	if len(h.sent) != 3 {
		t.Fatalf("%d sent", len(h.sent))
	}
	for _, s := range h.sent[0:] {
		switch s.Origin.Offset {
		case 1:
			if s.Reason != event.ReasonTooLarge || !strings.HasPrefix(big, string(s.Payload)) || len(s.Payload) < 1500 ||
				string(s.ID) != string(event.LetterID(s.Origin)) || s.tenant != "shop" {
				t.Errorf("large event: %s, %d bytes, id %s", s.Reason, len(s.Payload), s.ID)
			}
		case 2:
			if s.Reason != event.ReasonMalformed || len(s.Payload) < 1500 || !strings.Contains(s.Detail, "3001 bytes is cut") {
				t.Errorf("large letter: %s, %q, %d bytes", s.Reason, s.Detail, len(s.Payload))
			}
		}
	}
	h.ackAll()
	if c := h.commitNow(0); c != 3 {
		t.Fatalf("committed %d", c)
	}
}

func TestCoreDividesWhatTheTopicRefuses(t *testing.T) {
	h := newHarness(t, nil, nil)
	h.assign(0, 0)
	h.fetch(0, of(record(0, `{"event_id":"a"}`), "shop"), of(record(1, `{"event_id":"a","text":"`+strings.Repeat("x", 4000)+`"}`), "shop"))
	h.linger()
	const limit = 1000 // of the topic, unknown to the Core
	for rounds := 0; len(h.out) > 0; rounds++ {
		out := h.out
		h.out = nil
		for _, p := range out {
			if len(p.Value) <= limit {
				h.step(Acked{Batch: p.Batch})
			} else {
				if c := h.commitNow(0); c > 1 {
					t.Fatalf("committed %d before its record is stored", c)
				}
				h.step(Acked{Batch: p.Batch, TooLarge: true})
			}
		}
		if rounds > 10 {
			t.Fatal("never ends")
		}
	}
	last := h.sent[len(h.sent)-1]
	if last.Origin.Offset != 1 || last.Reason != event.ReasonTooLarge || len(last.Payload) == 0 {
		t.Fatalf("last: %+v", last.Item)
	}
	if c := h.commitNow(0); c != 2 && h.core.Lags()[0].Committed != 2 {
		t.Fatalf("committed %d", c)
	}
	if !h.core.Idle() || h.core.Bytes() != 0 {
		t.Fatalf("idle %v, %d bytes", h.core.Idle(), h.core.Bytes())
	}
}

func TestCoreRevoke(t *testing.T) {
	h := newHarness(t, func(c *CoreConfig) { c.BatchEvents = 1 }, nil)
	h.assign(0, 0)
	h.assign(1, 0)
	h.fetch(0, record(0, `{}`), record(1, `{}`))
	h.fetch(1, record(0, `{}`))
	h.step(Acked{Batch: h.out[0].Batch})
	h.step(Revoked{[]kafka.TopicPartition{tp(0)}})
	if len(h.commit) != 1 || h.commit[tp(0)].Offset != 1 {
		t.Fatalf("commit at revoke: %v", h.commit)
	}
	// What comes late of a partition that went away changes nothing.
	h.step(Acked{Batch: h.out[1].Batch})
	h.fetch(0, record(2, `{}`))
	h.step(Acked{Batch: h.out[2].Batch})
	if c := h.commitNow(0); c != -1 {
		t.Fatalf("committed %d of a partition that is gone", c)
	}
	// It comes back, from where the other member committed.
	h.assign(0, 7)
	h.fetch(0, record(7, `{}`))
	h.step(Acked{Batch: h.out[3].Batch})
	if c := h.commitNow(0); c != 8 {
		t.Fatalf("committed %d", c)
	}
}

func TestCoreCommitsAFreshStart(t *testing.T) {
	h := newHarness(t, nil, nil)
	h.step(Assigned{[]kafka.Assignment{{TopicPartition: tp(0), Source: source(0), Start: kafka.Position{Offset: 500, LeaderEpoch: -1}, Fresh: true}}})
	if c := h.commitNow(0); c != 500 {
		t.Fatalf("committed %d", c)
	}
	h.fetch(0, record(500, `{}`))
	h.linger()
	if len(h.sent) != 1 || h.sent[0].Kind != event.KindEvent {
		t.Fatalf("sent %v: what lies below a fresh start is no loss", h.sent)
	}
}

func TestCoreIsFullAndEmptiesAgain(t *testing.T) {
	h := newHarness(t, func(c *CoreConfig) { c.MaxBytes = 1 << 20 }, nil)
	h.assign(0, 0)
	value := `{"text":"` + strings.Repeat("x", 10_000) + `"}`
	offset := int64(0)
	for !h.core.Full() {
		h.fetch(0, record(offset, value))
		offset++
		if offset > 200 {
			t.Fatal("never full")
		}
	}
	h.linger()
	h.ackAll()
	if h.core.Full() || h.core.Bytes() != 0 {
		t.Fatalf("%d bytes", h.core.Bytes())
	}
}
