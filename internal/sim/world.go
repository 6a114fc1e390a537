package sim

import (
	"context"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/sim/loop"
	"github.com/togodb/togo/placements"
	"github.com/togodb/togo/router"
	"github.com/togodb/togo/writer/shard"
)

const shardTopic = "shards"

var quiet = slog.New(slog.DiscardHandler)

// beginning is the true time at which a run begins: not long before an hour's end, so that
// buckets change on the way.
var beginning = time.Date(2026, 3, 1, 11, 55, 0, 0, time.UTC)

// world is one run: everything there is, and the loop that moves it.
type world struct {
	*loop.Loop
	opt     Options
	plan    plan
	faults  *faults
	delays  *rand.Rand
	nonces  *rand.Rand
	jitters *rand.Rand

	meta    objstore.Meta
	hasher  *event.Hasher
	limits  event.Limits
	objects *objstore.Memory
	broker  *broker
	watch   *watch
	ledger  *ledger
	traffic *traffic

	routers  []*routerProcess
	writers  []*writerProcess
	compacts []*compactorProcess
	operator *operator

	calls   []Call         // of the store and of Kafka, for a crash at the k-th
	answers map[string]int // to calls, by class
	tally   Tally
	failure string
}

// plan is what the seed decides before the run begins.
type plan struct {
	tenants         []string
	intakes         []string
	intakeParts     int
	shards          int
	maxShards       int
	routers         int
	writers         int
	overlapping     bool // every writer claims every shard
	events          int
	eventEvery      time.Duration
	faultRate       float64
	faultEvery      time.Duration
	changeEvery     time.Duration
	kafkaLoses      bool
	forgets         bool // floors rise and tenants are erased
	checkpointEvery int
	maxColumns      int
	maxRecordBytes  int
	fetchRecords    int
	reclaimAfter    time.Duration
	router          router.Config
	shard           shard.Config
	compaction      compactionPlan
	quietPoints     int
}

// random is a source of its own for each purpose, so that one draw more of one kind
// does not change all others.
func (w *world) random(purpose string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(purpose))
	return rand.New(rand.NewPCG(w.opt.Seed, h.Sum64()))
}

func drawPlan(r *rand.Rand) plan {
	p := plan{
		intakeParts: 1 + r.IntN(3), shards: 1 + r.IntN(3), routers: 1 + r.IntN(3), writers: 1 + r.IntN(3),
		overlapping: r.IntN(2) == 0, events: 60 + r.IntN(200), eventEvery: delay(r, 50*time.Millisecond, 4*time.Second),
		faultRate: []float64{0, 0.01, 0.05, 0.15}[r.IntN(4)], faultEvery: delay(r, 5*time.Second, 4*time.Minute),
		changeEvery: delay(r, 20*time.Second, 10*time.Minute), kafkaLoses: r.IntN(4) == 0, forgets: r.IntN(3) == 0,
		checkpointEvery: 1 + r.IntN(12), maxColumns: 4 + r.IntN(40), maxRecordBytes: 1 << 20,
		fetchRecords: 1 + r.IntN(30), reclaimAfter: delay(r, 2*time.Second, time.Minute), quietPoints: r.IntN(3),
	}
	p.maxShards = p.shards + r.IntN(3)
	for i := range 1 + r.IntN(5) {
		p.tenants = append(p.tenants, fmt.Sprintf("t%d", i))
	}
	for i := range 1 + r.IntN(2) {
		p.intakes = append(p.intakes, fmt.Sprintf("intake%d", i))
	}
	p.router = router.DefaultConfig()
	p.router.Linger = delay(r, time.Millisecond, time.Second)
	p.router.BatchEvents = 1 + r.Int64N(20)
	p.router.MaxBytes = 1 << 20
	p.router.CommitEvery = delay(r, 100*time.Millisecond, 30*time.Second)
	p.shard = shard.Config{
		FlushBytes: 100 + r.Int64N(20_000), FlushAge: delay(r, 200*time.Millisecond, 10*time.Second),
		SmallTenantBytes: r.Int64N(2_000), MemoryBytes: 20_000 + r.Int64N(1<<20),
		DedupBytes: 200 + r.Int64N(20_000), MaxOpen: 1 + r.IntN(50), LateAfter: 30 * time.Second,
	}
	p.shard.SmallTenantAge = p.shard.FlushAge * time.Duration(1+r.IntN(8))
	p.shard.ParkedBytes = p.shard.MemoryBytes / 4
	p.shard.DedupTenantBytes = p.shard.DedupBytes
	return p
}

