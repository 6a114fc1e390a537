package scan_test

import (
	"context"
	"errors"
	"testing"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/query/queryset"
	"github.com/togodb/togo/query/scan"
	"github.com/togodb/togo/query/vec"
)

type fromStore struct{ objstore.Store }

func (s fromStore) GetRange(ctx context.Context, key string, off, n int64, _ *scan.Stats) ([]byte, error) {
	return s.Store.GetRange(ctx, key, off, n)
}

// Whatever a list of fragments says, rows of another tenant's file are never given.
func TestFileOfAnotherTenantIsDamage(t *testing.T) {
	ctx := t.Context()
	set, err := queryset.New(ctx, objstore.NewMemory(), queryset.Config{})
	if err != nil {
		t.Fatal(err)
	}
	rows := append(queryset.NewEvents("acme", 1).Next(9), queryset.NewEvents("globex", 2).Next(9)...)
	if err := set.Commit(ctx, rows...); err != nil {
		t.Fatal(err)
	}
	for _, tenant := range []event.TenantID{"acme", "globex"} {
		live, err := set.Live(ctx, tenant, shardlog.TableEvents)
		if err != nil {
			t.Fatal(err)
		}
		r := &scan.Request{
			Tenant: "acme", Kind: fragment.Events, Columns: []scan.Column{{Name: "id", Type: vec.Text}}, Output: []int{0}, Floor: -1 << 63, Stats: &scan.Stats{},
		}
		for _, f := range live {
			r.Fragments = append(r.Fragments, scan.Fragment{Fragment: f})
		}
		n := 0
		err = scan.NewScanner(fromStore{set.Store}, scan.Config{}).Scan(ctx, r, 1, func(_ int, b *vec.Batch) error {
			n += b.Len
			return nil
		})
		if own := tenant == "acme"; own && (err != nil || n != 9) || !own && (!errors.Is(err, fragment.ErrCorrupt) || n != 0) {
			t.Errorf("%s: %d rows, %v", tenant, n, err)
		}
	}
}
