package compactor

import (
	"fmt"
	"testing"

	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
)

// TestMoreCompactorsThanJobs: with more compactors than a shard may have open jobs, none pushes out another's merge for ever.
func TestMoreCompactorsThanJobs(t *testing.T) {
	r := newRig(t)
	for bucket := range int64(2 * shardlog.MaxJobs) {
		for range 4 {
			r.commit(begin+bucket*hour, 3, "acme")
		}
	}
	r.now += r.cfg.QuietNewestAfter
	// Each merge uploads in the middle; there another compactor begins one of its own, and so on.
	var list []*Compactor
	for i := range shardlog.MaxJobs + 4 {
		list = append(list, r.compactor(fmt.Sprint("c", i)))
	}
	for _, c := range list {
		if err := c.of(0).withState(t.Context(), func() error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	r.now += r.cfg.QuietNewestAfter
	next, depth := 0, 0
	r.store.Decide = func(call objstore.Call) *objstore.Rule {
		if call.Op != objstore.OpPut || next >= len(list) {
			return nil
		}
		return &objstore.Rule{Effect: objstore.Pass, Before: func(objstore.Call) {
			if next >= len(list) {
				return
			}
			c := list[next]
			next++
			depth++
			_, err := c.Turn(t.Context(), 0)
			if err != nil {
				t.Error(err)
			}
		}}
	}
	next = 1
	if _, err := list[0].Turn(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	late := int64(0)
	for _, c := range list {
		for _, s := range c.Status() {
			late += s.Aborted
		}
	}
	t.Logf("depth %d, %d merges in vain", depth, late)
	if late > 0 {
		t.Errorf("%d merges in vain", late)
	}
}
