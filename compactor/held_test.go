package compactor

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
)

// TestGarbageForAWhile: something in front of the store says for some minutes that no fragment is there, or gives what is
// none. Nothing is set aside for it, few merges are begun meanwhile, and the work is done in the end.
func TestGarbageForAWhile(t *testing.T) {
	for name, rule := range map[string]objstore.Rule{
		"missing": {Effect: objstore.FailBefore, Err: objstore.ErrNotFound},
		"refused": {Effect: objstore.FailBefore, Err: errors.New("403 InvalidObjectState")},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			for bucket := range int64(3) {
				for range 8 {
					r.commit(begin+bucket*hour, 5, "acme")
				}
			}
			rule.Op, rule.Key, rule.Times = objstore.OpGetRange, "data/**", 1<<30
			r.store.Add(rule)
			c := r.compactor("a")
			before := r.load().Position()
			for until := r.now + 8*time.Minute; r.now < until; r.now += 5 * time.Second {
				_, _ = c.Turn(t.Context(), 0) // Run would try again by then
			}
			s := r.load()
			if q := s.Quarantined(); len(q) > 0 {
				t.Errorf("%d fragments set aside: %+v", len(q), q[0].Key)
			}
			if n := s.Position() - before; n > 300 {
				t.Errorf("%d records in eight minutes", n)
			}
			r.store.Clear()
			r.now += time.Hour
			r.settle(c)
			if fragments, _ := r.load().Counts(); fragments != 3 {
				t.Errorf("%d fragments", fragments)
			}
			if len(c.of(0).held) > 0 {
				t.Errorf("objects that are gone are still held: %v", c.of(0).held)
			}
			r.check()
		})
	}
}

// TestUnsorted: a fragment whose rows are not in the order that its record says can be read; it is
// not set aside, and is tried once.
func TestUnsorted(t *testing.T) {
	r := newRig(t)
	for range 8 {
		r.commit(begin, 5, "acme")
	}
	c := r.compactor("a")
	s := c.of(0)
	if err := s.withState(t.Context(), func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	var f shardlog.Fragment
	for f = range allFragments(s.state) {
		break
	}
	do := &task{job: "none", inputs: []string{f.Key}, fragments: &fragmentTask{}}
	for range r.cfg.ReadTries + 1 {
		_ = s.fail(t.Context(), do, unsortedOf(f.Key))
	}
	if q := r.load().Quarantined(); len(q) > 0 {
		t.Errorf("set aside: %+v", q)
	}
	busy := map[string]bool{}
	if s.addHeld(busy); !busy[f.Key] {
		t.Error("it is tried again")
	}
}

func unsortedOf(key string) error {
	return &fragment.InputError{Key: key, Err: fmt.Errorf("%w: %s", fragment.ErrUnsorted, key)}
}

// TestStoppedBeforeTheEnd: a compactor that is stopped between its uploads and the end of its merge leaves no open job.
func TestStoppedBeforeTheEnd(t *testing.T) {
	r := newRig(t)
	for range 6 {
		r.commit(begin, 5, "acme")
	}
	r.cfg.CollectEvery = 0
	ctx, stop := context.WithCancel(t.Context())
	uploads := 0
	r.store.Add(objstore.Rule{Op: objstore.OpPut, Effect: objstore.Pass, After: func(objstore.Call) {
		uploads++
		stop()
	}})
	if err := r.compactor("a").Run(ctx); err != nil || uploads == 0 {
		t.Fatalf("%d uploads, %v", uploads, err)
	}
	if jobs := r.load().Jobs(); len(jobs) > 0 {
		t.Errorf("open jobs %+v", jobs)
	}
	r.check()
}

// TestReloadsDoNotHideTheAbandoned: a merge that nobody works on is given up after its time, though the log is loaded
// anew in between.
func TestReloadsDoNotHideTheAbandoned(t *testing.T) {
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
	r.store.Clear()
	r.store.Restart()
	if jobs := r.load().Jobs(); len(jobs) != 1 {
		t.Fatalf("jobs %+v", jobs)
	}
	c := r.compactor("b")
	for range 4 {
		if _, err := c.Turn(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		c.of(0).state = nil // as after an append without an answer
		r.now += r.cfg.JobTimeout / 2
	}
	if jobs := r.load().Jobs(); len(jobs) != 0 {
		t.Errorf("jobs %+v", jobs)
	}
}
