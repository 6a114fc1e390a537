package placements

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"testing"
	"time"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
)

// crashKeeper gives up at the first try that does not settle, as a process that dies.
func crashKeeper(t *testing.T, store objstore.Store, name string, wait func(context.Context, time.Duration) error) *Keeper {
	t.Helper()
	nonces := 0
	k, err := NewKeeper(Config{
		Store: store, Hasher: testHasher(), CheckpointEvery: 3,
		Now:      func() time.Time { return t0 },
		NewNonce: func() string { nonces++; return fmt.Sprint(name, nonces) },
		Backoff:  chain.Backoff{Sleep: wait},
		Logger:   slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

var errDied = errors.New("died")

func die(context.Context, time.Duration) error { return errDied }

// work is a process's life. Every step of it says what shall be, so that a successor
// can do it all again from the beginning.
func work(ctx context.Context, k *Keeper) error {
	genesis := NewGenesis(3)
	genesis.Mappings[""] = fixed("anonymous") // and not the default, which may change
	genesis.Admission.MaxTenants = 2
	if _, err := k.Init(ctx, genesis); err != nil {
		return err
	}
	if _, err := k.Extend(ctx, stamp(t0)); err != nil {
		return err
	}
	for _, change := range []Change{
		SetTenant("acme", Shards{1, 2}, nil),
		SetDefault(Shards{0, 2}, 2, nil),
		SetMapping("orders", fixed("shop"), nil),
		SetRule(Rule{Unknown: UnknownAccept, MaxTenants: 3, Allow: []event.TenantID{"wayne"}}, nil),
	} {
		if _, err := k.Propose(ctx, change); err != nil {
			return err
		}
	}
	if _, err := k.Admit(ctx, Request{"globex", stamp(t0)}, Request{"initech", stamp(t0)}, Request{"hooli", stamp(t0)}); err != nil {
		return err
	}
	if _, err := k.AddShards(ctx, 5); err != nil {
		return err
	}
	_, err := k.Extend(ctx, stamp(t0)+event.Timestamp(10*time.Minute))
	return err
}

// checkWork looks at the chain as a stranger does, from the first record on: each
// change is there once, and checkpoints give the same table.
func checkWork(t *testing.T, store objstore.Store, what string) {
	t.Helper()
	ctx := context.Background()
	table := Empty(testHasher())
	log := chain.Log{Store: store, Prefix: logPrefix}
	kinds := map[Kind]int{}
	for entry, err := range log.Follow(ctx, 0) {
		if err == nil {
			table, err = table.read(entry.Body)
		}
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		r, _ := DecodeRecord(entry.Body)
		kinds[r.Kind]++
	}
	want := map[Kind]int{KindGenesis: 1, KindExtend: 2, KindPlace: 1, KindDefault: 1, KindMapping: 1, KindAdmission: 1, KindAdmit: 1, KindShards: 1}
	if !reflect.DeepEqual(kinds, want) {
		t.Fatalf("%s: records %v, want %v", what, kinds, want)
	}
	k := crashKeeper(t, store, "reader", die)
	if err := k.Load(ctx); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	folded, _ := table.Checkpoint()
	loaded, _ := k.Current().Checkpoint()
	if string(folded) != string(loaded) {
		t.Fatalf("%s: loaded\n%s\nfolded\n%s", what, loaded, folded)
	}
	if got := table.Admits("hooli", stamp(t0)); got != Refused {
		t.Fatalf("%s: the third of two is %s", what, got)
	}
}

func TestWorkWithoutCrash(t *testing.T) {
	store := objstore.NewMemory()
	if err := work(context.Background(), crashKeeper(t, store, "a", die)); err != nil {
		t.Fatal(err)
	}
	checkWork(t, store, "no crash")
}

func memoryAt(now time.Time) *objstore.Memory {
	m := objstore.NewMemory()
	m.Now = func() time.Time { return now }
	return m
}

// TestCrashAtEveryOperation: a process dies at its k-th operation, which is applied or
// not; its successor dies at its j-th; a third one ends the work.
func TestCrashAtEveryOperation(t *testing.T) {
	ctx := context.Background()
	runs := 0
	for k := 1; ; k++ {
		crashed := false
		for _, applied := range []bool{false, true} {
			first := memoryAt(t0)
			fault := objstore.NewFault(first)
			fault.CrashAt(k, applied)
			err := work(ctx, crashKeeper(t, fault, "a", die))
			if !fault.Crashed() {
				if err != nil {
					t.Fatal(err)
				}
				continue
			}
			crashed = true
			for j := 1; ; j += 3 {
				store := first.Clone()
				fault := objstore.NewFault(store)
				fault.CrashAt(j, !applied)
				work(ctx, crashKeeper(t, fault, "b", die))
				what := fmt.Sprintf("a dies at operation %d (applied %v), b at %d", k, applied, j)
				if err := work(ctx, crashKeeper(t, store, "c", die)); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				checkWork(t, store, what)
				runs++
				if !fault.Crashed() {
					break
				}
			}
		}
		if !crashed {
			break
		}
	}
	if runs < 100 {
		t.Fatalf("only %d runs: the work has fewer operations than this test is for", runs)
	}
	t.Logf("%d runs", runs)
}

// TestFault_late_landing_at_every_operation: the k-th write of a process times out, the process
// gives up, and the write lands before the j-th operation of its successor.
func TestFault_late_landing_at_every_operation(t *testing.T) {
	ctx := context.Background()
	runs := 0
	for k := 0; ; k++ {
		met := false
		for j := 1; ; j++ {
			store := memoryAt(t0)
			fault := objstore.NewFault(store, objstore.Rule{Op: objstore.OpPutIfAbsent, Key: logPrefix + "/**", Skip: k, Effect: objstore.LandLater, LandAfter: j})
			err := work(ctx, crashKeeper(t, fault, "a", die))
			if err == nil {
				break
			}
			met = true
			at := fault.Ops()
			what := fmt.Sprintf("write %d lands before operation %d of the next process", k+1, j)
			if err := work(ctx, crashKeeper(t, fault, "b", noPause)); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			last := at+j > fault.Ops()
			fault.Land()
			checkWork(t, store, what)
			runs++
			if last {
				break
			}
		}
		if !met {
			break
		}
	}
	if runs < 100 {
		t.Fatalf("only %d runs", runs)
	}
	t.Logf("%d runs", runs)
}

// TestFaultyAnswers: whatever the store answers to the k-th operation, if the process
// lives and tries again, each change is there once.
func TestFaultyAnswers(t *testing.T) {
	ctx := context.Background()
	for _, rule := range []objstore.Rule{
		{Effect: objstore.FailBefore},
		{Effect: objstore.FailAfter},
		{Effect: objstore.FailBefore, Err: objstore.ErrConflict, Times: 2},
		{Effect: objstore.FailAfter, Err: objstore.ErrConflict},
		{Effect: objstore.FailAfter, Err: objstore.ErrExists},
		{Effect: objstore.LandLater, LandAfter: 1},
		{Effect: objstore.LandLater, LandAfter: 2},
	} {
		for k := 0; k < 60; k++ {
			rule := rule
			rule.Skip = k
			store := memoryAt(t0)
			keeper := crashKeeper(t, objstore.NewFault(store, rule), "a", noPause)
			err := work(ctx, keeper)
			for tries := 0; err != nil && tries < 3; tries++ {
				err = work(ctx, keeper)
			}
			what := fmt.Sprintf("%s (%v) at operation %d", rule.Effect, rule.Err, k+1)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			checkWork(t, store, what)
		}
	}
}
