package shardlog

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/togodb/togo/internal/objstore"
)

// format1Store is a log whose checkpoints are of format 1.
func format1Store(t *testing.T) *objstore.Memory {
	text, err := os.ReadFile("testdata/log-root-format-1.json")
	if err != nil {
		t.Fatal(err)
	}
	var objects map[string][]byte
	if err := json.Unmarshal(text, &objects); err != nil {
		t.Fatal(err)
	}
	store := objstore.NewMemory()
	for key, body := range objects {
		if err := store.Put(t.Context(), key, body); err != nil {
			t.Fatal(err)
		}
	}
	return store
}

// Checkpoints of format 1, whose pieces replaced older ones, are read, built on and trimmed.
func TestRootsOfFormat1(t *testing.T) {
	store := format1Store(t)
	l := OpenWith(store, 0, testConfig("w", noSleep))
	truth := NewState(0)
	if _, err := l.Follow(t.Context(), truth); err != nil {
		t.Fatal(err)
	}
	trim := func() {
		t.Helper()
		// Of what the format's own checkpoints say nothing may be held against them.
		plan, err := l.PlanTrim(t.Context(), 0)
		if err != nil || plan.Base == 0 {
			t.Fatalf("%+v, %v", plan, err)
		}
		if _, err := plan.Do(t.Context()); err != nil {
			t.Fatal(err)
		}
		loaded, err := l.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, l, loaded, truth)
	}
	trim()
	s, err := l.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.Own(s.ClaimNonce())
	if err := l.Checkpoint(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	trim()
	for range intakeFanout {
		r := makeAppend(s, commit{source: testSource(0), from: s.Sources()[0].Next, next: s.Sources()[0].Next + 10, intake: RangeSet{{1 << 20, 1<<20 + 1 + int64(s.Seq())}}})
		if won, _, err := l.Append(t.Context(), s, r); err != nil || !won {
			t.Fatal(won, err)
		}
		if err := l.Checkpoint(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Follow(t.Context(), truth); err != nil {
		t.Fatal(err)
	}
	trim()
}

// Id segments that lie among the fragments of a day, as in roots of format 1, are merged and dropped as others are.
func TestLogGoesOnFromFormat1(t *testing.T) {
	eachSeed(t, 40, func(t *testing.T, d draw) {
		l := OpenWith(format1Store(t), 0, testConfig("w", noSleep))
		truth := NewState(0)
		s, err := l.Load(t.Context())
		for range 12 {
			if err != nil {
				t.Fatal(err)
			}
			moveOn(t, l, s, d, 6)
			s.Own(s.ClaimNonce())
			if err = l.Checkpoint(t.Context(), s); err == nil && d(3, "load") == 0 {
				s, err = l.Load(t.Context())
			}
		}
		if err == nil {
			_, err = l.Follow(t.Context(), truth)
		}
		if err != nil {
			t.Fatal(err)
		}
		same(t, l, s, truth)
		loaded, err := l.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, l, loaded, truth)
		checkIndexes(t, loaded)
	})
}
