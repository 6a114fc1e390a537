package fragment

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/togodb/togo/internal/event"
)

// oddString draws text with everything that JSON escapes.
func oddString() *rapid.Generator[string] {
	return rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		"", "x", "1", "true", "null", "a\x00b", "\ufeff", "\u202eabc", "😀", "\u2028", "\"\\/\b\f\n\r\t", "\uFFFD", strings.Repeat("long ", 60), "\U0010FFFF",
	}))
}

// jsonText draws a value's JSON text: keys and strings as encoding/json spells them,
// numbers of every size.
func jsonText(depth int) *rapid.Generator[string] {
	leaf := rapid.OneOf(
		rapid.Just("null"), rapid.Just("true"), rapid.Just("false"), rapid.Just("{}"), rapid.Just("[]"),
		numberTexts(), rapid.Map(oddString(), quote),
	)
	if depth == 0 {
		return leaf
	}
	return rapid.OneOf(leaf, leaf, objectText(depth-1), rapid.Map(rapid.SliceOfN(jsonText(depth-1), 0, 3), func(v []string) string {
		return "[ " + strings.Join(v, " , ") + "]"
	}))
}

func objectText(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		keys := rapid.SliceOfNDistinct(oddKey(), 0, 5, rapid.ID[string]).Draw(t, "keys")
		var members []string
		for _, k := range keys {
			members = append(members, quote(k)+" : "+jsonText(depth).Draw(t, "value"))
		}
		return "{" + strings.Join(members, ",\n") + "}"
	})
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// Any JSON, with odd names and types in conflict, in one batch and over batches, under a
// list that has room and under one that fills up.
func TestAnyObjectComesBackAsSent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		columns := newRegistry()
		columns.config.MaxColumns = rapid.SampledFrom([]int{1, 4, 1000}).Draw(t, "max")
		for range rapid.IntRange(1, 3).Draw(t, "batches") {
			payloads := rapid.SliceOfN(objectText(3), 1, 8).Draw(t, "payloads")
			rows := jsonRows(payloads...)
			f, err := Encode(t.Context(), Input{Tenant: "t", Kind: Events, Seq: 1, Rows: rows}, columns)
			if err != nil {
				t.Fatal(err)
			}
			checkFile(t, f, rows)
		}
	})
}

type failer interface {
	Fatalf(string, ...any)
	Fatal(...any)
}

// checkFile compares every row of a file with what was sent.
func checkFile(t failer, f *File, rows []Row) {
	byID := map[string]*Row{}
	for i := range rows {
		byID[string(rows[i].ID)] = &rows[i]
	}
	r, err := OpenBytes("test", f.Body)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for e, err := range r.Events() {
		if err != nil {
			t.Fatal(err)
		}
		n++
		row := byID[string(e.ID)]
		if row == nil {
			t.Fatalf("id %q was not sent, or comes twice", e.ID)
		}
		delete(byID, string(e.ID))
		if e.Timestamp != row.Timestamp || e.SourceOffset != row.Offset || e.SourcePartition != row.Source.Partition {
			t.Fatalf("row %q: %+v, sent %+v", e.ID, e.Meta, row)
		}
		back, err := e.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := equalJSON(row.Payload, back); err != nil {
			t.Fatalf("sent %s\nback %s\n%v", row.Payload, back, err)
		}
	}
	if n != len(rows) {
		t.Fatalf("%d rows back, %d sent", n, len(rows))
	}
}

func TestFault_type_conflict(t *testing.T) {
	variants := []string{
		`{"f":1}`, `{"f":"x"}`, `{"f":1.5}`, `{"f":true}`, `{"f":null}`, `{"f":{"b":1}}`, `{"f":[1,"2"]}`, `{"f":{}}`, `{"f":1e400}`, `{}`, `{"f":2}`, `{"f":{"b":"y"}}`,
	}
	for seed := range uint64(20) {
		shuffled := append([]string{}, variants...)
		rand.New(rand.NewPCG(seed, 1)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		roundTrip(t, newRegistry(), shuffled...) // in one batch
		columns := newRegistry()
		for _, v := range shuffled { // over batches
			roundTrip(t, columns, v)
		}
		f := roundTrip(t, columns, shuffled...)
		// [1,"2"] and 1e400 share a column; null and {} have none; 1 and 2 share one with
		// 1.5 if that came first.
		if names := strings.Fields(columnNames(t, f)); len(names) != 6 && len(names) != 7 {
			t.Fatalf("seed %d: columns %v", seed, names)
		}
	}
}

func TestADoubleColumnTakesIntegersThatItHolds(t *testing.T) {
	columns := newRegistry()
	f := roundTrip(t, columns, `{"d":1.5}`, `{"d":2}`, `{"d":9007199254740992}`)
	if got := columnNames(t, f); got != "d:double" {
		t.Errorf("columns %s", got)
	}
	f = roundTrip(t, columns, `{"d":9007199254740993}`, `{"d":3}`, `{"d":-0}`)
	if got := columnNames(t, f); got != "d:double d@int64:int64" {
		t.Errorf("columns %s", got)
	}
}

func TestFault_nesting(t *testing.T) {
	deepArrays := `{"a":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`
	deepObjects := strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200)
	roundTrip(t, newRegistry(),
		`{"x":{}}`, `{"x":[]}`, `{"x":[{}]}`, `{"x":[null]}`, `{"x":[{"b":1}]}`, `{"x":{"y":{"z":{}}}}`, deepArrays, deepObjects,
		`{"a.b":1,"a":{"b":2}}`, `{"a":{"b":2},"a.b":1}`, `{"a":1,"a.b":2}`, `{"a":{"b.c":{"d":1}}}`, `{"a.b.c":{"d":1}}`, `{"":{"":1},".":2,"..":3}`,
		`{"timestamp":"2024-01-01T00:00:00Z","id":5,"_seq":{"x":1},"nanos":null,"ID":"x","_rest":[],"_keys":1,"_raw":"r"}`,
	)
}

