package jsonscan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// oracle judges doc by encoding/json: whether it is accepted, and its value.
func oracle(doc []byte) (map[string]any, error) {
	trimmed := bytes.TrimPrefix(doc, []byte("\ufeff"))
	var value any
	switch {
	case len(bytes.Trim(trimmed, " \t\r\n")) == 0:
		return nil, ErrEmpty
	case !utf8.Valid(doc) || !json.Valid(trimmed):
		return nil, ErrMalformed
	}
	d := json.NewDecoder(bytes.NewReader(trimmed))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		return nil, ErrMalformed
	}
	switch v := value.(type) {
	case nil:
		return nil, ErrEmpty
	case map[string]any:
		return v, nil
	}
	return nil, ErrNotObject
}

// rebuild makes the document's value from the leaves of the tape.
func rebuild(t *Tape) map[string]any {
	root := map[string]any{}
	err := t.Each(func(l Leaf) error {
		at := root
		for _, key := range l.Path[:len(l.Path)-1] {
			inner, ok := at[string(key)].(map[string]any)
			if !ok {
				inner = map[string]any{}
				at[string(key)] = inner
			}
			at = inner
		}
		last := string(l.Path[len(l.Path)-1])
		if _, ok := at[last]; ok {
			panic("a leaf comes twice: " + last)
		}
		at[last] = leafValue(l.Kind, l.Raw)
		return nil
	})
	if err != nil {
		panic(err)
	}
	return root
}

func leafValue(k Kind, raw []byte) (v any) {
	switch k {
	case Null:
		return nil
	case Bool:
		return string(raw) == "true"
	case Number:
		return json.Number(raw)
	case String:
		return string(AppendUnescaped(nil, raw))
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		panic(err)
	}
	return v
}

// compare checks both readers against the oracle and against each other.
func compare(doc []byte) error {
	var tape Tape
	err := tape.Parse(doc)
	value, want := oracle(doc)
	if errors.Is(err, ErrTooDeep) {
		want = ErrTooDeep // encoding/json has another bound; the depth has tests of its own
	}
	if !errors.Is(err, want) || (err == nil) != (want == nil) {
		return fmt.Errorf("tape: %v, want %v", err, want)
	}
	paths := [][]string{{"a"}, {"b", "a"}, {"b"}, {"a", "b", "c"}, {""}, {"é"}}
	p, found := NewPaths(paths...), make([]Value, len(paths))
	if e := p.Find(doc, found); fmt.Sprint(e) != fmt.Sprint(err) {
		return fmt.Errorf("paths: %v, tape: %v", e, err)
	}
	if err != nil {
		if len(tape.Tokens) > 0 || tape.RepeatedKeys || tape.LoneSurrogates {
			return errors.New("the tape is not empty after an error")
		}
		return nil
	}
	if got := rebuild(&tape); !reflect.DeepEqual(got, value) {
		return fmt.Errorf("tape: %v, want %v", got, value)
	}
	for i, path := range paths {
		if err := compareFound(path, found[i], value); err != nil {
			return err
		}
	}
	return nil
}

func compareFound(path []string, found Value, root map[string]any) error {
	var want any = root
	for _, key := range path {
		inner, _ := want.(map[string]any) // of anything else: nil, which holds nothing
		var ok bool
		if want, ok = inner[key]; !ok {
			if found.Kind != 0 {
				return fmt.Errorf("path %q found, but is not there", path)
			}
			return nil
		}
	}
	if found.Kind == Object {
		if _, ok := want.(map[string]any); !ok {
			return fmt.Errorf("path %q: an object, want %v", path, want)
		}
		return nil
	}
	if found.Kind == 0 || !reflect.DeepEqual(leafValue(found.Kind, found.Raw), want) {
		return fmt.Errorf("path %q: %v, want %v", path, found, want)
	}
	return nil
}

