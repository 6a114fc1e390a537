package placements

import (
	"errors"
	"math"
	"slices"

	"github.com/togodb/togo/internal/event"
)

// Latest is the shards of the tenant's last placement, also if it holds only from a
// later time on, or those that the last default rule gives it.
func (t *Table) Latest(tenant event.TenantID) Shards {
	return slices.Clone(t.placement(tenant, math.MaxInt64))
}

// Replacement gives a tenant new shards in the place of its Latest.
type Replacement struct {
	Tenant   event.TenantID
	Old, New Shards
}

// Replace places tenants on their new shards from the horizon on, in as few changes as
// records can hold them. What was decided from a look at the table is not done
// to another table: if a tenant's Latest is no longer Old, its change is refused. One that
// has its new shards already is left out.
func Replace(list []Replacement) []Change {
	var out []Change
	for part := range slices.Chunk(list, maxBatch) {
		out = append(out, func(t *Table) (Record, error) {
			var place Place
			for _, r := range part {
				switch latest := t.Latest(r.Tenant); {
				case slices.Equal(latest, r.New):
				case !slices.Equal(latest, r.Old):
					return Record{}, refuse("tenant %q is on shards %s by now, not on %s", r.Tenant, latest, r.Old)
				default:
					place.Placements = append(place.Placements, TenantPlacement{r.Tenant, Placement{t.horizon, r.New}})
				}
			}
			if place.Placements == nil {
				return Record{}, ErrNoChange
			}
			return Record{Kind: KindPlace, Place: &place}, nil
		})
	}
	return out
}

// Preview is the table as the changes would make it, for looking only: it is no
// version, and nothing is written. The error says why one would be refused.
func (t *Table) Preview(changes ...Change) (*Table, error) {
	for _, change := range changes {
		r, err := change(t)
		if errors.Is(err, ErrNoChange) {
			continue
		} else if err != nil {
			return nil, err
		}
		next := *t
		if err := next.change(r); err != nil {
			return nil, err
		}
		t = &next
	}
	return t, nil
}
