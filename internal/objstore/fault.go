package objstore

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// Op is a kind of store operation.
type Op string

// The operations, one for each method of Store.
const (
	OpPut         Op = "put"
	OpPutIfAbsent Op = "put_if_absent"
	OpGet         Op = "get"
	OpGetRange    Op = "get_range"
	OpList        Op = "list"
	OpDelete      Op = "delete"
	OpDate        Op = "date"
)

// IsWrite says whether the operation changes the store.
func (o Op) IsWrite() bool { return o == OpPut || o == OpPutIfAbsent || o == OpDelete }

var (
	// ErrInjected is the error of a fault that names none. It is ambiguous, as a
	// time-out is.
	ErrInjected = errors.New("injected fault")
	// ErrCrashed is the error of every operation from a crash on.
	ErrCrashed = errors.New("injected crash")
)

// Effect is what a fault does to the operation that it meets.
type Effect string

// The effects. Before all of them comes the rule's Delay.
const (
	// Pass lets the operation through (use it with Delay, Before or After).
	Pass Effect = "pass"
	// FailBefore returns Err and applies nothing. Of a Delete, if the rule has a
	// Key, only the keys that match are left, and the error is a *DeleteError.
	FailBefore Effect = "fail-before"
	// FailAfter applies the operation and returns Err: a lost answer.
	FailAfter Effect = "fail-after"
	// LandLater returns Err and keeps the write; it is applied, with its
	// condition, before the LandAfter-th later operation, or by Land. If
	// LandAfter is 0, only Land applies it.
	LandLater Effect = "land-later"
	// Truncate cuts what a read returns to Bytes bytes (a List: to Bytes entries),
	// and returns Err with it, or nothing at all wrong if Err is nil.
	Truncate Effect = "truncate"
	// IgnoreCondition makes PutIfAbsent a Put.
	IgnoreCondition Effect = "ignore-condition"
	// CrashBefore fails this and every later operation with ErrCrashed.
	CrashBefore Effect = "crash-before"
	// CrashAfter applies this operation, then fails it and every later one.
	CrashAfter Effect = "crash-after"
)

// Call is one operation, as rules see it.
type Call struct {
	Op  Op
	Key string // of a List: its prefix; of a Delete: the first key that a rule matched, or its first key
	N   int    // the operation's number, from 1
}

// Rule says which operations meet a fault, and which.
type Rule struct {
	Op    Op     // "": every operation
	Key   string // path.Match pattern for the whole key, or "prefix/**"; "": every key
	Skip  int    // lets that many matching operations pass first
	Times int    // how many meet the fault; 0: one, negative: all

	Effect    Effect
	Err       error         // nil: ErrInjected, but for Truncate
	Delay     time.Duration // before the operation; cut short by the context
	LandAfter int           // for LandLater
	Bytes     int           // for Truncate
	// Before and After run as part of the operation, without a lock held, so that
	// a test can let another actor move at just this point.
	Before, After func(Call)

	spent bool // all its turns are used up
}

// Fault is a Store with scripted faults. It starts no goroutine and decides
// nothing by chance: the same operations meet the same faults. The first rule
// that matches holds; without one, Decide is asked; without that, the operation passes.
type Fault struct {
	// Decide, if set, gives the rule for an operation that no rule matches (its Op,
	// Key, Skip and Times are not looked at), or nil. It is called with Fault's lock
	// held. Set it before first use. Simulations draw faults with it.
	Decide func(Call) *Rule

	inner       Store
	mu          sync.Mutex
	rules       []*Rule      // guarded by mu, as the rest
	count       map[Op]int   // operations so far, by kind
	ops         int          // operations so far
	crashAt     int          // the operation that CrashAt chose; 0: none
	crashEffect Effect       // how it crashes
	crashed     bool         // from a crash to Restart
	late        []*LateWrite // not landed yet, oldest first
}

// LateWrite is a write that was reported failed and has not been applied yet.
type LateWrite struct {
	Op   Op
	Keys []string
	body []byte
	due  int // operation number before which it lands; 0: never by itself
}

// NewFault wraps a store; without rules all passes.
func NewFault(inner Store, rules ...Rule) *Fault {
	f := &Fault{inner: inner, count: map[Op]int{}}
	f.Add(rules...)
	return f
}

// String names the store in messages.
func (f *Fault) String() string { return Name(f.inner) + " with faults" }

// Inner is the wrapped store, which meets no faults.
func (f *Fault) Inner() Store { return f.inner }

// Add puts rules behind those that stand. They are checked: a bad pattern panics.
func (f *Fault) Add(rules ...Rule) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, rule := range rules {
		if _, err := path.Match(rule.Key, ""); err != nil {
			panic(fmt.Sprintf("objstore: fault pattern %q: %v", rule.Key, err))
		}
		if rule.Times == 0 {
			rule.Times = 1
		}
		f.rules = append(f.rules, &rule)
	}
}

// Clear removes all rules; late writes and a crash stay.
func (f *Fault) Clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules = nil
}

// CrashAt makes the k-th operation from now (from 1) crash, applied first or not,
// whatever rule it would meet.
func (f *Fault) CrashAt(k int, applied bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.crashAt, f.crashEffect = f.ops+k, CrashBefore
	if applied {
		f.crashEffect = CrashAfter
	}
}

// Restart ends a crash (and forgets one that CrashAt set and that has not come): the
// store is as the crash left it, late writes among them.
func (f *Fault) Restart() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.crashed, f.crashAt = false, 0
}

// Crashed says whether a crash has come and no Restart since.
func (f *Fault) Crashed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.crashed
}

