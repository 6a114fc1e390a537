package e2e

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/inspect"
	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/internal/kafka/kafkatest"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/placements"
	"github.com/togodb/togo/router"
	"github.com/togodb/togo/writer"
)

// path is the whole way of an event inside this process, from the bytes in an
// intake topic to what an operator reads out of the store.
type path struct {
	t      *testing.T
	kafka  *kafkatest.Cluster
	client *kafka.Client
	store  objstore.Store
	meta   objstore.Meta
	keeper *placements.Keeper
	sent   int64 // records in the intake
	again  int64 // of them, those that a router reads again; and those of topics that are no more

	skew    time.Duration // of the clock of the processes that run
	columns int           // at most, of a tenant; 0: the default
}

const (
	pathTopic  = "events"
	pathShards = 2
	// pathLimit is above the poison of 10 MB.
	pathLimit = 24 << 20
)

func newPath(t *testing.T, m event.Mapping) *path {
	t.Helper()
	return newPathAt(t, m, time.Now)
}

// newPathAt is a path whose store and placements have a clock of their own.
func newPathAt(t *testing.T, m event.Mapping, clock func() time.Time) *path {
	t.Helper()
	store := objstore.NewMemory()
	store.Now = clock
	p := &path{t: t, store: store}
	p.over(kafkatest.New(t))
	var err error
	p.meta, err = objstore.OpenMeta(t.Context(), p.store, objstore.MetaDefaults{})
	p.must(err)
	p.keeper = p.newKeeper(clock)
	g := placements.NewGenesis(pathShards)
	_, err = p.keeper.Init(t.Context(), g)
	p.must(err)
	_, err = p.keeper.Propose(t.Context(), placements.SetMapping(pathTopic, m, nil))
	p.must(err)
	return p
}

// over has the path go on over another cluster, whose topics are new.
func (p *path) over(k *kafkatest.Cluster) {
	p.t.Helper()
	p.kafka = k
	p.topics()
	p.client = k.Client()
}

// topics makes new topics; those that there were have been deleted.
func (p *path) topics() {
	p.t.Helper()
	p.kafka.Topic(pathTopic, 1, map[string]string{"max.message.bytes": fmt.Sprint(pathLimit)})
	p.kafka.Topic("shards", pathShards, router.ShardTopicConfigs(pathLimit, false))
	p.again, p.sent = p.again+p.sent, 0
}

func (p *path) newKeeper(clock func() time.Time) *placements.Keeper {
	p.t.Helper()
	k, err := placements.NewKeeper(placements.Config{Store: p.store, Hasher: event.NewHasher(event.Seed(p.meta.Seed)), Logger: kafkatest.Quiet(), Now: clock})
	p.must(err)
	return k
}

func (p *path) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// send puts values into the intake as a tenant's.
func (p *path) send(tenant string, at time.Time, values ...[]byte) {
	p.t.Helper()
	var records []*kafka.Record
	for _, v := range values {
		r := &kafka.Record{Topic: pathTopic, Value: v, Timestamp: at}
		r.Headers = append(r.Headers, kafka.Header{Key: "X-Scope-OrgID", Value: []byte(tenant)})
		records = append(records, r)
	}
	p.kafka.Produce(records...)
	p.sent += int64(len(values))
}

// start starts a router and a writer; stop wants both to end well.
func (p *path) start() (r *router.Router, w *writer.Writer, stop func()) {
	p.t.Helper()
	ctx, cancel := context.WithCancel(p.t.Context())
	rc := router.DefaultConfig()
	rc.CommitEvery = 50 * time.Millisecond
	clock := func() time.Time { return time.Now().Add(p.skew) }
	keeper := p.keeper
	if p.skew != 0 { // a process of its own
		keeper = p.newKeeper(clock)
		p.must(keeper.Load(ctx))
	}
	var err error
	r, err = router.New(rc, router.Deps{
		Intake: p.client, Topics: []string{pathTopic}, Shards: p.client, ShardTopic: "shards", Placements: keeper, Now: clock,
		Hasher: event.NewHasher(event.Seed(p.meta.Seed)),
		Limits: event.Limits{MinTime: event.Timestamp(p.meta.MinTime.UnixNano()), MaxFuture: p.meta.MaxFuture},
		Log:    kafkatest.Quiet(), Read: kafka.ReaderConfig{MaxWait: 50 * time.Millisecond},
	})
	p.must(err)
	wc := writer.DefaultConfig()
	wc.FlushAge, wc.SmallTenantAge = 100*time.Millisecond, 200*time.Millisecond
	if p.columns > 0 {
		wc.MaxColumns = p.columns
	}
	w, err = writer.New(wc, writer.Deps{Store: p.store, Meta: p.meta, Kafka: p.client, Topic: "shards", Placements: keeper, Owner: "test", Logger: kafkatest.Quiet(), Now: clock})
	p.must(err)
	done := make(chan error, 2)
	go func() { done <- r.Run(ctx) }()
	go func() { done <- w.Run(ctx) }()
	return r, w, func() {
		p.t.Helper()
		cancel()
		p.must(<-done)
		p.must(<-done)
	}
}

