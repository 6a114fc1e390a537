// Package jsonpath finds values in the text of a JSON document by the paths that SQL's functions take, without
// making a tree of it. (internal/event/jsonscan is for events: objects alone, read whole, of equal keys the last.)
//
// # Paths
//
//   - $.key, $."key with.dot", $[0], $[-1] and $[#-1], the last, one behind the other; $ is the document;
//   - /key/0, a JSON pointer, with ~1 for / and ~0 for ~;
//   - any other text is one key, whatever is in it; the empty text is the document.
//
// # Documents
//
// A document is any one value of RFC 8259. Of equal keys in one object the first counts, as in DuckDB. Half of a
// surrogate pair reads as U+FFFD. Containers nest at most MaxDepth deep.
package jsonpath

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/togodb/togo/query/fail"
)

// MaxDepth bounds the nesting of a document.
const MaxDepth = 1000

// maxSteps bounds a path.
const maxSteps = 500

type step struct {
	key      string
	isKey    bool
	index    int64
	isIndex  bool
	backward bool // the index counts from the end: 1 is the last
}

// Path is a compiled path. It is immutable.
type Path struct{ steps []step }

// Index is the path of an element of an array; a negative one counts from the end.
func Index(n int64) Path {
	if n < 0 {
		return Path{[]step{{isIndex: true, index: -n, backward: true}}}
	}
	return Path{[]step{{isIndex: true, index: n}}}
}

// Compile reads a path.
func Compile(text string) (Path, error) {
	var p Path
	switch {
	case text == "":
		return p, nil
	case text[0] == '/':
		for _, key := range strings.Split(text[1:], "/") {
			key = strings.ReplaceAll(strings.ReplaceAll(key, "~1", "/"), "~0", "~")
			s := step{key: key, isKey: true}
			if n, err := strconv.ParseUint(key, 10, 31); err == nil && (key == "0" || key[0] != '0') {
				s.index, s.isIndex = int64(n), true
			}
			p.steps = append(p.steps, s)
		}
	case text[0] == '$':
		if err := p.dollar(text); err != nil {
			return p, err
		}
	default:
		p.steps = []step{{key: text, isKey: true}}
	}
	if len(p.steps) > maxSteps {
		return p, fail.New(fail.TooLarge, "a JSON path of more than %d steps", maxSteps)
	}
	return p, nil
}

func wrong(at string) error {
	if len(at) > 40 {
		at = at[:40] + "..."
	}
	return fail.New(fail.Value, "a JSON path that is wrong at %q; write it as $.key[0].\"other key\"", at)
}

func (p *Path) dollar(text string) error {
	for rest := text[1:]; rest != ""; {
		switch rest[0] {
		case '.':
			key, n, err := dotted(rest[1:])
			if err != nil {
				return err
			}
			p.steps, rest = append(p.steps, step{key: key, isKey: true}), rest[1+n:]
		case '[':
			end := strings.IndexByte(rest, ']')
			if end < 0 {
				return wrong(rest)
			}
			inside := rest[1:end]
			if inside == "*" {
				return many(rest)
			}
			s := step{isIndex: true}
			if strings.HasPrefix(inside, "#") {
				if inside == "#" { // the place behind the last, where nothing is
					inside = "#-0"
				}
				if inside[1] != '-' {
					return wrong(rest)
				}
				s.backward, inside = true, inside[2:]
			} else if strings.HasPrefix(inside, "-") {
				s.backward, inside = true, inside[1:]
			}
			n, err := strconv.ParseUint(inside, 10, 31)
			if err != nil {
				return wrong(rest)
			}
			s.index = int64(n)
			p.steps, rest = append(p.steps, s), rest[end+1:]
		default:
			return wrong(rest)
		}
	}
	return nil
}

func many(at string) error {
	return fail.New(fail.Unsupported, "a JSON path with a wildcard at %q gives a list, which there is not; json_contains looks into all elements", at[:min(len(at), 10)])
}

// dotted reads a key behind a dot, and how long it is there.
func dotted(s string) (key string, n int, err error) {
	if s == "" || s[0] == '[' {
		return "", 0, wrong("." + s)
	}
	if s[0] == '.' || s == "*" || strings.HasPrefix(s, "*.") || strings.HasPrefix(s, "*[") {
		return "", 0, many("." + s)
	}
	if s[0] != '"' {
		if n = strings.IndexAny(s, ".["); n < 0 {
			n = len(s)
		}
		return s[:n], n, nil
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			if b.Len() == 0 {
				return "", 0, wrong("." + s)
			}
			return b.String(), i + 1, nil
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return "", 0, wrong("." + s)
}

// Find gives the text of the value at a path. What lies behind it in the document is not looked at: a document that is
// not surely good is given to Valid first.
func Find(doc string, p Path) (raw string, found bool, err error) {
	r := scanner{s: doc}
	r.space()
	for _, s := range p.steps {
		if r.i >= len(doc) {
			return "", false, r.broken("the end")
		}
		switch {
		case doc[r.i] == '{' && s.isKey:
			found, err = r.member(s.key)
		case doc[r.i] == '[' && s.isIndex:
			found, err = r.element(s)
		default:
			return "", false, nil
		}
		if err != nil || !found {
			return "", false, err
		}
	}
	start := r.i
	if err := r.value(0); err != nil {
		return "", false, err
	}
	return doc[start:r.i], true, nil
}

// Valid tells what is wrong with a document, or nil.
func Valid(doc string) error {
	r := scanner{s: doc}
	r.space()
	if err := r.value(0); err != nil {
		return err
	}
	r.space()
	if r.i < len(doc) {
		return r.broken("text behind the value")
	}
	return nil
}

// Each calls f for each element of an array, in order, or each member of an object, with its unescaped key.
func Each(raw string, f func(key, value string) error) error {
	r := scanner{s: raw}
	r.space()
	if r.i >= len(raw) || raw[r.i] != '[' && raw[r.i] != '{' {
		return nil
	}
	object := raw[r.i] == '{'
	r.i++
	for first := true; ; first = false {
		more, err := r.next(first, object)
		if err != nil || !more {
			return err
		}
		key := ""
		if object {
			if key, err = r.rawKey(); err != nil {
				return err
			}
			key = Unquote(key)
		}
		start := r.i
		if err := r.value(0); err != nil {
			return err
		}
		if err := f(key, raw[start:r.i]); err != nil {
			return err
		}
	}
}

// Unquote is the text of a JSON string, which raw is with its quotes.
func Unquote(raw string) string {
	s := raw[1 : len(raw)-1]
	at := strings.IndexByte(s, '\\')
	if at < 0 {
		return s
	}
	out := make([]byte, 0, len(s))
	for ; at >= 0; at = strings.IndexByte(s, '\\') {
		out = append(out, s[:at]...)
		c := s[at+1]
		s = s[at+2:]
		switch c {
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		case 'u':
			r := hex4(s)
			s = s[4:]
			if utf16.IsSurrogate(r) {
				second := rune(unicode.ReplacementChar)
				if len(s) >= 6 && s[0] == '\\' && s[1] == 'u' {
					second = hex4(s[2:])
				}
				if r = utf16.DecodeRune(r, second); r != unicode.ReplacementChar {
					s = s[6:]
				}
			}
			out = utf8.AppendRune(out, r)
			continue
		}
		out = append(out, c)
	}
	return string(append(out, s...))
}

// hex4 is the number of four digits that were checked before.
func hex4(s string) rune {
	n, _ := strconv.ParseUint(s[:4], 16, 32)
	return rune(n)
}