func TestFault_text(t *testing.T) {
	columns := newRegistry()
	f := roundTrip(t, columns,
		`{"half":"a\ud800b","n":1}`, `{"k\ud800":1}`, `{"arr":["\udc00"]}`, `{"pair":"\ud83d\ude00"}`, `{"nul":"a\u0000b"}`, `{"\u0000":"x"}`,
		`{"rtl":"`+"\u202e"+`x","😀":"😀"}`, "\xEF\xBB\xBF"+`{"bom":1}`, `{"a":1,"a":{"b":2},"c":{"d":1,"d":2}}`, "{\n\t\"white\" : [ 1 , \"a b\" ] \r\n}",
	)
	r, _ := OpenBytes("test", f.Body)
	raws := 0
	for e, err := range r.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if e.Raw() != nil {
			raws++
			back, _ := e.AppendJSON(nil)
			if string(back) != string(e.Raw()) || strings.ContainsAny(string(back), "\n\t") {
				t.Errorf("raw %q comes back as %q", e.Raw(), back)
			}
		}
	}
	if raws != 4 { // three halves of pairs, one repeated key
		t.Errorf("%d rows with _raw, want 4", raws)
	}
}

func TestTextRecords(t *testing.T) {
	rows := jsonRows("plain", "not utf8 \xff\xfe", "")
	for i := range rows {
		rows[i].Format = event.FormatText
	}
	f := encode(t, newRegistry(), rows)
	got := readAll(t, f.Body)
	for i, want := range []string{`{"message":"plain"}`, "{\"message\":\"not utf8 \uFFFD\"}", `{"message":""}`} {
		if back := got[fmt.Sprintf("id-%06d", i)]; back != want {
			t.Errorf("%q comes back as %s", rows[i].Payload, back)
		}
	}
	r, _ := OpenBytes("test", f.Body)
	for e, err := range r.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if raw := e.Raw(); string(e.ID) == "id-000001" && string(raw) != "not utf8 \xff\xfe" || string(e.ID) != "id-000001" && raw != nil {
			t.Errorf("%s: raw %q", e.ID, raw)
		}
	}
}

func TestIDsOfAnyBytes(t *testing.T) {
	rows := jsonRows(`{}`, `{}`, `{}`, `{}`, `{}`)
	ids := []string{"\xff\x00", "@x/41", "a\x00b", "ÅÅ", "@x/fg"}
	for i, id := range ids {
		rows[i].ID = []byte(id)
	}
	got := readAll(t, encode(t, newRegistry(), rows).Body)
	for _, id := range ids {
		if _, ok := got[id]; !ok {
			t.Errorf("id %q did not come back: %q", id, got)
		}
	}
}

func TestTimesBefore1970AndNanos(t *testing.T) {
	rows := jsonRows(`{}`, `{}`, `{}`, `{}`)
	times := []event.Timestamp{-1, -1000, 1<<63 - 1, -1 << 63}
	for i := range rows {
		rows[i].Timestamp = times[i]
	}
	f := encode(t, newRegistry(), rows)
	checkFile(t, f, rows)
	if f.Min != times[3] || f.Max != times[2] {
		t.Errorf("min %d max %d", f.Min, f.Max)
	}
	r, _ := OpenBytes("test", f.Body)
	if _, ok := r.own[colNanos]; !ok {
		t.Error("no nanos column")
	}
	r, _ = OpenBytes("test", encode(t, newRegistry(), jsonRows(`{}`)).Body)
	if _, ok := r.own[colNanos]; ok {
		t.Error("a nanos column of zeros")
	}
}

