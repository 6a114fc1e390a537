package scale

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sort"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/placements"
)

// world is the placements at the model's present, and the shard that stands for all.
type world struct {
	table *placements.Table
	shard event.ShardID
	// tenants are those that ever had the shard, with their shares of all events.
	tenants []member
	spreads []spread // of all tenants
}

// member is a tenant of the shard.
type member struct {
	name  event.TenantID
	share float64 // of all events, the tenant's, in all its shards
}

func tenantName(i int) event.TenantID { return event.TenantID(fmt.Sprintf("tenant-%06d", i)) }

// shares of the tenants by Zipf's law; they add up to 1.
func shares(n int, skew float64) []float64 {
	out := make([]float64, n)
	sum := 0.0
	for i := range out {
		out[i] = math.Pow(float64(i+1), -skew)
		sum += out[i]
	}
	for i := range out {
		out[i] /= sum
	}
	return out
}

// shardsFor gives a tenant as many shards as its share is of the load of one, and others with each turn.
func shardsFor(i, turn int, share float64, shards int) placements.Shards {
	n := min(shards, max(1, int(math.Ceil(share*float64(shards)))))
	first := int(mix(uint64(i), uint64(turn)) % uint64(shards))
	out := make(placements.Shards, n)
	for k := range out {
		out[k] = event.ShardID((first + k) % shards)
	}
	slices.Sort(out)
	return out
}

// mix is a number that looks random.
func mix(a, b uint64) uint64 { return rand.New(rand.NewPCG(a, b)).Uint64() }

// place makes the chain: genesis, every tenant placed, then the retention's days with their moves,
// and an extension of the horizon each hour.
func place(ctx context.Context, cfg Config, out *Placements) (*world, error) {
	now := end.Add(-time.Duration(cfg.RetentionDays)*24*time.Hour - 2*time.Hour)
	memory := objstore.NewMemory()
	memory.Now = func() time.Time { return now }
	registry := prometheus.NewRegistry()
	store := objstore.Instrument(memory, registry)
	config := placements.Config{Store: store, Hasher: event.NewHasher(event.Seed{byte(cfg.Seed)}), Now: memory.Now, Logger: quiet}
	k, err := placements.NewKeeper(config)
	if err != nil {
		return nil, err
	}
	if _, err := k.Init(ctx, placements.NewGenesis(cfg.Shards)); err != nil {
		return nil, err
	}
	share := shares(cfg.Tenants, cfg.Skew)
	if err := move(ctx, k, cfg, share, 0, 0, cfg.Tenants); err != nil {
		return nil, err
	}
	var extends []time.Duration
	for hour := 0; now.Before(end); hour++ {
		now = now.Add(time.Hour)
		began := cpuTime()
		if err := k.KeepAhead(ctx); err != nil {
			return nil, err
		}
		extends = append(extends, cpuTime()-began)
		if hour%24 == 23 {
			day := hour/24 + 1
			if err := move(ctx, k, cfg, share, day, (day-1)*cfg.MovesPerDay, cfg.MovesPerDay); err != nil {
				return nil, err
			}
			out.Moves += int64(cfg.MovesPerDay)
		}
	}
	if err := out.poll(ctx, k, registry); err != nil {
		return nil, err
	}
	slices.Sort(extends)
	out.ExtendCPUUs = float64(extends[len(extends)/2].Nanoseconds()) / 1e3
	if err := out.starts(ctx, config, memory); err != nil {
		return nil, err
	}
	table := k.Current()
	out.Versions = int64(table.Version())
	if err := out.lookups(table, cfg); err != nil {
		return nil, err
	}
	w := median(table, cfg, share)
	w.spreads = spreads(table, cfg)
	return w, nil
}

// move gives n tenants from first on (around the end) their shards of a day.
func move(ctx context.Context, k *placements.Keeper, cfg Config, share []float64, day, first, n int) error {
	var list []placements.Replacement
	t := k.Current()
	for i := first; i < first+n; i++ {
		i := i % cfg.Tenants
		list = append(list, placements.Replacement{Tenant: tenantName(i), Old: t.Latest(tenantName(i)), New: shardsFor(i, day, share[i], cfg.Shards)})
	}
	for _, change := range placements.Replace(list) {
		if _, err := k.Propose(ctx, change); err != nil {
			return err
		}
	}
	return nil
}

