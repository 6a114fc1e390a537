package chain_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/objstore"
)

func TestPosition(t *testing.T) {
	for _, p := range []chain.Position{0, 1, 42, 1<<64 - 1} {
		if got, err := chain.ParsePosition(p.String()); err != nil || got != p || len(p.String()) != 20 {
			t.Errorf("%d: %q comes back as %d, %v", p, p.String(), got, err)
		}
	}
	for _, s := range []string{"", "1", "0000000000000000001", "000000000000000000001", "99999999999999999999", "+0000000000000000001", "-0000000000000000001", "0000000000000000_001", "0x000000000000000001"} {
		if p, err := chain.ParsePosition(s); err == nil {
			t.Errorf("%q was read as %d", s, p)
		}
	}
	log := chain.Log{Prefix: "shards/3/log"}
	if p, err := log.PositionOf(log.Key(7)); p != 7 || err != nil {
		t.Errorf("position of %s: %d, %v", log.Key(7), p, err)
	}
	if _, err := log.PositionOf("shards/33/log/00000000000000000007"); err == nil {
		t.Error("a key of another chain was taken")
	}
}

func TestBackoff(t *testing.T) {
	for _, c := range []struct {
		jitter  float64
		attempt int
		want    time.Duration
	}{
		{0, 1, 50 * time.Millisecond}, {0, 2, 100 * time.Millisecond}, {0, 7, 3200 * time.Millisecond}, {0, 8, 5 * time.Second},
		{0, 1 << 40, 5 * time.Second}, {0.5, 8, 3750 * time.Millisecond}, {0.999, 1, 25025 * time.Microsecond},
	} {
		b := chain.Backoff{Jitter: func() float64 { return c.jitter }}
		if got := b.Pause(c.attempt); got != c.want {
			t.Errorf("pause after try %d with jitter %v: %s, want %s", c.attempt, c.jitter, got, c.want)
		}
	}
	for range 1000 {
		if got := (chain.Backoff{}).Pause(3); got < 100*time.Millisecond || got > 200*time.Millisecond {
			t.Fatalf("pause %s", got)
		}
	}
}

func TestNonce(t *testing.T) {
	a, b := chain.NewNonce(), chain.NewNonce()
	if a == b || len(a) != 32 || strings.Trim(a, "0123456789abcdef") != "" {
		t.Errorf("nonces %q and %q", a, b)
	}
}

// TestAppendSendsNothingUnderABadKey: the one error of Append that settles
// something, and it comes at once.
func TestAppendSendsNothingUnderABadKey(t *testing.T) {
	f := objstore.NewFault(objstore.NewMemory())
	log := chain.Log{Store: f, Prefix: "a//b"}
	_, err := log.Append(t.Context(), 1, nil, nil)
	if !errors.Is(err, objstore.ErrInvalidKey) || f.Ops() != 0 {
		t.Errorf("error %v after %d operations", err, f.Ops())
	}
}

func TestAppendTellsOfEachRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := objstore.NewFault(objstore.NewMemory(), objstore.Rule{Op: objstore.OpPutIfAbsent, Times: 3, Effect: objstore.FailBefore, Err: objstore.ErrUnavailable})
		var told []int
		log := chain.Log{Store: f, Prefix: "log", OnRetry: func(p chain.Position, attempt int, err error) {
			if p != 1 || !errors.Is(err, objstore.ErrUnavailable) {
				t.Errorf("told of position %d, %v", p, err)
			}
			told = append(told, attempt)
		}}
		if out, err := log.Append(t.Context(), 1, []byte("x"), nil); err != nil || !out.Won {
			t.Fatalf("%+v, %v", out, err)
		}
		if !slices.Equal(told, []int{1, 2, 3}) {
			t.Errorf("told of %v", told)
		}
	})
}

// writer appends records of its own, one after another, and keeps what it was told.
type writer struct {
	log     *chain.Log
	name    string
	won     map[chain.Position]string // acknowledged
	lost    map[chain.Position]lostRace
	records int
}

// lostRace is a record that was refused, and the one that won instead.
type lostRace struct{ own, found string }

func newWriter(log *chain.Log, name string) *writer {
	return &writer{log: log, name: name, won: map[chain.Position]string{}, lost: map[chain.Position]lostRace{}}
}

