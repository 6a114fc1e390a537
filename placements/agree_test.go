package placements

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/togodb/togo/internal/event"
)

// The property's world: times are 0 to gridEnd-1 nanoseconds and Beginning, which stands at index 0
// of a dense line; so time t stands at t+1.
const (
	gridEnd   = 30
	gridShard = 6
)

var (
	gridTenants = []event.TenantID{"acme", "globex", "initech", "umbrella"}
	gridTopics  = []string{"", "orders"}
)

// dense is the table as a value for each single time: slow, and too simple to be
// wrong in the way that timelines with binary searches can be.
type dense struct {
	horizon  int // index
	shards   int
	placed   map[event.TenantID]*[gridEnd + 1]Shards // nil: the default rule's
	defaults [gridEnd + 1]Default
	mapped   map[string]*[gridEnd + 1]string // tenant of the fixed mapping; "": that of all others
	allowed  map[event.TenantID]int          // index from which the allow list names the tenant
	rules    [gridEnd + 1]Rule
	sets     [gridEnd + 1]map[event.TenantID]bool
}

func index(ts event.Timestamp) int {
	if ts == Beginning {
		return 0
	}
	return int(ts) + 1
}

func newDense() *dense {
	d := &dense{placed: map[event.TenantID]*[gridEnd + 1]Shards{}, mapped: map[string]*[gridEnd + 1]string{}, allowed: map[event.TenantID]int{}}
	for _, name := range gridTenants {
		d.placed[name] = &[gridEnd + 1]Shards{}
		d.allowed[name] = gridEnd + 1
	}
	for _, topic := range gridTopics {
		d.mapped[topic] = &[gridEnd + 1]string{}
	}
	return d
}

func (d *dense) apply(r Record) {
	switch r.Kind {
	case KindExtend:
		d.horizon = index(r.Extend.Horizon)
	case KindShards:
		d.shards = r.Shards.Shards
	case KindPlace:
		for _, p := range r.Place.Placements {
			line := d.placed[p.Tenant]
			for i := index(p.From); i <= gridEnd; i++ {
				line[i] = p.Shards
			}
		}
	case KindDefault:
		for i := index(r.Default.From); i <= gridEnd; i++ {
			d.defaults[i] = *r.Default
		}
	case KindMapping:
		for i := index(r.Mapping.From); i <= gridEnd; i++ {
			d.mapped[r.Mapping.Topic][i] = r.Mapping.Mapping.Tenant[0].Fixed
		}
	case KindAdmission:
		from := index(r.Admission.From)
		for _, name := range r.Admission.Allow {
			d.allowed[name] = min(d.allowed[name], from)
		}
		before := map[event.TenantID]bool{}
		if from > 0 {
			before = d.sets[from-1]
		}
		for i := from; i <= gridEnd; i++ {
			d.rules[i], d.sets[i] = *r.Admission, maps.Clone(before)
		}
	case KindAdmit:
		for i := range d.rules {
			// Its own rule, and those that have judged nobody yet if none in force lies between.
			own := d.rules[i].From == r.Admit.Rule
			waiting := d.rules[i].From > r.Admit.Rule && index(d.rules[i].From) >= d.horizon && d.lastBelow() == r.Admit.Rule
			if own || waiting {
				for _, name := range r.Admit.Tenants {
					d.sets[i][name] = true
				}
			}
		}
	}
}

// lastBelow is the beginning of the newest rule in force.
func (d *dense) lastBelow() event.Timestamp {
	return d.rules[max(d.horizon-1, 0)].From
}

func (d *dense) shardsAt(h *event.Hasher, name event.TenantID, i int) Shards {
	if s := d.placed[name][i]; s != nil {
		return s
	}
	rule := d.defaults[i]
	list := slices.Clone(rule.Shards)
	slices.SortFunc(list, func(a, b event.ShardID) int {
		if h.Rendezvous(name, a) > h.Rendezvous(name, b) {
			return -1
		}
		return 1
	})
	return list[:rule.Spread]
}

func (d *dense) admits(name event.TenantID, i int) Verdict {
	rule := d.rules[i]
	switch {
	case i >= d.horizon:
		return Later
	case d.allowed[name] <= i || d.placed[name][i] != nil:
		return Accepted
	case rule.Unknown == UnknownDeny:
		return Refused
	case rule.MaxTenants == 0 || d.sets[i][name]:
		return Accepted
	case len(d.sets[i]) >= rule.MaxTenants:
		return Refused
	}
	return Ask
}