// poll counts the requests of a look that finds nothing new.
func (out *Placements) poll(ctx context.Context, k *placements.Keeper, registry *prometheus.Registry) error {
	before, err := counted(registry)
	if err != nil {
		return err
	}
	if _, err := k.Refresh(ctx); err != nil {
		return err
	}
	after, err := counted(registry)
	out.polled = after.less(before)
	out.PollRequests = out.polled.total()
	return err
}

// starts measures a process that begins with this chain, and its memory.
func (out *Placements) starts(ctx context.Context, config placements.Config, memory *objstore.Memory) error {
	registry := prometheus.NewRegistry()
	config.Store = objstore.Instrument(memory, registry)
	config.CheckpointEvery = 1 << 30 // to read only
	before := heap()
	k, err := placements.NewKeeper(config)
	if err != nil {
		return err
	}
	began := cpuTime()
	if err := k.Load(ctx); err != nil {
		return err
	}
	out.StartCPUMs = ms(cpuTime() - began)
	out.MemoryBytes = heap() - before
	c, err := counted(registry)
	if err != nil {
		return err
	}
	out.StartRequests, out.StartBytes = c.total(), c.bytesRead
	began = cpuTime()
	body, err := k.Current().Checkpoint()
	if err != nil {
		return err
	}
	out.CheckpointCPUMs, out.CheckpointBytes = ms(cpuTime()-began), int64(len(body))
	return nil
}

// lookups measures where an event goes: for a hundred tenants, as traffic has it, and for all in turn.
func (out *Placements) lookups(t *placements.Table, cfg Config) error {
	const n = 1_000_000
	at := event.Timestamp(end.Add(-time.Minute).UnixNano())
	for _, c := range []struct {
		tenants int
		ns      *float64
	}{{min(100, cfg.Tenants), &out.LookupHotNs}, {cfg.Tenants, &out.LookupColdNs}} {
		names := make([]event.TenantID, c.tenants)
		for i := range names {
			names[i] = tenantName(i)
		}
		began := cpuTime()
		for i := range n {
			if _, ok := t.Shard(names[i*7919%len(names)], at, uint64(i)); !ok {
				return fmt.Errorf("%s lies above the horizon", at)
			}
		}
		*c.ns = float64((cpuTime() - began).Nanoseconds()) / n
	}
	return nil
}

// median finds the shard with the median number of tenants at the present, and all that ever had it.
func median(table *placements.Table, cfg Config, share []float64) *world {
	at := event.Timestamp(end.Add(-time.Minute).UnixNano())
	count := make([]int, cfg.Shards)
	for i := range cfg.Tenants {
		for _, s := range table.ShardsOf(tenantName(i), at, at+1) {
			count[s]++
		}
	}
	order := make([]int, cfg.Shards)
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool { return count[order[a]] < count[order[b]] })
	w := &world{table: table, shard: event.ShardID(order[len(order)/2])}
	for i := range cfg.Tenants {
		if slices.Contains(table.ShardsOf(tenantName(i), placements.Beginning, table.Horizon()), w.shard) {
			w.tenants = append(w.tenants, member{tenantName(i), share[i]})
		}
	}
	return w
}

// inHour lists the tenants that the placements give the shard in an hour, with the part of all events that
// each brings to it.
func (w *world) inHour(hour time.Time) []member {
	from := event.Timestamp(hour.UnixNano())
	var out []member
	for _, m := range w.tenants {
		shards := w.table.ShardsOf(m.name, from, from+1)
		if slices.Contains(shards, w.shard) {
			out = append(out, member{m.name, m.share / float64(len(shards))})
		}
	}
	return out
}

// heap is the memory in use, without garbage.
func heap() int64 {
	runtime.GC()
	runtime.GC() // the first one may leave what finalizers held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
