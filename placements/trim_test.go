package placements

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
)

// historian is a store that knows the whole history of the chain, whatever is deleted.
type historian struct {
	*objstore.Memory
	t        *testing.T
	records  [][]byte
	phantoms int            // records written at positions that were freed
	base     chain.Position // the newest marker
}

func newHistorian(t *testing.T) *historian { return &historian{Memory: memoryAt(t0), t: t} }

func (h *historian) PutIfAbsent(ctx context.Context, key string, body []byte) error {
	if err := h.Memory.PutIfAbsent(ctx, key, body); err != nil {
		return err
	}
	p, _ := chain.ParsePosition(key[strings.LastIndex(key, "/")+1:])
	switch {
	case strings.HasPrefix(key, basePrefix+"/"):
		h.base = max(h.base, p)
	case !strings.HasPrefix(key, logPrefix+"/"):
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
		p, err := chain.ParsePosition(strings.TrimPrefix(key, logPrefix+"/"))
		if err == nil && p > h.base || key == basePrefix+"/"+h.base.String() {
			h.t.Errorf("%s is deleted, the newest marker is %d", key, uint64(h.base))
		}
	}
	return h.Memory.Delete(ctx, keys...)
}

// check: each change of the work is in the history once, and who starts now has its table.
func (h *historian) check(what string) {
	h.t.Helper()
	table := Empty(testHasher())
	kinds := map[Kind]int{}
	for _, body := range h.records {
		var err error
		if table, err = table.read(body); err != nil {
			h.t.Fatalf("%s: %v", what, err)
		}
		r, _ := DecodeRecord(body)
		kinds[r.Kind]++
	}
	if kinds[KindExtend] < 2 {
		h.t.Fatalf("%s: %v", what, kinds)
	}
	delete(kinds, KindExtend)
	want := map[Kind]int{KindGenesis: 1, KindPlace: 1, KindDefault: 1, KindMapping: 1, KindAdmission: 1, KindAdmit: 1, KindShards: 1}
	if !reflect.DeepEqual(kinds, want) {
		h.t.Fatalf("%s: records %v, want %v", what, kinds, want)
	}
	k := crashKeeper(h.t, h.Memory, "reader", die)
	if err := k.Load(context.Background()); err != nil {
		h.t.Fatalf("%s: %v", what, err)
	}
	folded, _ := table.Checkpoint()
	loaded, _ := k.Current().Checkpoint()
	if string(folded) != string(loaded) {
		h.t.Fatalf("%s: loaded\n%s\nfolded\n%s", what, loaded, folded)
	}
}

// workAndTrim is the work of a process that deletes what it can after each step of a long end.
func workAndTrim(ctx context.Context, k *Keeper) error {
	if err := work(ctx, k); err != nil {
		return err
	}
	for minutes := 12; minutes < 26; minutes += 2 {
		if _, err := k.Extend(ctx, stamp(t0)+event.Timestamp(time.Duration(minutes)*time.Minute)); err != nil {
			return err
		}
		plan, err := k.PlanTrim(ctx, 0)
		if errors.Is(err, chain.ErrTrimmed) {
			continue
		}
		if err != nil {
			return err
		}
		if _, err := plan.Do(ctx); err != nil {
			return err
		}
	}
	return nil
}

func TestTrimWithoutCrash(t *testing.T) {
	h := newHistorian(t)
	if err := workAndTrim(t.Context(), crashKeeper(t, h, "a", die)); err != nil {
		t.Fatal(err)
	}
	h.check("no crash")
	if h.base < 9 || h.phantoms > 0 {
		t.Errorf("records are gone up to %d, %d phantoms", uint64(h.base), h.phantoms)
	}
	left, _ := chain.Keys(t.Context(), h, "placements/", "placements/~", 100)
	if len(left) > 16 {
		t.Errorf("%d objects are left: %q", len(left), left)
	}
	plan, err := crashKeeper(t, h, "b", die).PlanTrim(t.Context(), 0)
	if err != nil || !plan.Empty() || plan.Why == "" {
		t.Errorf("a second trim: %+v, %v", plan, err)
	}
	plan, err = crashKeeper(t, h, "b", die).PlanTrim(t.Context(), 100)
	if err != nil || !plan.Empty() {
		t.Errorf("a trim with a margin: %+v, %v", plan, err)
	}
}

