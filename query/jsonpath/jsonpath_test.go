package jsonpath

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestFind(t *testing.T) {
	const doc = ` { "a" : {"b": [1, [2], {"c": null}]}, "a.b": "x", "a/b": 7, "~": 8, "d\u0065": "esc", "": 9, "0": 10, "a": 2 } `
	for _, c := range []struct{ path, want string }{
		{"$", strings.TrimSpace(doc)}, {"", strings.TrimSpace(doc)}, {"a", `{"b": [1, [2], {"c": null}]}`}, {"$.a.b[0]", "1"}, {"$.a.b[1][0]", "2"}, {"$.a.b[-1].c", "null"},
		{"$.a.b[#-3]", "1"}, {"$.a.b[#-4]", ""}, {"$.a.b[3]", ""}, {"$.a.b[-4]", ""}, {"$.a.b[#]", ""}, {"a.b", `"x"`}, {`$."a.b"`, `"x"`}, {"$.a.x", ""}, {"$.a.b.c", ""},
		{"/a/b/1/0", "2"}, {"/a~1b", "7"}, {"/~0", "8"}, {"/", "9"}, {"/0", "10"}, {"/a/b/01", ""}, {"de", `"esc"`}, {"$.de", `"esc"`}, {"$[0]", ""},
	} {
		p, err := Compile(c.path)
		if err != nil {
			t.Errorf("%s: %v", c.path, err)
			continue
		}
		raw, found, err := Find(doc, p)
		if err != nil || found != (c.want != "") || raw != c.want {
			t.Errorf("%s: got %q %v %v, want %q", c.path, raw, found, err, c.want)
		}
	}
	for _, path := range []string{"$a", "$.", "$..a", "$.*", "$[*]", "$.a.", "$[a]", "$[", "$[0", "$[]", "$[#-]", `$."a`, `$.""`, "$ .a", "$[0]x", "$[9999999999]", "$" + strings.Repeat(".a", maxSteps+1)} {
		if p, err := Compile(path); err == nil {
			t.Errorf("%.30s: %v", path, p)
		}
	}
	for _, n := range []int64{0, -1, 1, -2, 5} {
		raw, found, err := Find(`[3,4]`, Index(n))
		if want := map[int64]string{0: "3", -1: "4", 1: "4", -2: "3"}[n]; err != nil || raw != want || found != (want != "") {
			t.Errorf("%d: %q %v %v", n, raw, found, err)
		}
	}
}

func TestDeep(t *testing.T) {
	nest := func(n int) string { return strings.Repeat(`[`, n) + strings.Repeat(`]`, n) }
	if err := Valid(nest(MaxDepth)); err != nil {
		t.Error(err)
	}
	for _, doc := range []string{nest(MaxDepth + 1), strings.Repeat("[", 1<<20), strings.Repeat(`{"a":`, 1<<20)} {
		if err := Valid(doc); err == nil {
			t.Errorf("%.20s of %d bytes is valid", doc, len(doc))
		}
	}
}

func TestContainsIsBounded(t *testing.T) {
	many := "[" + strings.Repeat("[0],", 9999) + "[1]]"
	if found, err := Contains(many, strings.ReplaceAll(many, "0", "1")); err == nil {
		t.Errorf("found %v", found)
	}
	if found, err := Contains(many, `[[1]]`); err != nil || !found {
		t.Errorf("found %v, %v", found, err)
	}
}

// document draws the text of a JSON value, with white space and escapes.
func document(t *rapid.T, depth int) string {
	space := rapid.SampledFrom([]string{"", "", " ", "\n\t"})
	w := func() string { return space.Draw(t, "space") }
	str := rapid.SampledFrom([]string{`""`, `"a"`, `"b"`, `"ä\u00e4"`, `"\n\"\\\/"`, `"\ud83d\ude00"`, `"a\u0000"`})
	kind := rapid.IntRange(0, 6).Draw(t, "kind")
	if depth == 0 {
		kind %= 5
	}
	switch kind {
	case 0:
		return rapid.SampledFrom([]string{"0", "-0", "17", "-3", "1.50", "1e3", "0.1", "12345678901234567890", "1e400", "5E-7"}).Draw(t, "number")
	case 1, 2:
		return str.Draw(t, "string")
	case 3:
		return "true"
	case 4:
		return "null"
	}
	var parts []string
	for i := range rapid.IntRange(0, 3).Draw(t, "n") {
		part := w() + document(t, depth-1) + w()
		if kind == 5 {
			key := string(rune('0'+i)) + str.Draw(t, "key")[1:] // of equal keys only the first counts
			part = w() + `"` + key + w() + ":" + part
		}
		parts = append(parts, part)
	}
	if kind == 5 {
		return "{" + strings.Join(parts, ",") + w() + "}"
	}
	return "[" + strings.Join(parts, ",") + w() + "]"
}

func TestNormalForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc := document(t, 4)
		if err := Valid(doc); err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
		once := string(AppendMin(nil, doc))
		if err := Valid(once); err != nil {
			t.Fatalf("%s became %s: %v", doc, once, err)
		}
		if short := Min(strings.TrimSpace(doc)); short != once {
			t.Fatalf("%s became %s and %s", doc, once, short)
		}
		if twice := string(AppendMin(nil, once)); twice != once {
			t.Fatalf("%s became %s and then %s", doc, once, twice)
		}
		if found, err := Contains(doc, once); err != nil || !found {
			t.Fatalf("%s is not in %s: %v", once, doc, err)
		}
	})
}

// What is valid is what encoding/json takes, but for depth; and nothing panics.
func FuzzValid(f *testing.F) {
	for _, doc := range []string{`{"a":[1,2.5e3,"x\u00e4",null,true]}`, `[1,]`, `{"a" 1}`, `"\ud800"`, "01", "-", `"\x"`, " ", "[[]]", "1.", "nul"} {
		f.Add(doc, "$.a[0]")
	}
	f.Fuzz(func(t *testing.T, doc, path string) {
		err := Valid(doc)
		if utf8.ValidString(doc) && len(doc) < MaxDepth && json.Valid([]byte(doc)) != (err == nil) {
			t.Fatalf("%q: %v", doc, err)
		}
		p, bad := Compile(path)
		if bad == nil {
			raw, found, badDoc := Find(doc, p)
			if found && err == nil && (badDoc != nil || Valid(raw) != nil) {
				t.Fatalf("%q at %q: %q, %v", doc, path, raw, badDoc)
			}
		}
		if err == nil {
			AppendMin(nil, doc)
		}
	})
}
