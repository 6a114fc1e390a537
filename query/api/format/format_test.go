package format

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/togodb/togo/query"
	"github.com/togodb/togo/query/exec"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/scan"
	"github.com/togodb/togo/query/vec"
)

// everything is a batch with each type in each form, and what the formats must make of its rows.
func everything() ([]exec.Output, *vec.Batch) {
	at := time.Date(2026, 11, 2, 10, 0, 0, 123456789, time.UTC).UnixNano()
	null := []bool{false, true, false}
	columns := []exec.Output{
		{Name: "b", Type: vec.Bool}, {Name: "i", Type: vec.Int}, {Name: "d", Type: vec.Double}, {Name: "t", Type: vec.Text},
		{Name: "j", Type: vec.JSON}, {Name: "x", Type: vec.Blob}, {Name: "at", Type: vec.TimestampTZ}, {Name: "wall", Type: vec.Timestamp},
		{Name: "day", Type: vec.Date}, {Name: "span", Type: vec.Interval}, {Name: "none", Type: vec.Null}, {Name: "t", Type: vec.Text}, {Name: `a "b", c`, Type: vec.Int},
	}
	dict := &vec.Vector{Type: vec.Text, Len: 2, Texts: []string{"x,y", "line\nbreak \"q\" \x01\xff€"}}
	return columns, &vec.Batch{Len: 3, Cols: []*vec.Vector{
		{Type: vec.Bool, Len: 3, Ints: []int64{1, 0, 0}, Nulls: null},
		{Type: vec.Int, Len: 3, Ints: []int64{math.MinInt64, 0, 9007199254740993}, Nulls: null},
		{Type: vec.Double, Len: 3, Doubles: []float64{0.1, 0, math.Inf(-1)}, Nulls: null},
		{Type: vec.Text, Len: 3, Codes: []int32{1, 0, 0}, Dict: dict, Nulls: null},
		{Type: vec.JSON, Len: 3, Texts: []string{"{\"a\":\n [1e400, \"\\ud800\"]}", "", "no json"}, Nulls: null},
		{Type: vec.Blob, Len: 3, Texts: []string{"\x00\xff", "", ""}, Nulls: null},
		{Type: vec.TimestampTZ, Len: 3, Const: true, Ints: []int64{at}},
		{Type: vec.Timestamp, Len: 3, Ints: []int64{at, 0, -1}, Nulls: null},
		{Type: vec.Date, Len: 3, Ints: []int64{-1, 0, 20_759}, Nulls: null},
		{Type: vec.Interval, Len: 3, Intervals: []vec.Span{{Months: 14, Days: -1, Nanos: 3_723_500_000_000}, {}, {}}, Nulls: null},
		{Type: vec.Null, Len: 3},
		{Type: vec.Text, Len: 3, Texts: []string{"", "", " x"}, Nulls: null},
		vec.Constant(vec.Int, vec.Value{Type: vec.Int, Int: 7}, 3),
	}}
}