func newWorld(opt Options) *world {
	w := &world{Loop: loop.New(opt.Trace), opt: opt, answers: map[string]int{}}
	w.delays, w.nonces, w.jitters = w.random("delays"), w.random("nonces"), w.random("jitters")
	w.plan = drawPlan(w.random("plan"))
	w.plan.compaction = drawCompaction(w.random("compaction"))
	if opt.plan != nil {
		opt.plan(&w.plan)
	}
	w.faults = &faults{w: w, rate: w.plan.faultRate, streams: map[string]*stream{}, down: map[string]time.Duration{}}
	w.meta = objstore.NewMeta(objstore.MetaDefaults{}, beginning)
	w.meta.ID = fmt.Sprintf("%032x", opt.Seed)
	for i := range w.meta.Seed {
		w.meta.Seed[i] = byte(w.nonces.IntN(256))
	}
	w.hasher = event.NewHasher(event.Seed(w.meta.Seed))
	w.limits = event.Limits{MinTime: event.Timestamp(w.meta.MinTime.UnixNano()), MaxFuture: w.meta.MaxFuture}
	w.objects = objstore.NewMemory()
	w.objects.Now = w.trueTime
	w.watch = newWatch(w)
	w.ledger = &ledger{w: w}
	w.broker = &broker{w: w, topics: map[string]*topic{}}
	w.broker.group = &group{b: w.broker, committed: map[kafkaTP]committed{}, timeout: 30 * time.Second}
	for _, name := range w.plan.intakes {
		w.broker.create(name, w.plan.intakeParts)
	}
	w.broker.create(shardTopic, w.plan.shards)
	w.traffic = &traffic{w: w, r: w.random("traffic")}
	return w
}

// populate makes the store, and starts the processes.
func (w *world) populate() {
	if err := w.objects.Put(context.Background(), objstore.MetaKey, objstore.EncodeMeta(w.meta)); err != nil {
		panic(err)
	}
	w.genesis()
}

// first is the name of the process that makes the store's placements.
const first = "first"

func (w *world) genesis() {
	p := w.NewProcess(first)
	p.Start()
	p.Spawn("genesis", func() {
		k := must(placements.NewKeeper(placements.Config{Store: &client{w, p}, Hasher: w.hasher, Now: w.clockOf(p), NewNonce: w.nonce, Backoff: w.backoff(p), Logger: quiet}))
		for {
			if _, err := k.Init(context.Background(), placements.NewGenesis(w.plan.shards)); err == nil {
				break
			}
			w.Sleep(time.Second)
		}
		w.After(0, w.startAll)
	})
}

func (w *world) startAll() {
	for i := range w.plan.routers {
		r := &routerProcess{Process: w.NewProcess(fmt.Sprintf("router%d", i)), w: w}
		w.routers = append(w.routers, r)
		w.startRouter(r)
	}
	for i := range w.plan.writers {
		p := &writerProcess{Process: w.NewProcess(fmt.Sprintf("writer%d", i)), w: w}
		if !w.plan.overlapping {
			for s := i; s < w.plan.maxShards; s += w.plan.writers {
				p.shards = append(p.shards, event.ShardID(s))
			}
		}
		w.writers = append(w.writers, p)
		w.startWriter(p)
	}
	for i := range w.plan.compaction.processes {
		p := &compactorProcess{Process: w.NewProcess(fmt.Sprintf("compactor%d", i)), w: w}
		w.compacts = append(w.compacts, p)
		w.startCompactor(p)
	}
	w.operator = w.startOperator()
	var expel func()
	expel = func() { w.broker.group.expel(); w.After(5*time.Second, expel) }
	expel()
}

func (w *world) trueTime() time.Time { return beginning.Add(w.Now()) }

// timeOf is what a process's cores are stepped with.
func (w *world) timeOf(p *loop.Process) time.Time { return w.trueTime().Add(p.SkewAtStart()) }

// clockOf is a process's wall clock.
func (w *world) clockOf(p *loop.Process) func() time.Time {
	return func() time.Time { return w.trueTime().Add(p.Skew) }
}

func (w *world) nonce() string {
	return fmt.Sprintf("%016x%016x", w.nonces.Uint64(), w.nonces.Uint64())
}

// backoff pauses by the simulated clock.
func (w *world) backoff(p *loop.Process) chain.Backoff {
	return chain.Backoff{
		Jitter: w.jitters.Float64,
		Sleep:  func(_ context.Context, d time.Duration) error { w.Sleep(d); return nil },
	}
}

// every has a process do f again and again, with a random time between lo and hi, until over.
func (w *world) every(p *loop.Process, lo, hi time.Duration, over *bool, f func()) {
	p.After(delay(w.delays, lo, hi), func() {
		if *over {
			return
		}
		f()
		w.every(p, lo, hi, over, f)
	})
}

// fail ends the run: a promise was broken.
func (w *world) fail(format string, args ...any) {
	if w.failure == "" {
		w.failure = fmt.Sprintf("at %s: ", w.Now().Round(time.Millisecond)) + fmt.Sprintf(format, args...)
		w.Note("FAILED %s", w.failure)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
