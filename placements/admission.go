package placements

import (
	"sort"

	"github.com/togodb/togo/internal/event"
)

// rule is one entry of the timeline of admission. count is the number of tenants
// in its set.
type rule struct {
	Rule
	count int
}

func (r *rule) full() bool { return r.MaxTenants > 0 && r.count >= r.MaxTenants }

// Verdict says what becomes of a record of a tenant.
type Verdict uint8

const (
	// Accepted: route it. No later version says otherwise.
	Accepted Verdict = iota + 1
	// Refused: it is dead (event.ReasonUnknownTenant). No later version says
	// otherwise.
	Refused
	// Ask: nobody may judge yet; Keeper.Admit first.
	Ask
	// Later: the record's Kafka timestamp is at or above the horizon; a newer
	// version first.
	Later
)

func (v Verdict) String() string {
	switch v {
	case Accepted:
		return "accepted"
	case Refused:
		return "refused"
	case Ask:
		return "ask"
	case Later:
		return "later"
	}
	return "no verdict"
}

// Admits judges the tenant of a record with the Kafka timestamp; see the package
// comment for the rule. It does not allocate.
func (t *Table) Admits(name event.TenantID, kafkaTS event.Timestamp) Verdict {
	if kafkaTS >= t.horizon {
		return Later
	}
	st := t.tenants.get(hashTenant(name), name)
	if st != nil && st.known(kafkaTS) {
		return Accepted
	}
	n := t.ruleAt(kafkaTS)
	r := &t.rules[n]
	switch {
	case r.Unknown == UnknownDeny:
		return Refused
	case r.MaxTenants == 0 || st != nil && st.inSet(n):
		return Accepted
	case r.full():
		return Refused
	}
	return Ask
}

// ruleAt is the number of the rule that holds for a Kafka timestamp.
func (t *Table) ruleAt(kafkaTS event.Timestamp) int {
	last := len(t.rules) - 1
	if t.rules[last].From <= kafkaTS {
		return last
	}
	return sort.Search(last, func(i int) bool { return t.rules[i].From > kafkaTS }) - 1
}
