package placements

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
)

const (
	// maxShards bounds the lists of shards: a Kafka cluster holds no more
	// partitions than some ten thousand.
	maxShards = 1 << 16
	// maxTimeline bounds every timeline: a change an hour for a year.
	maxTimeline = 10_000
	// maxTopics bounds the mappings; Kafka clusters have some thousand topics.
	maxTopics = 10_000
	// maxTopicName is Kafka's own bound.
	maxTopicName = 249
	// maxTenantBound keeps the sets of admission in memory: a tenant costs some 200 bytes.
	maxTenantBound = 10_000_000
)

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrRefused, fmt.Sprintf(format, args...))
}

// Apply folds a record into the next version. stored is the record's bytes as they are (or
// will be) in the store; the next record links to them. t stays as it was. Any error
// is ErrRefused: the record must not be in the chain at this place.
func (t *Table) Apply(r Record, stored []byte) (*Table, error) {
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if r.Version != t.version+1 {
		return nil, refuse("version %d after version %d", r.Version, t.version)
	}
	if r.Prev != nil && *r.Prev != t.link {
		return nil, refuse("version %d does not link to version %d as it was read: the store was rolled back and gone on, or a record was changed", r.Version, t.version)
	}
	next := *t
	next.version = r.Version
	next.link = Link{Nonce: r.Nonce, Sum: objstore.Sum(stored)}
	if err := next.change(r); err != nil {
		return nil, fmt.Errorf("version %d, %s: %w", r.Version, r.Kind, err)
	}
	return &next, nil
}

// read folds a record as found in the store; a refusal is corruption.
func (t *Table) read(stored []byte) (*Table, error) {
	r, err := DecodeRecord(stored)
	if errors.Is(err, ErrFormat) {
		return nil, fmt.Errorf("placement version %d: %w", t.version+1, err)
	}
	var next *Table
	if err == nil {
		next, err = t.Apply(r, stored)
	}
	if err != nil {
		return nil, fmt.Errorf("%w at version %d: %v", ErrCorrupt, t.version+1, err)
	}
	return next, nil
}

// change applies the body of a record to t, a fresh copy of the version before
// that still shares everything with it.
func (t *Table) change(r Record) error {
	switch r.Kind {
	case KindGenesis:
		return t.genesis(r.Genesis)
	case KindExtend:
		if r.Extend.Horizon <= t.horizon {
			return refuse("horizon %s is not above %s", showTime(r.Extend.Horizon), showTime(t.horizon))
		}
		t.horizon = r.Extend.Horizon
		return nil
	case KindPlace:
		return t.place(r.Place)
	case KindDefault:
		return t.changeDefault(*r.Default)
	case KindMapping:
		return t.changeMapping(r.Mapping)
	case KindAdmission:
		return t.changeRule(*r.Admission)
	case KindAdmit:
		return t.admit(r.Admit)
	case KindShards:
		if n := r.Shards.Shards; n <= t.shards || n > maxShards {
			return refuse("%d shards, there are %d: more are allowed, up to %d, fewer never", n, t.shards, maxShards)
		}
		t.shards = r.Shards.Shards
		return nil
	}
	return refuse("unknown kind %q", r.Kind)
}

func (t *Table) genesis(g *Genesis) error {
	if g.Shards < 1 || g.Shards > maxShards {
		return refuse("%d shards, from 1 to %d are allowed", g.Shards, maxShards)
	}
	t.shards = g.Shards
	if err := t.checkShards(g.DeadLetters); err != nil {
		return fmt.Errorf("shards of dead letters: %w", err)
	}
	t.dead = slices.Clone(g.DeadLetters)
	// All that follows holds from Beginning, the horizon until the end.
	if g.Default.From != Beginning || g.Admission.From != Beginning {
		return refuse("the first default rule and rule of admission hold from the beginning")
	}
	if err := t.changeDefault(g.Default); err != nil {
		return err
	}
	if _, ok := g.Mappings[""]; !ok {
		return refuse("no mapping for topics without their own")
	}
	for _, topic := range slices.Sorted(maps.Keys(g.Mappings)) {
		if err := t.changeMapping(&MapTopic{Topic: topic, From: Beginning, Mapping: g.Mappings[topic]}); err != nil {
			return err
		}
	}
	if err := t.changeRule(g.Admission); err != nil {
		return err
	}
	edit := t.tenants.edit()
	for _, name := range slices.Sorted(maps.Keys(g.Tenants)) {
		p := TenantPlacement{Tenant: name, Placement: Placement{From: Beginning, Shards: g.Tenants[name]}}
		if err := t.placeOne(edit, p); err != nil {
			return err
		}
	}
	t.tenants = edit.m
	t.horizon = g.Horizon
	return nil
}

