package jsonscan

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// sameAsParse holds a document, read by shapes, against Parse: the tape, the error, and the places.
func sameAsParse(t *testing.T, s *Shapes, doc []byte) (known bool) {
	t.Helper()
	var got, want Tape
	places, err := s.Parse(&got, doc)
	wantErr := want.Parse(doc)
	if fmt.Sprint(err) != fmt.Sprint(wantErr) {
		t.Fatalf("%q: %v, want %v", doc, err, wantErr)
	}
	if len(got.Tokens) != len(want.Tokens) || got.RepeatedKeys != want.RepeatedKeys || got.LoneSurrogates != want.LoneSurrogates {
		t.Fatalf("%q: %+v, want %+v", doc, got, want)
	}
	for i := range got.Tokens {
		if got.Tokens[i] != want.Tokens[i] || !bytes.Equal(got.Key(i), want.Key(i)) {
			t.Fatalf("%q: token %d is %+v, want %+v", doc, i, got.Tokens[i], want.Tokens[i])
		}
	}
	if places == nil {
		return false
	}
	n := 0
	err = want.Each(func(l Leaf) error {
		if !reflect.DeepEqual(s.Path(places[n].Slot), l.Path) {
			t.Fatalf("%q: value %d is at %q, want %q", doc, n, s.Path(places[n].Slot), l.Path)
		}
		if raw := got.Raw(int(places[n].Token)); !bytes.Equal(raw, l.Raw) {
			t.Fatalf("%q: value %d is %q, want %q", doc, n, raw, l.Raw)
		}
		n++
		return nil
	})
	if err != nil || n != len(places) {
		t.Fatalf("%q: %d places, %d values, %v", doc, len(places), n, err)
	}
	return true
}

func TestDocumentsOfAKnownShape(t *testing.T) {
	var s Shapes
	for i, doc := range []struct {
		text  string
		known bool
	}{
		{`{"a":1,"b":{"c":"x","d":[1,{}]},"e":null}`, false},
		{`{"a":"y\n","b":{"c":true,"d":-1.5e3},"e":{ }}`, true},
		{`{"a":1,"b":{"c":"x","d":[1,{"e":[]}]},"e":{"f":1}}`, false}, // an object in the place of a value
		{`{"a":1,"b":{"c":"\ud800","d":""},"e":{"f":{}}}`, true},
		{`{"a":1,"b":{"c":"x","d":1},"e":2}`, true},
		{`{"a":1,"b":{"c":"x","d":1}}`, false}, // a value is missing
		{`{"a":1,"b":{"c":"x","d":1}}`, true},
		{`{"a":1, "b":{"c":"x","d":1}}`, false}, // white space
		{`{"a":1, "b":{"c":"x","d":1}} `, false},
		{`{"a":01,"b":{"c":"x","d":1}}`, false}, // no JSON
		{`{"a":1,"b":{"c":"x","d":1}`, false},
		{`{"a":1,"b":{"c":"x","d":1}}}`, false},
		{`{"a":1,"a":2}`, false}, // repeated, and not learned
		{`{"a":1,"a":2}`, false},
		{`{"\u0061":1}`, false},
		{`{"\u0061":1}`, false},
		{``, false},
		{`null`, false},
		{`{"a":1,"b":{"c":"x","d":1},"e":2}`, true},
		{"\xEF\xBB\xBF{\"a\":1}", false},
		{"\xEF\xBB\xBF{\"a\":\"\xff\"}", false},
		{"\xEF\xBB\xBF{\"a\":2}", true},
	} {
		s.rest = 0
		if known := sameAsParse(t, &s, []byte(doc.text)); known != doc.known {
			t.Errorf("document %d, %q: known: %t", i, doc.text, known)
		}
	}
}

// Documents without a common shape are tried now and then alone, and shapes stay within their bounds.
func TestDocumentsWithoutAShape(t *testing.T) {
	var s Shapes
	for i := range 20_000 {
		sameAsParse(t, &s, fmt.Appendf(nil, `{"%s%d":%d,"b":1}`, strings.Repeat("k", i%300), i, i))
	}
	if s.rest == 0 && s.misses < 2 || s.bytes > maxShapeBytes || len(s.slots) > maxSlots || len(s.slots[0].next) > maxNext {
		t.Errorf("%d slots, %d bytes, %d to begin with, %d misses", len(s.slots), s.bytes, len(s.slots[0].next), s.misses)
	}
	if s.misses > 20_000/maxRest+2*maxRest {
		t.Errorf("%d documents were tried", s.misses)
	}
}

