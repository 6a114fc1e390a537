package compactor

import (
	"errors"
	"fmt"
	"hash/fnv"
	"testing"
	"time"

	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
)

// answer is what count(*) and sum(hash) say.
type answer struct {
	rows int
	sum  uint64
}

// ask reads everything that the log names, past all faults.
func (r *rig) ask() (a answer) {
	r.t.Helper()
	for f := range allFragments(r.load()) {
		rows, err := r.read(f)
		if err != nil {
			r.t.Fatalf("a fragment that the log names cannot be read: %v", err)
		}
		a = a.plus(rows)
	}
	return a
}

func (a answer) plus(b answer) answer { return answer{a.rows + b.rows, a.sum + b.sum} }

// read is the answer of one file.
func (r *rig) read(f shardlog.Fragment) (a answer, err error) {
	file, err := fragment.Open(r.t.Context(), r.store.Inner(), f.Key, f.Bytes)
	if err != nil {
		return a, err
	}
	for e, err := range file.Events() {
		if err != nil {
			return a, err
		}
		h := fnv.New64a()
		payload, err := e.AppendJSON(nil)
		if err != nil {
			return a, err
		}
		fmt.Fprintf(h, "%s %d %s %s", f.Tenant, e.Timestamp, e.ID, payload)
		a = a.plus(answer{1, h.Sum64()})
	}
	return a, nil
}

// work takes turns and collects until nothing is left to do, the grace of what was replaced
// included. It ends at the first error.
func (r *rig) work(c *Compactor) error {
	for range 2 {
		for range 100 {
			if worked, err := c.Turn(r.t.Context(), 0); err != nil {
				return err
			} else if !worked {
				break
			}
		}
		if _, err := c.Collect(r.t.Context()); err != nil {
			return err
		}
		r.now += max(r.cfg.QuietNewestAfter, r.cfg.QueryGrace)
	}
	return nil
}

// TestFault_double_count kills a compactor after each of its requests, while it merges and while it
// collects; a loop asks after each request that changes the store. The answer never changes.
func TestFault_double_count(t *testing.T) {
	crashes := 0
	for _, applied := range []bool{false, true} {
		for k := 1; ; k++ {
			r := newRig(t)
			r.cfg.QueryGrace = 0 // it collects what it has just replaced
			for range 4 {
				r.commit(begin, 3, "acme")
			}
			want := r.ask()
			same := func(call objstore.Call) {
				if got := r.ask(); got != want {
					t.Fatalf("killed at %d, applied %t: after %s %s the answer is %+v, it was %+v", k, applied, call.Op, call.Key, got, want)
				}
			}
			r.store.Decide = func(call objstore.Call) *objstore.Rule {
				if !call.Op.IsWrite() {
					return nil
				}
				return &objstore.Rule{Effect: objstore.Pass, After: same}
			}
			r.store.CrashAt(k, applied)
			err := r.work(r.compactor("dies"))
			crashed := r.store.Crashed()
			if (err != nil) != crashed {
				t.Fatalf("killed at %d: crashed %t, %v", k, crashed, err)
			}
			r.store.Restart()
			same(objstore.Call{Op: "crash"})
			next := r.compactor("next")
			for range 2 { // what the dead one had begun is given up in between
				if err := r.work(next); err != nil {
					t.Fatalf("killed at %d: the next one: %v", k, err)
				}
				r.now += r.cfg.JobTimeout
			}
			fragments, segments := r.load().Counts()
			if n := len(r.objects()); fragments != 1 || n != fragments+segments {
				t.Fatalf("killed at %d, applied %t: %d fragments and %d id segments, %d objects", k, applied, fragments, segments, n)
			}
			if !crashed {
				break
			}
			crashes++
		}
	}
	if crashes < 60 {
		t.Errorf("only %d moments to die at", crashes)
	}
	t.Logf("killed at %d moments", crashes)
}

// slowReader reads a list of files one by one, and plans again if one was collected.
type slowReader struct {
	r      *rig
	files  []shardlog.Fragment
	want   answer // of the state that it was planned on
	got    answer
	plans  int
	finals int // lists that were read to their end
}

func (s *slowReader) plan() {
	s.files, s.want, s.got = nil, s.r.ask(), answer{}
	for f := range allFragments(s.r.load()) {
		s.files = append(s.files, f)
	}
	s.plans++
}

// step reads one file.
func (s *slowReader) step() {
	s.r.t.Helper()
	if len(s.files) == 0 {
		if s.got != s.want {
			s.r.t.Fatalf("a reader got %+v, planned on %+v", s.got, s.want)
		}
		if s.plans > 0 {
			s.finals++
		}
		s.plan()
		return
	}
	f := s.files[0]
	s.files = s.files[1:]
	rows, err := s.r.read(f)
	switch {
	case errors.Is(err, objstore.ErrNotFound) && !s.r.load().Names(f.Key):
		s.plan()
	case err != nil:
		s.r.t.Fatalf("a reader: %v", err)
	}
	s.got = s.got.plus(rows)
	if err != nil {
		s.got = answer{}
	}
}

// TestFault_inputs_vanish: readers of lists of files, each slower than the one before, while commits come,
// and while what they read is merged and collected. Within the grace a list is read to
// its end; later it may have to be planned again. Nobody gets a wrong answer, or an error.
func TestFault_inputs_vanish(t *testing.T) {
	for _, grace := range []time.Duration{time.Hour, 0} {
		r := newRig(t)
		r.cfg.QueryGrace = grace
		c := r.compactor("a")
		readers := []*slowReader{{r: r}, {r: r}, {r: r}}
		step := func(n int) {
			for i, s := range readers {
				if n%(i*i+1) == 0 {
					s.step()
				}
			}
		}
		for n := range 300 {
			if n%2 == 0 && n < 160 {
				r.commit(begin+int64(n/40)*hour, 3, "acme", "globex")
			}
			if _, err := c.Turn(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
			if n%3 == 0 {
				if _, err := c.Collect(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			r.now += time.Minute / 4
			step(n)
		}
		replans := 0
		for i, s := range readers {
			if s.finals == 0 {
				t.Errorf("grace %s: reader %d never came to the end of a list, in %d plans", grace, i, s.plans)
			}
			replans += s.plans - s.finals - 1
		}
		if grace > 0 && replans > 0 || grace == 0 && replans == 0 {
			t.Errorf("grace %s: %d lists were planned again", grace, replans)
		}
		r.check()
	}
}
