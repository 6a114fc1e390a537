package writer

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/kafka/kafkatest"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/internal/tenants"
)

// TestBuiltinSettings: what package tenants says holds where nothing is set is what
// package fragment does by itself.
func TestBuiltinSettings(t *testing.T) {
	b := tenants.Builtin()
	if fragment.SortKeyText(b.SortKey) != "" || b.KeyColumns != len(fragment.DefaultSortKey)-1 || !slices.Equal(b.BloomColumns, fragment.DefaultBloomColumns) || b.MaxColumns != fragment.DefaultMaxColumns {
		t.Errorf("%+v", b)
	}
}

// TestSettingsCountForTheNextFile: sort key, Bloom columns and the bound of columns change under a
// running writer, for one tenant and not for another.
func TestSettingsCountForTheNextFile(t *testing.T) {
	r := newRig(t, objstore.NewMemory(), 1)
	k, err := tenants.NewKeeper(tenants.Config{Store: r.store, DataBucket: time.Hour, Logger: kafkatest.Quiet()})
	r.must(err)
	r.must(k.Load(t.Context()))
	p := r.startWith(r.store, quick(), func(w *Writer) { w.d.Tenants = k })
	seen := map[string]bool{}
	// next sends an event to a tenant, and returns its file and the columns with a Bloom filter.
	next := func(tenant, id, payload string) (shardlog.Fragment, *fragment.Reader, []string) {
		t.Helper()
		r.send(item{tenant: tenant, id: id, seconds: 1_600_000_000, payload: payload})
		p.await("the commit of "+id, r.committed)
		state, err := r.log(0).Load(t.Context())
		r.must(err)
		var f shardlog.Fragment
		state.Fragments("", -1<<40, 1<<40, func(one shardlog.Fragment) bool {
			if !seen[one.Key] {
				seen[one.Key], f = true, one
			}
			return true
		})
		body, err := r.store.Get(t.Context(), f.Key)
		r.must(err)
		reader, err := fragment.OpenBytes(f.Key, body)
		r.must(err)
		file, err := parquet.OpenFile(bytes.NewReader(body), int64(len(body)))
		r.must(err)
		var blooms []string
		for i, c := range file.RowGroups()[0].ColumnChunks() {
			if c.BloomFilter() != nil {
				blooms = append(blooms, file.Schema().Columns()[i][0])
			}
		}
		return f, reader, blooms
	}
	change := func(pairs ...string) {
		t.Helper()
		_, err := k.Propose(t.Context(), "t0", func(v tenants.Values) (tenants.Values, error) {
			for i := 0; i < len(pairs); i += 2 {
				var err error
				if v, err = v.Set(pairs[i], pairs[i+1]); err != nil {
					return v, err
				}
			}
			return v, nil
		})
		r.must(err)
	}

	f, reader, blooms := next("t0", "a", `{"host":"h","service":"s","extra":1}`)
	if f.SortKey != "" || len(reader.Attributes()) != 3 || !slices.Equal(blooms, []string{"id"}) {
		t.Errorf("built in: key %q, %d columns, filters on %v", f.SortKey, len(reader.Attributes()), blooms)
	}
	change("sort_key", "host,service", "key_columns", "1", "bloom_columns", "host", "max_columns", "3")
	f, reader, blooms = next("t0", "b", `{"host":"h","service":"s","more":1}`)
	if f.SortKey != "host,service,timestamp" || len(reader.Attributes()) != 2 || !slices.Equal(blooms, []string{"host"}) {
		t.Errorf("changed: key %q, %d columns, filters on %v", f.SortKey, len(reader.Attributes()), blooms)
	}
	if one, _, _ := next("t0", "c", `{"host":"h","service":"another"}`); one.KeyMin != f.KeyMin || one.KeyMin == "" {
		t.Errorf("the second path of the key tells files apart: %q and %q", one.KeyMin, f.KeyMin)
	}
	f, reader, blooms = next("t1", "d", `{"host":"h","service":"s","more":1,"extra":1}`)
	if f.SortKey != "" || len(reader.Attributes()) != 4 || !slices.Equal(blooms, []string{"id"}) {
		t.Errorf("another tenant: key %q, %d columns, filters on %v", f.SortKey, len(reader.Attributes()), blooms)
	}
	change("bloom_columns", "", "max_columns", "9")
	_, reader, blooms = next("t0", "e", `{"host":"h","more":1}`)
	if len(reader.Attributes()) != 2 || len(blooms) != 0 {
		t.Errorf("a higher bound: %d columns, filters on %v", len(reader.Attributes()), blooms)
	}
	p.dead()
	r.check()
}