func (t *Table) place(p *Place) error {
	if n := len(p.Placements); n < 1 || n > maxBatch {
		return refuse("%d placements, from 1 to %d are allowed", n, maxBatch)
	}
	edit := t.tenants.edit()
	for _, one := range p.Placements {
		if err := t.placeOne(edit, one); err != nil {
			return err
		}
	}
	t.tenants = edit.m
	return nil
}

func (t *Table) placeOne(edit *tenantEdit, p TenantPlacement) error {
	if err := checkTenant(p.Tenant); err != nil {
		return err
	}
	if err := t.checkFrom(p.From); err != nil {
		return fmt.Errorf("placement of %q: %w", p.Tenant, err)
	}
	if err := t.checkShards(p.Shards); err != nil {
		return fmt.Errorf("placement of %q: %w", p.Tenant, err)
	}
	st := edit.get(p.Tenant)
	line := cut(st.Placements, p.From, func(p Placement) event.Timestamp { return p.From })
	if len(line) >= maxTimeline {
		return refuse("placement of %q: there are %d already", p.Tenant, len(line))
	}
	st.Placements = append(line, Placement{From: p.From, Shards: slices.Clone(p.Shards)})
	edit.set(p.Tenant, st)
	return nil
}

func (t *Table) changeDefault(d Default) error {
	if err := t.checkFrom(d.From); err != nil {
		return fmt.Errorf("default rule: %w", err)
	}
	if err := t.checkShards(d.Shards); err != nil {
		return fmt.Errorf("default rule: %w", err)
	}
	if d.Spread < 1 || d.Spread > len(d.Shards) {
		return refuse("default rule: a spread of %d over %d shards", d.Spread, len(d.Shards))
	}
	line := cut(t.defaults, d.From, func(d *defaultRule) event.Timestamp { return d.From })
	if len(line) >= maxTimeline {
		return refuse("default rule: there are %d already", len(line))
	}
	d.Shards = slices.Clone(d.Shards)
	t.defaults = append(line, &defaultRule{Default: d, hasher: t.hasher})
	return nil
}

func (t *Table) changeMapping(m *MapTopic) error {
	if len(m.Topic) > maxTopicName {
		return refuse("a topic's name of %d bytes, Kafka allows %d", len(m.Topic), maxTopicName)
	}
	if err := t.checkFrom(m.From); err != nil {
		return fmt.Errorf("mapping of topic %q: %w", m.Topic, err)
	}
	if err := m.Mapping.Validate(); err != nil {
		return refuse("mapping of topic %q: %v", m.Topic, err)
	}
	line := cut(t.mappings[m.Topic], m.From, func(m *mappedFrom) event.Timestamp { return m.From })
	if _, there := t.mappings[m.Topic]; len(line) >= maxTimeline || !there && len(t.mappings) >= maxTopics {
		return refuse("mapping of topic %q: there are %d already, for %d topics", m.Topic, len(line), len(t.mappings))
	}
	mappings := maps.Clone(t.mappings)
	if mappings == nil {
		mappings = map[string][]*mappedFrom{}
	}
	mappings[m.Topic] = append(line, &mappedFrom{From: m.From, Mapping: m.Mapping})
	t.mappings = mappings
	return nil
}

func (t *Table) changeRule(r Rule) error {
	if err := t.checkFrom(r.From); err != nil {
		return fmt.Errorf("rule of admission: %w", err)
	}
	if err := checkRule(r); err != nil {
		return err
	}
	line := cut(t.rules, r.From, func(r rule) event.Timestamp { return r.From })
	if len(line) >= maxTimeline {
		return refuse("rule of admission: there are %d already", len(line))
	}
	edit := t.tenants.edit()
	for _, name := range r.Allow {
		if err := checkTenant(name); err != nil {
			return fmt.Errorf("allow list: %w", err)
		}
		st := edit.get(name)
		if st.AllowedFrom == nil || *st.AllowedFrom > r.From {
			st.AllowedFrom = &r.From
			edit.set(name, st)
		}
	}
	t.tenants = edit.m
	count := 0
	if len(line) > 0 {
		count = line[len(line)-1].count
	}
	r.Allow = nil // stands with the tenants
	t.rules = append(line, rule{Rule: r, count: count})
	return nil
}