// run appends records until n were won, or ctx ends.
func (w *writer) run(ctx context.Context, n int) error {
	var head chain.Position
	for len(w.won) < n {
		next, err := w.log.Head(ctx, head)
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, objstore.ErrCrashed) {
				return err
			}
			continue
		}
		head = next
		w.records++
		// Another body for each try at a position, so that one that shows up at
		// two positions was appended twice.
		body := fmt.Sprintf("%s/%d", w.name, w.records)
		out, err := w.log.Append(ctx, head+1, []byte(body), func(found []byte) bool { return string(found) == body })
		if err != nil {
			return err
		}
		if out.Won {
			w.won[head+1] = body
		} else {
			w.lost[head+1] = lostRace{own: body, found: string(out.Body)}
		}
	}
	return nil
}

// check compares the chain with what the writers were told.
func check(t *testing.T, store objstore.Store, writers []*writer) {
	t.Helper()
	log := chain.Log{Store: store, Prefix: "log"}
	seen := map[string]chain.Position{}
	var records []string
	for entry, err := range log.Follow(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		body := string(entry.Body)
		if at, twice := seen[body]; twice {
			t.Fatalf("record %s is at positions %d and %d", body, at, entry.Position)
		}
		seen[body] = entry.Position
		records = append(records, body)
	}
	objects := 0
	for _, err := range store.List(t.Context(), "log/", "") {
		if err != nil {
			t.Fatal(err)
		}
		objects++
	}
	if objects != len(records) {
		t.Fatalf("%d objects, but the chain ends at %d: there is a gap", objects, len(records))
	}
	at := func(p chain.Position) string {
		if int(p) > len(records) {
			return "nothing"
		}
		return records[p-1]
	}
	for _, w := range writers {
		for p, body := range w.won {
			if at(p) != body {
				t.Fatalf("%s was told that %s stands at %d, where %s is", w.name, body, p, at(p))
			}
		}
		for p, race := range w.lost {
			if at(p) != race.found || race.found == race.own {
				t.Fatalf("%s was told that %s lost %d to %s, but %s is there", w.name, race.own, p, race.found, at(p))
			}
			if where, stands := seen[race.own]; stands {
				t.Fatalf("%s was told that %s lost, but it stands at %d", w.name, race.own, where)
			}
		}
	}
}

// TestCrashAtEveryOperation crashes a writer at each of its store operations, applied
// or not, with faults before it; another goes on from what is left.
func TestCrashAtEveryOperation(t *testing.T) {
	rules := func() []objstore.Rule {
		return []objstore.Rule{
			{Op: objstore.OpPutIfAbsent, Key: "log/*1", Effect: objstore.FailAfter},
			{Op: objstore.OpPutIfAbsent, Key: "log/*2", Effect: objstore.FailBefore, Err: objstore.ErrConflict},
			{Op: objstore.OpPutIfAbsent, Key: "log/*3", Effect: objstore.LandLater, LandAfter: 5},
			{Op: objstore.OpGet, Key: "log/*1", Skip: 1, Effect: objstore.FailBefore, Err: objstore.ErrUnavailable},
		}
	}
	operations := 0
	for _, applied := range []bool{false, true} {
		for k := 1; ; k++ {
			crashed := false
			synctest.Test(t, func(t *testing.T) {
				f := objstore.NewFault(objstore.NewMemory(), rules()...)
				f.CrashAt(k, applied)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				log := &chain.Log{Store: f, Prefix: "log"}
				first, second := newWriter(log, "first"), newWriter(log, "second")
				err := first.run(ctx, 4)
				if crashed = f.Crashed(); crashed == (err == nil) {
					t.Fatalf("crash at %d: %v", k, err)
				}
				f.Restart()
				if err := second.run(t.Context(), 4); err != nil {
					t.Fatal(err)
				}
				_ = f.Land()
				check(t, f.Inner(), []*writer{first, second})
				operations = max(operations, k)
			})
			if !crashed {
				break
			}
		}
	}
	if operations < 10 {
		t.Fatalf("only %d operations were crashed at", operations)
	}
}

// turns is a store that gives way to the other writers before each operation.
type turns struct {
	objstore.Store
	yield func() bool
	stop  context.CancelFunc
}

func (s *turns) pass() error {
	if !s.yield() {
		s.stop() // the writer was killed
		return objstore.ErrCrashed
	}
	return nil
}

func (s *turns) PutIfAbsent(ctx context.Context, key string, body []byte) error {
	if err := s.pass(); err != nil {
		return err
	}
	err := s.Store.PutIfAbsent(ctx, key, body)
	if killed := s.pass(); killed != nil {
		return killed
	}
	return err
}

func (s *turns) Get(ctx context.Context, key string) ([]byte, error) {
	if err := s.pass(); err != nil {
		return nil, err
	}
	return s.Store.Get(ctx, key)
}

