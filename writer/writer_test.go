package writer

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/togodb/togo/internal/objstore"
)

func TestEventsAreStoredOnce(t *testing.T) {
	r := newRig(t, objstore.NewMemory(), 2)
	r.send(traffic(rand.New(rand.NewPCG(1, 1)), 300)...)
	p := r.start(r.store, quick())
	p.await("all is committed", r.committed)
	r.check()
	r.send(traffic(rand.New(rand.NewPCG(1, 1)), 300)...) // all of it again
	p.await("the copies are committed", r.committed)
	r.check()
	if err := p.w.Ready(); err != nil {
		t.Errorf("not ready: %v", err)
	}
	p.ended()
	for _, s := range p.w.Status() {
		if s.State != "released" {
			t.Errorf("shard %s is %s after a stop in good order: %s", s.Shard, s.State, s.Reason)
		}
	}
}

// TestKilledAtRandomMoments kills the writer again and again, without a word,
// while events come in.
func TestKilledAtRandomMoments(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 0))
			r := newRig(t, objstore.NewMemory(), 2)
			items := traffic(rng, 600)
			for len(items) > 0 {
				n := min(len(items), 1+rng.IntN(150))
				r.send(items[:n]...)
				items = items[n:]
				fault := objstore.NewFault(r.store)
				fault.CrashAt(1+rng.IntN(40), rng.IntN(2) == 0)
				p := r.start(fault, quick())
				p.await("a crash", func() bool { return fault.Crashed() || r.committed() })
				p.dead()
			}
			p := r.start(r.store, quick())
			p.await("all is committed", r.committed)
			p.ended()
			r.check()
		})
	}
}

// TestCrashAtEveryStoreOperation runs one stream for each operation k of the
// store that the writer does: it dies there, before or after k was applied, and another goes on.
func TestCrashAtEveryStoreOperation(t *testing.T) {
	ops := crashAt(t, 0, false)
	if ops < 10 {
		t.Fatalf("only %d operations", ops)
	}
	t.Logf("%d operations", ops)
	for k := 1; k <= ops; k++ {
		for _, applied := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d applied %v", k, applied), func(t *testing.T) {
				t.Parallel()
				crashAt(t, k, applied)
			})
		}
	}
}

// crashAt returns the operations that the first writer did; k = 0: it lives.
func crashAt(t *testing.T, k int, applied bool) (ops int) {
	r := newRig(t, objstore.NewMemory(), 1)
	r.send(traffic(rand.New(rand.NewPCG(9, 9)), 60)...)
	fault := objstore.NewFault(r.store)
	if k > 0 {
		fault.CrashAt(k, applied)
	}
	p := r.start(fault, quick())
	p.await(fmt.Sprintf("crash at %d", k), func() bool { return fault.Crashed() || r.committed() })
	p.dead()
	p2 := r.start(r.store, quick())
	p2.await(fmt.Sprintf("after a crash at %d", k), r.committed)
	p2.dead()
	r.check()
	return fault.Ops()
}

// TestFault_two_owners own the same shards at the same time and fence each other.
func TestFault_two_owners(t *testing.T) {
	r := newRig(t, objstore.NewMemory(), 2)
	items := traffic(rand.New(rand.NewPCG(5, 5)), 400)
	a := r.start(r.store, quick())
	b := r.start(r.store, quick())
	for i := 0; i < len(items); i += 50 {
		r.send(items[i : i+50]...)
	}
	a.await("all is committed by one of them", r.committed)
	a.dead()
	b.dead()
	r.check()
}

func TestLocalDirectory(t *testing.T) {
	dir, err := objstore.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, dir, 2)
	r.send(traffic(rand.New(rand.NewPCG(3, 3)), 200)...)
	p := r.start(r.store, quick())
	p.await("all is committed", r.committed)
	p.dead()
	r.check()
}

func TestRunStopsInGoodOrder(t *testing.T) {
	r := newRig(t, objstore.NewMemory(), 1)
	cfg := quick()
	cfg.FlushAge, cfg.SmallTenantAge = 1<<40, 1<<40 // nothing is flushed but at the end
	r.send(traffic(rand.New(rand.NewPCG(2, 2)), 50)...)
	p := r.start(r.store, cfg)
	p.await("all is read", func() bool {
		s := p.w.Status()
		return len(s) == 1 && s[0].OpenOffsets == int(r.sent[0])
	})
	p.ended()
	r.check()
}