// run routes and stores everything, and stops in good order.
func (p *path) run() *inspect.View {
	p.t.Helper()
	_, w, stop := p.start()
	deadline, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	p.kafka.AwaitCommit(deadline, router.DefaultConfig().Group, pathTopic, 0, p.sent)
	for {
		v, err := inspect.Open(p.t.Context(), p.store, kafkatest.Quiet())
		p.must(err)
		if t := v.Totals(); t.Events >= p.sent+p.again {
			stop()
			break
		}
		select {
		case <-deadline.Done():
			p.t.Fatalf("%d of %d events are in a commit: %+v", v.Totals().Events, p.sent+p.again, w.Status())
		case <-time.After(20 * time.Millisecond):
		}
	}
	v, err := inspect.Open(p.t.Context(), p.store, kafkatest.Quiet())
	p.must(err)
	report, err := v.Verify(p.t.Context(), nil, "not asked")
	p.must(err)
	if report.Failed() > 0 {
		var b bytes.Buffer
		p.must(report.Write(&b))
		p.t.Errorf("verify:\n%s", &b)
	}
	return v
}

// reread has the next router read all of the intake once more.
func (p *path) reread() {
	p.t.Helper()
	p.must(p.client.CommitGroup(p.t.Context(), router.DefaultConfig().Group, pathTopic, map[int32]int64{0: 0}, ""))
	p.again += p.sent
}

// found is what became of an intake offset.
type found struct {
	at      event.Timestamp
	id      string
	payload string
	reason  event.Reason // of a letter
}

// all reads everything back, by intake offset; an offset that is there twice fails.
func (p *path) all(v *inspect.View) map[int64]found {
	p.t.Helper()
	out := map[int64]found{}
	add := func(offset int64, f found) {
		if was, twice := out[offset]; twice {
			p.t.Errorf("offset %d is there twice: %.100v and %.100v", offset, was, f)
		}
		out[offset] = f
	}
	span := inspect.Always
	for _, tenant := range v.Tenants() {
		for e, err := range v.Events(p.t.Context(), tenant, span) {
			p.must(err)
			payload, err := e.AppendJSON(nil)
			p.must(err)
			add(e.SourceOffset, found{e.Timestamp, string(e.ID), string(payload), ""})
		}
		for l, err := range v.Letters(p.t.Context(), tenant, span) {
			p.must(err)
			add(l.SourceOffset, found{l.Timestamp, string(l.ID), string(l.Payload), l.Reason})
		}
	}
	p.sameInSQL(v.Tenants(), out)
	return out
}

// commitsAreWhole wants each commit to hold, as events and letters, exactly the intake offsets that it says it has
// classed. It is for streams without copies.
func (p *path) commitsAreWhole(v *inspect.View) {
	p.t.Helper()
	for id := range v.Shards {
		records, err := shardlog.OpenWith(p.store, event.ShardID(id), shardlog.Config{Logger: kafkatest.Quiet()}).ReadAfter(p.t.Context(), 0, 10_000)
		p.must(err)
		for _, r := range records {
			if r.Record.Append == nil {
				continue
			}
			set := shardlog.NewIntake()
			p.must(set.Merge(r.Record.Append.Intake))
			classed := map[int64]bool{}
			for _, src := range set.Sources() {
				holes := set.Holes(src, 0, p.sent)
				for o := range p.sent {
					if len(shardlog.IntersectRanges(holes, shardlog.RangeSet{{From: o, Next: o + 1}})) == 0 {
						classed[o] = true
					}
				}
			}
			rows := map[int64]bool{}
			for _, f := range r.Record.Append.Fragments {
				p.offsets(f, rows)
			}
			if !maps.Equal(rows, classed) {
				p.t.Errorf("shard %d, record %d: rows of offsets %v, and %v are classed", id, r.Record.Position, slices.Sorted(maps.Keys(rows)), slices.Sorted(maps.Keys(classed)))
			}
		}
	}
}

// offsets adds the intake offsets of a fragment's rows.
func (p *path) offsets(f shardlog.Fragment, rows map[int64]bool) {
	p.t.Helper()
	r, err := fragment.Open(p.t.Context(), p.store, f.Key, f.Bytes)
	p.must(err)
	if f.Table == shardlog.TableDeadLetters {
		for l, err := range r.DeadLetters() {
			p.must(err)
			rows[l.SourceOffset] = true
		}
		return
	}
	for e, err := range r.Events() {
		p.must(err)
		rows[e.SourceOffset] = true
	}
}

func byHeader() []event.Rule { return []event.Rule{{Header: "X-Scope-OrgID"}} }
