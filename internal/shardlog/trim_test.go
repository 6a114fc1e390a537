package shardlog

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/objstore/s3test"
)

// historian is a store that knows the whole history of the log of shard 0, whatever is deleted, and sees what must
// never happen to it.
type historian struct {
	*objstore.Memory
	t        *testing.T
	records  [][]byte
	phantoms int            // records written at positions that were freed
	base     chain.Position // the newest marker
	roots    int            // looked at
}

func (h *historian) PutIfAbsent(ctx context.Context, key string, body []byte) error {
	err := h.Memory.PutIfAbsent(ctx, key, body)
	if err != nil {
		return err
	}
	folder, name, _ := strings.Cut(strings.TrimPrefix(key, "shards/0/"), "/")
	p, _ := chain.ParsePosition(name)
	switch {
	case folder == "base":
		h.base = max(h.base, p)
	case folder == "checkpoint":
		h.newestIsWhole("after checkpoint " + name)
	case folder != "log":
	case int(p) == len(h.records)+1:
		h.records = append(h.records, body)
	case p <= h.base:
		h.phantoms++
	default:
		h.t.Errorf("record %d lands behind %d, records are gone up to %d", uint64(p), len(h.records), uint64(h.base))
	}
	return nil
}

func (h *historian) Delete(ctx context.Context, keys ...string) error {
	for _, key := range keys {
		if p, err := chain.ParsePosition(strings.TrimPrefix(key, "shards/0/log/")); err == nil && p > h.base {
			h.t.Errorf("record %d is deleted, the newest marker is %d", uint64(p), uint64(h.base))
		}
		if p, err := chain.ParsePosition(strings.TrimPrefix(key, "shards/0/base/")); err == nil && p == h.base {
			h.t.Error("the newest marker is deleted")
		}
	}
	err := h.Memory.Delete(ctx, keys...)
	h.newestIsWhole("after a delete")
	return err
}

// newestIsWhole: the newest checkpoint names only manifests that are there.
func (h *historian) newestIsWhole(when string) {
	h.t.Helper()
	l := OpenWith(h.Memory, 0, testConfig("watch", noSleep))
	roots, _ := l.newestRoots(context.Background())
	if len(roots) == 0 {
		return
	}
	r, err := l.readRoot(context.Background(), roots[len(roots)-1])
	if err != nil {
		h.t.Fatal(err)
	}
	for _, ref := range r.named() {
		if _, err := h.Memory.Get(context.Background(), l.manifestKey(ref)); err != nil {
			h.t.Errorf("%s: the newest checkpoint, at %d, names a manifest that is gone: %s", when, uint64(r.State.Position), ref)
		}
	}
	h.roots++
}

// fold is the truth.
func (h *historian) fold() (*State, []Record) {
	h.t.Helper()
	s := NewState(0)
	var records []Record
	for p, body := range h.records {
		r, err := Decode(body)
		if err == nil {
			err = s.Apply(r, body)
		}
		if err != nil {
			h.t.Fatalf("record %d does not fold: %v", p+1, err)
		}
		records = append(records, r)
	}
	return s, records
}

// trim deletes what can be deleted, if the story has it so.
func (y *story) trim(ctx context.Context, l *Log) error {
	if !y.trims {
		return nil
	}
	plan, err := l.PlanTrim(ctx, 0)
	if err == nil {
		_, err = plan.Do(ctx)
	}
	if errors.Is(err, ErrCorrupt) {
		y.t.Errorf("trim: %v", err)
	}
	if err != nil && y.fault.Crashed() {
		return err
	}
	return nil
}

func newTrimmedStory(t *testing.T) *story {
	before := defaultLayout
	t.Cleanup(func() { defaultLayout = before })
	defaultLayout = layout{fanout: 2, garbageFactor: 1, garbageSlack: 3, tidyAfter: 1} // manifests come and go
	y := newStory(t)
	y.trims, y.end = true, 40
	return y
}

