package compactor

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/idseg"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
)

// TestCompacts: many small fragments become one for each tenant and bucket, nothing that
// was stored changes, and what was replaced goes after the grace.
func TestCompacts(t *testing.T) {
	r := newRig(t)
	for i := range 40 {
		r.commit(begin+int64(i/20)*hour, 20, "acme", "globex")
	}
	before, _ := r.state.Counts()
	c := r.compactor("a")
	r.settle(c)
	s := r.load()
	fragments, segments := s.Counts()
	if before != 80 || fragments != 4 || segments > 3 {
		t.Errorf("%d fragments became %d, 40 id segments became %d", before, fragments, segments)
	}
	if len(s.Jobs()) > 0 {
		t.Errorf("open jobs: %+v", s.Jobs())
	}
	r.check()

	// The inputs stay for the grace, then they go.
	if _, err := c.Collect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(r.objects()); n <= fragments+segments {
		t.Errorf("%d objects within the grace", n)
	}
	r.now += r.cfg.QueryGrace
	report, err := c.Collect(t.Context())
	if err != nil || report.Deleted.Removed == 0 || report.Deleted.Removed != report.Deleted.Objects {
		t.Fatalf("%+v, %v", report, err)
	}
	if n := len(r.objects()); n != fragments+segments {
		t.Errorf("%d objects after the grace, %d are named", n, fragments+segments)
	}
	r.check()
	st := c.Status()[0]
	if st.Merges == 0 || st.Waiting != 0 || st.Fragments != 4 || st.Error != "" {
		t.Errorf("status %+v", st)
	}
}

