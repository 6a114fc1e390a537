package scan

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/vec"
)

// store is fragments in memory, with their rows as parquet-go reads them.
type store struct {
	objects   map[string][]byte
	fragments []Fragment
	columns   *fragment.Columns
	rows      map[string]map[string]string // by file and row: column and value, as text
}

func (s *store) GetRange(_ context.Context, key string, off, n int64, count *Stats) ([]byte, error) {
	count.StoreRequests.Add(1)
	count.StoreBytes.Add(n)
	body, ok := s.objects[key]
	if !ok {
		return nil, fmt.Errorf("%s: %w", key, objstore.ErrNotFound)
	}
	off = min(off, int64(len(body)))
	return body[off:min(off+n, int64(len(body)))], nil
}

const base = event.Timestamp(1_700_000_000_000_000_000)

// document makes an event whose attributes have several types, and are there or not.
func document(r *rand.Rand, i int) string {
	parts := []string{fmt.Sprintf(`"service":"svc-%d"`, r.IntN(5)), fmt.Sprintf(`"n":%d`, i)}
	add := func(chance int, text string, args ...any) {
		if r.IntN(chance) == 0 {
			parts = append(parts, fmt.Sprintf(text, args...))
		}
	}
	add(2, `"status":%d`, 200+r.IntN(9))
	add(3, `"duration":%g`, math.Floor(r.Float64()*1e6)/8)
	add(50, `"duration_text":"%d ms"`, r.IntN(100))
	add(9, `"mixed":%s`, []string{`1`, `2.5`, `"three"`, `true`, `[4]`}[r.IntN(5)])
	add(1, `"message":"request %d of %x %s"`, i, r.Uint64(), strings.Repeat("ä", r.IntN(40)))
	add(2, `"ok":%t`, r.IntN(2) == 0)
	add(4, `"http":{"code":%d,"path":"/%x"}`, r.IntN(3), r.Uint32())
	add(70, `"http.dotted":%d`, r.IntN(3))
	add(90, `"nothing":null`)
	add(400, `"big":"%s"`, strings.Repeat("x", 40000))
	return "{" + strings.Join(parts, ",") + "}"
}

// stores are those that were made, which tests share and leave as they are.
var stores = map[string]*store{}

func newStore(t testing.TB, seed uint64, sizes ...int) *store {
	t.Helper()
	name := fmt.Sprint(seed, sizes)
	if stores[name] == nil {
		stores[name] = makeStore(t, seed, sizes...)
	}
	return stores[name]
}

func makeStore(t testing.TB, seed uint64, sizes ...int) *store {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 7))
	s := &store{objects: map[string][]byte{}, rows: map[string]map[string]string{}}
	registry := fragment.NewRegistry(objstore.NewMemory(), fragment.RegistryConfig{})
	n := 0
	for f, size := range sizes {
		in := fragment.Input{Tenant: "t", Kind: fragment.Events, Seq: uint64(f)}
		for range size {
			in.Rows = append(in.Rows, fragment.Row{
				Timestamp: base + event.Timestamp(r.IntN(1e12)), ID: fmt.Appendf(nil, "id-%d", n), IngestedAt: base + 5e9,
				Format: event.FormatJSON, Payload: []byte(document(r, n)), Source: &event.Source{}, Offset: int64(n),
			})
			n++
		}
		file, err := fragment.Encode(t.Context(), in, registry)
		if err != nil {
			t.Fatal(err)
		}
		s.add(t, fmt.Sprintf("data/t/0/%d.parquet", f), file)
	}
	var err error
	if s.columns, err = registry.Ensure(t.Context(), "t", nil); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *store) add(t testing.TB, key string, file *fragment.File) {
	s.objects[key] = file.Body
	f := shardlog.Fragment{Key: key, Tenant: "t", Table: shardlog.TableEvents, Rows: file.Rows, Bytes: int64(len(file.Body)), Min: file.Min, Max: file.Max, SortKey: file.SortKey}
	for _, r := range file.Ranges {
		f.Ranges = append(f.Ranges, shardlog.ColumnRange(r))
	}
	s.fragments = append(s.fragments, Fragment{Fragment: f})
	s.know(t, key)
}