func fixed(tenant string) event.Mapping {
	return event.Mapping{Format: event.JSON, Tenant: []event.Rule{{Fixed: tenant}}}
}

// drawChange draws a change, most of them legal.
func drawChange(rt *rapid.T, t *Table, n int) Record {
	from := func() event.Timestamp {
		if t.horizon == Beginning && rapid.Bool().Draw(rt, "beginning") {
			return Beginning
		}
		return event.Timestamp(rapid.IntRange(max(index(t.horizon)-2, 0), gridEnd-1).Draw(rt, "from"))
	}
	list := func() Shards {
		all := rapid.Permutation([]event.ShardID{0, 1, 2, 3, 4, 5}).Draw(rt, "shards")
		return all[:rapid.IntRange(1, 3).Draw(rt, "n")]
	}
	name := func() event.TenantID { return rapid.SampledFrom(gridTenants).Draw(rt, "tenant") }
	switch rapid.IntRange(0, 8).Draw(rt, "kind") {
	case 0, 1:
		return Record{Kind: KindExtend, Extend: &Extend{Horizon: event.Timestamp(min(index(t.horizon)+rapid.IntRange(-2, 4).Draw(rt, "by"), gridEnd-1))}}
	case 2, 3:
		p := TenantPlacement{Tenant: name(), Placement: Placement{From: from(), Shards: list()}}
		return Record{Kind: KindPlace, Place: &Place{Placements: []TenantPlacement{p}}}
	case 4:
		shards := list()
		return Record{Kind: KindDefault, Default: &Default{From: from(), Shards: shards, Spread: rapid.IntRange(1, len(shards)).Draw(rt, "spread")}}
	case 5:
		return Record{Kind: KindMapping, Mapping: &MapTopic{Topic: rapid.SampledFrom(gridTopics).Draw(rt, "topic"), From: from(), Mapping: fixed(fmt.Sprintf("m%d", n))}}
	case 6:
		r := Rule{From: from(), Unknown: rapid.SampledFrom([]Unknown{UnknownAccept, UnknownAccept, UnknownDeny}).Draw(rt, "unknown")}
		if r.Unknown == UnknownAccept {
			r.MaxTenants = rapid.IntRange(0, 3).Draw(rt, "max")
		}
		if rapid.IntRange(0, 3).Draw(rt, "allow") == 0 {
			r.Allow = []event.TenantID{name()}
		}
		return Record{Kind: KindAdmission, Admission: &r}
	case 7:
		return Record{Kind: KindShards, Shards: &AddShards{Shards: rapid.IntRange(t.shards-1, gridShard).Draw(rt, "to")}}
	default:
		rule := rapid.SampledFrom(t.rules).Draw(rt, "rule")
		return Record{Kind: KindAdmit, Admit: &Admit{Rule: rule.From, Tenants: []event.TenantID{name()}}}
	}
}

func sealed(t *Table, r Record) (Record, []byte, error) {
	r.Format, r.Version, r.Nonce, r.Prev = Format, t.version+1, fmt.Sprint("n", t.version+1), nil
	if t.version > 0 {
		link := t.link
		r.Prev = &link
	}
	body, err := r.Encode()
	return r, body, err
}

// TestFault_router_skew_any_two_versions: any two routers at any versions agree wherever both may route, for
// placements, the default rule, mappings and admission; every version says what the
// dense table says; and a checkpoint is the table.
func TestFault_router_skew_any_two_versions(t *testing.T) {
	hasher := testHasher()
	rapid.Check(t, func(rt *rapid.T) {
		genesis := NewGenesis(3)
		genesis.Mappings[""] = fixed("m0")
		genesis.Admission.MaxTenants = rapid.IntRange(0, 2).Draw(rt, "max")
		d := newDense()
		d.shards = 3
		d.apply(Record{Kind: KindDefault, Default: &genesis.Default})
		d.apply(Record{Kind: KindMapping, Mapping: &MapTopic{From: Beginning, Mapping: fixed("m0")}})
		d.apply(Record{Kind: KindAdmission, Admission: &genesis.Admission})

		r, body, _ := sealed(Empty(hasher), Record{Kind: KindGenesis, Genesis: &genesis})
		current, err := Empty(hasher).Apply(r, body)
		if err != nil {
			rt.Fatal(err)
		}
		versions := []*Table{current}
		for n := range rapid.IntRange(5, 40).Draw(rt, "steps") {
			r, body, err := sealed(current, drawChange(rt, current, n+1))
			if err != nil {
				rt.Fatal(err)
			}
			next, err := current.Apply(r, body)
			if err != nil {
				continue
			}
			d.apply(r)
			current = next
			if rapid.IntRange(0, 4).Draw(rt, "checkpoint") == 0 {
				current = throughCheckpoint(rt, current)
			}
			versions = append(versions, current)
			compareDense(rt, current, d)
		}
		// Two that agree with the last one agree with each other.
		for _, old := range versions {
			compareVersions(rt, old, current)
		}
	})
}

