package sim

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/sim/loop"
)

// Fault is one thing that went wrong in a run.
type Fault struct {
	ID   string // the same in every run of the seed, whatever other faults are left out
	At   time.Duration
	Kind string
	What string
}

func (f Fault) String() string {
	return fmt.Sprintf("%s %s: %s (%s)", f.At.Round(time.Millisecond), f.Kind, f.What, f.ID)
}

// faults draws what goes wrong, for each process and each system that it calls from a
// stream of its own: so a run with some of the faults left out stays as close as it can
// to the run with all.
type faults struct {
	w       *world
	rate    float64 // of calls that go wrong
	streams map[string]*stream
	list    []Fault                  // that happened
	calm    bool                     // nothing goes wrong any more
	down    map[string]time.Duration // until when a system is away, for all or for one process
}

// stream is a source of decisions.
type stream struct {
	f    *faults
	r    *rand.Rand
	name string
	n    int // decisions so far
}

func (f *faults) stream(name string) *stream {
	s := f.streams[name]
	if s == nil {
		s = &stream{f: f, name: name, r: f.w.random("faults of " + name)}
		f.streams[name] = s
	}
	return s
}

// strike says whether a fault that was drawn happens, and writes it down.
func (s *stream) strike(kind, format string, args ...any) bool {
	id := fmt.Sprintf("%s/%d", s.name, s.n)
	f := s.f
	if f.calm || f.w.opt.without(id) {
		return false
	}
	what := fmt.Sprintf(format, args...)
	f.list = append(f.list, Fault{id, f.w.Now(), kind, what})
	f.w.Note("fault %s %s", kind, what)
	if kind == f.w.opt.broken {
		f.w.fail("a fault of the kind %s", kind)
	}
	return true
}

// fate is what becomes of one call of the store or of Kafka.
type fate struct {
	before time.Duration // until it is done there
	after  time.Duration // until the answer is here
	done   bool          // it is done there, at `before`
	err    error         // the answer in place of the true one
}

// The times of a call without faults, and of one that is slow.
const (
	fastest, slowest = time.Millisecond, 300 * time.Millisecond
	longest          = 2 * time.Minute
	timeout          = 10 * time.Second
	latest           = 20 * time.Minute // of a write that was reported failed
)

// fate decides for a call to `of`; refusals are what may come instead of an answer, of
// a write or of a read.
func (f *faults) fate(p *loop.Process, of, what string, write bool, refusals []error) fate {
	w := f.w
	out := fate{before: delay(w.delays, fastest, slowest), after: delay(w.delays, fastest, slowest), done: true}
	s := f.stream(p.Name + "/" + of)
	s.n++
	r := s.r
	x, kind, d, pick := r.Float64(), r.IntN(10), delay(r, time.Second, latest), r.IntN(len(refusals))
	if (w.Now() < f.down[of] || w.Now() < f.down[p.Name+"/"+of]) && !f.calm {
		out.done, out.err = false, refusals[0]
		return out
	}
	if x >= f.rate {
		return out
	}
	what = p.Name + " " + of + " " + what
	switch {
	case kind < 3:
		if s.strike("refused", "%s: %v", what, refusals[pick]) {
			out.done, out.err = false, refusals[pick]
		}
	case kind < 5:
		if s.strike("answer lost", "%s", what) {
			out.after, out.err = timeout, errTimeout
		}
	case kind < 7 && write:
		if s.strike("lands late", "%s, after %s", what, d.Round(time.Millisecond)) {
			out.before, out.after, out.err = d, timeout-d, errTimeout // the answer may come before it
		}
	case kind < 8:
		if s.strike("torn", "%s", what) {
			out.done, out.err = false, errReset
		}
	default:
		if s.strike("slow", "%s, %s", what, min(d, longest).Round(time.Millisecond)) {
			out.after = min(d, longest)
		}
	}
	return out
}

// call has the running task of p call another system: do happens there, and its error
// or the fate's comes back.
func (w *world) call(p *loop.Process, of, what string, write bool, refusals []error, do func() error) error {
	t := w.Current()
	if t == nil || t.Of() != p {
		panic("sim: a call outside of its process's tasks: " + what)
	}
	f := w.faults.fate(p, of, what, write, refusals)
	if c := w.opt.Crash; c != nil && w.crash(c, p, of, what, write, &f, do) {
		p.Kill()
	}
	var err error
	if f.done {
		w.After(f.before, func() {
			if e := do(); f.err == nil {
				err = e
			}
			w.Note("%s %s %s: %s", p.Name, of, what, short(err))
		})
	}
	if f.err != nil {
		err = f.err
	}
	p.After(max(f.before+f.after, 0), t.Resume)
	t.Park()
	if f.err != nil {
		err = f.err
	}
	w.answers[class(err)]++
	return err
}

// class names an answer as a store's own protocol does.
func class(err error) string {
	for _, c := range []struct {
		err  error
		name string
	}{
		{objstore.ErrExists, "412"}, {objstore.ErrConflict, "409"}, {objstore.ErrUnavailable, "503"}, {objstore.ErrNotFound, "404"},
		{errInner, "500"}, {errTimeout, "time-out"}, {errReset, "reset"}, {errBroker, "no broker"},
	} {
		if errors.Is(err, c.err) {
			return c.name
		}
	}
	if err != nil {
		return "refused"
	}
	return "ok"
}

// short is an error as it stands in the history.
func short(err error) string {
	if err == nil {
		return "ok"
	}
	return err.Error()
}

// delay is a random time, its logarithm spread evenly over [lo, hi].
func delay(r *rand.Rand, lo, hi time.Duration) time.Duration {
	return time.Duration(float64(lo) * math.Exp(r.Float64()*math.Log(float64(hi)/float64(lo))))
}
