package compactor

import (
	"slices"
	"testing"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/internal/tenants"
)

// TestFault_clock_off: a compactor, or a store, whose clock is a year ahead or behind expires
// nothing that is to be kept; one that is ahead does not even delay what is due.
func TestFault_clock_off(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for _, tc := range []struct {
		own, store time.Duration
		late       bool // what is due stays
	}{{0, 0, false}, {year, 0, false}, {0, year, false}, {-year, 0, true}, {0, -year, true}} {
		r := newRig(t)
		for _, hours := range []int64{0, 30} { // kept for 36 hours: due at 37 and 67
			r.commit(begin+hours*hour, 5, "acme")
		}
		if _, err := r.tenants.Propose(t.Context(), "acme", func(v tenants.Values) (tenants.Values, error) { return v.Set("retention", "36h") }); err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			after time.Duration
			live  []int64 // hours of the buckets that are left
		}{{36*time.Hour + 59*time.Minute, []int64{0, 30}}, {37 * time.Hour, []int64{30}}, {66*time.Hour + 59*time.Minute, []int64{30}}, {67 * time.Hour, nil}} {
			now := time.Unix(begin, 0).Add(step.after)
			r.store.Inner().(*objstore.Memory).Now = func() time.Time { return now.Add(tc.store) }
			c := r.compactor("a")
			c.d.Now = func() time.Time { return now.Add(tc.own) }
			for more := true; more; {
				var err error
				if more, err = c.Turn(t.Context(), 0); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := r.log.Follow(t.Context(), r.state); err != nil {
				t.Fatal(err)
			}
			if tc.late {
				step.live = []int64{0, 30}
			}
			for _, hours := range []int64{0, 30} {
				kept := false
				r.state.Fragments("acme", begin+hours*hour, begin+hours*hour+1, func(shardlog.Fragment) bool { kept = true; return false })
				if kept != slices.Contains(step.live, hours) {
					t.Errorf("own clock off by %s, the store's by %s, after %s: the bucket of hour %d is kept: %v", tc.own, tc.store, step.after, hours, kept)
				}
			}
			if floor, _ := r.state.Floor("acme", shardlog.TableEvents); floor > event.Timestamp(now.Add(-36*time.Hour).UnixNano()) {
				t.Errorf("own clock off by %s, the store's by %s, after %s: the floor is %s", tc.own, tc.store, step.after, floor)
			}
		}
	}
}

// TestAnotherSortKey: a change of the settings counts for buckets that are at rest, and for
// merges that were picked before it and not begun.
func TestAnotherSortKey(t *testing.T) {
	r := newRig(t)
	for range 3 {
		r.commit(begin, 5, "acme", "other")
	}
	c := r.compactor("a")
	r.settle(c)
	for range r.cfg.FanIn { // two tenants with a merge to do, of which one turn does one
		r.commit(begin+hour, 5, "acme", "other")
	}
	if worked, err := c.Turn(t.Context(), 0); !worked || err != nil {
		t.Fatal(worked, err)
	}
	for _, tenant := range []event.TenantID{"acme", "other"} {
		if _, err := r.tenants.Propose(t.Context(), tenant, func(v tenants.Values) (tenants.Values, error) { return v.Set("sort_key", "n") }); err != nil {
			t.Fatal(err)
		}
	}
	r.settle(c)
	r.check()
	files := 0
	for f := range allFragments(r.load()) {
		if files++; f.SortKey != "n,timestamp" {
			t.Errorf("%s is sorted by %q", f.Key, f.SortKey)
		}
	}
	if files < 4 {
		t.Errorf("%d files", files)
	}
}