func TestFault_many_columns(t *testing.T) {
	columns := NewRegistry(newRegistry().store, RegistryConfig{MaxColumns: 50})
	r := rand.New(rand.NewPCG(1, 2))
	var payloads []string
	for i := range 500 {
		payloads = append(payloads, fmt.Sprintf(`{"%016x":%d,"service":"s%d","deep":{"%016x":{"x":[1]}}}`, r.Uint64(), i, i%3, r.Uint64()))
	}
	neighbour := `{"a":1,"b":"x"}`
	f := roundTrip(t, columns, payloads...)
	if n := len(strings.Fields(columnNames(t, f))); n != 50 {
		t.Errorf("%d columns, want 50", n)
	}
	f = roundTrip(t, columns, payloads...)
	if n := len(strings.Fields(columnNames(t, f))); n != 50 {
		t.Errorf("%d columns the second time, want 50", n)
	}
	out, err := Encode(t.Context(), Input{Tenant: "neighbour", Kind: Events, Rows: jsonRows(neighbour)}, columns)
	if err != nil {
		t.Fatal(err)
	}
	if got := columnNames(t, out); got != "a:int64 b:string" {
		t.Errorf("the neighbour's columns: %s", got)
	}
}

func TestSameInputSameBytes(t *testing.T) {
	var payloads []string
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 3000 {
		payloads = append(payloads, fmt.Sprintf(`{"service":"s%d","status":%d,"n":%d,"text":"%x"}`, r.IntN(5), r.IntN(3), i, r.Uint64()))
	}
	a := encode(t, newRegistry(), jsonRows(payloads...))
	b := encode(t, newRegistry(), jsonRows(payloads...))
	if a.Sum != b.Sum || string(a.Body) != string(b.Body) {
		t.Error("two encodings of one input differ")
	}
}

// crowdedSource lets another process fill the list between an encoding's two questions.
type crowdedSource struct {
	*Registry
	crowd []PathType
}

func (s *crowdedSource) Ensure(ctx context.Context, tenant event.TenantID, need []PathType) (*Columns, error) {
	if len(need) > 0 && s.crowd != nil {
		crowd := s.crowd
		s.crowd = nil
		if _, err := NewRegistry(s.store, s.config).Ensure(ctx, tenant, crowd); err != nil {
			return nil, err
		}
	}
	return s.Registry.Ensure(ctx, tenant, need)
}

func TestAListThatOthersFillMeanwhile(t *testing.T) {
	for _, most := range []int{3, 4, 5, 6, 1000} {
		r := NewRegistry(newRegistry().store, RegistryConfig{MaxColumns: most})
		source := &crowdedSource{r, []PathType{{"x", String}, {"a", Double}, {"y", JSON}}}
		f := roundTrip(t, source, `{"a":1,"b":"s","A":2,"x":[1]}`, `{"a":1.5,"b":{"c":1}}`, `{"a":"t"}`)
		if n := len(strings.Fields(columnNames(t, f))); n > most {
			t.Errorf("%d columns, at most %d", n, most)
		}
		roundTrip(t, source, `{"a":1,"b":"s","A":2,"x":[1]}`, `{"a":1.5}`)
	}
}

func TestHalvesOfPairsInJSONText(t *testing.T) {
	for text, want := range map[string]string{
		`[ "\ud800" , "\uD83D\uDE00", "\udc00\ud800x", "\\ud800", "\ud800\ud83d\ude00", "a\"\n" ]`: "[\"\uFFFD\",\"\\uD83D\\uDE00\",\"\uFFFD\uFFFDx\",\"\\\\ud800\",\"\uFFFD\\ud83d\\ude00\",\"a\\\"\\n\"]",
	} {
		if got := string(appendCompact(nil, []byte(text), true)); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
}

// The text of an event is the same, whatever events lie in its file.
func TestTextOfAnEventDoesNotDependOnItsFile(outer *testing.T) {
	rapid.Check(outer, func(t *rapid.T) {
		columns := newRegistry()
		rows := jsonRows(rapid.SliceOfN(objectText(2), 2, 8).Draw(t, "payloads")...)
		text := func(rows []Row) map[string]string {
			f, err := Encode(t.Context(), Input{Tenant: "t", Kind: Events, Seq: 1, Rows: rows}, columns)
			if err != nil {
				t.Fatal(err)
			}
			return readAll(outer, f.Body)
		}
		all := text(rows)
		for i := range rows {
			for id, alone := range text(rows[i : i+1]) {
				if alone != all[id] {
					t.Fatalf("%s alone, %s among others", alone, all[id])
				}
			}
		}
	})
}