// coroutine runs a writer of n records; each call of next lets it do one operation.
func coroutine(t *testing.T, store objstore.Store, name string, n int) (*writer, func() bool, func()) {
	ctx, cancel := context.WithCancel(t.Context())
	log := &chain.Log{Prefix: "log"}
	w := newWriter(log, name)
	next, stop := iter.Pull(func(yield func(struct{}) bool) {
		s := &turns{Store: store, yield: func() bool { return ctx.Err() == nil && yield(struct{}{}) }, stop: cancel}
		log.Store = s
		log.Backoff.Sleep = func(ctx context.Context, _ time.Duration) error {
			_ = s.pass()
			return ctx.Err()
		}
		if err := w.run(ctx, n); err != nil && ctx.Err() == nil {
			t.Errorf("%s: %v", name, err)
		}
	})
	return w, func() bool { _, ok := next(); return ok }, func() { stop(); cancel() }
}

// TestRacersUnderRandomFaults lets writers race one operation at a time, in an order
// and with faults that a seed decides; some are killed on the way.
func TestRacersUnderRandomFaults(t *testing.T) {
	const seeds = 300
	var kinds [6]int
	for seed := range uint64(seeds) {
		r := rand.New(rand.NewPCG(seed, 1))
		f := objstore.NewFault(objstore.NewMemory())
		f.Decide = func(c objstore.Call) *objstore.Rule { return draw(r, c, &kinds) }
		var writers []*writer
		var next []func() bool
		var stop []func()
		for i := range 2 + r.IntN(4) {
			w, n, s := coroutine(t, f, fmt.Sprintf("w%d", i), 1+r.IntN(5))
			writers, next, stop = append(writers, w), append(next, n), append(stop, s)
		}
		killing := r.IntN(2) == 0
		for len(next) > 0 {
			i := r.IntN(len(next))
			dead := false
			if killing && r.IntN(60) == 0 {
				stop[i]()
				dead = true
			}
			if dead || !next[i]() {
				stop[i]()
				next, stop = slices.Delete(next, i, i+1), slices.Delete(stop, i, i+1)
			}
		}
		_ = f.Land() // all that can still land, lands
		check(t, f.Inner(), writers)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	for i, n := range kinds {
		if n < seeds/2 {
			t.Errorf("fault %d was drawn %d times only", i, n)
		}
	}
}

// draw is a fault for an operation, or none.
func draw(r *rand.Rand, c objstore.Call, kinds *[6]int) *objstore.Rule {
	if r.IntN(3) > 0 {
		return nil
	}
	if c.Op == objstore.OpGet {
		kinds[0]++
		return &objstore.Rule{Effect: objstore.FailBefore, Err: objstore.ErrUnavailable}
	}
	kind := 1 + r.IntN(5)
	kinds[kind]++
	switch kind {
	case 1:
		return &objstore.Rule{Effect: objstore.FailBefore, Err: objstore.ErrConflict}
	case 2:
		return &objstore.Rule{Effect: objstore.FailBefore}
	case 3:
		return &objstore.Rule{Effect: objstore.FailAfter}
	case 4:
		return &objstore.Rule{Effect: objstore.LandLater, LandAfter: 1 + r.IntN(20)}
	default:
		return &objstore.Rule{Effect: objstore.LandLater}
	}
}

// TestRacersRepeat: one seed gives one history.
func TestRacersRepeat(t *testing.T) {
	run := func() []byte {
		r := rand.New(rand.NewPCG(7, 7))
		var kinds [6]int
		var trace bytes.Buffer
		f := objstore.NewFault(objstore.NewMemory())
		f.Decide = func(c objstore.Call) *objstore.Rule {
			fmt.Fprintln(&trace, c)
			return draw(r, c, &kinds)
		}
		_, a, stopA := coroutine(t, f, "a", 5)
		_, b, stopB := coroutine(t, f, "b", 5)
		defer stopA()
		defer stopB()
		for live := true; live; {
			if r.IntN(2) == 0 {
				live = a()
			} else {
				live = b()
			}
		}
		return trace.Bytes()
	}
	if first, second := run(), run(); !bytes.Equal(first, second) || len(first) < 500 {
		t.Fatalf("two histories:\n%s\n%s", first, second)
	}
}

func BenchmarkAppend(b *testing.B) {
	log := chain.Log{Store: objstore.NewMemory(), Prefix: "log"}
	body := make([]byte, 1000)
	b.ReportAllocs()
	p := chain.Position(0)
	for b.Loop() {
		p++
		if out, err := log.Append(b.Context(), p, body, nil); err != nil || !out.Won {
			b.Fatal(out, err)
		}
	}
}
