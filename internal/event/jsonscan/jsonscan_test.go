package jsonscan

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"testing"
)

// corpus calls f for each file of the test corpus.
func corpus(t *testing.T, f func(name string, doc []byte)) {
	t.Helper()
	file, err := os.Open("testdata/jsontestsuite.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for r := tar.NewReader(z); ; n++ {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		doc, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(h.Name, ".json") {
			f(path.Base(h.Name), doc)
		}
	}
	if n < 300 {
		t.Fatalf("%d files", n)
	}
}

// Of the corpus's files that a parser may take or refuse, those that are refused.
var refusedOfEither = map[string]bool{
	"i_string_UTF-16LE_with_BOM.json":              true,
	"i_string_UTF-8_invalid_sequence.json":         true,
	"i_string_UTF8_surrogate_U+D800.json":          true,
	"i_string_invalid_utf-8.json":                  true,
	"i_string_iso_latin_1.json":                    true,
	"i_string_lone_utf8_continuation_byte.json":    true,
	"i_string_not_in_unicode_range.json":           true,
	"i_string_overlong_sequence_2_bytes.json":      true,
	"i_string_overlong_sequence_6_bytes.json":      true,
	"i_string_overlong_sequence_6_bytes_null.json": true,
	"i_string_truncated-utf-8.json":                true,
	"i_string_utf16BE_no_BOM.json":                 true,
	"string_1_invalid_codepoint.json":              true,
	"string_2_invalid_codepoints.json":             true,
	"string_3_invalid_codepoints.json":             true,
	"i_string_utf16LE_no_BOM.json":                 true,
}

func TestCorpus(t *testing.T) {
	corpus(t, func(name string, doc []byte) {
		var tape Tape
		err := tape.Parse(doc)
		good := err == nil || errors.Is(err, ErrNotObject) || errors.Is(err, ErrEmpty) && strings.Contains(string(doc), "null")
		want := !strings.HasPrefix(name, "n_") && !refusedOfEither[name]
		if good != want {
			t.Errorf("%s: %v", name, err)
		}
		// As a member of an object it is judged alike, but for the byte order mark.
		wrapped := append(append([]byte(`{"a":`), doc...), '}')
		err = tape.Parse(wrapped)
		if want && name != "i_structure_UTF-8_BOM_empty_object.json" != (err == nil) {
			t.Errorf("%s as a member: %v", name, err)
		}
		if err := compare(doc); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := compare(wrapped); err != nil {
			t.Errorf("%s as a member: %v", name, err)
		}
	})
}

