package queryset

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/inspect"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
)

func build(t *testing.T) (*Set, []Row) {
	t.Helper()
	ctx := t.Context()
	s, err := New(ctx, objstore.NewMemory(), Config{Shards: 3, Spread: 2})
	if err != nil {
		t.Fatal(err)
	}
	acme, other := NewEvents("acme", 1), NewEvents("globex", 2)
	acme.Nanos = true
	var sent []Row
	for range 4 {
		rows := slices.Concat(acme.Next(200), acme.Letters(5), other.Next(50))
		if err := s.Commit(ctx, rows...); err != nil {
			t.Fatal(err)
		}
		sent = append(sent, rows...)
	}
	return s, sent
}

// What was committed is what the live fragments hold, and the store keeps every promise of Togo's.
func TestStoreHoldsWhatWasCommitted(t *testing.T) {
	ctx := t.Context()
	s, sent := build(t)
	want, got := map[string]int{}, map[string]int{}
	for _, r := range sent {
		want[fmt.Sprint(r.Tenant, r.Reason, int64(r.Timestamp), r.ID)]++
	}
	for _, tenant := range []event.TenantID{"acme", "globex"} {
		for table, reason := range map[shardlog.Table]bool{shardlog.TableEvents: false, shardlog.TableDeadLetters: true} {
			list, err := s.Live(ctx, tenant, table)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range list {
				r, err := fragment.Open(ctx, s.Store, f.Key, f.Bytes)
				if err != nil {
					t.Fatal(err)
				}
				if reason {
					for l, err := range r.DeadLetters() {
						if err != nil {
							t.Fatal(err)
						}
						got[fmt.Sprint(tenant, l.Reason, int64(l.Timestamp), string(l.ID))]++
					}
					continue
				}
				for e, err := range r.Events() {
					if err != nil {
						t.Fatal(err)
					}
					got[fmt.Sprint(tenant, "", int64(e.Timestamp), string(e.ID))]++
				}
			}
		}
	}
	if len(want) != len(got) {
		t.Errorf("%d kinds of rows sent, %d stored", len(want), len(got))
	}
	for k, n := range want {
		if got[k] != n {
			t.Fatalf("%s: %d sent, %d stored", k, n, got[k])
		}
	}
	verify(t, ctx, s.Store)
}

func verify(t *testing.T, ctx context.Context, store objstore.Store) {
	t.Helper()
	v, err := inspect.Open(ctx, store, quiet)
	if err != nil {
		t.Fatal(err)
	}
	r, err := v.Verify(ctx, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	if r.Failed() > 0 {
		var text strings.Builder
		_ = r.Write(&text) // never fails
		t.Errorf("the store breaks promises:\n%s", text.String())
	}
}

func TestSameSetTwice(t *testing.T) {
	a, _ := build(t)
	b, _ := build(t)
	for _, tenant := range []event.TenantID{"acme", "globex"} {
		x, err := a.Live(t.Context(), tenant, shardlog.TableEvents)
		if err != nil {
			t.Fatal(err)
		}
		y, err := b.Live(t.Context(), tenant, shardlog.TableEvents)
		if err != nil {
			t.Fatal(err)
		}
		if len(x) == 0 || len(x) != len(y) {
			t.Fatalf("%d and %d fragments", len(x), len(y))
		}
		for i := range x {
			if x[i].Key != y[i].Key || x[i].Sum != y[i].Sum {
				t.Errorf("%s and %s differ", x[i].Key, y[i].Key)
			}
		}
	}
}
