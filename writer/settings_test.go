package writer

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/togodb/togo/internal/objstore"
)

// TestFault_config_change: writers die in the middle of uploads and commits, and each starts again with other settings: other
// buffers, budgets, bounds of columns and of open offsets, concurrency, checkpoints. All is stored once.
func TestFault_config_change(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 21))
			r := newRig(t, objstore.NewMemory(), 2)
			pick := func(of ...int) int { return of[rng.IntN(len(of))] }
			settings := func() Config {
				c := quick()
				c.FlushBytes = int64(pick(1, 500, 64<<20))
				c.SmallTenantBytes = int64(pick(0, 200, 1<<20))
				c.MemoryBudget = int64(pick(200_000, 64<<20))
				c.DedupBudget = int64(pick(10_000, 64<<20))
				c.DedupQuota = []float64{0.1, 1}[rng.IntN(2)]
				c.MaxOpen = pick(1, 3, 1000)
				c.MaxColumns = pick(1, 2, 5, 1000)
				c.CheckpointEvery = pick(1, 3, 64)
				c.UploadConcurrency, c.ReadConcurrency = pick(1, 16), pick(1, 8)
				return c
			}
			items := traffic(rng, 400)
			for i := range items { // more fields than some of the bounds
				if items[i].payload == fmt.Sprintf(`{"n":%d}`, i) {
					items[i].payload = fmt.Sprintf(`{"n":%d,"f%d":"x"}`, i, i%7)
				}
			}
			crashes := 0
			for len(items) > 0 {
				n := min(len(items), 1+rng.IntN(80))
				r.send(items[:n]...)
				items = items[n:]
				fault := objstore.NewFault(r.store)
				fault.CrashAt(5+rng.IntN(25), rng.IntN(2) == 0)
				p := r.start(fault, settings())
				p.await("a crash", func() bool { return fault.Crashed() || r.committed() })
				if p.dead(); fault.Crashed() {
					crashes++
				}
			}
			if crashes < 3 {
				t.Errorf("%d crashes", crashes)
			}
			p := r.start(r.store, settings())
			p.await("all is committed", r.committed)
			p.ended() // in good order, as a restart for another configuration is
			r.send(traffic(rng, 50)...)
			p = r.start(r.store, settings())
			p.await("more", r.committed)
			p.dead()
			r.check()
		})
	}
}
