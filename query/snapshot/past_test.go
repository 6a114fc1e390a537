package snapshot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/togodb/togo/compactor"
	"github.com/togodb/togo/compactor/erase"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/queryset"
)

// compactor is one that merges as soon as it can, and deletes what has been garbage for the grace.
func (w *world) compactor(grace time.Duration) *compactor.Compactor {
	w.t.Helper()
	cfg := compactor.DefaultConfig()
	cfg.FanIn, cfg.Ratio, cfg.MaxInputs, cfg.QueryGrace, cfg.KeepRecords = 3, 2, 8, grace, 5
	c, err := compactor.New(cfg, compactor.Deps{
		Store: w.store.Inner(), Meta: w.set.Meta, Shards: w.set.Placements.Current().Shards, Tenants: w.set.Tenants, Worker: "w",
		Now: func() time.Time { return queryset.Begin.Add(w.now) }, Clock: func() time.Duration { return w.now }, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// turns lets the compactor do what there is to do.
func (w *world) turns(c *compactor.Compactor) {
	w.t.Helper()
	for id := range event.ShardID(w.set.Placements.Current().Shards()) {
		for worked := true; worked; {
			var err error
			if worked, err = c.Turn(w.t.Context(), id); err != nil {
				w.t.Fatal(err)
			}
		}
	}
}

func (w *world) collect(c *compactor.Compactor) {
	w.t.Helper()
	if _, err := c.Collect(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// seen is an answer that a client keeps.
type seen struct {
	token     string
	kind      fragment.Kind
	fragments []string
	floor     event.Timestamp
}

func (w *world) look(f *Follower, kind fragment.Kind) seen {
	w.t.Helper()
	s := w.at(f, kind, nil)
	return seen{f.Token(s.Vector), kind, all(s), s.Floor}
}

// again asks for what was seen. It says false if that is gone.
func (w *world) again(f *Follower, old seen) bool {
	w.t.Helper()
	v, err := f.ParseVector(old.token, w.gen.Tenant)
	if err != nil {
		w.t.Fatal(err)
	}
	s, err := f.At(w.t.Context(), w.gen.Tenant, old.kind, &v)
	if fail.CodeOf(err) == fail.Gone && err != nil {
		return false
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.same("seen again at "+v.String(), all(s), old.fragments)
	if s.Floor != old.floor || !s.Past || f.Token(s.Vector) != old.token {
		w.t.Errorf("floor %s, it was %s; past %v", s.Floor, old.floor, s.Past)
	}
	return true
}

// A vector gives the same fragments and floor on the node that gave it out and on one that has just started, whatever has
// been committed, merged, expired and checkpointed since, as long as the logs reach back; never others.
func TestPastIsWhatWasSeen(t *testing.T) {
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 1))
		w := newWorld(t, 2)
		c := w.compactor(time.Hour)
		var old []seen
		again, gone := 0, 0
		w.floor = event.Timestamp(queryset.Begin.UnixNano())
		for range 60 {
			w.now += time.Duration(random.IntN(3)) * time.Second
			switch random.IntN(12) {
			case 0:
				w.turns(c)
			case 1:
				w.floor += event.Timestamp(random.Int64N(int64(5 * time.Minute)))
				if err := w.set.Expire(t.Context(), w.gen.Tenant, w.floor); err != nil {
					t.Fatal(err)
				}
			case 2:
				if err := w.set.Checkpoint(t.Context()); err != nil {
					t.Fatal(err)
				}
			case 3:
				if seed%2 == 0 {
					w.collect(c) // trims logs
				}
			case 4:
				if err := w.set.Commit(t.Context(), w.gen.Letters(2)...); err != nil {
					t.Fatal(err)
				}
			default:
				w.commit(1 + random.IntN(20))
			}
			w.now += time.Second
			old = append(old, w.look(w.f, fragment.Kind(1+random.IntN(2))))
			f := w.f
			if random.IntN(3) == 0 {
				f = w.follower(Config{})
			}
			one := old[random.IntN(len(old))]
			if w.again(f, one) {
				again++
			} else {
				gone++
			}
		}
		if again < 30 || seed%2 == 1 && gone > 0 {
			t.Errorf("seed %d: seen again %d times, gone %d times", seed, again, gone)
		}
	}
}

// While the log is read up to a past position, which may take long, the shard answers all others; those who ask for the same
// position share the reading.
func TestThePastHoldsNobodyUp(t *testing.T) {
	w := newWorld(t, 1)
	w.commit(10)
	old := w.at(w.f, fragment.Events, nil)
	for range 5 {
		w.commit(10)
	}
	want := w.live(shardlog.TableEvents)
	f := w.follower(Config{})
	w.same("before", all(w.at(f, fragment.Events, nil)), want)
	arrived, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var reads atomic.Int64
	w.store.Add(objstore.Rule{Op: objstore.OpGet, Key: "shards/0/log/*", Effect: objstore.Pass, Times: -1, Before: func(objstore.Call) {
		reads.Add(1)
		once.Do(func() { close(arrived) })
		<-release
	}})
	var wait sync.WaitGroup
	for range 3 {
		wait.Go(func() {
			if s, err := f.At(t.Context(), "acme", fragment.Events, &old.Vector); err != nil || !slices.Equal(all(s), all(old)) {
				t.Errorf("the past: %v", err)
			}
		})
	}
	<-arrived
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for _, tenant := range []event.TenantID{"acme", "globex"} {
		if _, err := f.At(ctx, tenant, fragment.Events, nil); err != nil {
			t.Errorf("%s: %v", tenant, err)
		}
	}
	leaving, leave := context.WithCancel(t.Context())
	leave()
	if _, err := f.At(leaving, "acme", fragment.Events, &old.Vector); !errors.Is(err, context.Canceled) {
		t.Errorf("one that left: %v", err)
	}
	close(release)
	wait.Wait()
	if at := old.Vector.Shards[0].At; reads.Load() > int64(at)+1 {
		t.Errorf("%d records were read up to position %d", reads.Load(), at)
	}
}

// When the records behind a vector were deleted, it is gone on a node that has to read them, and says so.
func TestPastIsGoneWithTheLog(t *testing.T) {
	w := newWorld(t, 1)
	c := w.compactor(time.Hour)
	w.commit(10)
	old := w.look(w.f, fragment.Events)
	for range 40 {
		w.commit(2)
	}
	for range 3 {
		if err := w.set.Checkpoint(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.commit(2)
	}
	w.collect(c)
	if w.again(w.follower(Config{}), old) {
		t.Error("the records are gone, and the vector is not")
	}
	w.now += time.Second
	if !w.again(w.f, old) {
		t.Error("the node that has seen it has forgotten it")
	}
}

func TestErasedIsGone(t *testing.T) {
	for _, restart := range []bool{false, true} {
		w := newWorld(t, 2)
		w.commit(50)
		if err := w.set.Commit(t.Context(), w.gen.Letters(2)...); err != nil {
			t.Fatal(err)
		}
		events, letters := w.look(w.f, fragment.Events), w.look(w.f, fragment.DeadLetters)
		other := queryset.NewEvents("other", 9)
		if err := w.set.Commit(t.Context(), other.Next(10)...); err != nil {
			t.Fatal(err)
		}
		e := erase.Eraser{Tenant: "acme", Store: w.store.Inner(), Placements: w.set.Placements, Log: shardlog.Config{Logger: slog.New(slog.DiscardHandler)}}
		if _, err := e.Erase(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.now += time.Second
		f := w.f
		if restart {
			f = w.follower(Config{})
		}
		if w.again(f, events) || w.again(f, letters) {
			t.Errorf("restart %v: an erased tenant's snapshot is given again", restart)
		}
		s := w.at(f, fragment.Events, nil)
		if len(all(s)) > 0 || s.Floor != w.set.Placements.Current().Horizon() {
			t.Errorf("restart %v: %d fragments after the erasure, floor %s", restart, len(all(s)), s.Floor)
		}
	}
}

// TestFault_inputs_vanish: files of a planned snapshot are merged and collected. Who has not begun plans again and gets the same
// rows; whose snapshot is a past one is told that it is gone; a file that is missing for no reason is damage.
func TestFault_inputs_vanish(t *testing.T) {
	w := newWorld(t, 2)
	for range 6 {
		w.commit(40)
	}
	planned := w.at(w.f, fragment.Events, nil)
	old := w.look(w.f, fragment.Events)
	rows := func(s *Snapshot) (n int64) {
		for _, f := range s.Fragments(math.MinInt64, Unbounded) {
			n += f.Rows
		}
		return n
	}
	short := w.follower(Config{Now: func() time.Time { return queryset.Begin }}) // no time passes for it
	w.at(short, fragment.Events, nil)
	c := w.compactor(0)
	for range 3 {
		w.now += time.Hour
		w.turns(c)
		w.collect(c)
	}
	missing := readAll(t.Context(), w.store.Inner(), planned)
	if !errors.Is(missing, objstore.ErrNotFound) {
		t.Fatalf("the test has lost no file: %v", missing)
	}
	if err := w.f.Explain(t.Context(), planned, missing); !errors.Is(err, ErrPlanAgain) {
		t.Errorf("planned before: %v", err)
	}
	if err := short.Explain(t.Context(), planned, missing); !errors.Is(err, ErrPlanAgain) {
		t.Errorf("planned within the second: %v", err)
	}
	next := w.at(w.f, fragment.Events, nil)
	if err := readAll(t.Context(), w.store.Inner(), next); err != nil || rows(next) != rows(planned) {
		t.Errorf("planned again: %d rows, there were %d; %v", rows(next), rows(planned), err)
	}
	v, err := w.f.ParseVector(old.token, "acme")
	if err != nil {
		t.Fatal(err)
	}
	past := w.at(w.f, fragment.Events, &v)
	if err := w.f.Explain(t.Context(), past, readAll(t.Context(), w.store.Inner(), past)); fail.CodeOf(err) != fail.Gone {
		t.Errorf("a past snapshot: %v", err)
	}
	if err := w.f.Explain(t.Context(), next, fmt.Errorf("lost: %w", objstore.ErrNotFound)); fail.CodeOf(err) != fail.Internal || errors.Is(err, ErrPlanAgain) {
		t.Errorf("a file that the log names: %v", err)
	}
	if err := w.f.Explain(t.Context(), next, objstore.ErrUnavailable); err != objstore.ErrUnavailable {
		t.Errorf("another error: %v", err)
	}
}

func readAll(ctx context.Context, store objstore.Store, s *Snapshot) error {
	for _, f := range s.Fragments(math.MinInt64, Unbounded) {
		if _, err := store.Get(ctx, f.Key); err != nil {
			return err
		}
	}
	return nil
}

func TestForeignVectorsAreRefused(t *testing.T) {
	w := newWorld(t, 3)
	w.commit(10)
	v := w.at(w.f, fragment.Events, nil).Vector
	v.Tenant = "other"
	if _, err := w.f.At(t.Context(), "acme", fragment.Events, &v); fail.CodeOf(err) != fail.Request {
		t.Errorf("another tenant's vector: %v", err)
	}
	v.Tenant, v.Placements = "acme", v.Placements+5
	if _, err := w.f.At(t.Context(), "acme", fragment.Events, &v); fail.CodeOf(err) != fail.Gone {
		t.Errorf("a version of the placements that is not there: %v", err)
	}
	v = w.at(w.f, fragment.Events, nil).Vector
	v.Shards = slices.Clone(v.Shards)
	v.Shards[0].At += 7
	if _, err := w.f.At(t.Context(), "acme", fragment.Events, &v); fail.CodeOf(err) != fail.Gone {
		t.Errorf("a position that is not there: %v", err)
	}
}

// The store does not answer: a few times, that is waited for; longer, the error says so. A log that is damaged is an
// error of its own, and the next question reads it again.
func TestFaultsOfTheStore(t *testing.T) {
	w := newWorld(t, 2)
	w.f = w.follower(Config{Backoff: noPause, Tries: 5})
	w.commit(30)
	w.store.Add(objstore.Rule{Effect: objstore.FailBefore, Err: objstore.ErrUnavailable, Times: 3})
	w.same("after three refusals", all(w.at(w.f, fragment.Events, nil)), w.live(shardlog.TableEvents))
	w.commit(30)
	w.now += time.Second
	w.store.Add(objstore.Rule{Effect: objstore.FailBefore, Times: -1})
	if _, err := w.f.At(t.Context(), "acme", fragment.Events, nil); fail.CodeOf(err) != fail.Unavailable || err.Error() != "the object store does not answer; try again" {
		t.Errorf("a store that is down: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.f.At(ctx, "acme", fragment.Events, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("the client left: %v", err)
	}
	w.store.Clear()
	w.same("when it is back", all(w.at(w.f, fragment.Events, nil)), w.live(shardlog.TableEvents))

	w.commit(30)
	w.now += time.Second
	w.store.Add(objstore.Rule{Op: objstore.OpGet, Key: "shards/0/log/*", Effect: objstore.Truncate, Bytes: 40, Times: 1})
	if _, err := w.f.At(t.Context(), "acme", fragment.Events, nil); fail.CodeOf(err) != fail.Internal || !errors.Is(err, shardlog.ErrCorrupt) {
		t.Errorf("a record that was cut off: %v", err)
	}
	w.same("after the damage", all(w.at(w.f, fragment.Events, nil)), w.live(shardlog.TableEvents))

	w.commit(30)
	w.now += time.Second
	w.store.Add(objstore.Rule{Op: objstore.OpGet, Key: "shards/0/log/*", Effect: objstore.Pass, Before: func(objstore.Call) { panic("a bug") }})
	if _, err := w.f.At(t.Context(), "acme", fragment.Events, nil); fail.CodeOf(err) != fail.Internal || !errors.Is(err, errBug) {
		t.Errorf("a panic: %v", err)
	}
	w.same("after the panic", all(w.at(w.f, fragment.Events, nil)), w.live(shardlog.TableEvents))
}

// States are dropped above the bound, and the answer stays the same.
func TestMemoryIsBounded(t *testing.T) {
	w := newWorld(t, 4)
	for range 5 {
		w.commit(50)
	}
	want := w.live(shardlog.TableEvents)
	f := w.follower(Config{MaxBytes: 1})
	for range 3 {
		w.same("with no memory", all(w.at(f, fragment.Events, nil)), want)
		f.mu.Lock()
		if n := len(f.shards); n > 0 {
			t.Errorf("%d states above the bound", n)
		}
		f.mu.Unlock()
	}
	w.at(w.f, fragment.Events, nil)
	w.f.mu.Lock()
	defer w.f.mu.Unlock()
	if n := len(w.f.shards); n != 4 {
		t.Errorf("%d states below the bound", n)
	}
}
