package placements

import (
	"reflect"
	"slices"

	"github.com/togodb/togo/internal/event"
)

// A Change makes a record from the newest table, for Keeper.Propose.
type Change func(*Table) (Record, error)

// SetTenant places a tenant on shards from a time on; nil is the horizon, the
// earliest there is. Placements planned for that time or later are replaced. There is
// no change if the tenant's last placement names the same shards already.
func SetTenant(name event.TenantID, shards Shards, from *event.Timestamp) Change {
	return func(t *Table) (Record, error) {
		line := t.Timeline(name)
		if n := len(line); from == nil && n > 0 && slices.Equal(line[n-1].Shards, shards) {
			return Record{}, ErrNoChange
		}
		p := TenantPlacement{Tenant: name, Placement: Placement{From: t.from(from), Shards: shards}}
		return Record{Kind: KindPlace, Place: &Place{Placements: []TenantPlacement{p}}}, nil
	}
}

// SetDefault changes the default rule from a time on; nil is the horizon. There is
// no change if the last rule is the same already.
func SetDefault(shards Shards, spread int, from *event.Timestamp) Change {
	return func(t *Table) (Record, error) {
		last := t.defaults[len(t.defaults)-1]
		if from == nil && last.Spread == spread && slices.Equal(last.Shards, shards) {
			return Record{}, ErrNoChange
		}
		return Record{Kind: KindDefault, Default: &Default{From: t.from(from), Shards: shards, Spread: spread}}, nil
	}
}

// SetMapping changes the mapping of a topic ("" for all without their own) for
// records from a Kafka time on; nil is the horizon. There is no change if
// the topic's last mapping is the same already.
func SetMapping(topic string, m event.Mapping, from *event.Timestamp) Change {
	return func(t *Table) (Record, error) {
		line := t.mappings[topic]
		if n := len(line); from == nil && n > 0 && sameMapping(line[n-1].Mapping, m) {
			return Record{}, ErrNoChange
		}
		return Record{Kind: KindMapping, Mapping: &MapTopic{Topic: topic, From: t.from(from), Mapping: m}}, nil
	}
}

// SetRule changes the rule of admission for records from a Kafka time on; nil is
// the horizon, whatever r.From says. There is no change if the last rule is the same already and
// all of r.Allow are allowed.
func SetRule(r Rule, from *event.Timestamp) Change {
	return func(t *Table) (Record, error) {
		last := t.rules[len(t.rules)-1]
		same := from == nil && last.Unknown == r.Unknown && last.MaxTenants == r.MaxTenants
		for _, name := range r.Allow {
			st := t.tenants.get(hashTenant(name), name)
			same = same && st != nil && st.AllowedFrom != nil
		}
		if same {
			return Record{}, ErrNoChange
		}
		r.From = t.from(from)
		return Record{Kind: KindAdmission, Admission: &r}, nil
	}
}

func (t *Table) from(from *event.Timestamp) event.Timestamp {
	if from == nil {
		return t.horizon
	}
	return *from
}

// sameMapping takes a list that is nil for one that is empty.
func sameMapping(a, b event.Mapping) bool {
	for _, m := range []*event.Mapping{&a, &b} {
		for _, list := range []*[]event.Rule{&m.Tenant, &m.Timestamp, &m.ID} {
			if len(*list) == 0 {
				*list = nil
			}
		}
	}
	return reflect.DeepEqual(a, b)
}
