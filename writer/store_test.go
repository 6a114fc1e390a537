package writer

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/kafka/kafkatest"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/placements"
)

// hanging is a store in which calls hang until they are let go, or their context ends.
type hanging struct {
	objstore.Store
	hang  atomic.Bool
	stuck atomic.Int32
	free  chan struct{}
}

func (h *hanging) wait(ctx context.Context) error {
	if !h.hang.Load() {
		return nil
	}
	h.stuck.Add(1)
	select {
	case <-h.free:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (h *hanging) Put(ctx context.Context, key string, body []byte) error {
	if err := h.wait(ctx); err != nil {
		return err
	}
	return h.Store.Put(ctx, key, body)
}

func (h *hanging) PutIfAbsent(ctx context.Context, key string, body []byte) error {
	if err := h.wait(ctx); err != nil {
		return err
	}
	return h.Store.PutIfAbsent(ctx, key, body)
}

func (h *hanging) Get(ctx context.Context, key string) ([]byte, error) {
	if err := h.wait(ctx); err != nil {
		return nil, err
	}
	return h.Store.Get(ctx, key)
}

// TestFault_hung_store: a process hangs in calls of the store while all else of it lives on; another
// one takes its shards and goes on. When the calls come back they change nothing.
func TestFault_hung_store(t *testing.T) {
	r := newRig(t, objstore.NewMemory(), 2)
	rng := rand.New(rand.NewPCG(11, 11))
	h := &hanging{Store: r.store, free: make(chan struct{})}
	b := r.start(r.store, quick())
	b.await("the first owner", func() bool { return b.w.Ready() == nil })
	a := r.start(h, quick()) // takes the shards from b, which lies in wait
	claimed := func() bool { return a.w.Ready() == nil }
	a.await("the second claims the shards", claimed)
	r.send(traffic(rng, 100)...)
	a.await("the first events", r.committed)
	a.await("the second has the shards", func() bool { return claimed() && b.w.Ready() != nil })

	h.hang.Store(true)
	r.send(traffic(rng, 300)...)
	began := time.Now()
	b.await("the other goes on", r.committed)
	t.Logf("%d calls hang; the other has stored all after %s, of %s of patience", h.stuck.Load(), time.Since(began).Round(time.Millisecond), quick().ReclaimAfter)
	if h.stuck.Load() == 0 {
		t.Error("nothing hangs")
	}
	r.check()

	h.hang.Store(false)
	close(h.free)
	a.await("the zombie is fenced", func() bool {
		for _, s := range a.w.Status() {
			if s.State != "fenced" {
				return false
			}
		}
		return true
	})
	r.send(traffic(rng, 100)...)
	b.await("more is stored", r.committed)
	a.dead()
	b.dead()
	r.check()
}

// slow answers 503 to the first tries of each key, and compares the bodies of all tries.
type slow struct {
	objstore.Store
	t     *testing.T
	mu    sync.Mutex
	tries map[string]int
	body  map[string][]byte
}

const slowTries = 3

func (s *slow) refuses(key string, body []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tries[key]++; s.tries[key] == 1 {
		s.body[key] = bytes.Clone(body)
	}
	// A position of a log may be asked for with the record that lost and the one that comes after.
	if !strings.Contains(key, "/log/") && !bytes.Equal(body, s.body[key]) {
		s.t.Errorf("try %d of %s has other bytes", s.tries[key], key)
	}
	if s.tries[key] <= slowTries {
		return fmt.Errorf("503: %w", objstore.ErrUnavailable)
	}
	return nil
}

func (s *slow) Put(ctx context.Context, key string, body []byte) error {
	if err := s.refuses(key, body); err != nil {
		return err
	}
	return s.Store.Put(ctx, key, body)
}

func (s *slow) PutIfAbsent(ctx context.Context, key string, body []byte) error {
	if err := s.refuses(key, body); err != nil {
		return err
	}
	return s.Store.PutIfAbsent(ctx, key, body)
}

// TestFault_503: every object is stored whole all the same, and all rows are there.
func TestFault_503(t *testing.T) {
	r := newRig(t, objstore.NewMemory(), 2)
	s := &slow{Store: r.store, t: t, tries: map[string]int{}, body: map[string][]byte{}}
	p := r.start(s, quick())
	r.send(traffic(rand.New(rand.NewPCG(12, 12)), 200)...)
	p.await("all is committed", r.committed)
	p.dead()
	r.check() // compares the checksums of what is stored with those in the log
	if len(s.tries) < 10 {
		t.Errorf("only %d keys", len(s.tries))
	}
}

// TestFault_leftovers: what crashed processes left under a shard's prefixes is not read at a start.
func TestFault_leftovers(t *testing.T) {
	start := func(leftovers int) (load int) {
		r := newRig(t, objstore.NewMemory(), 1)
		r.send(traffic(rand.New(rand.NewPCG(13, 13)), 60)...)
		p := r.start(r.store, quick())
		p.await("all is committed", r.committed)
		p.ended()
		ctx := context.Background()
		for i := range leftovers {
			for _, key := range []string{"data/t1/2020-09-13T12/0-%d-dead-1.parquet", "letters/t1/2020-09-13T12/0-%d-dead-1.parquet", "ids/0/%d-dead-1.ids", "shards/0/manifest/%032x"} {
				r.must(r.store.Put(ctx, fmt.Sprintf(key, i+1), []byte("left over")))
			}
		}
		fault := objstore.NewFault(r.store)
		_, err := shardlog.OpenWith(fault, 0, shardlog.Config{Logger: kafkatest.Quiet()}).Load(ctx)
		r.must(err)
		load = fault.Ops()
		p = r.start(fault, quick())
		p.await("ready", func() bool { return p.w.Ready() == nil })
		if n := fault.Ops() - load; n > 30 {
			t.Errorf("%d operations until ready", n)
		}
		r.send(traffic(rand.New(rand.NewPCG(14, 14)), 60)...)
		p.await("more", r.committed)
		p.dead()
		r.check()
		return load
	}
	clean, littered := start(0), start(2500)
	t.Logf("%d operations read the log in a clean store, %d among 10,000 leftovers", clean, littered)
	if littered != clean {
		t.Errorf("%d operations with leftovers, %d without", littered, clean)
	}
}

// TestFault_reshard: four shards become six while events come; copies from both sides of the
// edge arrive before it and after it, in both orders.
func TestFault_reshard(t *testing.T) {
	r := newRig(t, objstore.NewMemory(), 4)
	ctx := context.Background()
	p := r.startWith(r.store, quick(), func(w *Writer) { w.shardWatch = 20 * time.Millisecond })
	edge := int64(0)
	events := func(from, n int) (out []item) { // on both sides of the edge
		for i := range n {
			out = append(out, item{tenant: fmt.Sprint("t", i%3), id: fmt.Sprint("id", from+i), seconds: edge + []int64{-2, 0, 1}[i%3], payload: fmt.Sprintf(`{"n":%d}`, from+i)})
		}
		return out
	}
	old := func(items []item) (out []item) {
		for _, it := range items {
			if it.seconds < edge {
				out = append(out, it)
			}
		}
		return out
	}
	reversed := func(items []item) (out []item) {
		for i := range items {
			out = append(out, items[len(items)-1-i])
		}
		return out
	}
	edge = int64(r.table.Horizon())/1e9 + 1 // below it nothing changes any more
	first := events(0, 120)
	r.send(old(first)...) // by the old placements, not all of it yet stored
	before := r.table

	_, err := r.admin().UpdatePartitions(ctx, 6, topic)
	r.must(err)
	_, err = r.keeper.AddShards(ctx, 6)
	r.must(err)
	all := placements.Shards{0, 1, 2, 3, 4, 5}
	at := event.Timestamp(edge * 1e9)
	_, err = r.keeper.Propose(ctx, placements.SetDefault(all, 6, &at))
	r.must(err)
	r.table, err = r.keeper.Extend(ctx, event.Timestamp((edge+5)*1e9))
	r.must(err)
	r.shards = 6

	r.send(reversed(first)...)        // what is above the edge for the first time, what is below again
	r.send(events(1000, 120)...)      // both sides for the first time
	r.send(reversed(first)...)        // and all of it again
	r.send(old(events(1000, 120))...) // a producer that is late
	r.send(reversed(events(1000, 120))...)
	p.await("all is committed", r.committed)
	p.ended()
	r.check()
	moved := 0
	for _, it := range first {
		ts := event.Timestamp(it.seconds * 1e9)
		is, _ := r.table.Shard(event.TenantID(it.tenant), ts, r.hasher.Routing([]byte(it.id)))
		if was, ok := before.Shard(event.TenantID(it.tenant), ts, r.hasher.Routing([]byte(it.id))); ok && was != is {
			t.Errorf("an event below the edge moved from shard %s to %s", was, is)
		}
		if is >= 4 {
			moved++
		}
	}
	if moved == 0 {
		t.Error("no event is in a new shard")
	}
}
