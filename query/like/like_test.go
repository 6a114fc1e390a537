package like

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// TestMatch compares with the same pattern as a regular expression.
func TestMatch(t *testing.T) {
	matched := 0
	for seed := range uint64(20000) {
		r := rand.New(rand.NewPCG(seed, 1))
		pattern, text := letters(r, "ab%_éA$", 6), letters(r, "abéAB$ %", 8)
		escape := []string{"", "$"}[r.IntN(2)]
		fold := r.IntN(2) == 0
		p, err := New(pattern, escape, fold, 0)
		if err != nil {
			if !strings.HasSuffix(pattern, "$") {
				t.Fatalf("%q ESCAPE %q: %v", pattern, escape, err)
			}
			continue
		}
		want := asRegexp(pattern, escape, fold).MatchString(text)
		out := []int64{9, 9}
		p.Match([]string{text, text}, nil, out)
		if got := out[0] == 1; got != want || out[0] != out[1] {
			t.Fatalf("%q LIKE %q ESCAPE %q (fold %v) is %v", text, pattern, escape, fold, got)
		}
		if want {
			matched++
			if !strings.HasPrefix(text, p.Head()) {
				t.Fatalf("%q matches %q, which does not begin with %q", text, pattern, p.Head())
			}
		}
	}
	if matched < 1000 {
		t.Fatalf("%d matches", matched)
	}
}

func letters(r *rand.Rand, of string, most int) string {
	list, out := []rune(of), ""
	for range r.IntN(most) {
		out += string(list[r.IntN(len(list))])
	}
	return out
}

func asRegexp(pattern, escape string, fold bool) *regexp.Regexp {
	out, escaped := `^`, false
	for _, c := range pattern {
		switch {
		case !escaped && string(c) == escape:
			escaped = true
			continue
		case !escaped && c == '%':
			out += `.*`
		case !escaped && c == '_':
			out += `.`
		default:
			out += regexp.QuoteMeta(string(c))
		}
		escaped = false
	}
	flags := `(?s)`
	if fold {
		flags = `(?si)`
	}
	return regexp.MustCompile(flags + out + `$`)
}

func TestLowerASCII(t *testing.T) {
	for c := range 128 {
		text := strings.Repeat(string(rune(c)), 11)
		got, _ := lower(text, nil)
		if want := strings.Map(unicode.ToLower, text); got != want {
			t.Errorf("%q becomes %q", text, got)
		}
	}
	if got, _ := lower("ABCDEFGHİJ", nil); got != "abcdefghij" {
		t.Errorf("%q", got)
	}
}