// Ops is the number of operations so far, those that failed included.
func (f *Fault) Ops() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ops
}

// Count is the number of operations of a kind so far.
func (f *Fault) Count(op Op) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count[op]
}

// Late is the writes that may still land, oldest first.
func (f *Fault) Late() []LateWrite {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]LateWrite, len(f.late))
	for i, w := range f.late {
		out[i] = *w
	}
	return out
}

// Land applies the late writes now, oldest first, each under its condition. The
// error is what the store said to the last of them; nobody waits for it.
func (f *Fault) Land() error {
	f.mu.Lock()
	late := f.late
	f.late = nil
	f.mu.Unlock()
	var last error
	for _, w := range late {
		last = f.land(w)
	}
	return last
}

func (f *Fault) land(w *LateWrite) error {
	// Not the caller's context: the caller may be long gone.
	ctx := context.Background()
	switch w.Op {
	case OpPut:
		return f.inner.Put(ctx, w.Keys[0], w.body)
	case OpPutIfAbsent:
		return f.inner.PutIfAbsent(ctx, w.Keys[0], w.body)
	default:
		return f.inner.Delete(ctx, w.Keys...)
	}
}

// matches says whether the rule is for this kind and key.
func (r *Rule) matches(op Op, key string) bool {
	return !r.spent && (r.Op == "" || r.Op == op) && r.matchesKey(key)
}

func (r *Rule) matchesKey(key string) bool {
	if r.Key == "" {
		return true
	}
	if prefix, deep := strings.CutSuffix(r.Key, "**"); deep {
		return strings.HasPrefix(key, prefix)
	}
	ok, _ := path.Match(r.Key, key)
	return ok
}

// take uses up one of the rule's turns, and says whether the fault is met.
func (r *Rule) take() bool {
	if r.Skip > 0 {
		r.Skip--
		return false
	}
	if r.Times > 0 {
		r.Times--
		r.spent = r.Times == 0
	}
	return true
}

// begin counts the operation, lands what is due, and finds its rule (never nil).
func (f *Fault) begin(op Op, keys ...string) (Call, Rule, error) {
	f.mu.Lock()
	f.ops++
	f.count[op]++
	call := Call{Op: op, N: f.ops}
	if len(keys) > 0 {
		call.Key = keys[0]
	}
	var due []*LateWrite
	f.late = slices.DeleteFunc(f.late, func(w *LateWrite) bool {
		if w.due == 0 || w.due > f.ops {
			return false
		}
		due = append(due, w)
		return true
	})
	rule, crashed := Rule{Effect: Pass}, f.crashed
	if !crashed {
		rule = f.find(&call, keys)
		f.crashed = rule.Effect == CrashBefore || rule.Effect == CrashAfter
	}
	f.mu.Unlock()
	for _, w := range due {
		_ = f.land(w) // its writer was told of a failure long ago
	}
	if crashed {
		return call, rule, fmt.Errorf("%s %s: %w", op, call.Key, ErrCrashed)
	}
	return call, rule, nil
}

// find is the rule of the operation; the caller holds mu.
func (f *Fault) find(call *Call, keys []string) Rule {
	if call.N == f.crashAt {
		return Rule{Effect: f.crashEffect}
	}
	for _, rule := range f.rules {
		at := slices.IndexFunc(keys, func(key string) bool { return rule.matches(call.Op, key) })
		if at < 0 && !(len(keys) == 0 && rule.Key == "" && rule.matches(call.Op, "")) {
			continue
		}
		met := *rule
		if !rule.take() {
			continue
		}
		if at >= 0 {
			call.Key = keys[at]
		}
		return met
	}
	if f.Decide != nil {
		if rule := f.Decide(*call); rule != nil {
			return *rule
		}
	}
	return Rule{Effect: Pass}
}

// run does one operation under its rule. apply does it on the wrapped store;
// its argument says whether a condition holds (see IgnoreCondition).
func (f *Fault) run(ctx context.Context, call Call, rule Rule, apply func(conditional bool) error) error {
	if rule.Delay > 0 {
		timer := time.NewTimer(rule.Delay)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s %s: %w", call.Op, call.Key, ctx.Err())
		case <-timer.C:
		}
	}
	if rule.Before != nil {
		rule.Before(call)
	}
	var err error
	switch rule.Effect {
	case FailBefore, LandLater:
		err = f.failure(call, rule)
	case FailAfter:
		_ = apply(true) // its answer is what gets lost
		err = f.failure(call, rule)
	case CrashAfter:
		_ = apply(true)
		err = fmt.Errorf("%s %s: %w", call.Op, call.Key, ErrCrashed)
	case CrashBefore:
		err = fmt.Errorf("%s %s: %w", call.Op, call.Key, ErrCrashed)
	case IgnoreCondition:
		err = apply(false)
	default:
		err = apply(true)
	}
	if rule.After != nil {
		rule.After(call)
	}
	return err
}

func (f *Fault) failure(call Call, rule Rule) error {
	err := rule.Err
	if err == nil {
		err = ErrInjected
	}
	return fmt.Errorf("%s %s: operation %d: %w", call.Op, call.Key, call.N, err)
}

// keep sets a write aside that is to land later.
func (f *Fault) keep(call Call, rule Rule, keys []string, body []byte) {
	if rule.Effect != LandLater {
		return
	}
	w := &LateWrite{Op: call.Op, Keys: slices.Clone(keys), body: slices.Clone(body)}
	if rule.LandAfter > 0 {
		w.due = call.N + rule.LandAfter
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.late = append(f.late, w)
}