func throughCheckpoint(rt *rapid.T, t *Table) *Table {
	body, err := t.Checkpoint()
	if err != nil {
		rt.Fatal(err)
	}
	back, err := DecodeCheckpoint(t.hasher, body)
	if err != nil {
		rt.Fatalf("%v\n%s", err, body)
	}
	again, err := back.Checkpoint()
	if err != nil || !bytes.Equal(body, again) {
		rt.Fatalf("checkpoint is not its own image: %v\n%s\n%s", err, body, again)
	}
	return back
}

func compareDense(rt *rapid.T, t *Table, d *dense) {
	if index(t.horizon) != d.horizon || t.shards != d.shards {
		rt.Fatalf("horizon %d, %d shards; want %d, %d", t.horizon, t.shards, d.horizon, d.shards)
	}
	for i := 1; i <= gridEnd; i++ {
		ts := event.Timestamp(i - 1)
		for _, name := range gridTenants {
			if got, want := t.Admits(name, ts), d.admits(name, i); got != want {
				rt.Fatalf("version %d: %s at %d: %s, want %s", t.version, name, ts, got, want)
			}
			want := d.shardsAt(t.hasher, name, i)
			if got := t.placement(name, ts); !slices.Equal(got, want) {
				rt.Fatalf("version %d: %s at %d on %v, want %v", t.version, name, ts, got, want)
			}
			shard, ok := t.Shard(name, ts, uint64(i))
			if ok != (i < d.horizon) || ok && shard != want[i%len(want)] {
				rt.Fatalf("version %d: %s at %d in shard %d %v", t.version, name, ts, shard, ok)
			}
			compareShardsOf(rt, t, d, name, i)
		}
		for _, topic := range gridTopics {
			want := d.mapped[topic][i]
			if want == "" {
				want = d.mapped[""][i]
			}
			m, ok := t.Mapping(topic, ts)
			if ok != (i < d.horizon) || ok && m.Tenant[0].Fixed != want {
				rt.Fatalf("version %d: mapping of %q at %d: %v, want %s", t.version, topic, ts, m, want)
			}
		}
	}
}

// compareShardsOf checks the shards of some ranges that begin at the time of index i.
func compareShardsOf(rt *rapid.T, t *Table, d *dense, name event.TenantID, i int) {
	for _, end := range []int{i, i + 1, i + 5} {
		want := []event.ShardID{}
		for j := i; j < min(end, d.horizon); j++ {
			want = append(want, d.shardsAt(t.hasher, name, j)...)
		}
		slices.Sort(want)
		want = slices.Compact(want)
		if got := t.ShardsOf(name, event.Timestamp(i-1), event.Timestamp(end-1)); !slices.Equal(got, want) {
			rt.Fatalf("version %d: shards of %s in [%d, %d): %v, want %v", t.version, name, i-1, end-1, got, want)
		}
	}
}

func compareVersions(rt *rapid.T, old, newer *Table) {
	for ts := event.Timestamp(0); ts < old.horizon; ts++ {
		for _, name := range gridTenants {
			a, _ := old.Shard(name, ts, uint64(ts))
			b, ok := newer.Shard(name, ts, uint64(ts))
			if !ok || a != b {
				rt.Fatalf("versions %d and %d: %s at %d in shard %d and %d", old.version, newer.version, name, ts, a, b)
			}
			if va, vb := old.Admits(name, ts), newer.Admits(name, ts); va != Ask && va != vb {
				rt.Fatalf("versions %d and %d: %s at %d is %s and %s", old.version, newer.version, name, ts, va, vb)
			}
		}
		for _, topic := range gridTopics {
			a, _ := old.Mapping(topic, ts)
			b, _ := newer.Mapping(topic, ts)
			if !reflect.DeepEqual(a, b) {
				rt.Fatalf("versions %d and %d: mappings %v and %v of %q at %d", old.version, newer.version, a, b, topic, ts)
			}
		}
	}
}