// TestShare: several compactors work on one shard at the same time.
func TestShare(t *testing.T) {
	r := newRig(t)
	list := []*Compactor{r.compactor("a"), r.compactor("b"), r.compactor("c")}
	for i := range 60 {
		r.commit(begin+int64(i%3)*hour, 5, "acme")
		for _, c := range list {
			if _, err := c.Turn(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.settle(list...)
	if fragments, _ := r.load().Counts(); fragments != 3 {
		t.Errorf("%d fragments", fragments)
	}
	r.check()
}

// TestQuarantine: a damaged fragment is set aside after some tries, and the rest goes on.
func TestQuarantine(t *testing.T) {
	r := newRig(t)
	for range 8 {
		r.commit(begin, 10, "acme")
	}
	var bad shardlog.Fragment
	for f := range allFragments(r.state) {
		bad = f
	}
	body, err := r.store.Get(t.Context(), bad.Key)
	if err != nil {
		t.Fatal(err)
	}
	body = slices.Clone(body)
	body[len(body)/3] ^= 0x40
	r.put(bad.Key, body)

	c := r.compactor("a")
	failures := 0
	for range 100 {
		if _, err := c.Turn(t.Context(), 0); err != nil {
			if failures++; !strings.Contains(err.Error(), bad.Key) {
				t.Fatalf("the error does not name the fragment: %v", err)
			}
		}
		r.now += r.cfg.QuietAfter
	}
	s := r.load()
	if failures != r.cfg.ReadTries {
		t.Errorf("%d failures for %d tries", failures, r.cfg.ReadTries)
	}
	if q := s.Quarantined(); len(q) != 1 || q[0].Key != bad.Key {
		t.Fatalf("set aside: %+v", q)
	}
	if fragments, _ := s.Counts(); fragments != 1 || len(s.Jobs()) != 0 {
		t.Errorf("%d fragments, jobs %+v", fragments, s.Jobs())
	}
	r.now += r.cfg.QueryGrace
	for range 2 {
		if _, err := c.Collect(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.now += r.cfg.QueryGrace
	}
	if !slices.Contains(r.objects(), bad.Key) {
		t.Error("the collector deleted what was set aside")
	}
}

// TestAbandoned: the job of a process that died is given up by another, and its uploads go.
func TestAbandoned(t *testing.T) {
	r := newRig(t)
	for range 6 {
		r.commit(begin, 10, "acme")
	}
	dead := r.compactor("dead")
	r.store.Add(objstore.Rule{Op: objstore.OpPutIfAbsent, Key: "shards/0/log/*", Skip: 1, Effect: objstore.CrashBefore})
	for range 20 {
		if _, err := dead.Turn(t.Context(), 0); err != nil {
			break
		}
	}
	if !r.store.Crashed() {
		t.Fatal("it did not die between begin and end")
	}
	r.store.Clear()
	r.store.Restart()
	s := r.load()
	if len(s.Jobs()) != 1 {
		t.Fatalf("jobs %+v", s.Jobs())
	}
	c := r.compactor("b")
	r.settle(c)
	r.now += r.cfg.JobTimeout
	r.settle(c)
	if s = r.load(); len(s.Jobs()) != 0 {
		t.Fatalf("jobs %+v", s.Jobs())
	}
	if fragments, _ := s.Counts(); fragments != 1 {
		t.Errorf("%d fragments", fragments)
	}
	for range 2 {
		if _, err := c.Collect(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.now += r.cfg.QueryGrace
	}
	fragments, segments := s.Counts()
	if n := len(r.objects()); n != fragments+segments {
		t.Errorf("%d objects, %d are named", n, fragments+segments)
	}
	r.check()
}

// TestAgainstWriters: commits at every step of a merge delay it and do not fail it.
func TestAgainstWriters(t *testing.T) {
	r := newRig(t)
	for range 4 {
		r.commit(begin, 10, "acme")
	}
	c := r.compactor("a")
	left, busy := 5, false
	r.store.Decide = func(call objstore.Call) *objstore.Rule {
		// A record of ours is on its way: a commit comes first.
		if call.Op == objstore.OpPutIfAbsent && left > 0 && !busy {
			left--
			busy = true
			r.commit(begin, 10, "acme")
			busy = false
		}
		return nil
	}
	if worked, err := c.Turn(t.Context(), 0); !worked || err != nil {
		t.Fatalf("worked %v, %v", worked, err)
	}
	r.store.Decide = nil
	if left != 0 {
		t.Fatalf("%d commits did not come in between", left)
	}
	if st := c.Status()[0]; st.Merges != 1 || st.Aborted != 0 {
		t.Errorf("status %+v", st)
	}
	r.check()
}

// TestCrashAnywhere: a compactor that dies at any of its requests, applied or not, changes no
// answer at any moment, and another one finishes the work.
func TestCrashAnywhere(t *testing.T) {
	crashes := 0
	for _, applied := range []bool{false, true} {
		for k := 1; ; k++ {
			r := newRig(t)
			for range 5 {
				r.commit(begin, 4, "acme", "globex")
			}
			r.store.CrashAt(k, applied)
			c := r.compactor("dies")
			r.now += r.cfg.QuietNewestAfter
			for range 40 {
				worked, err := c.Turn(t.Context(), 0)
				r.check()
				if err != nil || !worked && r.now > 2*r.cfg.QuietNewestAfter {
					break
				}
				if !worked {
					r.now += r.cfg.QuietNewestAfter
				}
			}
			crashed := r.store.Crashed()
			r.store.Restart()
			r.check()
			next := r.compactor("next")
			r.settle(next)
			r.now += r.cfg.JobTimeout
			r.settle(next)
			if fragments, _ := r.load().Counts(); fragments != 2 {
				t.Fatalf("crash at %d, applied %v: %d fragments", k, applied, fragments)
			}
			r.check()
			if !crashed {
				break
			}
			crashes++
		}
	}
	if crashes < 20 {
		t.Fatal(fmt.Sprint("only ", crashes, " crashes"))
	}
}

// TestIdentityTwice: two commits that hold one identity are an alarm. Neither is merged, and
// nothing is set aside.
func TestIdentityTwice(t *testing.T) {
	r := newRig(t)
	for range r.cfg.FanIn {
		r.commit(begin, 10, "acme")
	}
	var keys []string
	for seg := range r.state.Segments {
		keys = append(keys, seg.Key)
	}
	body, err := r.store.Get(t.Context(), keys[0])
	if err != nil {
		t.Fatal(err)
	}
	r.put(keys[1], body) // as large, with the same buckets
	c := r.compactor("a")
	alarms := 0
	for range 20 {
		if _, err := c.Turn(t.Context(), 0); errors.Is(err, idseg.ErrTwice) {
			alarms++
		} else if err != nil {
			t.Fatal(err)
		}
		r.now += r.cfg.QuietNewestAfter
	}
	s := r.load()
	if fragments, segments := s.Counts(); alarms != 1 || fragments != 1 || segments != r.cfg.FanIn || len(s.Quarantined()) > 0 || len(s.Jobs()) > 0 {
		t.Errorf("%d alarms; %d fragments, %d segments, set aside %v, jobs %v", alarms, fragments, segments, s.Quarantined(), s.Jobs())
	}
}

// TestAcrossTheFloor: of fragments that reach across a floor a merge keeps every row from the
// floor on, and none below it.
func TestAcrossTheFloor(t *testing.T) {
	r := newRig(t)
	for range 4 {
		r.commit(begin, 40, "acme")
	}
	floor := event.Timestamp((begin + 140) * 1e9) // every seventh second has a row
	if _, err := r.log.Follow(t.Context(), r.state); err != nil {
		t.Fatal(err)
	}
	x := &shardlog.Expire{Floors: []shardlog.Floor{{Tenant: "acme", Table: shardlog.TableEvents, Floor: floor}}}
	if won, _, err := r.log.Append(t.Context(), r.state, &shardlog.Record{Kind: shardlog.KindExpire, Expire: x}); !won || err != nil {
		t.Fatal(won, err)
	}
	r.settle(r.compactor("a"))
	if fragments, _ := r.load().Counts(); fragments != 1 {
		t.Fatalf("%d fragments", fragments)
	}
	maps.DeleteFunc(r.sent, func(row string, _ int) bool {
		var tenant string
		var at event.Timestamp
		if _, err := fmt.Sscanf(row, "%s %d", &tenant, (*int64)(&at)); err != nil {
			t.Fatal(err, row)
		}
		return at < floor
	})
	r.check()
}

// TestInputSetAsideMeanwhile: an input that another compactor sets aside while a merge is under way makes the merge
// too late, and counts against none of its inputs.
func TestInputSetAsideMeanwhile(t *testing.T) {
	r := newRig(t)
	for range 6 {
		r.commit(begin, 5, "acme")
	}
	c := r.compactor("a")
	aside := 0
	r.store.Decide = func(call objstore.Call) *objstore.Rule {
		if aside > 0 || call.Op != objstore.OpPut || !strings.HasPrefix(call.Key, "data/") {
			return nil
		}
		aside++
		return &objstore.Rule{Effect: objstore.Pass, Before: func(objstore.Call) {
			if _, err := r.log.Follow(t.Context(), r.state); err != nil {
				t.Fatal(err)
			}
			key := r.state.Jobs()[0].Inputs[0]
			x := &shardlog.Record{Kind: shardlog.KindQuarantine, Quarantine: &shardlog.Quarantine{Key: key, Reason: "bits"}}
			if won, _, err := r.log.Append(t.Context(), r.state, x); !won || err != nil {
				t.Fatalf("won %v, %v", won, err)
			}
		}}
	}
	r.settle(c)
	if fragments, _ := r.load().Counts(); aside != 1 || fragments != 1 || len(r.load().Quarantined()) != 1 {
		t.Errorf("%d set aside, %d fragments", aside, fragments)
	}
	if held := c.of(0).held; len(held) > 0 {
		t.Errorf("sound inputs are held: %v", held)
	}
}
