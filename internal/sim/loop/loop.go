// Package loop is the scheduler of a simulation: one clock, and a queue of what is to
// happen when. Exactly one thing runs at any time, and the loop says which; what happens follows from what
// was put into it, and from nothing else.
//
// Processes can be killed, frozen and started again. Their tasks are coroutines: a task that waits,
// for a pause, for an answer or for a lock, gives the loop back.
package loop

import (
	"container/heap"
	"fmt"
	"hash/fnv"
	"io"
	"iter"
	"runtime/debug"
	"slices"
	"time"
)

// Loop decides what happens next.
type Loop struct {
	now     time.Duration // since the run began
	queue   eventQueue
	serial  uint64
	steps   int64
	current *Task // that runs now; nil: none does

	trace     uint64 // hash of everything that happened
	traceTo   io.Writer
	traceLine []byte
}

// happening is something that is to happen at a time.
type happening struct {
	at     time.Duration
	serial uint64
	of     *Process // that must still be alive then; nil: it happens anyway
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

// New is a loop whose history goes to trace, a line for each note; nil: nowhere.
func New(trace io.Writer) *Loop { return &Loop{traceTo: trace} }

// Now is the simulated time since the beginning.
func (l *Loop) Now() time.Duration { return l.now }

// Steps is how many things have happened.
func (l *Loop) Steps() int64 { return l.steps }

// Hash is of all notes so far: equal histories have equal hashes.
func (l *Loop) Hash() uint64 { return l.trace }

// Current is the task that runs; nil if none does.
func (l *Loop) Current() *Task { return l.current }

// After has do happen in d, whatever becomes of the process that asked.
func (l *Loop) After(d time.Duration, do func()) { l.push(d, nil, do) }

func (l *Loop) push(d time.Duration, of *Process, do func()) {
	l.serial++
	h := happening{at: l.now + max(d, 0), serial: l.serial, of: of, do: do}
	if of != nil {
		h.life = of.life
	}
	heap.Push(&l.queue, h)
}

// Step lets the next thing happen; false if there is none before end.
func (l *Loop) Step(end time.Duration) bool {
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

// Note adds a line to the history.
func (l *Loop) Note(format string, args ...any) {
	l.traceLine = fmt.Appendf(l.traceLine[:0], "%d ", l.now)
	l.traceLine = fmt.Appendf(l.traceLine, format, args...)
	h := fnv.New64a()
	h.Write(l.traceLine)
	l.trace = l.trace*1_000_003 ^ h.Sum64()
	if l.traceTo != nil {
		fmt.Fprintf(l.traceTo, "%12s %s\n", l.now.Round(time.Microsecond), l.traceLine[len(fmt.Sprint(int64(l.now)))+1:])
	}
}

// Detail adds lines to a printed history that its hash does without.
func (l *Loop) Detail(text func() string) {
	if l.traceTo != nil {
		fmt.Fprintf(l.traceTo, "%12s   %s\n", l.now.Round(time.Microsecond), text())
	}
}

// Process is one that can be killed, frozen and started again.
type Process struct {
	l *Loop
	// Name is for people.
	Name string
	// Skew is how far the process's wall clock is off.
	Skew time.Duration

	life        int // counts its starts and ends: what belongs to another life is void
	up          bool
	frozenTill  time.Duration
	skewAtStart time.Duration
	tasks       []*Task
}

// NewProcess is a process that has not started.
func (l *Loop) NewProcess(name string) *Process { return &Process{l: l, Name: name} }

// Up says whether the process lives.
func (p *Process) Up() bool { return p.up }

// SkewAtStart is what Skew was when this life began. Spans of time that a process measures do
// not follow its wall clock: Go's times carry a monotonic reading.
func (p *Process) SkewAtStart() time.Duration { return p.skewAtStart }

// Freeze stops the process for d from now on; what is due meanwhile comes when it thaws.
func (p *Process) Freeze(d time.Duration) { p.frozenTill = max(p.frozenTill, p.l.now+d) }

// Thaw ends a freeze.
func (p *Process) Thaw() { p.frozenTill = 0 }

// After has do happen in d, if the process still lives then, and when it is not frozen.
func (p *Process) After(d time.Duration, do func()) { p.l.push(d, p, do) }

// Kill ends the process at once. Called by one of its own tasks, it does not return.
func (p *Process) Kill() {
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
			t.Kill()
		}
	}
	if self != nil && self.p == p {
		panic(killed{})
	}
}

// Start begins another life of the process.
func (p *Process) Start() {
	p.life++
	p.up = true
	p.frozenTill, p.skewAtStart = 0, p.Skew
}

// Task is a line of work that may wait: a coroutine, so that exactly one thing runs at
// any time, and the loop says which.
type Task struct {
	p     *Process
	name  string
	yield func(struct{}) bool
	next  func() (struct{}, bool)
	stop  func()
	done  bool
}

// Done says whether the task has ended.
func (t *Task) Done() bool { return t.done }

// Of is the process whose task it is.
func (t *Task) Of() *Process { return t.p }

// killed is what unwinds a task that ended before its time.
type killed struct{}

// Spawn starts a task of the process.
func (p *Process) Spawn(name string, f func()) *Task {
	t := &Task{p: p, name: name}
	t.next, t.stop = iter.Pull(func(yield func(struct{}) bool) {
		defer func() {
			t.done = true
			if r := recover(); r != nil {
				if _, ok := r.(killed); !ok {
					panic(fmt.Sprintf("%s/%s: %v\n%s", p.Name, name, r, debug.Stack()))
				}
			}
		}()
		t.yield = yield
		f()
	})
	p.tasks = append(p.tasks, t)
	p.After(0, t.Resume)
	return t
}

// Resume lets the task run until it waits again.
func (t *Task) Resume() {
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

func (p *Process) forget(t *Task) {
	for i, other := range p.tasks {
		if other == t {
			p.tasks = append(p.tasks[:i], p.tasks[i+1:]...)
			return
		}
	}
}

// Park waits until the loop resumes the task.
func (t *Task) Park() {
	if !t.yield(struct{}{}) {
		panic(killed{})
	}
}

// Kill ends the task where it waits.
func (t *Task) Kill() {
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

// Sleep pauses the task that runs.
func (l *Loop) Sleep(d time.Duration) {
	t := l.current
	t.p.After(d, t.Resume)
	t.Park()
}

// Lock is held by one task of a process at a time, first come first served.
type Lock struct {
	holder  *Task
	waiting []*Task
}

// With runs f while the running task holds the lock.
func (k *Lock) With(l *Loop, f func()) {
	t := l.current
	defer k.leave(t) // also if it is killed while it waits
	if k.holder != nil {
		k.waiting = append(k.waiting, t)
		for k.holder != t {
			t.Park()
		}
	}
	k.holder = t
	f()
}

func (k *Lock) leave(t *Task) {
	if k.holder == t {
		k.release()
		return
	}
	k.waiting = slices.DeleteFunc(k.waiting, func(w *Task) bool { return w == t })
}

// release hands the lock to the first that waits.
func (k *Lock) release() {
	k.holder = nil
	if len(k.waiting) > 0 {
		t := k.waiting[0]
		k.waiting = k.waiting[1:]
		k.holder = t
		t.p.After(0, t.Resume)
	}
}