// sameAsFind holds what paths find in a document by its shape against what they find in one they never saw.
func sameAsFind(t *testing.T, p *Paths, doc []byte) (known bool) {
	t.Helper()
	got, want := make([]Value, p.paths), make([]Value, p.paths)
	p.shapes.rest, p.rest = 0, 0
	misses := p.shapes.misses
	err, wantErr := p.Find(doc, got), p.find(doc, want)
	if fmt.Sprint(err) != fmt.Sprint(wantErr) {
		t.Fatalf("%q: %v, want %v", doc, err, wantErr)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%q: found %+v, want %+v", doc, got, want)
	}
	return err == nil && p.shapes.misses <= misses
}

// somePaths end at values and objects, inside of each other, and two of them at the same.
func somePaths() *Paths {
	return NewPaths([]string{"a"}, []string{"b", "c"}, []string{"b"}, []string{"b", "c", "d"}, []string{"e"}, []string{"a"}, []string{""})
}

func TestPathsOfAKnownShape(t *testing.T) {
	p := somePaths()
	for i, doc := range []struct {
		text  string
		known bool
	}{
		{`{"a":1,"b":{"c":"x","d":[1,{}]},"e":null}`, false},
		{`{"a":"y\n","b":{"c":true,"d":-1.5e3},"e":{ }}`, true},
		{`{"a":"\ud800","b":{"c":["\ud800"],"d":"\ud800"},"e":{}}`, true},
		{`{"a":"y","b":{"c":{"d":1},"d":2},"e":{"f":"\ud800"}}`, false}, // objects in the place of values
		{`{"a":"","b":{"c":{"d":""},"d":""},"e":{"f":""}}`, true},
		{`{"a":[1,"\ud800"],"b":{"c":{"d":{}},"d":{}},"e":{"f":[]}}`, true},
		{`{"a":1,"b":2}`, false},
		{`{"a":1,"b":{}}`, true},
		{`{"a":1,"b":2`, false}, // no JSON from here on
		{`{"a":1,"b":`, false},
		{`{"a":1,"b"`, false},
		{`{"a":1,"b":2} x`, false},
		{`{"a":01,"b":2}`, false},
		{`{"a":"\x","b":2}`, false},
		{"{\"a\":\"\x80\",\"b\":2}", false},
		{`{"a":` + strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth) + `,"b":2}`, false},
		{`{"a":` + strings.Repeat("[", MaxDepth-1) + strings.Repeat("]", MaxDepth-1) + `,"b":2}`, true},
		{`{"a":1,"a":2}`, false}, // repeated, and not learned
		{`{"a":1,"a":2}`, false},
		{`{"\u0061":1}`, false},
		{`{"\u0061":2}`, false},
		{``, false},
		{`null`, false},
		{`{}`, false},
		{`{}`, true},
		{`{"":1,"a":{"b":2}}`, false},
		{`{"":2,"a":{"b":1}}`, true},
	} {
		if known := sameAsFind(t, p, []byte(doc.text)); known != doc.known {
			t.Errorf("document %d, %q: known: %t", i, doc.text, known)
		}
	}
}

// What can't be learned is rarely tried, so that it costs hardly more than without shapes.
func TestPathsWithoutAShape(t *testing.T) {
	p := somePaths()
	values := make([]Value, p.paths)
	parsed := 0
	for i := range 20_000 {
		doc := fmt.Appendf(nil, `{"a":1,"%d":%d,"b":1}`, i, i)
		if i%2 == 0 {
			doc = []byte(`{"a":1,"b":1}`) // a known one in between
		}
		p.tape.doc = nil
		if err := p.Find(doc, values); err != nil || values[0].Kind != Number {
			t.Fatal(err, values)
		}
		if p.tape.doc != nil {
			parsed++
		}
	}
	if parsed > 20_000/maxRest+2*maxRest || p.shapes.Slots() > maxSlots {
		t.Errorf("%d documents were parsed to be learned, %d slots", parsed, p.shapes.Slots())
	}
}

func FuzzPaths(f *testing.F) {
	for _, seed := range []string{`{"a":1,"b":{"c":"x"}}` + "\n" + `{"a":"","b":{"c":{}}}` + "\n" + `{"a":"","b":{"c":{"d":1}}}`, "{}\n{ }\n{}", `{"a":1,"a":2}` + "\n" + `{"a":1}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, docs []byte) {
		p := somePaths()
		for range 2 {
			for doc := range bytes.SplitSeq(docs, []byte("\n")) {
				sameAsFind(t, p, doc)
			}
		}
	})
}

func FuzzShapes(f *testing.F) {
	for _, seed := range []string{`{"a":1,"b":{"c":"x"}}` + "\n" + `{"a":"","b":{"c":{}}}` + "\n" + `{"a":"","b":{"c":{"d":1}}}`, "{}\n{ }\n{}", `{"a":1,"a":2}` + "\n" + `{"a":1}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, docs []byte) {
		var s Shapes
		for range 2 {
			for doc := range bytes.SplitSeq(docs, []byte("\n")) {
				s.rest = 0
				sameAsParse(t, &s, doc)
			}
		}
	})
}
