package placements

import (
	"context"
	"fmt"
	"testing"

	"github.com/togodb/togo/bench/cpu"
	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
)

const benchTenants = 100_000

func benchName(i int) event.TenantID { return event.TenantID(fmt.Sprintf("tenant-%06d", i)) }

// benchTable has 100,000 placed tenants, each with three placements, over 64 shards.
func benchTable(tb testing.TB) *Table {
	table := Empty(testHasher())
	add := func(r Record) {
		r, body, err := sealed(table, r)
		if err == nil {
			table, err = table.Apply(r, body)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	genesis := NewGenesis(64)
	add(Record{Kind: KindGenesis, Genesis: &genesis})
	for round := range 3 {
		for first := 0; first < benchTenants; first += maxBatch {
			var p Place
			for i := first; i < first+maxBatch; i++ {
				a, b := event.ShardID((i+round)%64), event.ShardID((i+round+17)%64)
				p.Placements = append(p.Placements, TenantPlacement{benchName(i), Placement{event.Timestamp(round * 1000), Shards{a, b}}})
			}
			add(Record{Kind: KindPlace, Place: &p})
		}
	}
	add(Record{Kind: KindExtend, Extend: &Extend{Horizon: 10_000}})
	return table
}

// perEvent runs do for each event and reports its cost.
func perEvent(b *testing.B, do func(i int)) {
	m := cpu.Start(b)
	for i := range b.N {
		do(i)
	}
	m.PerEvent(b.N)
}

var sink event.ShardID

// BenchmarkShard looks up one of 100,000 tenants. "hot" asks for a hundred of them, as traffic does;
// "cold" jumps over all; "past" asks for an old placement; "default" for tenants without one.
func BenchmarkShard(b *testing.B) {
	table := benchTable(b)
	names := make([]event.TenantID, benchTenants)
	unknown := make([]event.TenantID, benchTenants)
	for i := range names {
		names[i] = benchName(i)
		unknown[i] = event.TenantID(fmt.Sprintf("unknown-%06d", i))
	}
	for _, c := range []struct {
		name  string
		names []event.TenantID
		ts    event.Timestamp
	}{
		{"hot", names[:100], 5000}, {"cold", names, 5000}, {"past", names[:100], 1500},
		{"default-hot", unknown[:100], 5000}, {"default-10k", unknown[:10_000], 5000}, {"default-100k", unknown, 5000},
	} {
		b.Run(c.name, func(b *testing.B) {
			perEvent(b, func(i int) {
				s, ok := table.Shard(c.names[i*7919%len(c.names)], c.ts, uint64(i))
				if !ok {
					b.Fatal("above the horizon")
				}
				sink = s
			})
		})
	}
}

// TestLookupsDoNotAllocate holds what BenchmarkShard shows.
func TestLookupsDoNotAllocate(t *testing.T) {
	genesis := NewGenesis(64)
	genesis.Tenants = map[event.TenantID]Shards{"acme": {1, 2}}
	genesis.Horizon = 1000
	r, body, _ := sealed(Empty(testHasher()), Record{Kind: KindGenesis, Genesis: &genesis})
	table, err := Empty(testHasher()).Apply(r, body)
	if err != nil {
		t.Fatal(err)
	}
	table.Shard("globex", 5, 9)
	if n := testing.AllocsPerRun(100, func() {
		table.Shard("acme", 5, 9)
		table.Shard("globex", 5, 9)
		table.Admits("globex", 5)
		table.Mapping("orders", 5)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkAdmits(b *testing.B) {
	table := benchTable(b)
	name := benchName(77)
	perEvent(b, func(i int) {
		if table.Admits(name, 5000) != Accepted {
			b.Fatal("not accepted")
		}
	})
}

func BenchmarkMapping(b *testing.B) {
	table := benchTable(b)
	perEvent(b, func(i int) { table.Mapping("events", 5000) })
}

// BenchmarkFold adds one record to a table of 100,000 tenants.
func BenchmarkFold(b *testing.B) {
	table := benchTable(b)
	for _, c := range []struct {
		name string
		r    Record
	}{
		{"extend", Record{Kind: KindExtend, Extend: &Extend{Horizon: 20_000}}},
		{"place", Record{Kind: KindPlace, Place: &Place{Placements: []TenantPlacement{{benchName(5), Placement{20_000, Shards{3}}}}}}},
		{"default", Record{Kind: KindDefault, Default: &Default{From: 20_000, Shards: Shards{1, 2, 3}, Spread: 1}}},
	} {
		r, body, err := sealed(table, c.r)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(c.name, func(b *testing.B) {
			perEvent(b, func(int) {
				if _, err := table.read(body); err != nil {
					b.Fatal(err)
				}
			})
			_ = r
		})
	}
}

// BenchmarkLoad starts with a checkpoint of 100,000 tenants and 100 records after it.
func BenchmarkLoad(b *testing.B) {
	ctx := context.Background()
	table := benchTable(b)
	body, err := table.Checkpoint()
	if err != nil {
		b.Fatal(err)
	}
	store := objstore.NewMemory()
	if err := store.Put(ctx, checkpointKey(table.version), body); err != nil {
		b.Fatal(err)
	}
	log := chain.Log{Store: store, Prefix: logPrefix}
	for i := range 99 {
		r, record, err := sealed(table, Record{Kind: KindExtend, Extend: &Extend{Horizon: 20_000 + event.Timestamp(i)}})
		if err != nil {
			b.Fatal(err)
		}
		if table, err = table.Apply(r, record); err != nil {
			b.Fatal(err)
		}
		if err := store.Put(ctx, log.Key(r.Version.Position()), record); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(body)), "checkpoint-bytes")
	b.ReportAllocs()
	for b.Loop() {
		k, err := NewKeeper(Config{Store: store, Hasher: testHasher()})
		if err != nil {
			b.Fatal(err)
		}
		if err := k.Load(ctx); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(body)), "checkpoint-bytes")
}

// BenchmarkCheckpoint encodes a table of 100,000 tenants.
func BenchmarkCheckpoint(b *testing.B) {
	table := benchTable(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := table.Checkpoint(); err != nil {
			b.Fatal(err)
		}
	}
}
