package shardlog

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/objstore"
)

// The story of these tests: a process loads, claims, commits the offsets up to
// storyEnd in small appends (some offsets open in between), with a checkpoint after every other, and
// releases. It is broken at every operation in every way, and begun again by new
// processes until it ends.
const storyEnd = 24

type story struct {
	t      *testing.T
	fault  *objstore.Fault
	told   *historian
	acked  map[chain.Position]string // nonces of acknowledged appends
	starts int
	end    int64       // of the offsets that are to be committed
	reload func() bool // whether a process reads the log anew, as it does when its reading has lost its place
	trims  bool        // each process deletes what it can after each of its checkpoints
}

func newStory(t *testing.T) *story {
	told := &historian{Memory: objstore.NewMemory(), t: t}
	return &story{t: t, told: told, fault: objstore.NewFault(told), acked: map[chain.Position]string{}, end: storyEnd}
}

// run is the life of one process; an error is its death. It makes at most
// limit appends.
func (y *story) run(limit int) error {
	y.starts++
	ctx := context.Background()
	tries := 0
	l := OpenWith(y.fault, 0, testConfig(fmt.Sprintf("p%d-", y.starts), func(context.Context, time.Duration) error {
		if tries++; tries > 3 || y.fault.Crashed() {
			return errGaveUp
		}
		return nil
	}))
	s, err := l.Load(ctx)
	if err != nil {
		return err
	}
	epoch, nonce, err := l.Claim(ctx, s, "p", "i")
	if err != nil {
		return err
	}
	for appends := 0; appends < limit; appends++ {
		cur, _ := s.SourceOf(testSource(0))
		if cur.Next == y.end && len(cur.Open) == 0 {
			return l.Release(ctx, s, epoch)
		}
		if y.reload != nil && y.reload() {
			if s, err = l.Load(ctx); err != nil {
				return err
			}
			if s.ClaimNonce() != nonce {
				return ErrFenced
			}
			s.Own(nonce)
			continue
		}
		r := makeAppend(s, y.commit(cur))
		r.Append.Epoch = epoch
		won, found, err := l.Append(ctx, s, r)
		if errors.Is(err, chain.ErrTrimmed) { // as the writer does
			if s, err = l.Load(ctx); err != nil {
				return err
			}
			if s.ClaimNonce() != nonce {
				return ErrFenced
			}
			s.Own(nonce)
			continue
		}
		if err != nil {
			return err
		}
		if !won {
			if found.Kind == KindAppend && found.Append.Epoch == epoch {
				y.t.Errorf("an append of our own epoch that is not ours: %s", found.Line())
			}
			continue // judged anew on the state as it is now
		}
		y.acked[s.Position()] = r.Nonce
		if appends%2 == 1 {
			if err := l.Checkpoint(ctx, s); err != nil && y.fault.Crashed() {
				return err
			}
			if err := y.trim(ctx, l); err != nil {
				return err
			}
		}
	}
	return nil
}

func (y *story) commit(cur SourceState) commit {
	next := min(cur.Next+5, y.end)
	c := commit{source: testSource(0), from: cur.Next, next: next, closed: cur.Open, bucket: testDay + 86400*(cur.Next/8)}
	if next < y.end {
		c.opened = RangeSet{{cur.Next + 1, cur.Next + 2}}
	}
	c.intake = RangeSet{{cur.Next, next}}
	return c
}

// finish runs new processes until one ends well, and checks the outcome.
func (y *story) finish() {
	y.t.Helper()
	for range 10 {
		err := y.run(100)
		if err == nil {
			y.check()
			return
		}
		if errors.Is(err, ErrCorrupt) || errors.Is(err, ErrRefused) && !errors.Is(err, ErrFenced) {
			y.t.Fatalf("process %d: %v", y.starts, err)
		}
		y.fault.Restart()
	}
	y.t.Fatal("no process came to an end")
}

