package funcs

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/vec"
)

// What would take a process's memory or time is an error that says which limit it passes, and comes at once. c is a text
// of 100,000 bytes.
func TestHostile(t *testing.T) {
	long := vec.Of(vec.Text, vec.Value{Type: vec.Text, Text: strings.Repeat("ab", 50_000)})
	batch := &vec.Batch{Len: 1, Cols: []*vec.Vector{long}}
	scope := columns{{Name: "c", T: vec.Text}}
	for _, text := range []string{
		"repeat('x', 2000000000)", "repeat(c, 1000000000)", "repeat(c, 11)", "repeat(c, 9223372036854775807)", "lpad(c, 2000000000, 'x')", "rpad('', 9223372036854775807, 'ä')",
		"replace(c, 'a', c)", "regexp_replace(c, 'a', c, 'g')", "regexp_replace(c, '(.*)', '\\1\\1\\1\\1\\1\\1\\1\\1\\1\\1\\1\\1', 'g')",
		"concat(c, c, c, c, c, c, c, c, c, c, c)", "concat_ws(c, 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l')", "repeat(c, 6) || repeat(c, 6)",
		"format('{}{}{}{}{}{}{}{}{}{}{}', c, c, c, c, c, c, c, c, c, c, c)", "format('{:10001}', 1)", "format('{:.99999999999999999999}', 1.5)", "printf('%99999d', 1)",
		"levenshtein(c, c)", "hex(hex(hex(hex(c))))", "url_encode(url_encode(repeat('ä', 200000)))", "regexp_escape(regexp_escape(repeat('.', 300000)))", "json_array(json_array(c, c, c, c, c), json_array(c, c, c, c, c))::VARCHAR || to_json(c)", "json_array(c, c, c, c, c, c, c, c, c, c, c)", "json_object('a', c, 'b', c, 'c', c, 'd', c, 'e', c, 'f', c, 'g', c, 'h', c, 'i', c, 'j', c, 'k', c)",
		"regexp_matches('a', repeat('a', 2000))", "regexp_matches('a', 'a{1001}')", "regexp_matches('a', '((((a{30}){30}){30}){30})')",
		"json_valid(repeat('[', 100000)) AND json_extract(repeat('[', 100000), 'a') IS NULL", "json_contains('[' || repeat('[0],', 20000) || '[1]]', '[' || repeat('[1],', 20000) || '[1]]')",
	} {
		begin := time.Now()
		got, err := answer(t, text, scope, batch)
		if text[:10] == "json_valid" {
			if got != "false\tBOOLEAN" {
				t.Errorf("%s: %s, %v", text, got, err)
			}
			continue
		}
		if got != "ERR" {
			t.Errorf("%.60s: an answer of %d bytes", text, len(got))
			continue
		}
		if code := fail.CodeOf(err); code != fail.TooLarge && code != fail.Value {
			t.Errorf("%.60s: %s: %v", text, code, err)
		}
		if len(err.Error()) > 400 {
			t.Errorf("%.60s: an error of %d bytes", text, len(err.Error()))
		}
		if d := time.Since(begin); d > 5*time.Second {
			t.Errorf("%.60s: took %s", text, d)
		}
	}
}

// Regular expressions take time by the length of text and pattern alone.
func TestRegularExpressionsDoNotBacktrack(t *testing.T) {
	for _, call := range []string{"regexp_matches(repeat('a', 100000), '(a+)+$b')", "regexp_full_match(repeat('a', 100000), '(a|a)*b')", "regexp_extract(repeat('a', 50000), '(a*)*b', 1) <> ''"} {
		begin := time.Now()
		if got, err := answer(t, call, nil, &vec.Batch{Len: 1}); got != "false\tBOOLEAN" {
			t.Errorf("%s: %s, %v", call, got, err)
		}
		if d := time.Since(begin); d > 5*time.Second {
			t.Errorf("%s took %s", call, d)
		}
	}
}

// The texts of one batch are bounded too, and a query that was ended does not go on to the batch's end.
func TestBatchesAreBounded(t *testing.T) {
	values := make([]vec.Value, 4000)
	for i := range values {
		values[i] = vec.Value{Type: vec.Int, Int: int64(i%10 + 1_000_000)}
	}
	column := vec.Of(vec.Int, values...)
	batch := &vec.Batch{Len: column.Len, Cols: []*vec.Vector{column}}
	scope := columns{{Name: "n", T: vec.Int}}
	if _, err := answer(t, "repeat('x', n)", scope, batch); fail.CodeOf(err) != fail.TooLarge {
		t.Errorf("repeat: %v", err)
	}
	e, err := bind("repeat('x', n % 10)", scope)
	if err != nil {
		t.Fatal(err)
	}
	gone := errors.New("the client left")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(gone)
	if _, err := e.Eval(&expr.Scratch{Ctx: ctx}, batch); !errors.Is(err, gone) {
		t.Errorf("after the query's end: %v", err)
	}
}

// Formats, patterns and paths of any text give an answer or an error.
func FuzzTexts(f *testing.F) {
	for _, s := range []string{"%Y-%m-%d %H:%M:%S.%f %z", "{:>8.2f} {0}", "%-8s|%05d", `(a|b)*\1`, "$.a[0].\"b\"", "[[1]]", `\0\\`, "%-%", "{:x<+#010,.3e}"} {
		f.Add(s, "2026-01-02 10:20")
		f.Add("2026-01-02", s)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if strings.ContainsRune(a+b, 0) || len(a)+len(b) > 2000 || strings.ToValidUTF8(a+b, "") != a+b {
			return
		}
		quoted := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
		x, y := quoted(a), quoted(b)
		for _, call := range []string{
			"strptime(" + x + ", " + y + ")", "strftime(TIMESTAMP '2026-03-31 10:20:30.5', " + x + ")", "format(" + x + ", " + y + ", 1, 2.5, true)", "printf(" + x + ", " + y + ", 1, 2.5)",
			"regexp_replace(" + x + ", " + y + ", " + x + ", 'g')", "regexp_extract(" + x + ", " + y + ", 1)", "regexp_full_match(" + x + ", " + y + ")",
			"json_extract(" + x + ", " + y + ")", "json_contains(" + x + ", " + y + ")", "date_trunc(" + x + ", now())", "timezone(" + x + ", now())", "split_part(" + x + ", " + y + ", -1)",
			"translate(" + x + ", " + y + ", " + x + ")", "url_decode(" + x + ")", "from_base64(" + x + ")", "levenshtein(" + x + ", " + y + ")", "hex(" + x + ")",
		} {
			answer(t, call, nil, &vec.Batch{Len: 1})
		}
	})
}
