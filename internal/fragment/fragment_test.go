package fragment

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"sort"
	"strings"
	"testing"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
)

// equalJSON compares two documents value for value: objects without regard to order,
// of equal keys the last, numbers as exact decimals.
func equalJSON(a, b []byte) error {
	x, err := parseJSON(a)
	if err != nil {
		return fmt.Errorf("first: %w", err)
	}
	y, err := parseJSON(b)
	if err != nil {
		return fmt.Errorf("second: %w", err)
	}
	return equalValue("", x, y)
}

func parseJSON(b []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(b, byteOrderMark)))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

func equalValue(at string, x, y any) error {
	switch x := x.(type) {
	case map[string]any:
		y, ok := y.(map[string]any)
		if !ok || len(x) != len(y) {
			return fmt.Errorf("%s: %v and %v", at, x, y)
		}
		for k, v := range x {
			w, ok := y[k]
			if !ok {
				return fmt.Errorf("%s: no key %q in %v", at, k, y)
			}
			if err := equalValue(at+"/"+k, v, w); err != nil {
				return err
			}
		}
		return nil
	case []any:
		y, ok := y.([]any)
		if !ok || len(x) != len(y) {
			return fmt.Errorf("%s: %v and %v", at, x, y)
		}
		for i := range x {
			if err := equalValue(fmt.Sprint(at, "/", i), x[i], y[i]); err != nil {
				return err
			}
		}
		return nil
	case json.Number:
		y, ok := y.(json.Number)
		if !ok || !equalNumber(string(x), string(y)) {
			return fmt.Errorf("%s: %v and %v", at, x, y)
		}
		return nil
	}
	if x != y {
		return fmt.Errorf("%s: %#v and %#v", at, x, y)
	}
	return nil
}

// equalNumber is independent of the code under test, but for exponents that would take
// all memory to spell out.
func equalNumber(x, y string) bool {
	if x == y {
		return true
	}
	if i := strings.IndexAny(x, "eE"); i >= 0 && len(x)-i > 6 {
		return false
	}
	if i := strings.IndexAny(y, "eE"); i >= 0 && len(y)-i > 6 {
		return false
	}
	p, ok1 := new(big.Rat).SetString(x)
	q, ok2 := new(big.Rat).SetString(y)
	return ok1 && ok2 && p.Cmp(q) == 0 && strings.HasPrefix(x, "-") == strings.HasPrefix(y, "-")
}

// jsonRows makes rows whose ids tell their order.
func jsonRows(payloads ...string) []Row {
	rows := make([]Row, len(payloads))
	for i, p := range payloads {
		rows[i] = Row{
			Timestamp: event.Timestamp(1_700_000_000_123_456_000 + int64(i)*1000), ID: fmt.Appendf(nil, "id-%06d", i),
			IngestedAt: 1_700_000_100_000_000_000,
			Source:     &event.Source{Cluster: "c", Partition: 3}, Offset: int64(100 + i),
			Format: event.FormatJSON, Payload: []byte(p),
		}
	}
	return rows
}

func newRegistry() *Registry { return NewRegistry(objstore.NewMemory(), RegistryConfig{}) }

func encode(t testing.TB, columns ColumnSource, rows []Row) *File {
	t.Helper()
	f, err := Encode(context.Background(), Input{Tenant: "t", Kind: Events, Bucket: 1_699_999_200, Seq: 7, Rows: rows}, columns)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// readAll gives the events of a file by id.
func readAll(t testing.TB, body []byte) map[string]string {
	t.Helper()
	r, err := OpenBytes("test", body)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for e, err := range r.Events() {
		if err != nil {
			t.Fatal(err)
		}
		b, err := e.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, twice := out[string(e.ID)]; twice {
			t.Fatalf("id %q twice", e.ID)
		}
		out[string(e.ID)] = string(b)
	}
	return out
}

// roundTrip encodes payloads as one batch and compares what comes back.
func roundTrip(t testing.TB, columns ColumnSource, payloads ...string) *File {
	t.Helper()
	rows := jsonRows(payloads...)
	f := encode(t, columns, rows)
	got := readAll(t, f.Body)
	if len(got) != len(rows) {
		t.Fatalf("%d rows back, %d sent", len(got), len(rows))
	}
	for i := range rows {
		back := got[string(rows[i].ID)]
		if err := equalJSON([]byte(payloads[i]), []byte(back)); err != nil {
			t.Errorf("sent %.300s\nback %.300s\n%v", payloads[i], back, err)
		}
	}
	return f
}

// columnNames lists the attributes' columns of a file.
func columnNames(t testing.TB, f *File) string {
	t.Helper()
	r, err := OpenBytes("test", f.Body)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range r.Attributes() {
		names = append(names, c.Name+":"+c.Type.String())
	}
	sort.Strings(names)
	return strings.Join(names, " ")
}

func TestEventsComeBackAsSent(t *testing.T) {
	f := roundTrip(t, newRegistry(),
		`{"service":"web","status":200,"duration":1.25,"ok":true,"tags":["a", 1, {"b":null}],"user":{"id":7,"name":"Ann"}}`,
		`{"service":"db","status":500,"duration":2,"ok":false,"user":{"name":"Bob \"\u00e9\n\u0000"}}`,
		`{}`,
	)
	want := "duration:double ok:boolean service:string status:int64 tags:json user.id:int64 user.name:string"
	if got := columnNames(t, f); got != want {
		t.Errorf("columns %s, want %s", got, want)
	}
	if f.Rows != 3 || f.Sum != objstore.Sum(f.Body) || f.Min != 1_700_000_000_123_456_000 || f.Max != f.Min+2000 {
		t.Errorf("file %+v", f)
	}
}
