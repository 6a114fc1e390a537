package fragment

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/togodb/togo/internal/fragment/parquetfile"
)

// compareValues orders values of a path as rows are sorted by it.
func compareValues(a, b keyValue) int {
	switch {
	case a.fieldID == 0 || b.fieldID == 0:
		return cmp.Compare(btoi(a.fieldID == 0), btoi(b.fieldID == 0))
	case a.fieldID != b.fieldID:
		return cmp.Compare(a.fieldID, b.fieldID)
	case a.kind.Text():
		return bytes.Compare(a.text, b.text)
	case a.kind == parquetfile.Double && a.number != b.number:
		x, y := math.Float64frombits(uint64(a.number)), math.Float64frombits(uint64(b.number))
		if x != y {
			return cmp.Compare(x, y)
		}
	}
	return cmp.Compare(a.number, b.number)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func randomKeyValue(r *rand.Rand) keyValue {
	number := []int64{0, 1, -1, math.MinInt64, math.MaxInt64, r.Int64(), -r.Int64(), r.Int64N(3)}[r.IntN(8)]
	switch r.IntN(6) {
	case 0:
		return keyValue{}
	case 1:
		return keyValue{fieldID: 100, kind: parquetfile.Int64, number: number}
	case 2:
		d := []float64{0, math.Copysign(0, -1), 1.5, -1.5, math.Inf(1), -math.MaxFloat64, r.NormFloat64()}[r.IntN(7)]
		return keyValue{fieldID: 0x1001, kind: parquetfile.Double, number: int64(math.Float64bits(d))}
	case 3:
		return keyValue{fieldID: 0x0fff, kind: parquetfile.Boolean, number: r.Int64N(2)}
	}
	text := []byte(strings.Repeat("x", []int{0, 0, 0, 0, 62, 63, 64}[r.IntN(7)]))
	for range r.IntN(4) {
		text = append(text, []string{"", " ", "!", "\"", "+", "~", "}", "\x00", "\x7f", "\xff", "é", "a", "b", "=", "0"}[r.IntN(15)]...)
	}
	return keyValue{fieldID: 101, kind: parquetfile.String, text: text}
}

func TestKeyTextsCompareAsRowsDo(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	parted, cut := 0, 0
	for range 300_000 {
		n := 1 + r.IntN(3)
		a, b := make([]keyValue, n), make([]keyValue, n)
		for i := range n {
			a[i], b[i] = randomKeyValue(r), randomKeyValue(r)
			if r.IntN(2) == 0 {
				b[i] = a[i]
			}
		}
		want := slices.CompareFunc(a, b, compareValues)
		x, y := appendSpan(nil, a), appendSpan(nil, b)
		got := bytes.Compare(x, y)
		if got != want && (got != 0 || !bytes.HasSuffix(x, []byte{keyCut})) {
			t.Fatalf("%+v is %q, %+v is %q: %d, want %d", a, x, b, y, got, want)
		}
		if got != 0 {
			parted++
		}
		if got != want {
			cut++
		}
		if i := bytes.IndexFunc(x, func(c rune) bool { return c < ' ' || c > '~' }); i >= 0 || len(x) > n*(3*MaxRangeBytes+16) {
			t.Fatalf("%q", x)
		}
	}
	if parted < 100_000 || cut == 0 {
		t.Errorf("%d pairs told apart, %d cut", parted, cut)
	}
}

// Files of one tenant with other columns each: the spans tell which rows come first.
func TestSpansOfFilesWithOtherColumns(t *testing.T) {
	registry := newRegistry()
	r := rand.New(rand.NewPCG(11, 5))
	value := func() string {
		return []string{`null`, `1`, `-3`, `2.5`, `"a"`, `"b c"`, `"ü"`, `true`, `[1]`, `20`}[r.IntN(10)]
	}
	key := []string{"a", "b"}
	file := func() (*File, []string) {
		var payloads []string
		for range 1 + r.IntN(5) {
			payloads = append(payloads, fmt.Sprintf(`{"b":%s,"a":%s}`, value(), value()))
		}
		f, err := Encode(t.Context(), Input{Tenant: "t", Kind: Events, Rows: jsonRows(payloads...), SortKey: key}, registry)
		if err != nil {
			t.Fatal(err)
		}
		return f, payloads
	}
	below := 0
	for range 300 {
		f, x := file()
		g, y := file()
		both, err := Encode(t.Context(), Input{Tenant: "t", Kind: Events, Rows: jsonRows(append(slices.Clone(x), y...)...), SortKey: key}, registry)
		if err != nil {
			t.Fatal(err)
		}
		if f.KeyMin > f.KeyMax || both.KeyMin != min(f.KeyMin, g.KeyMin) || both.KeyMax != max(f.KeyMax, g.KeyMax) {
			t.Fatalf("%v: %q to %q; %v: %q to %q; together %q to %q", x, f.KeyMin, f.KeyMax, y, g.KeyMin, g.KeyMax, both.KeyMin, both.KeyMax)
		}
		if f.KeyMax < g.KeyMin {
			below++
			if !inOrder(t, both, len(x), x) {
				t.Fatalf("%v lies below %v by its span, and not in the file of both", x, y)
			}
		}
	}
	if below < 10 {
		t.Errorf("%d disjoint pairs", below)
	}
}

// inOrder tells that the first n rows of a file are these payloads.
func inOrder(t *testing.T, f *File, n int, payloads []string) bool {
	r, err := OpenBytes("k", f.Body)
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, p := range payloads {
		want = append(want, canonical(t, []byte(p)))
	}
	for e, err := range r.Events() {
		if err != nil {
			t.Fatal(err)
		}
		b, err := e.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) < n {
			got = append(got, canonical(t, b))
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	return slices.Equal(got, want)
}

func canonical(t *testing.T, b []byte) string {
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	b, _ = json.Marshal(v)
	return string(b)
}

func TestKeyColumnsBoundTheSpan(t *testing.T) {
	rows := jsonRows(`{"service":"a b","status":200}`, `{"service":"web"}`)
	want := [][2]string{
		0: {"264=a!20b 265=80000000000000c8", "264=web ~"},
		1: {"264=a!20b", "264=web"},
		2: {"264=a!20b 265=80000000000000c8", "264=web ~"},
		3: {"264=a!20b 265=80000000000000c8", "264=web ~"},
	}
	for n := range want {
		f, err := Encode(t.Context(), Input{Tenant: "t", Kind: Events, Rows: rows, KeyColumns: n}, newRegistry())
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]string{f.KeyMin, f.KeyMax}; got != want[n] || f.SortKey != "" {
			t.Errorf("%d columns: %q (%q), want %q", n, got, f.SortKey, want[n])
		}
	}
	for text, key := range map[string][]string{"": {"service", "status"}, "a,timestamp": {"a", "timestamp", "b"}, "timestamp": {}} {
		if got := SortKeyText(key); got != text {
			t.Errorf("%q: %q, want %q", key, got, text)
		}
	}
}
