package inspect

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
)

// difference names the first thing in which two states differ, and what each of
// them says of it; "" if they are the same.
func difference(a, b *shardlog.State) (what, inA, inB string) {
	for _, one := range []struct {
		what string
		of   func(*shardlog.State) any
	}{
		{"owner", func(s *shardlog.State) any {
			owner := shardlog.Claim{}
			if o := s.Owner(); o != nil {
				owner = *o
			}
			return []any{owner, s.ClaimNonce(), s.ClaimPosition(), s.Epoch()}
		}},
		{"last append", func(s *shardlog.State) any { return []any{s.Seq(), s.LowWater(), s.LastAppendMS()} }},
		{"sources", func(s *shardlog.State) any { return s.Sources() }},
		{"totals", func(s *shardlog.State) any { return s.Totals() }},
		{"jobs", func(s *shardlog.State) any { return s.Jobs() }},
		{"quarantined", func(s *shardlog.State) any { return s.Quarantined() }},
		{"end of the ids", func(s *shardlog.State) any { return s.IDsBelow() }},
		{"id buckets", func(s *shardlog.State) any { return s.IDBuckets() }},
	} {
		inA, inB = fmt.Sprintf("%+v", one.of(a)), fmt.Sprintf("%+v", one.of(b))
		if inA != inB {
			return one.what, inA, inB
		}
	}
	if inA, inB, differ := firstDiffering(fragmentsOf(a), fragmentsOf(b)); differ {
		return "fragment", inA, inB
	}
	if inA, inB, differ := firstDiffering(a.Segments, b.Segments); differ {
		return "id segment", inA, inB
	}
	return floorDifference(a, b)
}

// intakeSums are intake offsets, each source's as a checksum.
func intakeSums(list []shardlog.Intake) string {
	var out []string
	for _, in := range list {
		out = append(out, fmt.Sprintf("%s %s", in.Source, objstore.Sum(in.Bitmap)))
	}
	return strings.Join(out, ", ")
}

func fragmentsOf(s *shardlog.State) iter.Seq[shardlog.Fragment] {
	return func(yield func(shardlog.Fragment) bool) { s.Fragments("", -maxBucket, maxBucket, yield) }
}

// firstDiffering walks two lists in the same order, holding one of each.
func firstDiffering[T any](a, b iter.Seq[T]) (inA, inB string, differ bool) {
	next, stop := iter.Pull(b)
	defer stop()
	for x := range a {
		y, ok := next()
		if inA, inB = fmt.Sprintf("%+v", x), "none"; ok {
			inB = fmt.Sprintf("%+v", y)
		}
		if inA != inB {
			return inA, inB, true
		}
	}
	if y, ok := next(); ok {
		return "none", fmt.Sprintf("%+v", y), true
	}
	return "", "", false
}

// floorDifference looks at the floors of all tenants, and of those that have data.
func floorDifference(a, b *shardlog.State) (what, inA, inB string) {
	tenants := map[event.TenantID]bool{"": true}
	for _, t := range slices.Concat(a.Tenants(), b.Tenants()) {
		tenants[t] = true
	}
	for _, t := range slices.Sorted(maps.Keys(tenants)) {
		for _, table := range []shardlog.Table{shardlog.TableEvents, shardlog.TableDeadLetters} {
			x, xErased := a.Floor(t, table)
			y, yErased := b.Floor(t, table)
			if x != y || xErased != yErased {
				return fmt.Sprintf("floor of %q %s", t, table), fmt.Sprintf("%s (erased: %t)", x, xErased), fmt.Sprintf("%s (erased: %t)", y, yErased)
			}
		}
	}
	return "", "", ""
}
