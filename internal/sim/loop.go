package sim

import (
	"container/heap"
	"fmt"
	"hash/fnv"
	"io"
	"iter"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"time"
)

// loop decides what happens next: it has the only clock, and a queue of what is to
// happen at which time. Nothing runs beside it.
type loop struct {
	now     time.Duration // since the run began
	queue   eventQueue
	serial  uint64
	steps   int64
	current *task // that runs now; nil: none does
	delays  *rand.Rand

	trace     uint64 // hash of everything that happened
	traceTo   io.Writer
	traceLine []byte
}

// happening is something that is to happen at a time.
type happening struct {
	at     time.Duration
	serial uint64
	of     *process // that must still be alive then; nil: it happens anyway
	life   int
	do     func()
}

type eventQueue []happening

func (q eventQueue) Len() int { return len(q) }
func (q eventQueue) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].serial < q[j].serial
}
func (q eventQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *eventQueue) Push(x any)   { *q = append(*q, x.(happening)) }
func (q *eventQueue) Pop() any {
	old := *q
	n := len(old) - 1
	x := old[n]
	old[n] = happening{}
	*q = old[:n]
	return x
}

// after has do happen in d, whatever becomes of the process that asked.
func (l *loop) after(d time.Duration, do func()) { l.push(d, nil, do) }

func (l *loop) push(d time.Duration, of *process, do func()) {
	l.serial++
	h := happening{at: l.now + max(d, 0), serial: l.serial, of: of, do: do}
	if of != nil {
		h.life = of.life
	}
	heap.Push(&l.queue, h)
}

// step lets the next thing happen; false if there is none before end.
func (l *loop) step(end time.Duration) bool {
	if len(l.queue) == 0 || l.queue[0].at > end {
		l.now = end
		return false
	}
	h := heap.Pop(&l.queue).(happening)
	l.now = h.at
	if p := h.of; p != nil {
		if !p.up || p.life != h.life {
			return true
		}
		if p.frozenTill > l.now {
			// What was due meanwhile comes at once when it thaws, in the old order.
			h.at = p.frozenTill
			heap.Push(&l.queue, h)
			return true
		}
	}
	l.steps++
	h.do()
	return true
}

// note adds a line to the history.
func (l *loop) note(format string, args ...any) {
	l.traceLine = fmt.Appendf(l.traceLine[:0], "%d ", l.now)
	l.traceLine = fmt.Appendf(l.traceLine, format, args...)
	h := fnv.New64a()
	h.Write(l.traceLine)
	l.trace = l.trace*1_000_003 ^ h.Sum64()
	if l.traceTo != nil {
		fmt.Fprintf(l.traceTo, "%12s %s\n", l.now.Round(time.Microsecond), l.traceLine[len(fmt.Sprint(int64(l.now)))+1:])
	}
}

// detail adds lines to a printed history that its hash does without.
func (l *loop) detail(text func() string) {
	if l.traceTo != nil {
		fmt.Fprintf(l.traceTo, "%12s   %s\n", l.now.Round(time.Microsecond), text())
	}
}

// delay is a random time, its logarithm spread evenly over [lo, hi].
func delay(r *rand.Rand, lo, hi time.Duration) time.Duration {
	return time.Duration(float64(lo) * math.Exp(r.Float64()*math.Log(float64(hi)/float64(lo))))
}

// process is one that can be killed, frozen and started again.
type process struct {
	l           *loop
	name        string
	life        int // counts its starts and ends: what belongs to another life is void
	up          bool
	frozenTill  time.Duration
	skew        time.Duration // of its wall clock
	skewAtStart time.Duration
	tasks       []*task
}

// after has do happen in d, if the process still lives then, and when it is not frozen.
func (p *process) after(d time.Duration, do func()) { p.l.push(d, p, do) }

// kill ends the process at once. Called by one of its own tasks, it does not return.
func (p *process) kill() {
	if !p.up {
		return
	}
	p.up = false
	p.life++
	p.frozenTill = 0
	self := p.l.current
	tasks := p.tasks
	p.tasks = nil
	for _, t := range tasks {
		if t != self {
			t.kill()
		}
	}
	if self != nil && self.p == p {
		panic(killed{})
	}
}

func (p *process) start() {
	p.life++
	p.up = true
	p.frozenTill, p.skewAtStart = 0, p.skew
}

// task is a line of work that may wait: a coroutine, so that exactly one thing runs at
// any time, and the loop says which.
type task struct {
	p     *process
	name  string
	yield func(struct{}) bool
	next  func() (struct{}, bool)
	stop  func()
	done  bool
}

// killed is what unwinds a task that ended before its time.
type killed struct{}

// spawn starts a task of the process.
func (p *process) spawn(name string, f func()) *task {
	t := &task{p: p, name: name}
	t.next, t.stop = iter.Pull(func(yield func(struct{}) bool) {
		defer func() {
			t.done = true
			if r := recover(); r != nil {
				if _, ok := r.(killed); !ok {
					panic(fmt.Sprintf("%s/%s: %v\n%s", p.name, name, r, debug.Stack()))
				}
			}
		}()
		t.yield = yield
		f()
	})
	p.tasks = append(p.tasks, t)
	p.after(0, t.resume)
	return t
}

// resume lets the task run until it waits again.
func (t *task) resume() {
	if t.done {
		return
	}
	l := t.p.l
	before := l.current
	l.current = t
	t.next()
	l.current = before
	if t.done {
		t.p.forget(t)
	}
}

func (p *process) forget(t *task) {
	for i, other := range p.tasks {
		if other == t {
			p.tasks = append(p.tasks[:i], p.tasks[i+1:]...)
			return
		}
	}
}

// park waits until the loop resumes the task.
func (t *task) park() {
	if !t.yield(struct{}{}) {
		panic(killed{})
	}
}

// kill ends the task where it waits.
func (t *task) kill() {
	if t.done {
		return
	}
	l := t.p.l
	before := l.current
	l.current = t
	if t.yield == nil {
		t.done = true // it never ran
	}
	t.stop()
	l.current = before
	t.p.forget(t)
}

// sleep pauses the task that runs.
func (l *loop) sleep(d time.Duration) {
	t := l.current
	t.p.after(d, t.resume)
	t.park()
}

// lock is held by one task of a process at a time, first come first served.
type lock struct {
	holder  *task
	waiting []*task
}

// with runs f while the running task holds the lock.
func (k *lock) with(l *loop, f func()) {
	t := l.current
	defer k.leave(t) // also if it is killed while it waits
	if k.holder != nil {
		k.waiting = append(k.waiting, t)
		for k.holder != t {
			t.park()
		}
	}
	k.holder = t
	f()
}

func (k *lock) leave(t *task) {
	if k.holder == t {
		k.release()
		return
	}
	k.waiting = slices.DeleteFunc(k.waiting, func(w *task) bool { return w == t })
}

// release hands the lock to the first that waits.
func (k *lock) release() {
	k.holder = nil
	if len(k.waiting) > 0 {
		t := k.waiting[0]
		k.waiting = k.waiting[1:]
		k.holder = t
		t.p.after(0, t.resume)
	}
}