// drawValue writes a random value, of few keys so that they repeat.
func drawValue(t *rapid.T, b *strings.Builder, depth int) {
	space := func() { b.WriteString(rapid.SampledFrom([]string{"", "", "", " ", "\n\t", "\r"}).Draw(t, "space")) }
	space()
	most := 7
	if depth == 0 {
		most = 5
	}
	switch rapid.IntRange(0, most).Draw(t, "kind") {
	case 0:
		b.WriteString(rapid.SampledFrom([]string{"null", "true", "false"}).Draw(t, "word"))
	case 1, 2:
		b.WriteString(rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,5})?([eE][+-]?[0-9]{1,3})?`).Draw(t, "number"))
	case 3, 4, 5:
		drawString(t, b)
	case 6:
		b.WriteByte('[')
		for i := range rapid.IntRange(0, 4).Draw(t, "elements") {
			if i > 0 {
				b.WriteByte(',')
			}
			drawValue(t, b, depth-1)
		}
		b.WriteByte(']')
	case 7:
		drawObject(t, b, depth-1)
	}
	space()
}

func drawObject(t *rapid.T, b *strings.Builder, depth int) {
	b.WriteByte('{')
	n := rapid.SampledFrom([]int{0, 1, 2, 3, 5, 80}).Draw(t, "members")
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		if n == 80 {
			fmt.Fprintf(b, `"k%d":%d`, rapid.IntRange(0, 300).Draw(t, "k"), i)
			continue
		}
		b.WriteString(rapid.SampledFrom([]string{`"a"`, `"b"`, `"c"`, `"\u0061"`, `"\u0062"`, `""`, `"é"`, `"\u00e9"`, `"a.b"`, `"a long key \n"`, `"\ud800"`}).Draw(t, "key"))
		b.WriteByte(':')
		drawValue(t, b, depth)
	}
	b.WriteByte('}')
}

func drawString(t *rapid.T, b *strings.Builder) {
	b.WriteByte('"')
	for range rapid.IntRange(0, 6).Draw(t, "pieces") {
		b.WriteString(rapid.SampledFrom([]string{"x", "plain text of some length", `\"`, `\\`, `\/`, `\b\f\n\r\t`, `\u0000`, `\u00E9`, "é", "日本", "😀", "\x7f",
			`\ud83d\ude00`, `\uD83D`, `\uDE00`, `\ud83d\ud83d\ude00`, `\ud83dx`, "\u2028", "\ufeff", "[{"}).Draw(t, "piece"))
	}
	b.WriteByte('"')
}

// bend changes a byte or two of the document, so that most are no JSON any more.
func bend(t *rapid.T, doc []byte) []byte {
	for range rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "bends") {
		if len(doc) == 0 {
			break
		}
		i := rapid.IntRange(0, len(doc)-1).Draw(t, "at")
		switch rapid.IntRange(0, 2).Draw(t, "how") {
		case 0:
			doc = append(doc[:i:i], doc[i+1:]...)
		case 1:
			c := rapid.SampledFrom([]byte("\x00\x1f \"\\{}[],:0123456789-+.eEutfn\x80\xc0\xe0\xed\xf0\xff")).Draw(t, "byte")
			doc = append(doc[:i:i], append([]byte{c}, doc[i:]...)...)
		case 2:
			doc = doc[:i]
		}
	}
	return doc
}

func TestReadersAgreeWithEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		b.WriteString(rapid.SampledFrom([]string{"", "", "", "\ufeff", " "}).Draw(t, "start"))
		if rapid.IntRange(0, 9).Draw(t, "object") == 0 {
			drawValue(t, &b, 2)
		} else {
			drawObject(t, &b, 3)
		}
		doc := bend(t, []byte(b.String()))
		if err := compare(doc); err != nil {
			t.Fatalf("%q: %v", doc, err)
		}
	})
}

func FuzzReaders(f *testing.F) {
	for _, s := range []string{benchEvent, `{"a":{"b":{"c":1}},"\u0061":[{"a":"\ud800"}]}`, "\ufeff{}", `null`, `[1,{"a":-0.5e+7}]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		if err := compare(doc); err != nil {
			t.Fatalf("%q: %v", doc, err)
		}
	})
}
