package fragment

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func pathOfKeys(keys ...string) string {
	var path []byte
	for i, k := range keys {
		if i > 0 {
			path = append(path, '.')
		}
		path = appendKey(path, []byte(k))
	}
	return string(path)
}

func TestNamesByTheRule(t *testing.T) {
	c := NewColumns(1000)
	for _, test := range []struct {
		keys []string
		typ  Type
		want string
	}{
		{[]string{"a"}, String, "a"},
		{[]string{"a"}, Int64, "a@int64"},
		{[]string{"A"}, String, "%41"},
		{[]string{"A"}, Double, "%41@double"},
		{[]string{"user", "id"}, Int64, "user.id"},
		{[]string{"user", "Id"}, Int64, "user.%49d"},
		{[]string{"http.status"}, Int64, "http.status"},
		{[]string{"timestamp"}, String, "%timestamp"},
		{[]string{"TimeStamp"}, String, "%%54ime%53tamp"},
		{[]string{"id"}, String, "%id"},
		{[]string{"_rest"}, String, "%_rest"},
		{[]string{"@timestamp"}, String, "@timestamp"},
		{[]string{"x@int64"}, String, "x%@int64"},
		{[]string{"x"}, String, "x"},
		{[]string{"x"}, Int64, "x@int64"},
		{[]string{"x@INT64"}, String, "x%@%49%4E%5464"},
		{[]string{""}, String, "%-"},
		{[]string{""}, Int64, "%-@int64"},
		{[]string{"@int64"}, String, "%@int64"},
		{[]string{"", ""}, String, "%-.%-"},
		{[]string{"."}, Int64, "%-.%-@int64"},
		{[]string{"a..b"}, String, "a.%-.b"},
		{[]string{"100%"}, String, "100%25"},
		{[]string{"nul\x00\x1f\x7f\u0085"}, String, "nul%00%1F%7F%C2%85"},
		{[]string{"ünï"}, String, "ünï"},
		{[]string{"ÜnÏ"}, String, "%C3%9Cn%C3%8F"},
		{[]string{"kelvin"}, String, "kelvin"},
		{[]string{"\u212Aelvin"}, String, "%E2%84%AAelvin"},
	} {
		path := pathOfKeys(test.keys...)
		c = c.With([]PathType{{path, test.typ}})
		got, ok := c.Lookup(path, test.typ)
		if !ok || got.Name != test.want {
			t.Errorf("%q %v: name %q, want %q", test.keys, test.typ, got.Name, test.want)
		}
		if back := pathOfName(got.Name); back != path {
			t.Errorf("%q: name %q gives path %q, want %q", test.keys, got.Name, back, path)
		}
	}
	checkNames(t, c)
}

// checkNames tells that no two names of a list are equal if case is ignored, and that
// each gives its path and type back.
func checkNames(t interface{ Fatalf(string, ...any) }, c *Columns) {
	seen := map[string]string{}
	for _, col := range c.All() {
		for _, f := range []string{strings.ToLower(col.Name), foldName(col.Name)} {
			if other, ok := seen[f]; ok && other != col.Name {
				t.Fatalf("names %q and %q differ only in case", other, col.Name)
			}
			seen[f] = col.Name
		}
		if ownColumns[strings.ToLower(col.Name)] {
			t.Fatalf("%q is one of our own columns", col.Name)
		}
		if got := pathOfName(col.Name); got != col.Path {
			t.Fatalf("name %q gives path %q, want %q", col.Name, got, col.Path)
		}
		base, suffix := splitName(col.Name)
		if suffix != "" && suffix != col.Type.String() {
			t.Fatalf("name %q has suffix %q, type is %v", col.Name, suffix, col.Type)
		}
		if first := c.list[c.first(col.Path)]; first.Name != base {
			t.Fatalf("name %q: base %q, the path's first column is %q", col.Name, base, first.Name)
		}
	}
}

func (c *Columns) first(path string) int {
	for i := range c.list {
		if c.list[i].Path == path {
			return i
		}
	}
	panic("no such path")
}

// oddKey draws keys near every edge of the rule.
func oddKey() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{
			"", ".", "..", "a", "A", "b", "B", "a.b", "A.b", "a.", ".a", "timestamp", "Timestamp", "ID", "id", "nanos", "_seq", "_REST", "_keys", "_raw",
			"a@int64", "a@INT64", "@json", "a@", "@", "%", "%-", "%41", "%a", "a%", "%@int64", "k", "K", "\u212A", "ß", "ẞ", "ſ", "s", "S", "é", "É",
			"\x00", "\n", "\u0085", "\u202e", "😀", "\"", "\\", "__proto__", "service", "status", "message", "x y",
		}),
		rapid.StringMatching(`[aAbB%@.\-0-9]{0,5}`),
		rapid.String(),
	)
}

func TestNamesAreReversibleAndDistinct(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := NewColumns(200)
		keysOf := map[string][]string{}
		for range rapid.IntRange(1, 40).Draw(t, "n") {
			keys := rapid.SliceOfN(oddKey(), 1, 3).Draw(t, "keys")
			path := pathOfKeys(keys...)
			var split []string
			for _, k := range keys {
				split = append(split, strings.Split(k, ".")...)
			}
			if got := keysOfPath(path); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", split) {
				t.Fatalf("path %q of %q gives keys %q", path, keys, got)
			}
			if old, ok := keysOf[path]; ok && fmt.Sprintf("%q", old) != fmt.Sprintf("%q", split) {
				t.Fatalf("path %q is of %q and of %q", path, old, split)
			}
			keysOf[path] = split
			c = c.With([]PathType{{path, Type(rapid.IntRange(1, 5).Draw(t, "type"))}})
		}
		checkNames(t, c)
	})
}

func TestColumnListReadsBackWhatItWrote(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := NewColumns(100)
		for range rapid.IntRange(0, 30).Draw(t, "n") {
			c = c.With([]PathType{{pathOfKeys(oddKey().Draw(t, "key")), Type(rapid.IntRange(1, 5).Draw(t, "type"))}})
		}
		got, nonce, err := decodeColumns(c.encode("t", "n1"), "t", 4, 100)
		if err != nil || nonce != "n1" || got.Version != 4 {
			t.Fatalf("%v %q %v", got, nonce, err)
		}
		if fmt.Sprint(got.All()) != fmt.Sprint(c.All()) {
			t.Fatalf("got %v, want %v", got.All(), c.All())
		}
	})
}

func FuzzDecodeColumns(f *testing.F) {
	f.Add(NewColumns(9).With([]PathType{{"a", Int64}, {"a", JSON}, {"A", String}}).encode("t", "n"))
	f.Add([]byte(`{"format":2}`))
	f.Add([]byte(`{"format":1,"tenant":"t","columns":[{"path":"a","type":"int64","name":"b","field_id":100}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		c, nonce, err := decodeColumns(body, "t", 1, 1000)
		if err != nil {
			return
		}
		if again, n, err := decodeColumns(c.encode("t", nonce), "t", 1, 1000); err != nil || n != nonce || fmt.Sprint(again.All()) != fmt.Sprint(c.All()) {
			t.Fatalf("%v", err)
		}
	})
}
