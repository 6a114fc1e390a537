// Package pattern has the functions of regular expressions, RE2's. A match takes time by the length of
// text and pattern alone. Patterns that are no more than literals, alternatives of them and .* between them are found without the
// expression's machine, and texts without a literal that a pattern needs are passed over.
package pattern

import (
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/fail"
)

// pattern is a compiled regular expression.
type pattern struct {
	re     *regexp.Regexp
	shapes []sequence // that it is made of; nil: see re
	needs  []string   // one of which each match holds; nil: not known
}

// use is what a function does with a pattern.
type use uint8

const (
	anywhere use = iota
	whole        // the pattern must match the whole text
)

// compile reads a pattern with its options: i without regard to case, c with, s a dot takes line ends too, l the
// pattern is plain text; m, n and p change nothing; g, for all matches, is the caller's.
func compile(env *expr.Env, text, options string, how use) (*pattern, error) {
	if env.MaxPattern > 0 && len(text) > env.MaxPattern {
		return nil, fail.New(fail.TooLarge, "a regular expression of %d bytes; the limit is %d", len(text), env.MaxPattern)
	}
	flags := map[rune]bool{}
	for _, o := range options {
		switch o {
		case 'c':
			delete(flags, 'i')
		case 'i', 's', 'l':
			flags[o] = true
		case 'm', 'n', 'p', 'g':
		default:
			return nil, fail.New(fail.Value, "unknown option %q of a regular expression; there are i, c, s, l, m, n, p and g", string(o))
		}
	}
	if flags['l'] {
		text = regexp.QuoteMeta(text)
	}
	if _, err := syntax.Parse(text, syntax.Perl); err != nil { // by itself, so that it cannot close what is put around it
		return nil, wrong(err)
	}
	set := ""
	for _, f := range "is" {
		if flags[f] {
			set += string(f)
		}
	}
	text = "(?" + set + ":" + text + ")"
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, wrong(err)
	}
	tree = tree.Simplify()
	p := &pattern{shapes: shapes(tree, how == whole), needs: needed(tree)}
	if how == whole {
		text = `\A` + text + `\z`
	}
	if p.re, err = regexp.Compile(text); err != nil {
		return nil, wrong(err)
	}
	return p, nil
}

func wrong(err error) error {
	return fail.New(fail.Value, "not a regular expression of RE2: %.200s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
}

func (p *pattern) matches(s string) bool {
	if p.shapes == nil {
		return p.possible(s) && p.re.MatchString(s)
	}
	looked, isASCII := false, false
	known := func() bool {
		if !looked {
			looked, isASCII = true, ascii(s)
		}
		return isASCII
	}
	for i := range p.shapes {
		match, sure := p.shapes[i].matches(s, known)
		if !sure {
			return p.re.MatchString(s)
		}
		if match {
			return true
		}
	}
	return false
}

// possible tells whether a text may hold a match.
func (p *pattern) possible(s string) bool {
	for _, n := range p.needs {
		if strings.Contains(s, n) {
			return true
		}
	}
	return p.needs == nil
}
