package placements

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/togodb/togo/internal/event"
)

// replaceTable has acme on shard 1, and from 200 on on shards 2 and 3; the horizon is 100.
func replaceTable(t *testing.T) *Table {
	t.Helper()
	g := NewGenesis(4)
	g.Tenants = map[event.TenantID]Shards{"acme": {1}}
	at := event.Timestamp(200)
	r, body, err := sealed(Empty(testHasher()), Record{Kind: KindGenesis, Genesis: &g})
	if err != nil {
		t.Fatal(err)
	}
	table, err := Empty(testHasher()).Apply(r, body)
	if err != nil {
		t.Fatal(err)
	}
	extend := func(*Table) (Record, error) { return Record{Kind: KindExtend, Extend: &Extend{Horizon: 100}}, nil }
	if table, err = table.Preview(extend, SetTenant("acme", Shards{2, 3}, &at)); err != nil {
		t.Fatal(err)
	}
	return table
}

func TestReplace(t *testing.T) {
	table := replaceTable(t)
	if got := table.Latest("acme"); !slices.Equal(got, Shards{2, 3}) {
		t.Errorf("latest of acme: %s", got)
	}
	other := table.Latest("globex") // by the default rule
	if len(other) != 1 {
		t.Fatalf("latest of globex: %s", other)
	}
	globex := Replacement{"globex", other, Shards{0, 1}}
	after, err := table.Preview(Replace([]Replacement{{"acme", Shards{2, 3}, Shards{0}}, globex})...)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[event.TenantID]Shards{"acme": {0}, "globex": {0, 1}} {
		if got := after.placement(name, 100); !slices.Equal(got, want) || !slices.Equal(after.Latest(name), want) {
			t.Errorf("%s is on %s from the horizon on, want %s", name, got, want)
		}
	}
	if got := after.placement("acme", 99); !slices.Equal(got, Shards{1}) {
		t.Errorf("acme below the horizon: %s", got)
	}
	if got := table.Latest("acme"); !slices.Equal(got, Shards{2, 3}) || after.Version() != table.Version() {
		t.Error("a preview changed its table")
	}
	// What is done is no change, and what was decided from another table is refused.
	if _, err := Replace([]Replacement{globex})[0](after); !errors.Is(err, ErrNoChange) {
		t.Errorf("again: %v", err)
	}
	if _, err := after.Preview(Replace([]Replacement{{"acme", Shards{2, 3}, Shards{1}}})...); !errors.Is(err, ErrRefused) {
		t.Errorf("stale: %v", err)
	}
	if _, err := table.Preview(SetTenant("acme", Shards{9}, nil)); !errors.Is(err, ErrRefused) {
		t.Errorf("preview of an unknown shard: %v", err)
	}
}

func TestReplaceFitsRecords(t *testing.T) {
	table := replaceTable(t)
	var list []Replacement
	for i := range 2*maxBatch + 1 {
		name := event.TenantID(fmt.Sprint("t", i))
		list = append(list, Replacement{name, table.Latest(name), Shards{0, 1, 2}})
	}
	changes := Replace(list)
	if len(changes) != 3 {
		t.Errorf("%d changes", len(changes))
	}
	if _, err := table.Preview(changes...); err != nil {
		t.Error(err)
	}
}
