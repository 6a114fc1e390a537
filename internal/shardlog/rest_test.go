package shardlog

import (
	"fmt"
	"slices"
	"testing"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
)

// daysStory is a log with a commit for each of ten days, and a checkpoint.
func daysStory(t *testing.T) (*Log, *State) {
	l := OpenWith(objstore.NewMemory(), 0, testConfig("w", noSleep))
	s := NewState(0)
	if _, _, err := l.Claim(t.Context(), s, "w", "i"); err != nil {
		t.Fatal(err)
	}
	for i := range int64(10) {
		r := makeAppend(s, commit{source: testSource(0), from: 10 * i, next: 10*i + 10, dead: 1, bucket: testDay + i*daySeconds})
		if won, _, err := l.Append(t.Context(), s, r); err != nil || !won {
			t.Fatal(won, err)
		}
	}
	s.Own(s.ClaimNonce())
	if err := l.Checkpoint(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	return l, s
}

// resting are the days that rest, counted from the story's first.
func resting(s *State) (out []int64) {
	for num, d := range s.days {
		if d.packed != nil {
			out = append(out, num-dayOf(testDay))
		}
	}
	slices.Sort(out)
	return out
}

// After a start all days rest, and each use opens those alone that it needs; what is said of them is the same.
func TestDaysRest(t *testing.T) {
	l, s := daysStory(t)
	text := s.Text()
	fragment := func(s *State, day int) (key string) {
		s.Fragments("", testDay+int64(day)*daySeconds, testDay+int64(day+1)*daySeconds, func(f Fragment) bool {
			key = f.Key
			return f.Table != TableEvents
		})
		return key
	}
	key := fragment(s, 4)
	apply := func(r *Record) func(*State) error {
		return func(s *State) error { return tryAppend(s, "next", r) }
	}
	floor := event.Timestamp((testDay + 3*daySeconds) * 1e9)
	for name, one := range map[string]struct {
		use   func(*State) error
		opens []int64
	}{
		"nothing": {func(*State) error { return nil }, nil},
		"a look":  {func(s *State) error { fragment(s, 2); return nil }, []int64{2}},
		"a key": {func(s *State) error {
			_, ok := s.Fragment(key)
			return map[bool]error{false: fmt.Errorf("not there")}[ok]
		}, []int64{4}},
		"another":    {func(s *State) error { s.Live("data/acme/2001-01-01T00/x"); s.Live("ids/0/x"); s.Live("x"); return nil }, nil},
		"a commit":   {apply(makeAppend(s, commit{source: testSource(0), from: 100, next: 110, bucket: testDay + 9*daySeconds, name: "new"})), []int64{9}},
		"a merge":    {apply(&Record{Kind: KindMergeBegin, MergeBegin: &MergeBegin{Worker: "c", Inputs: []string{key}}}), []int64{4}},
		"quarantine": {apply(&Record{Kind: KindQuarantine, Quarantine: &Quarantine{Key: key, Reason: "r"}}), []int64{4}},
		"expire":     {apply(&Record{Kind: KindExpire, Expire: &Expire{Floors: []Floor{{Table: TableEvents, Floor: floor}}}}), []int64{0, 1, 2, 3}},
		"erase":      {apply(&Record{Kind: KindErase, Erase: &Erase{Tenant: "acme", Floor: floor + 30*daySeconds*1e9}}), []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
		"tenants":    {func(s *State) error { s.Tenants(); return nil }, []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
	} {
		loaded, err := l.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		checkIndexes(t, loaded)
		direct := s.Clone()
		for _, state := range []*State{loaded, loaded.Clone()} {
			if err := one.use(state); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			rest := resting(state)
			for day := range int64(10) {
				if slices.Contains(rest, day) == slices.Contains(one.opens, day) {
					t.Errorf("%s: %v rest, and %v should be open", name, rest, one.opens)
					break
				}
			}
			checkIndexes(t, state)
		}
		if err := one.use(direct); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		f, g := direct.Counts()
		if x, y := loaded.Counts(); x != f || y != g {
			t.Errorf("%s: %d and %d objects counted, not %d and %d", name, x, y, f, g)
		}
		if loaded.Text() != direct.Text() {
			t.Errorf("%s: the states differ:\n%s\n%s", name, loaded.Text(), direct.Text())
		}
	}
	if s.Text() != text {
		t.Error("the story's state changed")
	}
}

// A checkpoint of a state whose days rest names their manifests, and leaves them at rest; one that is whole writes them anew.
func TestCheckpointOfRestingDays(t *testing.T) {
	l, _ := daysStory(t)
	for _, whole := range []bool{false, true} {
		s, err := l.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r := makeAppend(s, commit{source: testSource(0), from: 10 * int64(s.Seq()), next: 10*int64(s.Seq()) + 10, bucket: testDay + 9*daySeconds})
		if won, _, err := l.Append(t.Context(), s, r); err != nil || !won {
			t.Fatal(won, err)
		}
		if !whole {
			s.Own(s.ClaimNonce())
		}
		if err := l.Checkpoint(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if n := len(resting(s)); whole != (n == 0) || !whole && n != 9 {
			t.Errorf("whole %v: %d days rest", whole, n)
		}
		loaded, err := l.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, l, loaded, s)
	}
}

// Nothing is asked of a day by its date whose fragments have keys that do not name it: such a day does not rest.
func TestForeignKeysDoNotRest(t *testing.T) {
	l := OpenWith(objstore.NewMemory(), 0, testConfig("w", noSleep))
	s := NewState(0)
	if _, _, err := l.Claim(t.Context(), s, "w", "i"); err != nil {
		t.Fatal(err)
	}
	for i, key := range []string{"elsewhere/x.parquet", "data/acme/2001-02-03T00/x.parquet"} {
		r := makeAppend(s, commit{source: testSource(0), from: int64(i), next: int64(i) + 1, bucket: testDay + int64(i)*daySeconds})
		r.Append.Fragments[0].Key = key
		if won, _, err := l.Append(t.Context(), s, r); err != nil || !won {
			t.Fatal(won, err)
		}
	}
	s.Own(s.ClaimNonce())
	if err := l.Checkpoint(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	loaded, err := l.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if rest := resting(loaded); len(rest) > 0 || !loaded.Live("elsewhere/x.parquet") || !loaded.Live("data/acme/2001-02-03T00/x.parquet") {
		t.Errorf("days %v rest", rest)
	}
}