func write(t *testing.T, f Format, columns []exec.Output, batches ...*vec.Batch) string {
	t.Helper()
	var out bytes.Buffer
	w := New(f, &out)
	if err := w.Columns(columns); err != nil {
		t.Fatal(err)
	}
	for _, b := range batches {
		if err := w.Batch(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.End(&query.Summary{Snapshot: "s1"}, StatisticsOf(nil)); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestJSON(t *testing.T) {
	columns, batch := everything()
	text := write(t, JSON, columns, batch, &vec.Batch{}, batch)
	var doc struct {
		Columns    []struct{ Name, Type string }
		Rows       [][]any
		Snapshot   string
		Statistics Statistics
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	d.DisallowUnknownFields()
	if err := d.Decode(&doc); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if len(doc.Columns) != 13 || doc.Columns[6].Type != "TIMESTAMPTZ" || doc.Columns[12].Name != `a "b", c` || doc.Snapshot != "s1" || len(doc.Rows) != 6 {
		t.Errorf("%+v", doc)
	}
	lines := strings.Split(text, "\n")
	want := []string{
		` [true,-9223372036854775808,0.1,"line\nbreak \"q\" \u0001` + "\ufffd" + `€",{"a":[1e400,"\ud800"]},"AP8=","2026-11-02T10:00:00.123456789Z","2026-11-02T10:00:00.123456789","1969-12-31","1 year 2 months -1 day 01:02:03.5",null,"",7],`,
		` [null,null,null,null,null,null,"2026-11-02T10:00:00.123456789Z",null,null,null,null,null,7],`,
		` [false,9007199254740993,"-Infinity","x,y","no json","","2026-11-02T10:00:00.123456789Z","1969-12-31T23:59:59.999999999","2026-11-02","00:00:00",null," x",7],`,
	}
	for i, w := range want {
		if got := lines[len(columns)+3+i]; got != w {
			t.Errorf("row %d is\n%s\nwant\n%s", i, got, w)
		}
	}
	if text := write(t, JSON, nil); !json.Valid([]byte(text)) {
		t.Errorf("an empty answer: %s", text)
	}
}

func TestNDJSON(t *testing.T) {
	columns, batch := everything()
	lines := strings.Split(strings.TrimSuffix(write(t, NDJSON, columns, batch), "\n"), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines", len(lines))
	}
	for _, line := range lines {
		if !json.Valid([]byte(line)) {
			t.Errorf("no JSON: %s", line)
		}
	}
	if want := `{"b":null,"i":null,"d":null,"t":null,"j":null,"x":null,"at":"2026-11-02T10:00:00.123456789Z","wall":null,"day":null,"span":null,"none":null,"t_1":null,"a \"b\", c":7}`; lines[1] != want {
		t.Errorf("got\n%s\nwant\n%s", lines[1], want)
	}
}

func TestCSV(t *testing.T) {
	columns, batch := everything()
	text := write(t, CSV, columns, batch)
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(rows) != 4 || rows[0][12] != `a "b", c` || rows[1][3] != "line\nbreak \"q\" \x01\xff€" || rows[3][1] != "9007199254740993" {
		t.Fatalf("%v: %q", err, rows)
	}
	if want := ",,,,,,2026-11-02T10:00:00.123456789Z,,,,,,7\n"; !strings.Contains(text, want) {
		t.Errorf("NULL is not an empty field:\n%s", text)
	}
	if !strings.Contains(text, `,"",7`+"\n") || !strings.Contains(text, `," x",7`) {
		t.Errorf("the empty text is not told from NULL:\n%s", text)
	}
}

func TestArrow(t *testing.T) {
	columns, batch := everything()
	r, err := ipc.NewReader(strings.NewReader(write(t, Arrow, columns, batch, batch)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	if got := r.Schema().Field(6).Type.String(); got != "timestamp[ns, tz=UTC]" {
		t.Errorf("type %s", got)
	}
	rows := 0
	for r.Next() {
		b := r.RecordBatch()
		rows += int(b.NumRows())
		ints := b.Column(1).(*array.Int64)
		spans := b.Column(9).(*array.MonthDayNanoInterval)
		if ints.Value(0) != math.MinInt64 || !ints.IsNull(1) || b.Column(3).(*array.String).Value(2) != "x,y" || b.Column(5).(*array.Binary).ValueString(0) != "\x00\xff" ||
			b.Column(8).(*array.Date32).Value(0) != -1 || spans.Value(0).Months != 14 || b.Column(10).NullN() != 3 || b.Column(12).(*array.Int64).Value(2) != 7 {
			t.Errorf("got %v", b)
		}
	}
	if r.Err() != nil || rows != 6 {
		t.Errorf("%d rows, %v", rows, r.Err())
	}
}

// TestRecordBatchesAreBounded by rows and by bytes of text; one row goes by itself, however large it is.
func TestRecordBatchesAreBounded(t *testing.T) {
	large := &vec.Batch{Len: 5, Cols: []*vec.Vector{vec.Constant(vec.Text, vec.Value{Type: vec.Text, Text: strings.Repeat("x", 30<<20)}, 5)}}
	huge := &vec.Batch{Len: 2, Cols: []*vec.Vector{vec.Constant(vec.Blob, vec.Value{Type: vec.Blob, Text: strings.Repeat("x", arrowBytes+1)}, 2)}}
	many := &vec.Batch{Len: arrowRows + 1, Cols: []*vec.Vector{vec.Constant(vec.Int, vec.Value{Type: vec.Int}, arrowRows+1)}}
	for name, tc := range map[string]struct {
		batch *vec.Batch
		ends  []int
	}{"large": {large, []int{2, 4, 5}}, "huge": {huge, []int{1, 2}}, "many": {many, []int{arrowRows, arrowRows + 1}}} {
		from := 0
		for _, want := range tc.ends {
			if from = arrowEnd(tc.batch, from); from != want {
				t.Errorf("%s: a batch ends at %d, want %d", name, from, want)
			}
		}
	}
}

// TestAFailedAnswerIsNotWhole in any format.
func TestAFailedAnswerIsNotWhole(t *testing.T) {
	columns, batch := everything()
	e := fail.At(place{2, 7}, fail.OutOfRange, "too \"big\"")
	const member = `"error":{"code":"out_of_range","message":"too \"big\"","position":{"line":2,"column":7}}`
	for f, want := range map[Format]string{JSON: "\n],\n" + member + "}\n", NDJSON: "{" + member + "}\n", CSV: "\n", Arrow: "\x00"} {
		var out bytes.Buffer
		w := New(f, &out)
		if err := errors.Join(w.Columns(columns), w.Batch(batch), w.Fail(e)); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(out.String(), want) {
			t.Errorf("%s ends with %q", f, out.String()[max(0, out.Len()-150):])
		}
		if f == JSON && (!json.Valid(out.Bytes()) || strings.Contains(out.String(), "statistics")) {
			t.Errorf("got %s", out.String())
		}
		if f == Arrow {
			got := &copied{}
			if err := ReadArrow(&out, got); fail.CodeOf(err) != fail.OutOfRange || err.Error() != e.Error() || len(got.batches) != 1 {
				t.Errorf("the stream gives %v", err)
			}
		}
	}
}

// copied keeps what it is given.
type copied struct {
	columns []exec.Output
	batches []*vec.Batch
}

func (c *copied) Columns(o []exec.Output) error { c.columns = o; return nil }
func (c *copied) Batch(b *vec.Batch) error      { c.batches = append(c.batches, b); return nil }

// TestReadArrow gives what was written; a stream that is cut off anywhere is an error.
func TestReadArrow(t *testing.T) {
	columns, batch := everything()
	whole := write(t, Arrow, columns, batch, &vec.Batch{}, batch)
	got := &copied{}
	if err := ReadArrow(strings.NewReader(whole), got); err != nil {
		t.Fatal(err)
	}
	want := write(t, JSON, columns, batch, batch)
	if text := write(t, JSON, got.columns, got.batches...); text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	for n := range len(whole) {
		if err := ReadArrow(strings.NewReader(whole[:n]), &copied{}); err == nil {
			t.Fatalf("%d of %d bytes are taken for the whole", n, len(whole))
		}
	}
	if err := ReadArrow(strings.NewReader(write(t, Arrow, nil)), &copied{}); err != nil {
		t.Errorf("an answer without columns: %v", err)
	}
}

type place struct{ line, column int }

func (p place) Place() (int, int) { return p.line, p.column }

func TestAccepted(t *testing.T) {
	for accept, want := range map[string]Format{
		"": JSON, "*/*": JSON, "application/json": JSON, "text/csv": CSV, "application/x-ndjson, application/json;q=0.5": NDJSON,
		"application/json;q=0.1, text/csv;q=0.9": CSV, "application/vnd.apache.arrow.stream": Arrow, "text/*": CSV,
		"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8": JSON, "TEXT/CSV; charset=utf-8": CSV, "text/csv;q=0, application/json": JSON,
		"text/csv, application/json": CSV,
	} {
		if got, err := Accepted(accept); err != nil || got != want {
			t.Errorf("%q: %s, %v", accept, got, err)
		}
	}
	for _, accept := range []string{"text/html", "image/*", "application/json;q=0", ";;;"} {
		if f, err := Accepted(accept); err == nil {
			t.Errorf("%q gives %s", accept, f)
		}
	}
	if _, err := Parse("xml"); err == nil || !strings.Contains(err.Error(), Names) {
		t.Errorf("%v", err)
	}
}

func TestStatistics(t *testing.T) {
	n := &scan.Stats{}
	n.Fragments.Store(9)
	n.Read.Store(7)
	n.PrunedByFilter.Store(3)
	n.RowGroups.Store(5)
	n.RowGroupsPruned.Store(2)
	n.CPU.Store(int64(1500 * time.Microsecond))
	s := StatisticsOf(&query.Summary{Rows: 3, Stats: n, Elapsed: 2 * time.Millisecond, Positions: []query.Position{{Shard: 1, Position: 77}}})
	s.Queued(time.Second)
	text := string(s.Line())
	for _, want := range []string{`"rows":3`, `"elapsed_ms":2,"queued_ms":1000,"cpu_ms":1.5`, `"considered":9`, `"pruned_by_filter":3,"answered_by_metadata":0,"read":4`, `"row_groups":{"read":3,"pruned":2}`, `"positions":[{"shard":1,"position":77}]`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
}

// TestStringsAreJSON: whatever a text holds.
func FuzzStringsAreJSON(f *testing.F) {
	for _, s := range []string{"", "a", "\x00\x1f\x7f", "\xff€\xe2\x82", `"\`, "\u2028", "\xed\xa0\x80"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var got string
		if text := appendString(nil, s); json.Unmarshal(text, &got) != nil || got != strings.ToValidUTF8(s, "\ufffd") && got != string([]rune(s)) {
			t.Errorf("%q became %s", s, text)
		}
		if text := appendValue(nil, s); !json.Valid(text) || bytes.ContainsAny(text, "\r\n") {
			t.Errorf("%q became %s", s, text)
		}
	})
}
