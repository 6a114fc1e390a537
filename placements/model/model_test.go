package model

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"testing"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/placements"
)

var deep = flag.Bool("deep", false, "search the model to its wide bounds (half a minute, 2 GB)")

func extend(to int8) Record          { return Record{Kind: Extend, A: to} }
func place(from, shard int8) Record  { return Record{Kind: Place, A: from, B: shard} }
func rule(from, bound int8) Record   { return Record{Kind: Rule, A: from, B: bound} }
func admit(rule, tenant int8) Record { return Record{Kind: Admit, A: rule, B: tenant} }

// all is every record that the model knows.
func all() (out []Record) {
	for a := range int8(Times) {
		if a > 0 {
			out = append(out, extend(a))
		}
		out = append(out, place(a, 0), place(a, 1), rule(a, 0), rule(a, 1), rule(a, 2), admit(a, 0), admit(a, 1))
	}
	return out
}

type world struct {
	name   string
	bounds Bounds
	deep   bool
}

// The default rule and the mappings are timelines like that of a tenant's placements, so the worlds
// have one of them.
func worlds() []world {
	moves := []Record{extend(1), extend(2), extend(3), place(0, 1), place(1, 1), place(2, 1)}
	sets := []Record{extend(1), extend(2), rule(0, 2), rule(1, 1), rule(1, 2), admit(0, 0), admit(0, 1), admit(1, 0), admit(1, 1)}
	manyMoves := append(moves, place(1, 0), place(2, 0), place(3, 1))
	manySets := append(sets, extend(3), rule(1, 0), rule(2, 2))
	return []world{
		{"placements: 3 records, proposals 2+1", Bounds{[]int{2, 1}, 3, moves, 0}, false},
		{"placements: 2 records, proposals 1+1+1", Bounds{[]int{1, 1, 1}, 2, moves, 0}, false},
		{"admission: 3 records, proposals 2+1", Bounds{[]int{2, 1}, 3, sets, 0}, false},
		{"placements: 4 records, proposals 4+0", Bounds{[]int{4, 0}, 4, moves[:5], 0}, false},
		{"admission: 4 records, proposals 4+0", Bounds{[]int{4, 0}, 4, sets[1:], 0}, false},
		{"deleted records: 2 records, proposals 2+1", Bounds{[]int{2, 1}, 2, moves, 1}, false},
		{"deleted records: 2 records, proposals 1+1+1", Bounds{[]int{1, 1, 1}, 2, sets[:5], 1}, false},
		{"deleted records: 3 records, proposals 2+1", Bounds{[]int{2, 1}, 3, moves, 2}, true},
		{"placements: 4 records, proposals 2+2", Bounds{[]int{2, 2}, 4, manyMoves, 0}, true},
		{"placements: 3 records, proposals 1+1+1", Bounds{[]int{1, 1, 1}, 3, manyMoves, 0}, true},
		{"admission: 5 records, proposals 5+0", Bounds{[]int{5, 0}, 5, sets, 0}, true},
		{"admission: 4 records, proposals 3+1", Bounds{[]int{3, 1}, 4, manySets, 0}, true},
		{"admission: 3 records, proposals 1+1+1", Bounds{[]int{1, 1, 1}, 3, manySets, 0}, true},
	}
}

// TestPromisesHold searches the protocol as it is, to the end.
func TestPromisesHold(t *testing.T) {
	for _, w := range worlds() {
		if w.deep && !*deep {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			r := Search(w.bounds, NoMutant)
			if r.Broken != "" {
				t.Fatal(r)
			}
			t.Log(r)
		})
	}
}

// TestMutantsAreFound: a search that cannot fail proves nothing.
func TestMutantsAreFound(t *testing.T) {
	for _, m := range Mutants {
		t.Run(string(m), func(t *testing.T) {
			for _, w := range worlds() {
				if w.deep {
					continue
				}
				if r := Search(w.bounds, m); r.Broken != "" {
					t.Logf("%s: %s", w.name, r)
					return
				}
			}
			t.Error("not found")
		})
	}
}