func checkRule(r Rule) error {
	switch {
	case r.Unknown != UnknownAccept && r.Unknown != UnknownDeny:
		return refuse("rule of admission: unknown tenants are %q or %q, not %q", UnknownAccept, UnknownDeny, r.Unknown)
	case r.MaxTenants < 0 || r.MaxTenants > maxTenantBound:
		return refuse("rule of admission: max_tenants %d is not in [0, %d]", r.MaxTenants, maxTenantBound)
	case r.MaxTenants > 0 && r.Unknown == UnknownDeny:
		return refuse("rule of admission: max_tenants without accepting unknown tenants")
	}
	return nil
}

func (t *Table) admit(a *Admit) error {
	n, found := slices.BinarySearchFunc(t.rules, a.Rule, func(r rule, from event.Timestamp) int {
		if r.From < from {
			return -1
		} else if r.From > from {
			return 1
		}
		return 0
	})
	switch {
	case !found:
		return refuse("no rule of admission begins at %s", showTime(a.Rule))
	case a.Rule >= t.horizon:
		return refuse("the rule of admission of %s is not in force below the horizon %s", showTime(a.Rule), showTime(t.horizon))
	case t.rules[n].Unknown == UnknownDeny || t.rules[n].MaxTenants == 0:
		return refuse("the rule of admission of %s has no set", showTime(a.Rule))
	case len(a.Tenants) < 1 || len(a.Tenants) > maxBatch:
		return refuse("%d tenants, from 1 to %d are allowed", len(a.Tenants), maxBatch)
	}
	rules := slices.Clone(t.rules)
	// Rules at or above the horizon have judged nobody, so they still take over
	// what enters the set before them.
	newest := n+1 == len(rules) || rules[n+1].From >= t.horizon
	edit := t.tenants.edit()
	for _, name := range a.Tenants {
		if err := checkTenant(name); err != nil {
			return err
		}
		st := edit.get(name)
		if st.inSet(n) {
			return refuse("tenant %q is in the set already", name)
		}
		if rules[n].full() {
			return refuse("tenant %q is one too many for max_tenants %d", name, rules[n].MaxTenants)
		}
		if newest {
			since := n
			st.Since = &since
			for i := n; i < len(rules); i++ {
				rules[i].count++
			}
		} else {
			at, _ := slices.BinarySearch(st.Late, n)
			st.Late = slices.Insert(slices.Clone(st.Late), at, n)
			rules[n].count++
		}
		edit.set(name, st)
	}
	t.rules, t.tenants = rules, edit.m
	return nil
}

// checkFrom holds rule 2 of the package: what changes, changes at or above the horizon.
func (t *Table) checkFrom(from event.Timestamp) error {
	if from < t.horizon {
		return refuse("from %s lies below the horizon %s", showTime(from), showTime(t.horizon))
	}
	return nil
}

func (t *Table) checkShards(list Shards) error {
	if len(list) == 0 {
		return refuse("no shards")
	}
	seen := make(map[event.ShardID]bool, len(list))
	for _, s := range list {
		if s < 0 || int(s) >= t.shards {
			return refuse("shard %d is none of the %d", s, t.shards)
		}
		if seen[s] {
			return refuse("shard %d twice", s)
		}
		seen[s] = true
	}
	return nil
}

func checkTenant(name event.TenantID) error {
	if _, err := event.ParseTenant(string(name)); err != nil {
		return refuse("tenant %q: %v", name, err)
	}
	return nil
}

// cut returns the entries of a timeline before a time, in memory of their own
// with room for one more.
func cut[E any](line []E, from event.Timestamp, of func(E) event.Timestamp) []E {
	n := len(line)
	for n > 0 && of(line[n-1]) >= from {
		n--
	}
	return append(make([]E, 0, n+1), line[:n]...)
}
