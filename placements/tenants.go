package placements

import (
	"hash/maphash"
	"slices"

	"github.com/togodb/togo/internal/event"
)

// tenant is what the table knows of one tenant. It is never changed once a table
// holds it. It is written to checkpoints as it stands.
type tenant struct {
	Placements []Placement `json:"placements,omitempty"` // ascending by From
	// AllowedFrom is the Kafka time from which the allow list names the tenant.
	AllowedFrom *event.Timestamp `json:"allowed_from,omitempty"`
	// Since is the number of the first rule of an unbroken run, up to the newest
	// rule and all that will follow it, whose sets hold the tenant.
	Since *int `json:"since,omitempty"`
	// Late lists, ascending, the numbers of older rules whose sets hold the tenant.
	Late []int `json:"late,omitempty"`
}

// inSet says whether the set of the n-th rule holds the tenant.
func (s *tenant) inSet(n int) bool {
	if s.Since != nil && *s.Since <= n {
		return true
	}
	_, found := slices.BinarySearch(s.Late, n)
	return found
}

// known says whether records with the Kafka timestamp are accepted whatever the
// rule of admission says.
func (s *tenant) known(kafkaTS event.Timestamp) bool {
	return len(s.Placements) > 0 && s.Placements[0].From <= kafkaTS ||
		s.AllowedFrom != nil && *s.AllowedFrom <= kafkaTS
}

// tenantParts is how many maps share the tenants. A record that changes a tenant
// copies one of them: with 100,000 tenants 400 entries instead of all.
const tenantParts = 256

// tenantMap is a map from tenants that versions of the table share; the zero
// value is empty. A change makes new maps for the parts that it touches.
type tenantMap struct {
	parts *[tenantParts]map[event.TenantID]*tenant
	n     int
}

// tenantSeed differs from process to process. It only says where a tenant lies
// in memory, never in which shard.
var tenantSeed = maphash.MakeSeed()

func hashTenant(name event.TenantID) uint64 { return maphash.String(tenantSeed, string(name)) }

func (m *tenantMap) get(h uint64, name event.TenantID) *tenant {
	if m.parts == nil {
		return nil
	}
	return m.parts[h%tenantParts][name]
}

// names lists the tenants, ascending.
func (m *tenantMap) names() []event.TenantID {
	out := make([]event.TenantID, 0, m.n)
	if m.parts != nil {
		for _, part := range m.parts {
			for name := range part {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return out
}

// tenantEdit is a change of a tenantMap under way. The map that it began with
// stays as it was.
type tenantEdit struct {
	m     tenantMap
	fresh [tenantParts]bool // parts that belong to this edit alone
}

func (m tenantMap) edit() *tenantEdit {
	e := &tenantEdit{m: m}
	parts := new([tenantParts]map[event.TenantID]*tenant)
	if m.parts != nil {
		*parts = *m.parts
	}
	e.m.parts = parts
	return e
}

// get returns a copy of what is known of the tenant, for set to store.
func (e *tenantEdit) get(name event.TenantID) tenant {
	if st := e.m.get(hashTenant(name), name); st != nil {
		return *st
	}
	return tenant{}
}

func (e *tenantEdit) set(name event.TenantID, st tenant) {
	i := hashTenant(name) % tenantParts
	if !e.fresh[i] {
		old := e.m.parts[i]
		part := make(map[event.TenantID]*tenant, len(old)+1)
		for k, v := range old {
			part[k] = v
		}
		e.m.parts[i], e.fresh[i] = part, true
	}
	if _, there := e.m.parts[i][name]; !there {
		e.m.n++
	}
	e.m.parts[i][name] = &st
}