func TestCrashAtEveryOperationOfATrim(t *testing.T) {
	for k := 1; ; k++ {
		for _, applied := range []bool{false, true} {
			h := newHistorian(t)
			fault := objstore.NewFault(h)
			fault.CrashAt(k, applied)
			err := workAndTrim(t.Context(), crashKeeper(t, fault, "a", die))
			if !fault.Crashed() {
				if err != nil || k < 100 {
					t.Fatalf("%d operations: %v", k, err)
				}
				t.Logf("%d operations", k)
				return
			}
			what := fmt.Sprintf("dies at operation %d (applied %v)", k, applied)
			if err := workAndTrim(t.Context(), crashKeeper(t, h, "b", die)); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			h.check(what)
		}
	}
}

// A process freezes at each of its operations while another does all the work and deletes; then it goes on.
func TestFault_freed_position_of_the_placements(t *testing.T) {
	phantoms, ops := 0, 0
	for k := 1; ; k++ {
		h := newHistorian(t)
		fault := objstore.NewFault(h)
		met := false
		fault.Decide = func(c objstore.Call) *objstore.Rule {
			if c.N != k {
				return nil
			}
			met = true
			return &objstore.Rule{Effect: objstore.Pass, Before: func(objstore.Call) {
				if err := workAndTrim(context.Background(), crashKeeper(t, h, "b", die)); err != nil {
					t.Errorf("b, while a stands at %d: %v", k, err)
				}
			}}
		}
		a := crashKeeper(t, fault, "a", noPause)
		if err := workAndTrim(t.Context(), a); err != nil {
			t.Fatalf("paused at operation %d: %v", k, err)
		}
		h.check(fmt.Sprintf("paused at operation %d", k))
		phantoms += h.phantoms
		if ops = k; !met {
			break
		}
	}
	t.Logf("%d operations, %d phantoms", ops, phantoms)
	if phantoms == 0 {
		t.Error("nobody wrote into a freed position")
	}
}

// Who only reads notices, too: at a 404 that is no head, at a phantom, and where only part is gone.
func TestFault_freed_position_reader_of_the_placements(t *testing.T) {
	for version := Version(1); version < 9; version++ {
		h := newHistorian(t)
		writer, reader := crashKeeper(t, h, "a", die), crashKeeper(t, h, "r", die)
		if err := work(t.Context(), writer); err != nil {
			t.Fatal(err)
		}
		table := Empty(testHasher())
		for _, body := range h.records[:version] {
			table, _ = table.read(body)
		}
		reader.publish(table)
		if err := workAndTrim(t.Context(), writer); err != nil {
			t.Fatal(err)
		}
		if version%2 == 0 { // a phantom
			if err := h.PutIfAbsent(t.Context(), reader.log.Key(table.version.Position()+1), []byte("{}")); err != nil {
				t.Fatal(err)
			}
		}
		got, err := reader.Refresh(t.Context())
		if err != nil || got.Version() != writer.Current().Version() {
			t.Fatalf("a reader at version %d comes to %v: %v", version, got, err)
		}
	}
}

// A chain without a usable checkpoint above its base is corrupt, and never empty.
func TestTrimmedChainIsNeverEmpty(t *testing.T) {
	h := newHistorian(t)
	if err := workAndTrim(t.Context(), crashKeeper(t, h, "a", die)); err != nil {
		t.Fatal(err)
	}
	keys, _ := chain.Keys(t.Context(), h, checkpointPrefix+"/", checkpointPrefix+"/9", 10)
	if err := h.Delete(t.Context(), keys...); err != nil || len(keys) < 2 {
		t.Fatal(keys, err)
	}
	k := crashKeeper(t, h, "b", die)
	if err := k.Load(t.Context()); !errors.Is(err, ErrCorrupt) {
		t.Errorf("load: %v", err)
	}
	if created, err := k.Init(t.Context(), NewGenesis(3)); created || !errors.Is(err, ErrCorrupt) {
		t.Errorf("init: %v, %v", created, err)
	}
}