func TestDepth(t *testing.T) {
	// Each shape nests n containers, the document's object among them.
	shapes := map[string]func(n int) string{
		"objects": func(n int) string { return strings.Repeat(`{"a":`, n-1) + "{}" + strings.Repeat("}", n-1) },
		"objects with leaves": func(n int) string {
			return strings.Repeat(`{"a":`, n-1) + `{"x":1}` + strings.Repeat("}", n-1)
		},
		"other keys": func(n int) string { return strings.Repeat(`{"z":`, n-1) + "{}" + strings.Repeat("}", n-1) },
		"arrays":     func(n int) string { return `{"a":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + "}" },
		"mixed": func(n int) string {
			return `{"a":` + strings.Repeat(`[{"a":`, (n-1)/2) + strings.Repeat("[", (n-1)%2) + strings.Repeat("]", (n-1)%2) + "0"[(n-1)%2:] + strings.Repeat("}]", (n-1)/2) + "}"
		},
	}
	long := make([]string, 600)
	for i := range long {
		long[i] = "a"
	}
	for name, shape := range shapes {
		for _, n := range []int{2, 63, 64, 65, 128, 511, 512} {
			if err := compare([]byte(shape(n))); err != nil {
				t.Errorf("%s %d deep: %v", name, n, err)
			}
			var tape Tape
			if err := tape.Parse([]byte(shape(n))); err != nil {
				t.Errorf("%s %d deep: %v", name, n, err)
			}
		}
		for _, n := range []int{513, 514, 10000} {
			var tape Tape
			if err := tape.Parse([]byte(shape(n))); !errors.Is(err, ErrTooDeep) {
				t.Errorf("tape, %s %d deep: %v", name, n, err)
			}
			for _, p := range []*Paths{NewPaths(), NewPaths(long)} {
				if err := p.Find([]byte(shape(n)), make([]Value, 1)[:p.paths]); !errors.Is(err, ErrTooDeep) {
					t.Errorf("paths, %s %d deep: %v", name, n, err)
				}
			}
		}
	}
	deep := strings.Repeat("[", 600)
	var tape Tape
	for _, doc := range []string{deep, deep + strings.Repeat("]", 600)} {
		if err := tape.Parse([]byte(doc)); !errors.Is(err, ErrTooDeep) {
			t.Errorf("an array as document: %v", err)
		}
	}
}

// show writes the tape in a line.
func show(t *Tape) string {
	var b strings.Builder
	for i := range t.Tokens {
		tok := &t.Tokens[i]
		if tok.Has(Dropped) {
			b.WriteByte('-')
		}
		switch tok.Kind {
		case End:
			b.WriteString("} ")
		case Object:
			fmt.Fprintf(&b, "%s{ ", t.Key(i))
		default:
			fmt.Fprintf(&b, "%s=%s ", t.Key(i), t.Raw(i))
		}
	}
	return strings.TrimSpace(b.String())
}

func TestTape(t *testing.T) {
	tests := []struct {
		doc, want      string
		repeated, lone bool
	}{
		{`{}`, ``, false, false},
		{` { "a" : 1 , "b" : "x\ny" } `, `a=1 b=x\ny`, false, false},
		{`{"a":{"b":{},"c":[ 1, {"x":1,"x":2} ],"d":{"e":null}},"f":true}`, `a{ b={} c=[ 1, {"x":1,"x":2} ] d{ e=null } } f=true`, false, false},
		{`{"a":{ },"b":1}`, `a={ } b=1`, false, false},
		{`{"a":1,"a":2,"a":3}`, `-a=1 -a=2 a=3`, true, false},
		{`{"a":{"b":1,"c":2},"d":1,"a":5}`, `-a{ b=1 c=2 } d=1 a=5`, true, false},
		{`{"a":5,"a":{"b":1,"b":2}}`, `-a=5 a{ -b=1 b=2 }`, true, false},
		{`{"a":1,"\u0061":2,"A":3}`, `-a=1 a=2 A=3`, true, false},
		{`{"a":1,"b":{"a":1}}`, `a=1 b{ a=1 }`, false, false},
		{`{"":1,"":2}`, `-=1 =2`, true, false},
		{`{"a":"\ud800"}`, `a=\ud800`, false, true},
		{`{"a":"\udc00\udc01"}`, `a=\udc00\udc01`, false, true},
		{`{"a":"\ud800\ud800\udc00"}`, `a=\ud800\ud800\udc00`, false, true},
		{`{"a":["\udc00\ud800"]}`, `a=["\udc00\ud800"]`, false, true},
		{`{"a":"\ud83d\ude00"}`, `a=\ud83d\ude00`, false, false},
		{`{"\ud800":1,"\udfff":2}`, "-\ufffd=1 \ufffd=2", true, true},
		{`{"é":1,"e\u0301":2}`, "é=1 e\u0301=2", false, false},
	}
	var tape Tape // one for all, so that nothing stays from the document before
	for _, test := range tests {
		err := tape.Parse([]byte(test.doc))
		if got := show(&tape); err != nil || got != test.want || tape.RepeatedKeys != test.repeated || tape.LoneSurrogates != test.lone {
			t.Errorf("%s: %v\n got %s %v %v\nwant %s %v %v", test.doc, err, got, tape.RepeatedKeys, tape.LoneSurrogates, test.want, test.repeated, test.lone)
		}
	}
}

func TestFlagsAndLeaves(t *testing.T) {
	var tape Tape
	if err := tape.Parse([]byte(`{"n":-12,"f":1.5,"e":1e3,"s":"a\u00e9","p":"é","o.k":{"x":1},"d":{"y":{}}}`)); err != nil {
		t.Fatal(err)
	}
	want := map[string]Flag{"n": Integer, "f": 0, "e": 0, "s": Escaped, "p": 0}
	for i := range tape.Tokens {
		if f, ok := want[string(tape.Key(i))]; ok && f != tape.Tokens[i].Flags {
			t.Errorf("%s: flags %b, want %b", tape.Key(i), tape.Tokens[i].Flags, f)
		}
	}
	if got := string(tape.AppendString([]byte("_"), 3)); got != "_aé" {
		t.Errorf("unescaped %q", got)
	}
	var got []string
	if err := tape.Each(func(l Leaf) error {
		got = append(got, fmt.Sprintf("%q %v", l.Path, l.DottedKey))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	const leaves = `["n"] false ["f"] false ["e"] false ["s"] false ["p"] false ["o.k" "x"] true ["d" "y"] false`
	if s := strings.Join(got, " "); s != leaves {
		t.Errorf("leaves %s", s)
	}
	stop := errors.New("stop")
	if err := tape.Each(func(Leaf) error { return stop }); err != stop {
		t.Error("Each went on after an error")
	}
}

func TestErrorsSayWhere(t *testing.T) {
	tests := []struct{ doc, want string }{
		{`{"a":1`, "byte 6: unexpected end"},
		{`{"a" 1}`, "byte 5: expected a colon"},
		{`{a:1}`, "byte 1: expected a key"},
		{`{"a":1,}`, "byte 7: expected a key"},
		{`{"a":01}`, "byte 6: expected a comma or the object's end"},
		{`{"a":[1 2]}`, "byte 8: expected a comma or the array's end"},
		{`{"a":[1}}`, "byte 7: expected a comma or the array's end"},
		{`{"a":[{"b":1]]}`, "byte 12: expected a comma or the object's end"},
		{`{"a":{"b":1]}`, "byte 11: expected a comma or the object's end"},
		{`{"a":tru}`, "byte 8: neither true, false nor null"},
		{`{"a":NaN}`, "byte 5: expected a value"},
		{`{"a":-}`, "byte 6: number without digits"},
		{`{"a":1.}`, "byte 7: number without digits after the point"},
		{`{"a":1e+}`, "byte 8: number without digits in the exponent"},
		{"{\"a\":\"\t\"}", "byte 6: control character in a string"},
		{`{"a":"\x"}`, "byte 7: unknown escape"},
		{`{"a":"\u12g4"}`, "byte 8: escape without four hexadecimal digits"},
		{"{\"a\":\"é\xff\"}", "byte 8: invalid UTF-8 in a string"},
		{`{} x`, "byte 3: text after the value"},
		{`{"a":"`, "byte 6: unexpected end"},
	}
	for _, test := range tests {
		var tape Tape
		err := tape.Parse([]byte(test.doc))
		var at *SyntaxError
		if !errors.As(err, &at) || !errors.Is(err, ErrMalformed) || err.Error() != test.want {
			t.Errorf("%s: got %v, want %s", test.doc, err, test.want)
		}
	}
}

// An object of very many equal or different keys takes time by its length only, and a
// huge document's memory is not kept for ever.
func TestManyKeys(t *testing.T) {
	var b strings.Builder
	b.WriteByte('{')
	for i := range 100000 {
		fmt.Fprintf(&b, `"key %d":%d,"same":%d,`, i%90000, i, i)
	}
	b.WriteString(`"end":0}`)
	var tape Tape
	if err := tape.Parse([]byte(b.String())); err != nil {
		t.Fatal(err)
	}
	live := 0
	for i := range tape.Tokens {
		if !tape.Tokens[i].Has(Dropped) {
			live++
		}
	}
	if live != 90000+2 || !tape.RepeatedKeys {
		t.Errorf("%d live members", live)
	}
	if err := tape.Parse([]byte(benchEvent)); err != nil || cap(tape.Tokens) > keepTokens || len(tape.tables) > 0 {
		t.Errorf("%v, room for %d tokens", err, cap(tape.Tokens))
	}
}

func TestReadersDoNotAllocate(t *testing.T) {
	doc := []byte(benchEvent[:len(benchEvent)-1] + `,"\u0061":"\u0062","o":{` + strings.Repeat(`"k":1,`, 40) + `"k":2}}`)
	var tape Tape
	p, values := NewPaths([]string{"event_id"}, []string{"a"}), make([]Value, 2)
	n := testing.AllocsPerRun(100, func() {
		if tape.Parse(doc) != nil || p.Find(doc, values) != nil || string(values[1].Raw) != `\u0062` {
			t.Fatal("not read")
		}
	})
	if n > 0 {
		t.Errorf("%v allocations", n)
	}
}
