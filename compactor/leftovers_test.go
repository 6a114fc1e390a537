package compactor

import (
	"slices"
	"strings"
	"testing"

	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/objstore/s3test"
	"github.com/togodb/togo/internal/shardlog"
)

// TestFault_leftovers_with_compaction: what crashed processes left is neither read nor listed at a start and by
// merges, and a collection takes it away without an operator.
func TestFault_leftovers_with_compaction(t *testing.T) {
	const leftovers = 10_000
	requests := map[int]int{} // of start and merges, by leftovers
	for _, n := range []int{0, leftovers} {
		r := newRig(t)
		dead := shardlog.Creator{Shard: 0, Epoch: r.state.Epoch(), Nonce: r.state.ClaimNonce()}
		r.claim()
		for i := range n {
			dead.Number = uint64(i)
			key := dead.FragmentKey(shardlog.TableEvents, "acme", begin)
			switch i % 3 {
			case 1:
				key = dead.SegmentKey()
			case 2: // of a merge that was never begun in this log: its record did not land
				key = shardlog.Creator{Shard: 0, Job: 2, Nonce: strings.Repeat("d", 32), Number: uint64(i)}.FragmentKey(shardlog.TableEvents, "acme", begin)
			}
			r.put(key, nil)
		}
		for range 5 {
			r.commit(begin, 3, "acme", "globex")
		}
		before := r.store.Ops()
		c := r.compactor("a")
		r.settle(c)
		requests[n] = r.store.Ops() - before
		r.now += r.cfg.QueryGrace
		for range 2 {
			if _, err := c.Collect(t.Context()); err != nil {
				t.Fatal(err)
			}
			r.now += r.cfg.QueryGrace
		}
		fragments, segments := r.load().Counts()
		if left := len(r.objects()); left != fragments+segments {
			t.Errorf("%d leftovers: %d objects stay, %d are named", n, left, fragments+segments)
		}
		r.check()
	}
	if requests[leftovers] != requests[0] {
		t.Errorf("%d requests with leftovers, %d without", requests[leftovers], requests[0])
	}
}

// TestFault_log_growth_with_compaction: thousands of commits, merged, collected and trimmed on the way: what the log
// holds, and what a start reads of it, does not grow with them.
func TestFault_log_growth_with_compaction(t *testing.T) {
	r := newRig(t)
	r.cfg.KeepRecords = 50
	c := r.compactor("a")
	held, start := map[int]int{}, map[int]int{}
	for n := 1; n <= 1600; n++ {
		r.commit(begin+int64(n/400)*hour, 1, "acme")
		if n%32 == 0 {
			if err := r.log.Checkpoint(t.Context(), r.state); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := c.Turn(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		if n%100 == 0 {
			r.now += r.cfg.QueryGrace
			if _, err := c.Collect(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if n == 400 || n == 1600 {
			for o, err := range r.store.Inner().List(t.Context(), "", "") {
				if err != nil {
					t.Fatal(err)
				}
				if o.Key != "" {
					held[n]++
				}
			}
			before := r.store.Ops()
			if _, err := shardlog.OpenWith(r.store, 0, shardlog.Config{Parallel: 1}).Load(t.Context()); err != nil {
				t.Fatal(err)
			}
			start[n] = r.store.Ops() - before
		}
	}
	t.Logf("after 400 commits %d objects, a start takes %d requests; after 1600 %d and %d", held[400], start[400], held[1600], start[1600])
	if held[1600] > held[400]*3/2 || start[1600] > start[400]*3/2 {
		t.Error("they grow with the commits")
	}
	r.settle(c)
	r.check()
}

// TestFault_orphans_multipart: uploads that nobody finishes are ended at an S3 server, those of dead claims and merges
// alone.
func TestFault_orphans_multipart(t *testing.T) {
	s3 := s3test.Start(t).Store(t)
	r := newRigOver(t, s3)
	for range 4 {
		r.commit(begin, 3, "acme")
	}
	dead := shardlog.Creator{Shard: 0, Epoch: r.state.Epoch(), Nonce: r.state.ClaimNonce(), Number: 77}
	r.claim()
	c := r.compactorOver("a", s3)
	r.settle(c)
	lives := shardlog.Creator{Shard: 0, Epoch: r.state.Epoch(), Nonce: r.state.ClaimNonce(), Number: 99}
	s := r.load()
	over := shardlog.Creator{Shard: 0, Job: s.Position() - 1, Nonce: strings.Repeat("e", 32)} // a merge that is not open
	begun := map[string]objstore.Upload{}
	for i, key := range []string{
		dead.FragmentKey(shardlog.TableEvents, "acme", begin), dead.SegmentKey(), over.FragmentKey(shardlog.TableDeadLetters, "acme", begin),
		lives.FragmentKey(shardlog.TableEvents, "acme", begin), lives.SegmentKey(),
	} {
		u, err := objstore.Create(t.Context(), s3, key)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := u.Write(make([]byte, 9<<20)); err != nil {
			t.Fatal(err)
		}
		if i >= 3 {
			begun[key] = u
		}
	}
	for range 2 {
		if _, err := c.Collect(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.now += r.cfg.QueryGrace
	}
	var left []string
	for u, err := range objstore.PendingUploads(t.Context(), s3, "") {
		if err != nil {
			t.Fatal(err)
		}
		left = append(left, u.Key)
	}
	want := []string{lives.FragmentKey(shardlog.TableEvents, "acme", begin), lives.SegmentKey()}
	slices.Sort(left)
	if slices.Sort(want); !slices.Equal(left, want) {
		t.Fatalf("unfinished uploads %q, want %q", left, want)
	}
	for key, u := range begun {
		if err := u.Finish(t.Context()); err != nil {
			t.Fatalf("an upload that may be committed: %s: %v", key, err)
		}
	}
	r.check()
}