// TestModelIsTheTable: on every chain up to a length, of all records that the model
// knows, the model and the real table allow the same and say the same.
func TestModelIsTheTable(t *testing.T) {
	hasher := event.NewHasher(event.Seed{1})
	genesis := placements.NewGenesis(2)
	genesis.Horizon = 1
	genesis.Tenants = map[event.TenantID]placements.Shards{"placed": {0}}
	genesis.Admission.MaxTenants = 1
	real := apply(t, placements.Empty(hasher), placements.Record{Kind: placements.KindGenesis, Genesis: &genesis})
	const length = 4
	chains := compare(t, First(), real, all(), length)
	t.Logf("%d chains", chains)
}

func compare(t *testing.T, model Table, real *placements.Table, records []Record, length int) int {
	chains := 1
	for time := range int8(Times) {
		ts := event.Timestamp(time)
		shard, ok := real.Shard("placed", ts, 0)
		if ok != (time < model.routes(NoMutant)) || ok && int8(shard) != model.Place[time] {
			t.Fatalf("version %d at %d: shard %d %v; model %+v", real.Version(), time, shard, ok, model)
		}
		for tenant := range int8(Tenants) {
			want := placements.Later
			if ok {
				want = map[Verdict]placements.Verdict{Accepted: placements.Accepted, Refused: placements.Refused, Ask: placements.Ask}[model.Judge(tenant, time, NoMutant)]
			}
			if got := real.Admits(tenantName(tenant), ts); got != want {
				t.Fatalf("version %d at %d: %s %s, model says %s: %+v", real.Version(), time, tenantName(tenant), got, want, model)
			}
		}
	}
	if length == 0 {
		return chains
	}
	for _, r := range records {
		next, allowed := model.Apply(r, NoMutant)
		table, err := try(real, translate(r))
		if err != nil && !errors.Is(err, placements.ErrRefused) {
			t.Fatal(err)
		}
		if allowed != (err == nil) {
			t.Fatalf("%s: the model allows %v, the table says %v; model %+v", r, allowed, err, model)
		}
		if allowed {
			chains += compare(t, next, table, records, length-1)
		}
	}
	return chains
}

func tenantName(n int8) event.TenantID { return event.TenantID(fmt.Sprintf("tenant-%d", n)) }

func translate(r Record) placements.Record {
	from := event.Timestamp(r.A)
	rule := from
	if r.A == 0 {
		rule = placements.Beginning
	}
	switch r.Kind {
	case Extend:
		return placements.Record{Kind: placements.KindExtend, Extend: &placements.Extend{Horizon: from}}
	case Place:
		p := placements.TenantPlacement{Tenant: "placed", Placement: placements.Placement{From: from, Shards: placements.Shards{event.ShardID(r.B)}}}
		return placements.Record{Kind: placements.KindPlace, Place: &placements.Place{Placements: []placements.TenantPlacement{p}}}
	case Rule:
		body := placements.Rule{From: from, Unknown: placements.UnknownAccept, MaxTenants: int(r.B)}
		if r.B == 0 {
			body.Unknown = placements.UnknownDeny
		}
		return placements.Record{Kind: placements.KindAdmission, Admission: &body}
	default:
		return placements.Record{Kind: placements.KindAdmit, Admit: &placements.Admit{Rule: rule, Tenants: []event.TenantID{tenantName(r.B)}}}
	}
}

func try(t *placements.Table, r placements.Record) (*placements.Table, error) {
	r.Format, r.Version, r.Nonce = placements.Format, t.Version()+1, "n"
	if link, ok := t.Link(); ok {
		r.Prev = &link
	}
	body, err := r.Encode()
	if err != nil {
		return nil, err
	}
	return t.Apply(r, body)
}

func apply(t *testing.T, table *placements.Table, r placements.Record) *placements.Table {
	t.Helper()
	next, err := try(table, r)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// TestSearchRepeats: one search is like another.
func TestSearchRepeats(t *testing.T) {
	a, b := Search(worlds()[0].bounds, ChangeBelow), Search(worlds()[0].bounds, ChangeBelow)
	if a.States != b.States || !slices.Equal(a.Trace, b.Trace) {
		t.Errorf("%s\n%s", a, b)
	}
}