// check: the history is linear and whole, each offset is committed exactly once,
// every acknowledged append is there, and checkpoints tell the same.
func (y *story) check() {
	y.t.Helper()
	ctx := context.Background()
	y.fault.Clear()
	y.fault.Decide = nil
	_ = y.fault.Land()
	l := OpenWith(y.fault.Inner(), 0, testConfig("check", noSleep))
	truth, records := y.told.fold()
	closed := map[int64]int{}
	open := map[int64]bool{}
	for _, r := range records {
		if r.Append == nil {
			continue
		}
		p := r.Append.Progress[0]
		for o := p.From; o < p.Next; o++ {
			if open[o] = ContainsOffset(p.Opened, o); !open[o] {
				closed[o]++
			}
		}
		for _, c := range p.Closed {
			for o := c.From; o < c.Next; o++ {
				closed[o]++
			}
		}
	}
	for o := range y.end {
		if closed[o] != 1 {
			y.t.Errorf("offset %d is committed %d times", o, closed[o])
		}
	}
	if n := truth.Totals().Records; n != y.end {
		y.t.Errorf("%d records committed, not %d", n, y.end)
	}
	for p, nonce := range y.acked {
		if int(p) > len(records) || records[p-1].Nonce != nonce {
			y.t.Errorf("the acknowledged append %s is not at %d", nonce, uint64(p))
		}
	}
	loaded, err := l.Load(ctx)
	if err != nil {
		y.t.Fatalf("load: %v", err)
	}
	if a, b := wholeText(y.t, l, loaded), wholeText(y.t, l, truth); a != b {
		y.t.Errorf("a checkpoint tells another story:\n%s\n%s", a, b)
	}
	if truth.Owner() != nil {
		y.t.Error("the shard was not released")
	}
}

// storyOps is the number of operations of an unbroken story.
func storyOps(t *testing.T) int {
	y := newStory(t)
	y.finish()
	if y.starts != 1 || t.Failed() {
		t.Fatalf("the story does not end by itself")
	}
	return y.fault.Ops()
}

func TestCrashAtEveryOperation(t *testing.T) {
	ops := storyOps(t)
	t.Logf("%d operations", ops)
	for k := 1; k <= ops; k++ {
		for _, applied := range []bool{false, true} {
			// A second crash in the recovery, at each operation of its own.
			for second := 0; second <= ops; second += 5 {
				t.Run(fmt.Sprintf("k=%d,applied=%v,second=%d", k, applied, second), func(t *testing.T) {
					y := newStory(t)
					y.fault.CrashAt(k, applied)
					if err := y.run(100); err == nil {
						t.Fatal("no crash came")
					}
					y.fault.Restart()
					if second > 0 {
						y.fault.CrashAt(second, applied)
					}
					y.finish()
				})
			}
		}
	}
}

// Every operation meets every kind of failure, one, two or many times in a row.
func TestFailureAtEveryOperation(t *testing.T) {
	ops := storyOps(t)
	effects := map[string]objstore.Rule{
		"error":       {Effect: objstore.FailBefore},
		"lost answer": {Effect: objstore.FailAfter},
		"409":         {Effect: objstore.FailBefore, Err: objstore.ErrConflict},
	}
	for name, rule := range effects {
		for k := 1; k <= ops; k++ {
			for _, times := range []int{1, 2, 6} {
				t.Run(fmt.Sprintf("%s,k=%d,times=%d", name, k, times), func(t *testing.T) {
					y := newStory(t)
					y.fault.Decide = func(c objstore.Call) *objstore.Rule {
						if c.N >= k && c.N < k+times {
							return &rule
						}
						return nil
					}
					y.finish()
				})
			}
		}
	}
}

// Every write may land late: its process has died, and others have gone on for
// any number of operations.
func TestFault_late_landing_of_every_write(t *testing.T) {
	ops := storyOps(t)
	for k := 1; k <= ops; k++ {
		for after := 1; after <= 24; after++ {
			t.Run(fmt.Sprintf("k=%d,after=%d", k, after), func(t *testing.T) {
				y := newStory(t)
				y.fault.Decide = func(c objstore.Call) *objstore.Rule {
					switch {
					case c.N == k && c.Op.IsWrite():
						return &objstore.Rule{Effect: objstore.LandLater, LandAfter: after}
					case c.N == k+1: // dies before it can ask again
						return &objstore.Rule{Effect: objstore.CrashBefore}
					}
					return nil
				}
				_ = y.run(100)
				y.fault.Restart()
				y.finish()
			})
		}
	}
}

// A process freezes before every operation while another takes the shard, goes on
// for a while and lets go or dies; then the first wakes.
func TestFault_zombie_writer_paused_at_every_operation(t *testing.T) {
	ops := storyOps(t)
	for k := 1; k <= ops; k++ {
		for _, limit := range []int{0, 1, 2, 100} {
			t.Run(fmt.Sprintf("k=%d,appends=%d", k, limit), func(t *testing.T) {
				y := newStory(t)
				y.fault.Decide = func(c objstore.Call) *objstore.Rule {
					if c.N != k {
						return nil
					}
					return &objstore.Rule{Effect: objstore.Pass, Before: func(objstore.Call) {
						if err := y.run(limit); err != nil {
							t.Errorf("the second process: %v", err)
						}
					}}
				}
				if err := y.run(100); err != nil && !errors.Is(err, ErrFenced) {
					t.Errorf("the first process: %v", err)
				}
				y.finish()
			})
		}
	}
}
