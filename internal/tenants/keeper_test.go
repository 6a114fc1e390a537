package tenants

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
)

var errDied = errors.New("died")

// die has a process give up at the first try that does not settle.
func die(context.Context, time.Duration) error     { return errDied }
func noPause(context.Context, time.Duration) error { return nil }

func testKeeper(t *testing.T, store objstore.Store, name string, wait func(context.Context, time.Duration) error) *Keeper {
	t.Helper()
	nonces := 0
	k, err := NewKeeper(Config{
		Store: store, DataBucket: time.Hour, CheckpointEvery: 3,
		Now:      func() time.Time { return time.UnixMilli(1_800_000_000_000) },
		NewNonce: func() string { nonces++; return fmt.Sprint(name, nonces) },
		Backoff:  chain.Backoff{Sleep: wait},
		Logger:   slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// setting is a change that sets one value.
func setting(name, text string) func(Values) (Values, error) {
	return func(v Values) (Values, error) { return v.Set(name, text) }
}

// work is an operator's session. Every step says what shall be, so that it can be
// done all again from the beginning.
func work(ctx context.Context, k *Keeper) error {
	if err := k.Load(ctx); err != nil {
		return err
	}
	for i, tenant := range []event.TenantID{"", "acme", "globex", "wayne", "initech"} {
		if _, err := k.Propose(ctx, tenant, setting("retention", fmt.Sprintf("%dd", i+1))); err != nil {
			return err
		}
	}
	_, err := k.Propose(ctx, "acme", setting("sort_key", "host"))
	return err
}

const steps = 6

// checkWork reads the chain as a stranger does, and from its checkpoints.
func checkWork(t *testing.T, store objstore.Store, what string) {
	t.Helper()
	ctx := context.Background()
	table := testKeeper(t, store, "x", die).empty()
	for entry, err := range (&chain.Log{Store: store, Prefix: logPrefix}).Follow(ctx, 0) {
		if err == nil {
			table, err = table.read(entry.Body)
		}
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	if table.version != steps {
		t.Fatalf("%s: %d records, want %d", what, table.version, steps)
	}
	k := testKeeper(t, store, "reader", die)
	if err := k.Load(ctx); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if loaded := k.Current(); !reflect.DeepEqual(loaded, table) {
		t.Fatalf("%s: loaded\n%+v\nfolded\n%+v", what, loaded, table)
	}
	if got := k.Get("acme"); got.Retention != 2*day || got.SortKey[0] != "host" || k.Get("stranger").Retention != day {
		t.Fatalf("%s: %+v", what, got)
	}
}

// TestCrashAtEveryOperation: an operator's process dies at its k-th operation, which is
// applied or not; the next one ends the work.
func TestCrashAtEveryOperation(t *testing.T) {
	ctx := context.Background()
	runs := 0
	for k, crashed := 1, true; crashed; k++ {
		crashed = false
		for _, applied := range []bool{false, true} {
			store := objstore.NewMemory()
			fault := objstore.NewFault(store)
			fault.CrashAt(k, applied)
			err := work(ctx, testKeeper(t, fault, "a", die))
			what := fmt.Sprintf("operation %d (applied %v)", k, applied)
			if fault.Crashed() {
				crashed = true
				err = work(ctx, testKeeper(t, store, "b", die))
			}
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			checkWork(t, store, what)
			runs++
		}
	}
	if runs < 30 {
		t.Fatalf("only %d runs", runs)
	}
}

// TestFaultyAnswers: whatever the store answers to the k-th operation, a process that
// lives on and tries again sets each value once.
func TestFaultyAnswers(t *testing.T) {
	ctx := context.Background()
	for _, rule := range []objstore.Rule{
		{Effect: objstore.FailBefore},
		{Effect: objstore.FailAfter},
		{Effect: objstore.FailBefore, Err: objstore.ErrConflict, Times: 2},
		{Effect: objstore.FailAfter, Err: objstore.ErrExists},
		{Effect: objstore.LandLater, LandAfter: 1},
		{Effect: objstore.LandLater, LandAfter: 2},
	} {
		for k := range 40 {
			rule.Skip = k
			store := objstore.NewMemory()
			keeper := testKeeper(t, objstore.NewFault(store, rule), "a", noPause)
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

// TestTwoOperators: the loser of a race judges its change anew on the winner's values.
func TestTwoOperators(t *testing.T) {
	ctx := t.Context()
	store := objstore.NewMemory()
	a, b := testKeeper(t, store, "a", die), testKeeper(t, store, "b", die)
	calls := 0
	table, err := a.Propose(ctx, "acme", func(v Values) (Values, error) {
		if calls++; calls == 1 {
			if _, err := b.Propose(ctx, "acme", setting("max_columns", "7")); err != nil {
				return v, err
			}
		}
		return v.Set("retention", "1d")
	})
	if err != nil || calls != 2 || table.Version() != 2 {
		t.Fatalf("%d calls, %v, %v", calls, table, err)
	}
	if got := a.Get("acme"); got.MaxColumns != 7 || got.Retention != day {
		t.Errorf("one change is lost: %+v", got)
	}
	if got := b.Get("acme"); got.Retention != 0 {
		t.Errorf("b has not read it yet: %+v", got)
	}
	if _, err := b.Refresh(ctx); err != nil || b.Version() != 2 || b.Get("acme").Retention != day {
		t.Errorf("%v, %+v", err, b.Get("acme"))
	}
	// What is there already is no version, and what is refused neither.
	if table, err := a.Propose(ctx, "acme", setting("retention", "24h")); err != nil || table.Version() != 2 {
		t.Errorf("the same again: %v, %v", table.Version(), err)
	}
	if _, err := a.Propose(ctx, "acme", setting("retention", "90m")); !errors.Is(err, ErrRefused) || a.Version() != 2 {
		t.Errorf("refused: %v", err)
	}
	if _, err := a.Propose(ctx, "acme", func(Values) (Values, error) { return Values{}, nil }); err != nil || len(a.Current().Tenants()) != 0 {
		t.Errorf("all unset: %v, %v", err, a.Current().Tenants())
	}
}

// TestAStartReadsLittle: a checkpoint and the records after it, however long the history is.
func TestAStartReadsLittle(t *testing.T) {
	ctx := t.Context()
	store := objstore.NewMemory()
	k := testKeeper(t, store, "a", die)
	for i := range 100 {
		if _, err := k.Propose(ctx, "acme", setting("max_columns", fmt.Sprint(i+1))); err != nil {
			t.Fatal(err)
		}
	}
	fault := objstore.NewFault(store)
	k = testKeeper(t, fault, "b", die)
	if err := k.Load(ctx); err != nil || k.Version() != 100 || k.Get("acme").MaxColumns != 100 {
		t.Fatalf("version %d, %v", k.Version(), err)
	}
	if fault.Ops() > 5 { // the list, the checkpoint, at most two records, and the end
		t.Errorf("%d operations", fault.Ops())
	}
}

// TestWhatIsNotAsItWasLeft stops the reader with a word that says which it is.
func TestWhatIsNotAsItWasLeft(t *testing.T) {
	ctx := t.Context()
	key := func(n uint64) string { return logPrefix + "/" + chain.Position(n).String() }
	replace := func(key, old, new string) func(*objstore.Memory) {
		return func(m *objstore.Memory) {
			body, err := m.Get(ctx, key)
			if err != nil || !strings.Contains(string(body), old) {
				t.Fatalf("%s: %q, %v", key, body, err)
			}
			m.Put(ctx, key, []byte(strings.Replace(string(body), old, new, 1)))
		}
	}
	for name, tc := range map[string]struct {
		damage func(*objstore.Memory)
		want   error
	}{
		"newer record":     {replace(key(5), `"format":1`, `"format":2`), ErrFormat},
		"newer checkpoint": {replace(checkpointKey(3), `"format":1`, `"format":2,"more":1`), ErrFormat},
		"unknown field":    {replace(key(5), `"time_ms"`, `"colour":1,"time_ms"`), ErrCorrupt},
		"other values":     {replace(key(4), `"retention":"4d"`, `"retention":"5d"`), ErrCorrupt},
		"no such values":   {replace(key(6), `"retention":"2d"`, `"retention":"90m"`), ErrCorrupt},
		"no such tenant":   {replace(key(6), `"acme"`, `"a/b"`), ErrCorrupt},
		"bytes behind":     {replace(key(6), `}}`, `}} {}`), ErrCorrupt},
		"other checkpoint": {replace(checkpointKey(3), `"2d"`, `"3d"`), ErrCorrupt},
		"another version":  {replace(checkpointKey(3), `"version":3`, `"version":4`), ErrCorrupt},
		"rolled back": {func(m *objstore.Memory) {
			m.Delete(ctx, key(4), key(5), key(6), checkpointKey(6))
			if err := work(ctx, testKeeper(t, m, "z", die)); err != nil {
				t.Fatal(err)
			}
		}, ErrCorrupt},
	} {
		store := objstore.NewMemory()
		follower := testKeeper(t, store, "f", die)
		if err := work(ctx, testKeeper(t, store, "a", die)); err != nil {
			t.Fatal(err)
		}
		// The follower has read five of the six records.
		last, _ := store.Get(ctx, key(6))
		store.Delete(ctx, key(6), checkpointKey(6))
		if name == "rolled back" {
			if err := follower.Load(ctx); err != nil || follower.Version() != 5 {
				t.Fatal(err, follower.Version())
			}
		}
		store.Put(ctx, key(6), last)
		tc.damage(store)
		var err error
		if name == "rolled back" {
			_, err = follower.Refresh(ctx)
		} else {
			err = follower.Load(ctx)
		}
		if !errors.Is(err, tc.want) || !IsFinal(err) {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
		if name == "no such values" && follower.Version() != 5 {
			t.Errorf("%s: what was read before is lost: version %d", name, follower.Version())
		}
	}
}

// TestRunFollows: a running process has a new version within a poll, goes on over errors
// of the store, and ends when it makes no sense to go on.
func TestRunFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := objstore.NewMemory()
		fault := objstore.NewFault(store)
		k, err := NewKeeper(Config{Store: fault, DataBucket: time.Hour, Poll: 10 * time.Second, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		if err := k.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error)
		go func() { ended <- k.Run(t.Context()) }()
		operator := testKeeper(t, store, "o", die)
		set := func(text string) {
			if _, err := operator.Propose(t.Context(), "acme", setting("retention", text)); err != nil {
				t.Fatal(err)
			}
		}
		set("1d")
		time.Sleep(11 * time.Second)
		if got := k.Get("acme").Retention; got != day {
			t.Errorf("after a poll: %s", got)
		}
		fault.Add(objstore.Rule{Effect: objstore.FailBefore, Times: 2})
		set("2d")
		time.Sleep(20 * time.Second)
		if got := k.Get("acme").Retention; got != day {
			t.Errorf("while the store does not answer: %s", got)
		}
		time.Sleep(10 * time.Second)
		if got := k.Get("acme").Retention; got != 2*day {
			t.Errorf("after the store is back: %s", got)
		}
		store.Put(t.Context(), k.log.Key(3), []byte(`{"format":9}`))
		if err := <-ended; !errors.Is(err, ErrFormat) {
			t.Errorf("ended with %v", err)
		}
	})
}

func TestConfig(t *testing.T) {
	for _, c := range []Config{{}, {Store: objstore.NewMemory()}, {Store: objstore.NewMemory(), DataBucket: time.Hour, Poll: -1}, {Store: objstore.NewMemory(), DataBucket: time.Hour, CheckpointEvery: -1}} {
		if _, err := NewKeeper(c); err == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
}

// TestGolden: what is in stores today is read as it is meant, for ever.
func TestGolden(t *testing.T) {
	ctx := t.Context()
	store := objstore.NewMemory()
	k := testKeeper(t, store, "n", die)
	for _, step := range []struct {
		tenant event.TenantID
		pairs  []string
	}{
		{"", []string{"retention=30d", "letters_retention=forever"}},
		{"acme", []string{"retention=36h", "sort_key=host,service", "key_columns=1", "bloom_columns=", "target_bytes=64MiB", "max_columns=50"}},
		{event.Unroutable, []string{"letters_retention=1w"}},
	} {
		if _, err := k.Propose(ctx, step.tenant, func(Values) (Values, error) { return with(t, step.pairs...), nil }); err != nil {
			t.Fatal(err)
		}
	}
	for key, want := range map[string]string{
		"tenants/log/00000000000000000001":        `{"format":1,"version":1,"nonce":"n1","time_ms":1800000000000,"tenant":"","values":{"retention":"30d","letters_retention":"forever"}}`,
		"tenants/log/00000000000000000002":        `{"format":1,"version":2,"nonce":"n2","prev":{"nonce":"n1","sum":"SUM"},"time_ms":1800000000000,"tenant":"acme","values":{"retention":"36h","sort_key":["host","service"],"key_columns":1,"bloom_columns":[],"target_bytes":67108864,"max_columns":50}}`,
		"tenants/log/00000000000000000003":        `{"format":1,"version":3,"nonce":"n3","prev":{"nonce":"n2","sum":"SUM"},"time_ms":1800000000000,"tenant":"_unroutable","values":{"letters_retention":"7d"}}`,
		"tenants/checkpoint/00000000000000000003": `{"format":1,"version":3,"link":{"nonce":"n3","sum":"SUM"},"sum":"SUM","own":{"":{"retention":"30d","letters_retention":"forever"},"_unroutable":{"letters_retention":"7d"},"acme":{"retention":"36h","sort_key":["host","service"],"key_columns":1,"bloom_columns":[],"target_bytes":67108864,"max_columns":50}}}`,
	} {
		body, err := store.Get(ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		if got := regexp.MustCompile(`"sum":"[0-9a-f]{32}"`).ReplaceAllString(string(body), `"sum":"SUM"`); got != want {
			t.Errorf("%s:\n got %s\nwant %s", key, got, want)
		}
	}
}