func trimmedOps(t *testing.T) int {
	y := newTrimmedStory(t)
	y.finish()
	if y.starts != 1 || t.Failed() {
		t.Fatal("the story does not end by itself")
	}
	if y.told.base < 4 || y.told.phantoms > 0 {
		t.Fatalf("records deleted up to %d, %d phantoms", uint64(y.told.base), y.told.phantoms)
	}
	return y.fault.Ops()
}

// A process that writes and deletes dies at each operation, each time with another death in the recovery.
func TestCrashAtEveryOperationOfATrim(t *testing.T) {
	ops := trimmedOps(t)
	t.Logf("%d operations", ops)
	for k := 1; k <= ops; k++ {
		for i, applied := range []bool{false, true} {
			seconds := []int{(2*k + i) % 5 * 13 * k % ops}
			if long {
				seconds = []int{0, 7, 23, 41, 67, 101}
			}
			for _, second := range seconds {
				y := newTrimmedStory(t)
				y.fault.CrashAt(k, applied)
				if err := y.run(100); err == nil {
					t.Fatal("no crash came")
				}
				y.fault.Restart()
				if second > 0 {
					y.fault.CrashAt(second, applied)
				}
				y.finish()
				if t.Failed() {
					t.Fatalf("k=%d,applied=%v,second=%d", k, applied, second)
				}
			}
		}
	}
}

// long runs take more time, and try more: TOGO_TEST_LONG=1.
var long = os.Getenv("TOGO_TEST_LONG") != ""

// Every operation fails in every way, once or several times in a row.
func TestFailureAtEveryOperationOfATrim(t *testing.T) {
	ops := trimmedOps(t)
	for name, rule := range map[string]objstore.Rule{
		"error": {Effect: objstore.FailBefore}, "lost answer": {Effect: objstore.FailAfter}, "409": {Effect: objstore.FailBefore, Err: objstore.ErrConflict},
		"late": {Effect: objstore.LandLater, LandAfter: 7}, "very late": {Effect: objstore.LandLater, LandAfter: 60},
	} {
		for k := 1; k <= ops; k++ {
			all := []int{1, 6}
			if !long {
				all = all[k%2 : k%2+1]
				if k%3 == 0 {
					continue
				}
			}
			for _, times := range all {
				y := newTrimmedStory(t)
				y.fault.Decide = func(c objstore.Call) *objstore.Rule {
					if c.N < k || c.N >= k+times || rule.Effect == objstore.LandLater && !c.Op.IsWrite() {
						return nil
					}
					return &rule
				}
				y.finish()
				if t.Failed() {
					t.Fatalf("%s, k=%d, times=%d", name, k, times)
				}
			}
		}
	}
}

// A process freezes before each of its operations while another takes the shard, writes and deletes, for a while or to the
// end; then the first wakes, and what it had read is gone. What it writes into a freed position is never believed.
func TestFault_freed_position_paused_at_every_operation(t *testing.T) {
	ops := trimmedOps(t)
	phantoms := 0
	for k := 1; k <= ops; k++ {
		for _, limit := range []int{2, 4, 100} {
			y := newTrimmedStory(t)
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
			if t.Failed() {
				t.Fatalf("k=%d, appends=%d", k, limit)
			}
			phantoms += y.told.phantoms
		}
	}
	t.Logf("%d operations, %d phantoms", ops, phantoms)
	if phantoms < 5 {
		t.Errorf("%d phantoms only: nobody wrote into a freed position", phantoms)
	}
}

// A write that was reported failed lands when its position was freed long ago.
func TestFault_freed_position_late_landing(t *testing.T) {
	ops := trimmedOps(t)
	phantoms := 0
	for k := 1; k <= ops; k++ {
		y := newTrimmedStory(t)
		y.fault.Decide = func(c objstore.Call) *objstore.Rule {
			if c.N == k && c.Op == objstore.OpPutIfAbsent {
				return &objstore.Rule{Effect: objstore.LandLater}
			}
			return nil
		}
		y.finish() // lands it at its end
		l := OpenWith(y.told, 0, testConfig("late", noSleep))
		if loaded, err := l.Load(t.Context()); err != nil {
			t.Errorf("k=%d: %v", k, err)
		} else if truth, _ := y.told.fold(); wholeText(t, l, loaded) != wholeText(t, l, truth) {
			t.Errorf("k=%d: the late write changes what is loaded", k)
		}
		phantoms += y.told.phantoms
	}
	t.Logf("%d phantoms", phantoms)
	if phantoms < 5 {
		t.Errorf("%d phantoms only", phantoms)
	}
}

