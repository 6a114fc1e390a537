package compactor

import (
	"testing"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
)

// TestFault_falls_behind: six hours without a compactor, and then one that works while commits go on. What is
// there shrinks with each merge, the newest bucket comes first, and every bucket's turn comes.
func TestFault_falls_behind(t *testing.T) {
	const hours, commits = 6, 40
	r := newRig(t)
	names := []event.TenantID{"acme", "globex"}
	for i := range hours * commits {
		r.commit(begin+int64(i/commits)*hour, 2, names...)
	}
	c := r.compactor("late")
	newest := begin + (hours-1)*hour
	left, _ := r.load().Counts()
	first := map[int64]int{} // by bucket: the turn of its first merge
	for turn := 1; ; turn++ {
		before := r.load()
		if worked, err := c.Turn(t.Context(), 0); err != nil {
			t.Fatal(err)
		} else if !worked {
			break
		}
		if turn > hours*commits {
			t.Fatalf("it is still at it after %d turns, with %d fragments", turn, left)
		}
		s := r.load()
		for f := range allFragments(s) {
			if !before.Names(f.Key) && first[f.Bucket] == 0 {
				first[f.Bucket] = turn
			}
		}
		now, segments := s.Counts()
		_, were := before.Counts()
		if now > left || now == left && segments >= were {
			t.Fatalf("turn %d: %d fragments and %d id segments, %d and %d before", turn, now, segments, left, were)
		}
		left = now
		if turn%4 == 0 { // the load goes on
			r.commit(newest, 2, names...)
			left += len(names)
		}
		r.now += time.Second
	}
	// Every fourth merge of fragments begins at an older bucket, and every second merge is one of identities.
	for h := range int64(hours) {
		if at := first[begin+h*hour]; at == 0 || at > 16*hours || h == hours-1 && at > 2 {
			t.Errorf("bucket %d of %d had its first merge in turn %d", h, hours, at)
		}
	}
	if first[newest-hour] > first[newest-3*hour] {
		t.Errorf("first merges by bucket: %v; the newer ones come first", first)
	}
	r.settle(c)
	if fragments, _ := r.load().Counts(); fragments != hours*len(names) {
		t.Errorf("%d fragments in the end", fragments)
	}
	r.check()
}

// TestFault_against_writers: each request of the compactor takes a while, and a writer commits every 200 ms. A
// merge lands in a few tries, however long it took. (At 60 ms a request a writer is at its limit: an upload, a
// record and a look at the markers are one commit.)
func TestFault_against_writers(t *testing.T) {
	for _, latency := range []time.Duration{10 * time.Millisecond, 30 * time.Millisecond, 60 * time.Millisecond} {
		r := newRig(t)
		for range 8 {
			r.commit(begin, 10, "acme", "globex")
		}
		c := r.compactor("a")
		last, inside, commits, tries := r.now, false, 0, 0
		r.store.Decide = func(call objstore.Call) *objstore.Rule {
			if inside {
				return nil
			}
			if call.Op == objstore.OpPutIfAbsent {
				tries++
			}
			return &objstore.Rule{Effect: objstore.Pass, Before: func(objstore.Call) {
				inside = true
				for r.now += latency; r.now-last >= 200*time.Millisecond; last += 200 * time.Millisecond {
					r.commit(begin, 1, "acme")
					commits++
				}
				inside = false
			}}
		}
		for range 20 {
			if _, err := c.Turn(t.Context(), 0); err != nil {
				t.Fatalf("latency %s: %v", latency, err)
			}
		}
		r.store.Decide = nil
		st := c.Status()[0]
		t.Logf("latency %s: %d merges, %d given up, %d records tried, %d commits meanwhile", latency, st.Merges, st.Aborted, tries, commits)
		if st.Merges < 5 || st.Aborted > 0 || commits < 5 {
			t.Errorf("latency %s: %d merges, %d given up, %d commits meanwhile", latency, st.Merges, st.Aborted, commits)
		}
		if most := int(st.Merges) * 2 * 8; tries > most {
			t.Errorf("latency %s: %d records tried for %d merges", latency, tries, st.Merges)
		}
		r.check()
	}
}

// TestFault_503_under_compaction: the store refuses everything for a while, and each read once in a while. Nothing is
// set aside, no job stays open, and the work is done in the end.
func TestFault_503_under_compaction(t *testing.T) {
	r := newRig(t)
	for range 8 {
		r.commit(begin, 5, "acme", "globex")
	}
	c := r.compactor("a")
	r.store.Add(objstore.Rule{Skip: 12, Times: 40, Effect: objstore.FailBefore, Err: objstore.ErrUnavailable})
	failures := 0
	for turn := range 200 {
		if turn == 60 {
			r.store.Clear()
			for n := range 10 {
				r.store.Add(objstore.Rule{Op: objstore.OpGetRange, Key: "data/**", Skip: 3 * n, Effect: objstore.FailBefore, Err: objstore.ErrUnavailable})
			}
		}
		if _, err := c.Turn(t.Context(), 0); err != nil {
			failures++
		}
		r.now += r.cfg.QuietNewestAfter / 8
		if turn%20 == 0 {
			r.commit(begin+hour, 2, "acme")
		}
	}
	r.store.Clear()
	r.settle(c)
	s := r.load()
	if q := s.Quarantined(); len(q) > 0 {
		t.Errorf("set aside: %+v", q)
	}
	if len(s.Jobs()) > 0 || failures < 20 {
		t.Errorf("%d open jobs after %d failed turns", len(s.Jobs()), failures)
	}
	if fragments, _ := s.Counts(); fragments != 3 {
		t.Errorf("%d fragments", fragments)
	}
	r.check()
}
