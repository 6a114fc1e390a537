package writer

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/internal/kafka/kafkatest"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/placements"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/twmb/franz-go/pkg/kfake.(*Cluster).run"),
		// A session of the client that ends while a fetch begins may leave this one behind; a
		// client that was not closed shows by its others.
		goleak.IgnoreAnyFunction("github.com/twmb/franz-go/pkg/kgo.(*fetchManager).manageFetchConcurrency"))
}

const topic = "shards"

// rig is a Kafka cluster, a store and what was sent: an oracle of what must be stored.
type rig struct {
	t        testing.TB
	kafka    *kafkatest.Cluster
	client   *kafka.Client
	store    objstore.Store // without faults
	meta     objstore.Meta
	hasher   *event.Hasher
	keeper   *placements.Keeper
	table    *placements.Table
	shards   int
	patience time.Duration // of await
	logger   *slog.Logger  // of the writers

	intake int64
	sent   map[int32]int64     // records by partition
	first  map[string]string   // payload by tenant, time and id
	want   map[string]struct{} // rows that must be there
}

func newRig(t testing.TB, store objstore.Store, shards int) *rig {
	t.Helper()
	r := &rig{t: t, patience: 30 * time.Second, logger: kafkatest.Quiet(), kafka: kafkatest.New(t), store: store, shards: shards,
		sent: map[int32]int64{}, first: map[string]string{}, want: map[string]struct{}{}}
	r.kafka.Topic(topic, int32(shards), nil)
	r.client = r.kafka.Client()
	r.meta = objstore.NewMeta(objstore.MetaDefaults{}, time.Now())
	r.meta.Seed = objstore.Seed{7}
	r.hasher = event.NewHasher(event.Seed(r.meta.Seed))
	ctx := context.Background()
	var err error
	r.keeper, err = placements.NewKeeper(placements.Config{Store: store, Hasher: r.hasher, Logger: kafkatest.Quiet()})
	r.must(err)
	_, err = r.keeper.Init(ctx, placements.NewGenesis(shards))
	r.must(err)
	r.table, err = r.keeper.Extend(ctx, event.Timestamp(time.Now().UnixNano()))
	r.must(err)
	return r
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// item is an event to be sent.
type item struct {
	tenant  string
	id      string // empty: made of the position
	seconds int64
	payload string
}

// send routes items as the router does: an envelope of each run of one tenant and shard.
func (r *rig) send(items ...item) {
	var records []*kafka.Record
	var env event.Envelope
	last := int32(-1)
	flush := func() {
		if len(env.Items) > 0 {
			records = append(records, &kafka.Record{Topic: topic, Partition: last, Value: event.AppendEnvelope(nil, &env)})
			r.sent[last]++
		}
		env = event.Envelope{}
	}
	for _, it := range items {
		e := event.Item{
			Kind: event.KindEvent, Timestamp: event.Timestamp(it.seconds * 1e9), ID: []byte(it.id), HasID: it.id != "",
			FirstSeen: event.Timestamp(1.7e18 + r.intake*1e6), Format: event.FormatJSON, Payload: []byte(it.payload),
			Origin: event.Origin{Source: event.Source{Cluster: "intake"}, Offset: r.intake},
		}
		r.intake++
		if !e.HasID {
			e.ID = event.PositionID(e.Origin)
		}
		s, ok := r.table.Shard(event.TenantID(it.tenant), e.Timestamp, r.hasher.Routing(e.ID))
		if !ok {
			r.t.Fatal("beyond the horizon")
		}
		if string(env.Tenant) != it.tenant || last != int32(s) || len(env.Items) >= 5 {
			flush()
			env.Tenant, env.PlacementVersion, last = event.TenantID(it.tenant), uint64(r.table.Version()), int32(s)
		}
		env.Items = append(env.Items, e)
		r.expect(&e, it)
	}
	flush()
	r.kafka.Produce(records...)
}

// expect is the oracle: the first payload of an identity is stored, any other
// is a letter.
func (r *rig) expect(e *event.Item, it item) {
	key := fmt.Sprintf("%s %d %s", it.tenant, it.seconds, e.ID)
	first, seen := r.first[key]
	switch {
	case !seen:
		r.first[key] = it.payload
		r.want[fmt.Sprintf("%s %s %s", it.tenant, e.ID, it.payload)+fmt.Sprint(" at ", it.seconds)] = struct{}{}
	case first != it.payload:
		r.want[fmt.Sprintf("%s letter %d %s", it.tenant, e.Origin.Offset, it.payload)] = struct{}{}
	}
}

// log is a shard's log, without faults.
func (r *rig) log(s int) *shardlog.Log {
	return shardlog.OpenWith(r.store, event.ShardID(s), shardlog.Config{Logger: kafkatest.Quiet()})
}

// rows reads back what the shard logs name.
func (r *rig) rows() []string {
	ctx := context.Background()
	var out []string
	for s := range r.shards {
		state, err := r.log(s).Load(ctx)
		r.must(err)
		state.Fragments("", -1<<40, 1<<40, func(f shardlog.Fragment) bool {
			out = append(out, r.fragment(ctx, f)...)
			return true
		})
	}
	slices.Sort(out)
	return out
}

func (r *rig) fragment(ctx context.Context, f shardlog.Fragment) (out []string) {
	fr, err := fragment.Open(ctx, r.store, f.Key, f.Bytes)
	r.must(err)
	if fr.Info().Rows != f.Rows || fr.Info().Tenant != f.Tenant {
		r.t.Fatalf("%s: %d rows of %s in the file, %d of %s in the log", f.Key, fr.Info().Rows, fr.Info().Tenant, f.Rows, f.Tenant)
	}
	body, err := r.store.Get(ctx, f.Key)
	r.must(err)
	if objstore.Sum(body) != f.Sum {
		r.t.Fatalf("%s has another checksum", f.Key)
	}
	if f.Table == shardlog.TableDeadLetters {
		for l, err := range fr.DeadLetters() {
			r.must(err)
			out = append(out, fmt.Sprintf("%s letter %d %s", f.Tenant, l.SourceOffset, l.Payload))
		}
		return out
	}
	for e, err := range fr.Events() {
		r.must(err)
		payload, err := e.AppendJSON(nil)
		r.must(err)
		out = append(out, fmt.Sprintf("%s %s %s at %d", f.Tenant, e.ID, payload, int64(e.Timestamp)/1e9))
	}
	return out
}

// check compares the store with the oracle.
func (r *rig) check() {
	r.t.Helper()
	got := r.rows()
	var want []string
	for row := range r.want {
		want = append(want, row)
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		r.t.Fatalf("the rows differ: got %d, want %d\n%s", len(got), len(want), diff(got, want))
	}
	var events, intake int64
	for s := range r.shards {
		state, err := r.log(s).Load(context.Background())
		r.must(err)
		events += state.Totals().Events
		if n := state.Totals().Records; n != r.sent[int32(s)] {
			r.t.Fatalf("shard %d: %d records closed of %d", s, n, r.sent[int32(s)])
		}
		classed, err := r.log(s).Intake(context.Background(), state)
		r.must(err)
		for _, in := range classed {
			set := shardlog.NewIntake()
			r.must(set.Merge([]shardlog.Intake{in}))
			intake += set.Count(in.Source)
		}
	}
	if events != r.intake || intake != r.intake {
		r.t.Fatalf("%d events sent, %d in the ledgers, %d intake offsets classed", r.intake, events, intake)
	}
}

func diff(got, want []string) string {
	var b strings.Builder
	count := map[string]int{}
	for _, g := range got {
		count[g]++
	}
	for _, w := range want {
		count[w]--
	}
	for row, n := range count {
		if n != 0 {
			fmt.Fprintf(&b, "%+d %s\n", n, row)
		}
	}
	return b.String()
}

// committed says whether all that was sent is closed.
func (r *rig) committed() bool {
	for s := range r.shards {
		state, err := r.log(s).Load(context.Background())
		r.must(err)
		var open int64
		for _, src := range state.Sources() {
			open += shardlog.CountRanges(src.Open)
		}
		if state.Totals().Records < r.sent[int32(s)] || open > 0 {
			return false
		}
	}
	return true
}

// process is a running writer.
type process struct {
	r        *rig
	w        *Writer
	happened chan struct{}
	stop     context.CancelFunc
	kill     context.CancelFunc
	done     chan error
}

// quick is a configuration for tests: flushes every few milliseconds.
func quick() Config {
	c := DefaultConfig()
	c.FlushAge, c.SmallTenantAge, c.SmallTenantBytes = 10*time.Millisecond, 30*time.Millisecond, 200
	c.CheckpointEvery = 5
	c.ReclaimAfter = 50 * time.Millisecond
	return c
}

func (r *rig) start(store objstore.Store, cfg Config) *process {
	r.t.Helper()
	return r.startWith(store, cfg, func(*Writer) {})
}

func (r *rig) startWith(store objstore.Store, cfg Config, change func(*Writer)) *process {
	r.t.Helper()
	p := &process{r: r, happened: make(chan struct{}, 1), done: make(chan error, 1)}
	w, err := New(cfg, Deps{Store: store, Meta: r.meta, Kafka: r.client, Topic: topic,
		Placements: r.keeper, Owner: "test", Logger: r.logger})
	r.must(err)
	w.backoff.Min, w.backoff.Max = time.Millisecond, 10*time.Millisecond
	p.w = w
	w.topicWatch = 20 * time.Millisecond
	change(w)
	w.published = func() {
		select {
		case p.happened <- struct{}{}:
		default:
		}
	}
	var stop, hard context.Context
	hard, p.kill = context.WithCancel(context.Background())
	stop, p.stop = context.WithCancel(hard)
	go func() { p.done <- w.run(stop, hard) }()
	return p
}

// dead kills the process and waits until nothing of it moves.
func (p *process) dead() {
	p.kill()
	<-p.done
}

// ended stops the process in good order.
func (p *process) ended() {
	p.r.t.Helper()
	p.stop()
	if err := <-p.done; err != nil {
		p.r.t.Fatal(err)
	}
	p.kill()
}

// await waits until cond holds; it looks whenever a shard has something new to show.
func (p *process) await(what string, cond func() bool) {
	p.r.t.Helper()
	deadline := time.After(p.r.patience)
	for !cond() {
		select {
		case <-p.happened:
		case <-time.After(20 * time.Millisecond): // what happens in the store tells nobody
		case <-deadline:
			p.r.t.Fatalf("%s: not within %s: %+v", what, p.r.patience, p.w.Status())
		}
	}
}

// traffic is a stream with copies, conflicts, late events and events without ids.
func traffic(rng *rand.Rand, n int) []item {
	var out []item
	for i := range n {
		switch k := rng.IntN(20); {
		case k == 0 && i > 0: // an exact copy
			if old := out[rng.IntN(i)]; old.id != "" {
				out = append(out, old)
				continue
			}
		case k == 1 && i > 0: // a conflict
			if old := out[rng.IntN(i)]; old.id != "" {
				old.payload = fmt.Sprintf(`{"other":%d}`, i)
				out = append(out, old)
				continue
			}
		}
		it := item{tenant: fmt.Sprintf("t%d", rng.IntN(1+rng.IntN(6))), id: fmt.Sprintf("id%d", i),
			seconds: 1_600_000_000 + rng.Int64N(3)*3600 + rng.Int64N(600), payload: fmt.Sprintf(`{"n":%d}`, i)}
		if rng.IntN(10) == 0 {
			it.id = ""
		}
		out = append(out, it)
	}
	return out
}