// What is left of a partial delete goes with the next tries, and what can't be deleted stops the trim without harm.
func TestTrimOfAStubbornStore(t *testing.T) {
	for _, times := range []int{1, 2, -1} {
		y := newTrimmedStory(t)
		y.trims = false
		y.finish()
		y.fault.Add(objstore.Rule{Op: objstore.OpDelete, Key: "shards/0/log/*[24]", Effect: objstore.FailBefore, Times: times})
		l := OpenWith(y.fault, 0, testConfig("T", noSleep))
		plan, err := l.PlanTrim(t.Context(), 0)
		if err != nil || plan.Why != "" || len(plan.Records) < 4 {
			t.Fatalf("%+v, %v", plan, err)
		}
		done, err := plan.Do(t.Context())
		if (err != nil) != (times < 0) {
			t.Fatalf("%d times: %+v, %v", times, done, err)
		}
		if times < 0 {
			if done.Records == 0 || done.Records >= len(plan.Records) {
				t.Errorf("%+v of %d records", done, len(plan.Records))
			}
			y.fault.Clear()
			again, err := l.PlanTrim(t.Context(), 0)
			if err != nil || len(again.Records) != len(plan.Records)-done.Records {
				t.Fatalf("what is left: %+v, %v", again, err)
			}
			if _, err := again.Do(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if after, err := l.PlanTrim(t.Context(), 0); err != nil || !after.Empty() {
			t.Errorf("something is left: %+v, %v", after, err)
		}
		y.check()
	}
}

// The same on each kind of store: what is left can be loaded, and a phantom is not believed.
func TestTrimOnEveryStore(t *testing.T) {
	dir, err := objstore.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, open := range map[string]func(*testing.T) objstore.Store{
		"memory": func(*testing.T) objstore.Store { return objstore.NewMemory() }, "directory": func(*testing.T) objstore.Store { return dir },
		"s3": func(t *testing.T) objstore.Store { return s3test.Start(t).Store(t) },
	} {
		t.Run(name, func(t *testing.T) {
			store := open(t)
			y := newStory(t)
			y.end = 60
			y.fault = objstore.NewFault(store)
			l := OpenWith(store, 0, testConfig("T", noSleep))
			paused, err := l.Load(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := y.run(100); err != nil {
				t.Fatal(err)
			}
			before, err := l.Load(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			plan, err := l.PlanTrim(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			done, err := plan.Do(t.Context())
			if err != nil || done.Records < 4 || done.Checkpoints == 0 {
				t.Fatalf("%+v, %v", done, err)
			}
			phantom := Record{Kind: KindClaim, Claim: &Claim{Owner: "z", Incarnation: "z", Epoch: 1}}
			if _, _, err := l.Append(t.Context(), paused, &phantom); !errors.Is(err, chain.ErrTrimmed) {
				t.Errorf("a phantom: %v", err)
			}
			for _, s := range []*State{paused, NewState(0)} {
				if _, err := l.Follow(t.Context(), s); err != nil || wholeText(t, l, s) != wholeText(t, l, before) {
					t.Errorf("followed to %d: %v", uint64(s.Position()), err)
				}
			}
			if after, err := l.Load(t.Context()); err != nil || wholeText(t, l, after) != wholeText(t, l, before) {
				t.Errorf("loaded: %v", err)
			}
		})
	}
}

// A checkpoint that is whole and says what the records do not say is never the reason to delete them.
func TestTrimOfAWrongCheckpoint(t *testing.T) {
	for which := range 2 {
		y := newTrimmedStory(t)
		y.trims = false
		y.finish()
		l := OpenWith(y.told.Memory, 0, testConfig("T", noSleep))
		roots, err := l.newestRoots(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		at := roots[len(roots)-1-which]
		r, err := l.readRoot(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		r.State.Totals.Stored++
		body, err := encodeRoot(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.store.Put(t.Context(), l.rootPrefix()+at.String(), body); err != nil {
			t.Fatal(err)
		}
		if plan, err := l.PlanTrim(t.Context(), 0); !errors.Is(err, ErrCorrupt) {
			t.Errorf("checkpoint %d says something else: %+v, %v", uint64(at), plan, err)
		}
	}
}

// A margin stays, and little is read while little can go.
func TestTrimKeepsAMargin(t *testing.T) {
	store := &counting{Memory: objstore.NewMemory()}
	l := OpenWith(store, 0, testConfig("w", noSleep))
	s, err := l.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := l.Claim(t.Context(), s, "w", "i"); err != nil {
		t.Fatal(err)
	}
	const margin = 100
	trims := 0
	for i := range int64(600) {
		if _, _, err := l.Append(t.Context(), s, makeAppend(s, commit{source: testSource(0), from: i, next: i + 1})); err != nil {
			t.Fatal(err)
		}
		if i%8 != 7 {
			continue
		}
		if err := l.Checkpoint(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		gets, lists := store.gets, store.lists
		plan, err := l.PlanTrim(t.Context(), margin)
		if err != nil {
			t.Fatal(err)
		}
		if plan.Empty() {
			if store.gets != gets || store.lists-lists > 3 {
				t.Fatalf("%d gets, %d lists to see that there is nothing to do", store.gets-gets, store.lists-lists)
			}
			continue
		}
		trims++
		if _, err := plan.Do(t.Context()); err != nil {
			t.Fatal(err)
		}
		records, _ := chain.Keys(t.Context(), store, "shards/0/log/", "shards/0/log/9", 1<<20)
		roots, _ := l.newestRoots(t.Context())
		markers, _ := l.chain.Markers(t.Context())
		manifests, _ := chain.Keys(t.Context(), store, "shards/0/manifest/", "shards/0/manifest/9", 1<<20)
		if n := int(s.Position() - roots[0]); len(records) != n+margin+1 || len(roots) != 2 || len(markers) > chain.KeptMarkers || len(manifests) > 40 {
			t.Fatalf("at %d: %d records, checkpoints %v, markers %v, %d manifests", uint64(s.Position()), len(records), roots, markers, len(manifests))
		}
	}
	if trims < 10 || trims > 25 {
		t.Errorf("%d trims", trims)
	}
}

// Checkpoints of several processes and of several loads of one land late, in any order, between trims that
// pause: the newest is always whole. (historian looks after each checkpoint and each delete.)
func TestNoCheckpointNamesADeletedManifest(t *testing.T) {
	seeds := 60
	if long {
		seeds = 5000
	}
	looked, whole := 0, 0
	for seed := range seeds {
		r := rand.New(rand.NewPCG(uint64(seed), 3))
		y := newTrimmedStory(t)
		y.end = 60
		y.reload = func() bool { return r.IntN(4) == 0 }
		depth := 0
		y.fault.Decide = func(c objstore.Call) *objstore.Rule {
			root, write := strings.HasPrefix(c.Key, "shards/0/checkpoint/"), c.Op == objstore.OpPutIfAbsent
			switch n := r.IntN(100); {
			case root && write && n < 50 || write && n < 3:
				return &objstore.Rule{Effect: objstore.LandLater, LandAfter: 1 + r.IntN(80)}
			case root && write && n < 60 || write && n < 6:
				return &objstore.Rule{Effect: objstore.FailAfter}
			case n > 97 && depth < 2: // it freezes, and another goes on
				depth++
				appends := 1 + r.IntN(8)
				return &objstore.Rule{Effect: objstore.Pass, Before: func(objstore.Call) {
					_ = y.run(appends)
					depth--
				}}
			}
			return nil
		}
		for range 40 {
			if err := y.run(100); err == nil {
				break
			}
		}
		y.finish()
		looked += y.told.roots
		if y.told.base > 0 {
			whole++
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("%d looks, %d of %d stories deleted records", looked, whole, seeds)
	if whole < seeds/2 {
		t.Error("too few stories deleted anything")
	}
}
