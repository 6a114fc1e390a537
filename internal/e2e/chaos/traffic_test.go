package chaos

import (
	"reflect"
	"testing"

	"github.com/togodb/togo/internal/e2e/feed"
	"github.com/togodb/togo/internal/e2e/oracle"
)

// TestTrafficHasEverything: the mixture, the same for the same seed, and what its payloads say
// of themselves over HTTP.
func TestTrafficHasEverything(t *testing.T) {
	a, b := newTraffic(3, 24), newTraffic(3, 24)
	b.began = a.began
	l := oracle.New()
	tenants := map[string]int{}
	for range 100 {
		msgs := a.take(httpTopic, 50)
		for i, again := range b.take(httpTopic, 50) {
			if again.Tenant != msgs[i].Tenant || again.Want != msgs[i].Want || again.Bad != msgs[i].Bad {
				t.Fatalf("the same seed makes %+v and %+v", msgs[i], again)
			}
		}
		for _, m := range msgs {
			tenants[m.Tenant]++
			h := overHTTP(feed.Held{Message: feed.Message{Topic: httpTopic, Tenant: m.Tenant, Value: m.Value}, Position: "@"})
			want := m.Want
			if want.ID == "" {
				want.ID = "@"
			}
			if h.Bad != m.Bad || !m.Bad && !reflect.DeepEqual(h.Want, want) {
				t.Fatalf("over HTTP %+v is read as %+v", m, h)
			}
			m.Want = want
			if err := m.Note(l); err != nil {
				t.Fatal(err)
			}
		}
	}
	sent, unique, duplicates, conflicts, bad := l.Counts()
	t.Logf("%d records: %d events, %d copies, %d conflicts, %d bad; %d tenants", sent, unique, duplicates, conflicts, bad, len(tenants))
	if duplicates < 500 || conflicts < 80 || bad < 20 || len(tenants) < 15 || tenants["tenant-0"] < 3*tenants["tenant-5"] {
		t.Errorf("%d copies, %d conflicts, %d bad, tenants %v", duplicates, conflicts, bad, tenants)
	}
}

// TestRequestsAreOfOneTenant and have something in them.
func TestRequestsAreOfOneTenant(t *testing.T) {
	a := newTraffic(1, 24)
	for range 200 {
		tenant, lines := a.request()
		if len(lines) == 0 {
			t.Fatal("an empty request")
		}
		for _, m := range lines {
			if m.Tenant != tenant || m.Topic != httpTopic || len(m.Value) == 0 {
				t.Fatalf("%+v in a request of %s", m, tenant)
			}
		}
	}
}
