package shardlog

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/objstore"
)

// intakeStory is a log with so many commits and a checkpoint after every third of them.
func intakeStory(t *testing.T, store objstore.Store, s *State, commits int) *Log {
	l := OpenWith(store, 0, testConfig("w", noSleep))
	if s.Position() == 0 {
		if _, _, err := l.Claim(t.Context(), s, "w", "i"); err != nil {
			t.Fatal(err)
		}
	}
	for range commits {
		i := int64(s.Seq())
		r := makeAppend(s, commit{source: testSource(0), from: 10 * i, next: 10*i + 10, intake: RangeSet{{i * 7_000, i*7_000 + 5}, {1<<30 + 3*i, 1<<30 + 3*i + 2}}})
		if won, _, err := l.Append(t.Context(), s, r); err != nil || !won {
			t.Fatal(won, err)
		}
		if i%3 == 2 {
			s.Own(s.ClaimNonce())
			if err := l.Checkpoint(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
	}
	return l
}

// wantIntake: what the log says of the intake is what the story's commits classed.
func wantIntake(t *testing.T, l *Log, s *State) {
	t.Helper()
	want := NewIntake()
	for i := range int64(s.Seq()) {
		want.AddRange(testSource(100), i*7_000, i*7_000+5)
		want.AddRange(testSource(100), 1<<30+3*i, 1<<30+3*i+2)
	}
	in, err := l.Intake(t.Context(), s)
	got := NewIntake()
	if err == nil {
		err = got.Merge(in)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !got.equal(want) {
		t.Fatalf("%d offsets, not %d", got.Count(testSource(100)), want.Count(testSource(100)))
	}
}

// A start reads nothing of the intake offsets, however many there were, and objects with them
// become few; what was classed is all there.
func TestIntakeObjectsAreFewAndUnread(t *testing.T) {
	store := &counting{Memory: objstore.NewMemory()}
	s := NewState(0)
	l := intakeStory(t, store, s, 1500)
	if n := len(s.archive); n < 4 || n > 4*(intakeFanout-1) {
		t.Errorf("%d objects of %d checkpoints", n, 500)
	}
	if n := s.unsaved().Count(testSource(100)); n != 0 {
		t.Errorf("%d offsets in memory", n)
	}
	wantIntake(t, l, s)
	store.gets = 0
	loaded, err := l.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	manifests := 0
	for _, d := range loaded.days {
		manifests += len(d.runs)
	}
	if store.gets > manifests+5 {
		t.Errorf("%d reads of a start, for %d manifests", store.gets, manifests)
	}
	wantIntake(t, l, loaded)
	wantIntake(t, l, loaded.Clone())
}

// An object that is larger than its share stays as it is.
func TestLargeIntakeObjectsStay(t *testing.T) {
	s := NewState(0)
	for i := range 3 * intakeFanout {
		s.archive = append(s.archive, manifestRef{Name: fmt.Sprint(i), Bytes: maxIntakeBytes/intakeFanout + int64(i%2)})
	}
	var p CheckpointPlan
	s.planIntake(&p, false)
	if len(p.intake.merge) != intakeFanout || len(p.intake.keep) != 2*intakeFanout || p.intake.level != 1 {
		t.Fatalf("%d of %d objects become one", len(p.intake.merge), len(s.archive))
	}
	for i, ref := range p.intake.merge {
		if ref.Name != fmt.Sprint(2*i) {
			t.Errorf("object %s is merged", ref.Name)
		}
	}
}

// damageIntake changes an object with intake offsets of a checkpoint.
func damageIntake(t *testing.T, store objstore.Store, l *Log, name string) {
	t.Helper()
	if err := store.Put(t.Context(), l.manifestKey(name), []byte("damaged")); err != nil {
		t.Fatal(err)
	}
}

// While the records are there nothing of the intake is lost with an object: whoever asks has it from them, a merge
// writes it anew, and no trim deletes them.
func TestDamagedIntakeObject(t *testing.T) {
	for name, next := range map[string]func(*Log, *State){
		"merged": func(*Log, *State) {},
		"whole":  func(_ *Log, s *State) { s.parent = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			store := objstore.NewMemory()
			s := NewState(0)
			l := intakeStory(t, store, s, 3*(intakeFanout-1))
			damageIntake(t, store, l, s.archive[2].Name)
			wantIntake(t, l, s)
			plan, err := l.PlanTrim(t.Context(), 0)
			if err != nil || !plan.Empty() || !strings.Contains(plan.Why, s.archive[2].Name) {
				t.Fatalf("a trim: %+v, %v", plan, err)
			}
			intakeStory(t, store, s, 3)
			next(l, s)
			intakeStory(t, store, s, 3)
			if len(s.archive) > 2 {
				t.Errorf("%d objects", len(s.archive))
			}
			wantIntake(t, l, s)
			intakeStory(t, store, s, 3)
			if plan, err = l.PlanTrim(t.Context(), 0); err != nil || plan.Base == 0 {
				t.Fatalf("a trim: %+v, %v", plan, err)
			}
		})
	}
}

// Where the records were deleted a damaged object is told to those who ask; starts, commits and checkpoints go on.
func TestDamagedIntakeObjectBehindTheBase(t *testing.T) {
	store := objstore.NewMemory()
	s := NewState(0)
	l := intakeStory(t, store, s, 9)
	plan, err := l.PlanTrim(t.Context(), 0)
	if err == nil {
		_, err = plan.Do(t.Context())
	}
	if err != nil || len(plan.Records) == 0 {
		t.Fatal(plan, err)
	}
	damageIntake(t, store, l, s.archive[0].Name)
	intakeStory(t, store, s, 6*3*intakeFanout)
	if n := len(s.archive); n > 3*intakeFanout {
		t.Errorf("%d objects", n)
	}
	loaded, err := l.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Intake(t.Context(), loaded); !errors.Is(err, ErrCorrupt) {
		t.Errorf("asked: %v", err)
	}
	if plan, err := l.PlanTrim(t.Context(), 0); err != nil || len(plan.Records) == 0 {
		t.Errorf("a trim: %+v, %v", plan, err)
	}
}

// A state whose objects were deleted since says so, and a newer one has what was in them.
func TestIntakeOfAnOldState(t *testing.T) {
	store := objstore.NewMemory()
	s := NewState(0)
	l := intakeStory(t, store, s, 3*(intakeFanout-1))
	old, err := l.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	intakeStory(t, store, s, 9)
	plan, err := l.PlanTrim(t.Context(), 0)
	if err == nil {
		_, err = plan.Do(t.Context())
	}
	if err != nil || len(plan.Manifests) == 0 {
		t.Fatal(plan, err)
	}
	if _, err := l.Intake(t.Context(), old); !errors.Is(err, chain.ErrTrimmed) {
		t.Errorf("asked: %v", err)
	}
	wantIntake(t, l, s)
}
