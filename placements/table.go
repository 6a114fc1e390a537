package placements

import (
	"slices"
	"sort"

	"github.com/togodb/togo/internal/event"
)

// Beginning is before every event; what holds from Beginning on holds from ever.
const Beginning event.Timestamp = -1 << 63

// Table is one version of the placement table; immutable, safe for concurrent use.
// Versions share what did not change between them.
type Table struct {
	hasher  *event.Hasher
	version Version
	link    Link // of the record of this version
	horizon event.Timestamp
	shards  int
	dead    Shards
	// The timelines are ascending by From, without two equal ones; that of the
	// default rule and of the mappings of "" begin at Beginning.
	defaults []*defaultRule
	mappings map[string][]*mappedFrom
	rules    []rule
	tenants  tenantMap
}

// mappedFrom is a mapping and the Kafka time from which it holds.
type mappedFrom struct {
	From    event.Timestamp `json:"from"`
	Mapping event.Mapping   `json:"mapping"`
}

// Empty is the table before version 1. It routes nothing.
func Empty(hasher *event.Hasher) *Table {
	return &Table{hasher: hasher, horizon: Beginning}
}

// Version is the table's version; 0 before the genesis record.
func (t *Table) Version() Version { return t.version }

// Link is what the next record holds as Prev; ok is false before version 1.
func (t *Table) Link() (l Link, ok bool) { return t.link, t.version > 0 }

// Horizon is the time below which no later version changes anything.
func (t *Table) Horizon() event.Timestamp { return t.horizon }

// Shards is the number of shards that there are: 0 to Shards-1.
func (t *Table) Shards() int { return t.shards }

// Shard returns the shard of an event. ok is false if ts is at or above the
// horizon: the caller needs a newer version first. It does not allocate (but the
// first time that the default rule meets a tenant). idHash is event.Hasher.Routing of the
// event's id.
func (t *Table) Shard(tenant event.TenantID, ts event.Timestamp, idHash uint64) (s event.ShardID, ok bool) {
	if ts >= t.horizon {
		return 0, false
	}
	list := t.placement(tenant, ts)
	return list[idHash%uint64(len(list))], true
}

// placement returns the shards that hold a tenant's events of a time.
func (t *Table) placement(tenant event.TenantID, ts event.Timestamp) Shards {
	h := hashTenant(tenant)
	if st := t.tenants.get(h, tenant); st != nil {
		// Most events are new, so the last placement is asked first.
		line := st.Placements
		if n := len(line); n > 0 && line[n-1].From <= ts {
			return line[n-1].Shards
		} else if n > 0 && line[0].From <= ts {
			return line[sort.Search(n, func(i int) bool { return line[i].From > ts })-1].Shards
		}
	}
	return t.defaultAt(ts).of(h, tenant)
}

func (t *Table) defaultAt(ts event.Timestamp) *defaultRule {
	line := t.defaults
	last := len(line) - 1
	if line[last].From <= ts {
		return line[last]
	}
	return line[sort.Search(last, func(i int) bool { return line[i].From > ts })-1]
}

// Mapping returns the mapping for a record of an intake topic with the given
// Kafka timestamp. ok is false if that is at or above the horizon: the caller
// needs a newer version first. m must not be changed; the pointer stays the same
// from version to version as long as one Keeper folds them, so what was compiled
// from a mapping can be kept under it.
func (t *Table) Mapping(topic string, kafkaTS event.Timestamp) (m *event.Mapping, ok bool) {
	if kafkaTS >= t.horizon {
		return nil, false
	}
	line := t.mappings[topic]
	if len(line) == 0 || line[0].From > kafkaTS {
		line = t.mappings[""]
	}
	at := sort.Search(len(line), func(i int) bool { return line[i].From > kafkaTS }) - 1
	return &line[at].Mapping, true
}

// NewestMapping is the mapping that a topic has of its own from the latest time on;
// ok is false if it shares the one of "".
func (t *Table) NewestMapping(topic string) (m event.Mapping, ok bool) {
	line := t.mappings[topic]
	if len(line) == 0 {
		return event.Mapping{}, false
	}
	return line[len(line)-1].Mapping, true
}

// DeadShard returns the shard of the dead letters and skipped ranges of a source
// partition: a hash over the shards fixed in version 1.
func (t *Table) DeadShard(src event.Source) event.ShardID {
	return t.dead[t.hasher.Source(src)%uint64(len(t.dead))]
}

// DeadShards lists all shards that may hold dead letters of any source. (Letters
// that a writer finds lie in their event's shard: see ShardsOf.)
func (t *Table) DeadShards() []event.ShardID { return slices.Clone(t.dead) }

// ShardsOf lists, ascending, all shards that may hold a tenant's events of
// [from, to), as far as they lie below the horizon: at and above it nothing is
// stored by this version.
func (t *Table) ShardsOf(tenant event.TenantID, from, to event.Timestamp) []event.ShardID {
	to = min(to, t.horizon)
	if from >= to {
		return nil
	}
	var all Shards
	h := hashTenant(tenant)
	var line []Placement
	if st := t.tenants.get(h, tenant); st != nil {
		line = st.Placements
	}
	if len(line) == 0 || line[0].From > from {
		until := to
		if len(line) > 0 {
			until = min(to, line[0].From)
		}
		for i, d := range t.defaults {
			if d.From < until && (i+1 == len(t.defaults) || t.defaults[i+1].From > from) {
				all = append(all, d.of(h, tenant)...)
			}
		}
	}
	for i, p := range line {
		if p.From < to && (i+1 == len(line) || line[i+1].From > from) {
			all = append(all, p.Shards...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Timeline is a tenant's placements, ascending; empty if only the default rule
// places it.
func (t *Table) Timeline(tenant event.TenantID) []Placement {
	if st := t.tenants.get(hashTenant(tenant), tenant); st != nil {
		return slices.Clone(st.Placements)
	}
	return nil
}

// Defaults is the timeline of the default rule, ascending.
func (t *Table) Defaults() []Default {
	out := make([]Default, len(t.defaults))
	for i, d := range t.defaults {
		out[i] = d.Default
	}
	return out
}

// Known lists the tenants that the table names, ascending: placed, allowed, or admitted.
func (t *Table) Known() []event.TenantID { return t.tenants.names() }
