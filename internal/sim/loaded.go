package sim

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/shardlog"
)

// checkLoads: who loads a shard now, from checkpoints and the records that are left, and copies
// what he has, stands where the fold of all its records stands.
func (w *world) checkLoads() {
	for _, id := range slices.Sorted(maps.Keys(w.watch.logs)) {
		log := shardlog.OpenWith(w.objects, id, shardlog.Config{Parallel: 1, Logger: quiet})
		loaded, err := log.Load(context.Background())
		if err != nil {
			w.fail("load shard %s: %v", id, err)
			return
		}
		if err := sameState(log, loaded.Clone(), w.watch.logs[id].state, w.plan.tenants); err != nil {
			w.fail("shard %s as loaded differs from the fold of its records: %v", id, err)
			return
		}
	}
}

// sameState compares all that a reader can ask of a state.
func sameState(log *shardlog.Log, a, b *shardlog.State, tenants []string) error {
	view := func(s *shardlog.State) map[string]any {
		out := map[string]any{"head": s.Head(), "epoch": s.Epoch(), "owner": s.Owner(), "seq": s.Seq(), "low water": s.LowWater(), "jobs": s.Jobs(),
			"sources": s.Sources(), "totals": s.Totals(), "end of the ids": s.IDsBelow(), "set aside": s.Quarantined(), "id buckets": s.IDBuckets()}
		var fragments []shardlog.Fragment
		s.Fragments("", shardlog.MinBucket, shardlog.MaxBucket, func(f shardlog.Fragment) bool {
			fragments = append(fragments, f)
			return true
		})
		// Segments come by day and key; which day is theirs is no matter.
		segments := slices.SortedFunc(s.Segments, func(x, y shardlog.IDSegment) int {
			if x.Key < y.Key {
				return -1
			}
			return 1
		})
		out["fragments"], out["segments"] = fragments, segments
		for _, t := range append(tenants, "") {
			for _, table := range []shardlog.Table{shardlog.TableEvents, shardlog.TableDeadLetters} {
				floor, _ := s.Floor(event.TenantID(t), table)
				out[fmt.Sprintf("floor of %q %s", t, table)] = floor
			}
		}
		intake := shardlog.NewIntake()
		classed, err := log.Intake(context.Background(), s)
		if err == nil {
			err = intake.Merge(classed)
		}
		if err != nil {
			out["intake"] = err
		}
		for _, src := range intake.Sources() {
			out[fmt.Sprintf("intake %v", src)] = fmt.Sprint(intake.Count(src), intake.Holes(src, 0, 1<<10))
		}
		return out
	}
	x, y := view(a), view(b)
	for _, key := range slices.Sorted(maps.Keys(y)) {
		if !reflect.DeepEqual(x[key], y[key]) && fmt.Sprint(x[key]) != fmt.Sprint(y[key]) {
			return fmt.Errorf("%s: %v, not %v", key, x[key], y[key])
		}
	}
	if len(x) != len(y) {
		return fmt.Errorf("%d things, not %d", len(x), len(y))
	}
	return nil
}
