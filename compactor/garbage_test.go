package compactor

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
)

// TestFault_gc_race_late_commit: a writer's uploads wait for their commit, while a collector whose clock jumps
// passes again and again, and all else is merged and collected.
func TestFault_gc_race_late_commit(t *testing.T) {
	r := newRig(t)
	for range 6 {
		r.commit(begin, 5, "acme", "globex")
	}
	late := r.prepare(begin, 7, "acme", "initech")
	c := r.compactor("a")
	for _, ahead := range []time.Duration{10 * time.Minute, 24 * time.Hour, 365 * 24 * time.Hour} {
		r.settle(c)
		r.now += ahead
		report, err := c.Collect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if report.MayCommit != 3 {
			t.Fatalf("%s later: %+v, of which 3 objects may still be committed", ahead, report)
		}
	}
	r.append(late)
	r.check()
	r.settle(c)
	r.now += r.cfg.QueryGrace
	if _, err := c.Collect(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.check()
}

// TestFault_gc_race_paused_merge: a compactor stops between its uploads and its merge-end, for years by the
// other's clock. If the other gave the job up, the outputs go and the merge comes too
// late; else they stay and it lands. A collector that stops between its verdict and the
// deletion deletes nothing that is named then.
func TestFault_gc_race_paused_merge(t *testing.T) {
	for _, giveUp := range []bool{false, true} {
		r := newRig(t)
		for range 6 {
			r.commit(begin, 5, "acme", "globex")
		}
		paused, other := r.compactor("paused"), r.compactor("other")
		// The other has seen what is there before the job.
		r.store.Add(objstore.Rule{Op: objstore.OpPutIfAbsent, Key: "shards/0/log/*", Skip: 1, Effect: objstore.Pass, Before: func(objstore.Call) {
			jump := r.cfg.JobTimeout / 3 // three of them give nothing up
			if giveUp {
				jump = 365 * 24 * time.Hour
			}
			for range 3 {
				if _, err := other.Turn(t.Context(), 0); err != nil {
					t.Fatal(err)
				}
				if _, err := other.Collect(t.Context()); err != nil {
					t.Fatal(err)
				}
				r.now += jump
			}
		}})
		if _, err := paused.Turn(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		st := paused.Status()[0]
		if giveUp && (st.Merges != 0 || st.Aborted != 1) || !giveUp && (st.Merges != 1 || st.Aborted != 0) {
			t.Errorf("given up %t: %+v", giveUp, st)
		}
		r.check()
		r.settle(paused, other)
		r.now += r.cfg.QueryGrace
		r.store.Add(objstore.Rule{Op: objstore.OpDelete, Effect: objstore.Pass, Before: func(objstore.Call) {
			for range 4 {
				r.commit(begin, 5, "acme", "globex")
			}
			r.settle(paused)
		}})
		for range 2 {
			if _, err := other.Collect(t.Context()); err != nil {
				t.Fatal(err)
			}
			r.now += r.cfg.QueryGrace
		}
		r.check()
	}
}

// TestFault_orphans: uploads whose commits never come, merges killed in theirs, empty objects, writes
// that land late. After a collection the store holds what is named, and what may still be
// committed.
func TestFault_orphans(t *testing.T) {
	for seed := range uint64(25) {
		r := newRig(t)
		rng := rand.New(rand.NewPCG(seed, 0))
		var pending *shardlog.Append
		for range 40 {
			switch rng.IntN(8) {
			case 0, 1, 2:
				r.commit(begin+int64(rng.IntN(2))*hour, 3, "acme", "globex")
			case 3: // refused: another has the shard by then
				pending = r.prepare(begin, 2, "acme")
				r.claim()
				if err := r.state.Check(&shardlog.Record{Kind: shardlog.KindAppend, Append: pending}); !errors.Is(err, shardlog.ErrRefused) {
					t.Fatalf("a fenced commit: %v", err)
				}
			case 4: // half of an upload, of a claim that is over
				dead := shardlog.Creator{Shard: 0, Epoch: r.state.Epoch(), Nonce: r.state.ClaimNonce(), Number: 1 << 20}
				r.put(dead.FragmentKey(shardlog.TableEvents, "acme", begin), nil)
				r.claim()
			case 5, 6: // a merge that dies somewhere, its last write landing later
				r.store.CrashAt(1+rng.IntN(25), rng.IntN(2) == 0)
				_, err := r.compactor("dies").Turn(t.Context(), 0)
				if err == nil && r.store.Crashed() {
					t.Fatal("a crash without an error")
				}
				r.store.Restart()
			case 7:
				r.store.Add(objstore.Rule{Op: objstore.OpPut, Key: "data/**", Effect: objstore.LandLater, LandAfter: 1 + rng.IntN(40)})
				r.now += r.cfg.QuietNewestAfter
				_, _ = r.compactor("loses answers").Turn(t.Context(), 0)
				r.store.Clear()
			}
		}
		waiting := r.prepare(begin, 2, "acme", "globex") // of the claim that stands
		c := r.compactor("last")
		r.settle(c)
		r.now += r.cfg.JobTimeout
		r.settle(c)
		if err := r.store.Land(); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := c.Collect(t.Context()); err != nil {
				t.Fatal(err)
			}
			r.now += r.cfg.QueryGrace
		}
		r.onlyNamedAnd(waiting)
		r.check()
		r.append(waiting)
		r.check()
	}
}

// onlyNamedAnd wants the store to hold what the log names, and what the record would name.
func (r *rig) onlyNamedAnd(a *shardlog.Append) {
	r.t.Helper()
	s := r.load()
	want := []string{a.IDs.Key}
	for _, f := range a.Fragments {
		want = append(want, f.Key)
	}
	for f := range allFragments(s) {
		want = append(want, f.Key)
	}
	s.Segments(func(seg shardlog.IDSegment) bool {
		want = append(want, seg.Key)
		return true
	})
	slices.Sort(want)
	if got := slices.Sorted(slices.Values(r.objects())); !slices.Equal(got, want) {
		r.t.Fatalf("the store holds %d objects, %d are named or may be committed:\n%q\n%q", len(got), len(want), got, want)
	}
}
