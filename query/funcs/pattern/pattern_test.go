package pattern

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"

	"github.com/togodb/togo/query/expr"
)

// part draws a piece of a regular expression.
func part(t *rapid.T, depth int) string {
	most := 13
	if depth == 0 {
		most = 9
	}
	switch rapid.IntRange(0, most).Draw(t, "part") {
	case 0, 1, 2:
		return rapid.SampledFrom([]string{"a", "b", "ab", "ba", "aab", "k", "K", "ä", "A"}).Draw(t, "literal")
	case 3, 4:
		return ".*"
	case 5:
		return "^"
	case 6:
		return "$"
	case 7:
		return rapid.SampledFrom([]string{"[ab]", "[^a]", "[a-f]", ".", `\n`, "a?", "(?i:k)", "(?i:ab)", "(?i)b", "(?s:.*)"}).Draw(t, "class")
	case 8:
		return rapid.SampledFrom([]string{"a+", "b*", "a{2}", "a{1,3}", ".+", `\bb`}).Draw(t, "repeat")
	case 9:
		return ""
	case 10, 11:
		return "(" + whole1(t, depth-1) + "|" + whole1(t, depth-1) + ")"
	case 12:
		return "(?:" + whole1(t, depth-1) + ")?"
	}
	return "(" + whole1(t, depth-1) + ")"
}

func whole1(t *rapid.T, depth int) string {
	out := ""
	for range rapid.IntRange(0, 4).Draw(t, "parts") {
		out += part(t, depth)
	}
	return out
}

// What is found without the expression's machine is what the machine finds.
func TestAsRegexp(t *testing.T) {
	text := rapid.Custom(func(t *rapid.T) string {
		out := ""
		for range rapid.IntRange(0, 6).Draw(t, "n") {
			out += rapid.SampledFrom([]string{"a", "b", "ab", "A", "B", "k", "K", "\u212a", "ä", "\n", "x", "aab"}).Draw(t, "piece")
		}
		return out
	})
	quick, all := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		source := whole1(t, 2)
		if rapid.Bool().Draw(t, "alternatives") {
			source += "|" + whole1(t, 2)
		}
		options := rapid.SampledFrom([]string{"", "", "i", "s", "is"}).Draw(t, "options")
		how := rapid.SampledFrom([]use{anywhere, whole}).Draw(t, "use")
		p, err := compile(&expr.Env{}, source, options, how)
		if err != nil {
			t.Fatalf("%q: %v", source, err)
		}
		want := "(?" + options + ":" + source + ")"
		if how == whole {
			want = `\A` + want + `\z`
		}
		re := regexp.MustCompile(want)
		all++
		if p.shapes != nil {
			quick++
		}
		for range 8 {
			s := text.Draw(t, "text")
			if got := p.matches(s); got != re.MatchString(s) {
				t.Fatalf("%q in %q (%s): %v, shapes %+v, needs %q", source, s, options, got, p.shapes, p.needs)
			}
			if re.MatchString(s) && !p.possible(s) {
				t.Fatalf("%q in %q (%s) is passed over by %q", source, s, options, p.needs)
			}
		}
	})
	if quick*10 < all || quick == all {
		t.Errorf("%d of %d patterns have shapes", quick, all)
	}
}

func TestShapes(t *testing.T) {
	for source, quick := range map[string]bool{
		"order": true, "timeout|timed out|refused": true, "^GET /api/.*/users$": true, "(?i)provider": true, "a.*b.*c": true, "colou?r": true, "^$": true, "": true,
		"[0-9]+": false, `\d{3}`: false, "a.+b": false, `\berror\b`: false,
	} {
		p, err := compile(&expr.Env{}, source, "", anywhere)
		if err != nil || (p.shapes != nil) != quick {
			t.Errorf("%s: %+v, %v", source, p.shapes, err)
		}
	}
	p, err := compile(&expr.Env{}, "(login|logout) of user [0-9]+", "", anywhere)
	if err != nil || len(p.needs) != 1 || p.needs[0] != " of user " {
		t.Errorf("needs %q, %v", p.needs, err)
	}
}

func TestCompile(t *testing.T) {
	for _, bad := range []string{"(", "a)(b", "a)|(b", "[", "a(?=b)", `\8`, "a{1001}", "*"} {
		for _, how := range []use{anywhere, whole} {
			if p, err := compile(&expr.Env{}, bad, "", how); err == nil {
				t.Errorf("%s: %v", bad, p.re)
			}
		}
	}
	if _, err := compile(&expr.Env{MaxPattern: 10}, "aaaaaaaaaaa", "", anywhere); err == nil {
		t.Error("a pattern that is too long")
	}
	if _, err := compile(&expr.Env{}, "a", "x", anywhere); err == nil {
		t.Error("an unknown option")
	}
}
