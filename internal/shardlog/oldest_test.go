package shardlog

import (
	"strings"
	"testing"

	"github.com/togodb/togo/internal/objstore"
)

// Who reads the oldest state while the checkpoints that it has listed are deleted begins again: newer ones are there.
func TestOldestWhileCheckpointsGo(t *testing.T) {
	memory := objstore.NewMemory()
	l := OpenWith(memory, 0, testConfig("w", noSleep))
	s, err := l.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := l.Claim(t.Context(), s, "w", "i"); err != nil {
		t.Fatal(err)
	}
	commits := int64(0)
	goOn := func() { // two checkpoints, and what they make needless goes
		for range 2 {
			if _, _, err := l.Append(t.Context(), s, makeAppend(s, commit{source: testSource(0), from: commits, next: commits + 1})); err != nil {
				t.Fatal(err)
			}
			commits++
			if err := l.Checkpoint(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		plan, err := l.PlanTrim(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := plan.Do(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	goOn()
	goOn()
	fault := objstore.NewFault(memory)
	times := 0
	fault.Decide = func(c objstore.Call) *objstore.Rule {
		if c.Op != objstore.OpGet || !strings.HasPrefix(c.Key, l.rootPrefix()) || times > 2 {
			return nil
		}
		times++
		return &objstore.Rule{Effect: objstore.Pass, Before: func(objstore.Call) { goOn() }}
	}
	oldest, base, err := OpenWith(fault, 0, testConfig("r", noSleep)).Oldest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if oldest.Position() <= base || times == 0 {
		t.Errorf("oldest at %d, records gone up to %d", uint64(oldest.Position()), uint64(base))
	}
}
