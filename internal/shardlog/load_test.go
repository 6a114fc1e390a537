package shardlog

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/objstore"
)

// grownStore is a store with a log of some days and a few checkpoints.
func grownStore(t *testing.T, seed uint64) (*objstore.Memory, *State) {
	store := objstore.NewMemory()
	l := OpenWith(store, 0, testConfig("w", noSleep))
	s := NewState(0)
	s.layout = layout{fanout: 3, garbageFactor: 2, garbageSlack: 20, tidyAfter: 2}
	d := seededDraw(seed)
	for i := range 60 {
		if won, _, err := l.Append(t.Context(), s, nextRecord(s, d)); err != nil || !won {
			t.Fatal(won, err)
		}
		if i%7 == 6 {
			s.Own(s.ClaimNonce())
			if err := l.Checkpoint(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
	}
	return store, s
}

// Whatever object of the checkpoints is damaged, cut or missing, a start gives
// the same state; and it says so when it had to go back.
func TestLoadWithoutAnyCheckpointObject(t *testing.T) {
	store, s := grownStore(t, 3)
	var keys []string
	for _, folder := range []string{"shards/0/checkpoint/", "shards/0/manifest/"} {
		for o, err := range store.List(t.Context(), folder, "") {
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, o.Key)
		}
	}
	another, err := store.Get(t.Context(), keys[len(keys)/2])
	if err != nil {
		t.Fatal(err)
	}
	passed := 0
	for _, key := range keys {
		for name, change := range map[string]func([]byte) []byte{
			"missing": func([]byte) []byte { return nil },
			"damaged": func(b []byte) []byte { b[len(b)/2] ^= 0x10; return b },
			"cut":     func(b []byte) []byte { return b[:len(b)-1] },
			"empty":   func(b []byte) []byte { return b[:0] },
			"another": func([]byte) []byte { return another },
		} {
			broken := store.Clone()
			body, _ := broken.Get(t.Context(), key)
			if body = change(append([]byte(nil), body...)); body == nil {
				if err := broken.Delete(t.Context(), key); err != nil {
					t.Fatal(err)
				}
			} else if err := broken.Put(t.Context(), key, body); err != nil {
				t.Fatal(err)
			}
			var logged strings.Builder
			cfg := testConfig("r", noSleep)
			cfg.Logger = slog.New(slog.NewTextHandler(&logged, nil))
			l := OpenWith(broken, 0, cfg)
			got, err := l.Load(t.Context())
			if err != nil {
				t.Fatalf("%s %s: %v", key, name, err)
			}
			if wholeText(t, l, got) != wholeText(t, OpenWith(store, 0, cfg), s) {
				t.Errorf("%s %s: another state", key, name)
			}
			if strings.Contains(logged.String(), "level=ERROR") {
				passed++
			}
		}
	}
	t.Logf("%d objects, %d starts went back", len(keys), passed)
	if passed < 4 {
		t.Error("no damage was noticed")
	}
}

func TestLoadStopsAtANewerCheckpoint(t *testing.T) {
	store := objstore.NewMemory()
	text := `{"format":9,"whatever":true}`
	body := fmt.Sprintf(`{"sum":%q,"root":%s}`, objstore.Sum([]byte(text)), text)
	if err := store.Put(t.Context(), "shards/0/checkpoint/"+chain.Position(5).String(), []byte(body)); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenWith(store, 0, testConfig("r", noSleep)).Load(t.Context()); !errors.Is(err, ErrNewerFormat) {
		t.Error(err)
	}
}

// The newest checkpoint is found in few requests among any number of them.
func TestNewestOfManyCheckpoints(t *testing.T) {
	for _, n := range []int{0, 1, 999, 1000, 1001, 2500, 20_000} {
		for _, step := range []int{1, 64} {
			store := &counting{Memory: objstore.NewMemory()}
			for i := 1; i <= n; i++ {
				if err := store.Put(t.Context(), "shards/0/checkpoint/"+chain.Position(i*step).String(), []byte("x")); err != nil {
					t.Fatal(err)
				}
			}
			roots, err := OpenWith(store, 0, testConfig("r", noSleep)).newestRoots(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if n == 0 && len(roots) > 0 || n > 0 && (len(roots) == 0 || roots[len(roots)-1] != chain.Position(n*step)) {
				t.Errorf("%d checkpoints: found %d of them, and not the newest", n, len(roots))
			}
			if store.lists > 40 {
				t.Errorf("%d checkpoints: %d listings", n, store.lists)
			}
		}
	}
}

// A record that is gone while later ones are there is damage, not the head.
func TestMissingRecord(t *testing.T) {
	store, s := grownStore(t, 5)
	for _, parallel := range []int{2, 8} {
		cfg := testConfig("r", noSleep)
		cfg.Parallel = parallel
		l := OpenWith(store.Clone(), 0, cfg)
		if got, err := l.Follow(t.Context(), NewState(0)); err != nil || len(got) != int(s.Position()) {
			t.Fatalf("%d records, %v", len(got), err)
		}
		if err := l.store.Delete(t.Context(), l.chain.Key(12)); err != nil {
			t.Fatal(err)
		}
		broken := NewState(0)
		if _, err := l.Follow(t.Context(), broken); !errors.Is(err, ErrCorrupt) || broken.Position() != 11 {
			t.Errorf("stopped at %d: %v", uint64(broken.Position()), err)
		}
		got, err := l.ReadAfter(t.Context(), 12, 5)
		if err != nil || len(got) != 5 || got[4].Record.Position != 17 {
			t.Errorf("%d records, %v", len(got), err)
		}
	}
}

func TestCheckpointIsDue(t *testing.T) {
	cfg := testConfig("w", noSleep)
	cfg.CheckpointRecords, cfg.CheckpointBytes = 5, 4000
	l := OpenWith(objstore.NewMemory(), 0, cfg)
	s := NewState(0)
	if l.CheckpointDue(s) {
		t.Error("a checkpoint of nothing is due")
	}
	if _, _, err := l.Claim(t.Context(), s, "w", "i"); err != nil {
		t.Fatal(err)
	}
	appends := func() int {
		for n := 0; ; n++ {
			if l.CheckpointDue(s) {
				return n
			}
			next := s.Seq() * 10
			r := makeAppend(s, commit{source: testSource(0), from: int64(next), next: int64(next) + 10})
			if _, _, err := l.Append(t.Context(), s, r); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := appends(); n != 4 {
		t.Errorf("due after %d appends, not by number", n)
	}
	s.Own(s.ClaimNonce())
	plan := s.PlanCheckpoint()
	r := makeAppend(s, commit{source: testSource(0), from: 40, next: 50})
	if _, _, err := l.Append(t.Context(), s, r); err != nil {
		t.Fatal(err)
	}
	if err := l.WriteCheckpoint(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	s.CheckpointWritten(plan)
	l.cfg.CheckpointRecords = 100
	if n := appends(); n != 3 && n != 4 {
		t.Errorf("due after %d more appends, not by bytes", n)
	}
}

func TestConfigValidate(t *testing.T) {
	for _, bad := range []Config{{Parallel: -1}, {CheckpointRecords: -1}, {CheckpointBytes: -1}} {
		if bad.Validate() == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}
