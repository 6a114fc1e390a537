package event

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/internal/event/eventtime"
)

func TestMappingRoundTripsAsJSON(t *testing.T) {
	for _, m := range []Mapping{
		DefaultMapping(),
		{Format: Text, Tenant: []Rule{{Key: true}}, Timestamp: []Rule{{Header: "t", Unit: eventtime.Nanoseconds}}},
	} {
		if err := m.Validate(); err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var again Mapping
		if err := json.Unmarshal(b, &again); err != nil || !reflect.DeepEqual(m, again) {
			t.Errorf("%s: %v, %+v", b, err, again)
		}
	}
	b, _ := json.Marshal(DefaultMapping())
	const want = `{"format":"json","tenant":[{"header":"X-Scope-OrgID"},{"fixed":"anonymous"}],` +
		`"timestamp":[{"field":"timestamp"},{"field":"@timestamp"},{"field":"time"},{"field":"ts"}],"id":[{"field":"event_id"}]}`
	if string(b) != want {
		t.Errorf("got %s", b)
	}
}

func TestMappingIsValidated(t *testing.T) {
	set := func(f func(*Mapping)) Mapping {
		m := DefaultMapping()
		f(&m)
		return m
	}
	tests := []struct {
		m    Mapping
		want string
	}{
		{Mapping{}, `format ""`},
		{Mapping{Format: JSON}, "tenant has no rule"},
		{set(func(m *Mapping) { m.Format = "JSON" }), `format "JSON"`},
		{set(func(m *Mapping) { m.Tenant = []Rule{{}} }), "tenant rule 1: exactly one"},
		{set(func(m *Mapping) { m.ID = []Rule{{Field: "a"}, {Field: "a", Key: true}} }), "id rule 2: exactly one"},
		{set(func(m *Mapping) { m.Tenant = []Rule{{Fixed: "a"}, {Key: true}} }), "rule 1 is fixed"},
		{set(func(m *Mapping) { m.Tenant = []Rule{{Fixed: "a b"}} }), "bad tenant"},
		{set(func(m *Mapping) { m.Tenant = []Rule{{Fixed: "_unroutable"}} }), "reserved"},
		{set(func(m *Mapping) { m.ID = []Rule{{Fixed: "a"}} }), "fixed is for tenants"},
		{set(func(m *Mapping) { m.Timestamp = []Rule{{Fixed: "0"}} }), "fixed is for tenants"},
		{set(func(m *Mapping) { m.ID = []Rule{{Field: "a", Unit: "ms"}} }), "unit is for timestamps"},
		{set(func(m *Mapping) { m.Timestamp = []Rule{{Field: "a", Unit: "sec"}} }), `unit "sec"`},
		{set(func(m *Mapping) { m.Format = Text }), `needs format "json"`},
		{set(func(m *Mapping) { m.ID = []Rule{{Field: "a.b.c.d.e.f.g.h"}} }), "dots"},
		{set(func(m *Mapping) { m.ID = []Rule{{Header: strings.Repeat("a", 1025)}} }), "longer"},
		{set(func(m *Mapping) { m.ID = []Rule{{Field: "\xff"}} }), "UTF-8"},
		{set(func(m *Mapping) { m.ID = make([]Rule, MaxRules+1) }), "at most 16"},
	}
	for _, test := range tests {
		err := test.m.Validate()
		if !errors.Is(err, ErrBadMapping) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("want %q, got %v", test.want, err)
		}
		if _, err := Compile(test.m, Limits{}); err == nil {
			t.Errorf("%q: compiled", test.want)
		}
	}
	if _, err := Compile(DefaultMapping(), Limits{MaxFuture: -time.Second}); !errors.Is(err, ErrBadMapping) {
		t.Error("a negative max_future: ", err)
	}
}

func TestWays(t *testing.T) {
	const want = "[[a.b.c] [a.b c] [a b.c] [a b c]]"
	if got := fmt.Sprint(ways("a.b.c")); got != want {
		t.Errorf("got %s", got)
	}
	if got := len(ways("a.b.c.d.e.f.g")); got != 64 {
		t.Errorf("%d ways", got)
	}
	if got := fmt.Sprintf("%q", ways(".")); got != `[["."] ["" ""]]` {
		t.Errorf("got %s", got)
	}
}

func TestParseTenant(t *testing.T) {
	for _, good := range []string{"a", "A-Z_0.9!*'()", "...", strings.Repeat("x", 150), "__mimir"} {
		if got, err := ParseTenant(good); err != nil || string(got) != good {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"", ".", "..", "_unroutable", "a/b", "a b", "a\x00", "é", "a|b", "a\\b", strings.Repeat("x", 151)} {
		if _, err := ParseTenant(bad); !errors.Is(err, ErrBadTenant) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// No id that an event brings along is one made of a position.
func TestUserIDsAreNoPositions(t *testing.T) {
	for _, id := range []string{string(PositionID(testOrigin)), string(LetterID(testOrigin)), "@", "@@", "a"} {
		got := string(AppendUserID(nil, []byte(id)))
		if got[0] == '@' && got[1] != '@' || strings.TrimPrefix(got, "@") != id && got != id {
			t.Errorf("%s became %s", id, got)
		}
	}
}

func TestHashesDoNotAllocate(t *testing.T) {
	h := NewHasher(Seed{1})
	id, long, src := []byte("01HS5V7Z9K3QW8XJ4T2M6N0PRB"), make([]byte, 4000), testOrigin.Source
	for name, f := range map[string]func(){
		"identity":   func() { h.Identity("acme", kafkaTime, id) },
		"long":       func() { h.Identity("acme", kafkaTime, long) },
		"routing":    func() { h.Routing(id) },
		"payload":    func() { h.Payload(long) },
		"rendezvous": func() { h.Rendezvous("acme", 3) },
		"source":     func() { h.Source(src) },
	} {
		if n := testing.AllocsPerRun(100, f); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// Short and long inputs take different ways to the same bytes.
func TestIdentityAtTheEdgeOfTheStackBuffer(t *testing.T) {
	h := NewHasher(Seed{2})
	for n := 100; n < 300; n++ {
		id := make([]byte, n)
		if h.Identity("acme", 5, id) != h.longIdentity("acme", 5, id) {
			t.Fatal(n)
		}
	}
}