// know reads the rows of a file by another reader.
func (s *store) know(t testing.TB, key string) {
	body := s.objects[key]
	file, err := parquet.OpenFile(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	reader, err := fragment.OpenBytes(key, body)
	if err != nil {
		t.Fatal(err)
	}
	var events []string
	for e, err := range reader.Events() {
		if err != nil {
			t.Fatal(err)
		}
		b, err := e.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, string(b))
	}
	columns := file.Schema().Columns()
	at := 0
	for _, g := range file.RowGroups() {
		rows := g.Rows()
		buf := make([]parquet.Row, 100)
		for {
			n, err := rows.ReadRows(buf)
			for _, row := range buf[:n] {
				values := map[string]string{Event: events[at]}
				at++
				nanos := int64(0)
				for _, v := range row {
					name := columns[v.Column()][0]
					text := valueText(v)
					if name == "nanos" {
						nanos = int64(v.Int32())
					}
					if name == "ingested_at" {
						text = fmt.Sprint(v.Int64() * 1000)
					}
					values[name] = text
				}
				for _, v := range row {
					if columns[v.Column()][0] == Timestamp {
						values[Timestamp] = fmt.Sprint(v.Int64()*1000 + nanos)
					}
				}
				s.rows[values["id"]] = values
			}
			if err != nil {
				break
			}
		}
		rows.Close()
	}
	if at != len(events) {
		t.Fatalf("%d rows and %d events in %s", at, len(events), key)
	}
}

func valueText(v parquet.Value) string {
	switch {
	case v.IsNull():
		return "NULL"
	case v.Kind() == parquet.Boolean:
		if v.Boolean() {
			return "1"
		}
		return "0"
	case v.Kind() == parquet.Double:
		return fmt.Sprint(v.Double())
	case v.Kind() == parquet.ByteArray:
		return string(v.ByteArray())
	}
	return fmt.Sprint(v.Int64())
}

func text(v *vec.Vector, i int) string {
	x := v.At(i)
	switch {
	case x.Type == vec.Null:
		return "NULL"
	case x.Type.HasTexts():
		return x.Text
	case x.Type == vec.Double:
		return fmt.Sprint(x.Double)
	}
	return fmt.Sprint(x.Int)
}

// request asks for all columns.
func (s *store) request() *Request {
	r := &Request{Tenant: "t", Kind: fragment.Events, Fragments: s.fragments, Stats: new(Stats), Floor: math.MinInt64}
	for _, f := range fragment.OwnColumns(fragment.Events) {
		r.Columns = append(r.Columns, Column{f.Name, types[f.Kind]})
	}
	r.Columns = append(r.Columns, Column{Event, vec.JSON})
	kinds := map[fragment.Type]vec.Type{fragment.Boolean: vec.Bool, fragment.Int64: vec.Int, fragment.Double: vec.Double, fragment.String: vec.Text, fragment.JSON: vec.JSON}
	for _, c := range s.columns.All() {
		r.Columns = append(r.Columns, Column{c.Name, kinds[c.Type]})
	}
	for i := range r.Columns {
		r.Output = append(r.Output, i)
	}
	return r
}

func (r *Request) slot(name string) int {
	return slices.IndexFunc(r.Columns, func(c Column) bool { return c.Name == name })
}

// check scans and compares every value of every row with what the other reader has of those rows that want tells.
func (s *store) check(t *testing.T, r *Request, workers int, want func(row map[string]string) bool) {
	t.Helper()
	var mu sync.Mutex
	seen := map[string]bool{}
	id := r.slot("id")
	err := NewScanner(s, Config{}).Scan(t.Context(), r, workers, func(_ int, b *vec.Batch) error {
		mu.Lock()
		defer mu.Unlock()
		for i := range b.Len {
			key := strings.Clone(text(b.Cols[id], i))
			if seen[key] {
				t.Fatalf("row %s comes twice", key)
			}
			seen[key] = true
			row := s.rows[key]
			if !want(row) {
				t.Fatalf("row %s is not wanted", key)
			}
			for slot, c := range r.Columns {
				if b.Cols[slot].Len != b.Len {
					t.Fatalf("column %s has %d of %d rows", c.Name, b.Cols[slot].Len, b.Len)
				}
				if b.Cols[slot].Type != c.Type {
					t.Fatalf("column %s is %v, not %v", c.Name, b.Cols[slot].Type, c.Type)
				}
				wanted, ok := row[c.Name]
				if !ok {
					wanted = "NULL"
				}
				if got := text(b.Cols[slot], i); got != wanted {
					t.Fatalf("row %s: column %s is %.100q, not %.100q", key, c.Name, got, wanted)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for key, row := range s.rows {
		if want(row) && !seen[key] {
			t.Fatalf("row %s is missing, of %d that came", key, len(seen))
		}
	}
	if int(r.Stats.RowsOut.Load()) != len(seen) {
		t.Errorf("%d rows came, the statistics say %d", len(seen), r.Stats.RowsOut.Load())
	}
}

// test is a condition made by hand.
type test struct {
	slot int
	is   func(v vec.Value) bool
}

func (c *test) Type() vec.Type        { return vec.Bool }
func (c *test) Children() []expr.Expr { return []expr.Expr{&expr.Column{Slot: c.slot}} }
func (c *test) String() string        { return "test" }
func (c *test) Eval(_ *expr.Scratch, in *vec.Batch) (*vec.Vector, error) {
	out := &vec.Vector{Type: vec.Bool, Len: in.Len, Ints: make([]int64, in.Len), Nulls: make([]bool, in.Len)}
	for i := range in.Len {
		v := in.Cols[c.slot].At(i)
		if out.Nulls[i] = v.Type == vec.Null; !out.Nulls[i] && c.is(v) {
			out.Ints[i] = 1
		}
	}
	return out, nil
}

func all(map[string]string) bool { return true }

var variants = []Options{{}, {NoPruning: true}, {NoDictionaries: true}, {NoLateReading: true}}

func TestScanGivesEveryRowOnce(t *testing.T) {
	s := newStore(t, 3, 1, 300, 17500, 50)
	for _, o := range variants {
		for _, workers := range []int{1, 3} {
			r := s.request()
			r.Options = o
			s.check(t, r, workers, all)
		}
	}
}

func TestScanKeepsRowsOfTheFilter(t *testing.T) {
	s := newStore(t, 3, 1, 300, 17500, 50)
	for _, o := range variants {
		for name, is := range map[string]func(v vec.Value) bool{
			"service":  func(v vec.Value) bool { return v.Text == "svc-3" },
			"status":   func(v vec.Value) bool { return v.Int >= 204 },
			"message":  func(v vec.Value) bool { return strings.Contains(v.Text, "77") },
			"n":        func(v vec.Value) bool { return v.Int == 12345 },
			"duration": func(v vec.Value) bool { return v.Double > 1e5 },
			Event:      func(v vec.Value) bool { return strings.Contains(v.Text, "null") },
		} {
			r := s.request()
			r.Options = o
			r.Floor = base + 3e11
			slot := r.slot(name)
			r.Filter = []expr.Expr{&test{slot, is}, &test{r.slot("ok"), func(v vec.Value) bool { return v.Int == 1 }}}
			matches := func(text string) bool {
				v := vec.Value{Type: r.Columns[slot].Type, Text: text}
				fmt.Sscan(text, &v.Int)
				fmt.Sscan(text, &v.Double)
				return text != "NULL" && is(v)
			}
			kept := 0
			s.check(t, r, 2, func(row map[string]string) bool {
				var at int64
				fmt.Sscan(row[Timestamp], &at)
				ok := at >= int64(r.Floor) && row["ok"] == "1" && row[name] != "" && matches(row[name])
				if ok {
					kept++
				}
				return ok
			})
			if kept == 0 && name != "n" {
				t.Errorf("no row passes the condition on %s", name)
			}
		}
	}
}

// TestSeveralRowGroups: a file of two row groups, of which conditions leave one or both.
func TestSeveralRowGroups(t *testing.T) {
	const rows = 140_000
	in := fragment.Input{Tenant: "t", Kind: fragment.Events, SortKey: []string{"n"}}
	for i := range rows {
		in.Rows = append(in.Rows, fragment.Row{Timestamp: base + event.Timestamp(i), ID: fmt.Appendf(nil, "%d", i), Source: &event.Source{}, Format: event.FormatJSON, Payload: fmt.Appendf(nil, `{"n":%d,"half":"%d"}`, i, i%2)})
	}
	registry := fragment.NewRegistry(objstore.NewMemory(), fragment.RegistryConfig{})
	file, err := fragment.Encode(t.Context(), in, registry)
	if err != nil {
		t.Fatal(err)
	}
	s := &store{objects: map[string][]byte{"key": file.Body}}
	s.columns, _ = registry.Ensure(t.Context(), "t", nil)
	s.fragments = []Fragment{{Fragment: shardlog.Fragment{Key: "key", Tenant: "t", Rows: rows, Bytes: int64(len(file.Body)), Min: file.Min, Max: file.Max}}}
	for _, c := range []struct {
		cond           string
		rows, sum      int
		pruned, groups int64
	}{
		{"true", rows, rows * (rows - 1) / 2, 0, 2},
		{"n < 10", 10, 45, 1, 2},
		{"n >= 139990", 10, 1399945, 1, 2},
		{"n IN (131071, 131072)", 2, 262143, 0, 2},
		{"half = '1' AND n > 130000 AND n < 132000", 1000, 131000000, 0, 2},
		{"half = '2'", 0, 0, 2, 2},
	} {
		for _, o := range variants {
			r := s.request()
			r.Options = o
			r.where(t, c.cond)
			n, sum := 0, 0
			var mu sync.Mutex
			if err := NewScanner(s, Config{}).Scan(t.Context(), r, 2, func(_ int, b *vec.Batch) error {
				mu.Lock()
				defer mu.Unlock()
				v := b.Cols[r.slot("n")]
				for i := range b.Len {
					n, sum = n+1, sum+int(v.At(i).Int)
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if n != c.rows || sum != c.sum {
				t.Errorf("%s with %+v: %d rows of %d, sum %d of %d", c.cond, o, n, c.rows, sum, c.sum)
			}
			if st := r.Stats; o == (Options{}) && (st.RowGroups.Load() != c.groups || st.RowGroupsPruned.Load() != c.pruned) {
				t.Errorf("%s: %d of %d row groups were pruned", c.cond, st.RowGroupsPruned.Load(), st.RowGroups.Load())
			}
		}
	}
}

func TestDeadLetters(t *testing.T) {
	in := fragment.Input{Tenant: "t", Kind: fragment.DeadLetters}
	for i := range 2000 {
		in.Rows = append(in.Rows, fragment.Row{
			Timestamp: base + event.Timestamp(i), ID: fmt.Appendf(nil, "%d", i), Format: event.FormatJSON, Source: &event.Source{},
			Payload: fmt.Appendf([]byte{0xFF}, "%d", i), Letter: &fragment.Letter{Reason: "too_old", Detail: strings.Repeat("d", i%2)},
		})
	}
	file, err := fragment.Encode(t.Context(), in, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &store{objects: map[string][]byte{"key": file.Body}}
	s.fragments = []Fragment{{Fragment: shardlog.Fragment{Key: "key", Tenant: "t", Rows: 2000, Bytes: int64(len(file.Body)), Min: file.Min, Max: file.Max}}}
	r := &Request{Tenant: "t", Kind: fragment.DeadLetters, Fragments: s.fragments, Floor: base + 1000}
	for _, f := range fragment.OwnColumns(fragment.DeadLetters) {
		r.Columns = append(r.Columns, Column{f.Name, types[f.Kind]})
		r.Output = append(r.Output, len(r.Output))
	}
	r.where(t, "reason = 'too_old' AND detail IS NULL")
	n := 0
	if err := NewScanner(s, Config{}).Scan(t.Context(), r, 1, func(_ int, b *vec.Batch) error {
		for i := range b.Len {
			if at := b.Cols[r.slot(Timestamp)].At(i).Int - int64(base); b.Cols[r.slot("payload")].At(i).Text != fmt.Sprintf("\xFF%d", at) || b.Cols[r.slot("format")].At(i).Text != "json" {
				t.Fatalf("row %d: %q", at, b.Cols[r.slot("payload")].At(i).Text)
			}
			n++
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if n != 1000 {
		t.Errorf("%d letters of 1000; letters below the floor stay", n)
	}
	r.Kind = fragment.Events
	if err := NewScanner(s, Config{}).Scan(t.Context(), r, 1, func(int, *vec.Batch) error { return nil }); !errors.Is(err, fragment.ErrCorrupt) {
		t.Errorf("letters as events: %v", err)
	}
}
