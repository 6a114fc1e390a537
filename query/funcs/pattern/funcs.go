package pattern

import (
	"strings"

	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/funcs/each"
	"github.com/togodb/togo/query/vec"
)

const (
	text  = vec.Text
	num   = vec.Int
	truth = vec.Bool
)

// patternEval is an expr.Eval that is given the pattern of each row.
type patternEval func(env *expr.Env, pattern func(i int) (*pattern, error), s *expr.Scratch, args []*vec.Vector, n int) (*vec.Vector, error)

// matcher is a function that works by a pattern, its second argument, with options at some place, or -1.
func matcher(name, example, doc string, out vec.Type, how use, options int, eval patternEval, args ...vec.Type) *expr.Func {
	bind := func(env *expr.Env, given []expr.Expr) (expr.Eval, error) {
		opts := ""
		if options >= 0 {
			o, ok := each.Const(given[options])
			if !ok {
				return nil, fail.New(fail.Type, "the options of %s must be a constant text", name)
			}
			opts = o.Text
		}
		if p, ok := each.Const(given[1]); ok {
			compiled, err := compile(env, p.Text, opts, how)
			if err != nil {
				return nil, err
			}
			return func(s *expr.Scratch, args []*vec.Vector, n int) (*vec.Vector, error) {
				return eval(env, func(int) (*pattern, error) { return compiled, nil }, s, args, n)
			}, nil
		}
		return func(s *expr.Scratch, args []*vec.Vector, n int) (*vec.Vector, error) {
			get := each.Memo(func(p string) (*pattern, error) { return compile(env, p, opts, how) })
			texts, mask := each.Column[string](args[1])
			return eval(env, func(i int) (*pattern, error) { return get(texts[i&mask]) }, s, args, n)
		}, nil
	}
	return &expr.Func{Name: name, Args: args, Out: out, Bind: bind, Example: example, Doc: doc}
}

func test(_ *expr.Env, pattern func(i int) (*pattern, error), s *expr.Scratch, args []*vec.Vector, n int) (*vec.Vector, error) {
	texts, mask := each.Column[string](args[0])
	return each.Rows(s, truth, args[:2], n, func(i int) (bool, error) {
		p, err := pattern(i)
		if err != nil {
			return false, err
		}
		return p.matches(texts[i&mask]), nil
	})
}

func extract(_ *expr.Env, pattern func(i int) (*pattern, error), s *expr.Scratch, args []*vec.Vector, n int) (*vec.Vector, error) {
	texts, mask := each.Column[string](args[0])
	groups, groupMask := []int64{0}, 0
	if len(args) > 2 {
		groups, groupMask = each.Column[int64](args[2])
	}
	return each.Rows(s, text, args, n, func(i int) (string, error) {
		p, err := pattern(i)
		if err != nil {
			return "", err
		}
		t, group := texts[i&mask], groups[i&groupMask]
		if group < 0 || group > 9 {
			return "", fail.New(fail.Value, "group %d of a regular expression; take 0, the whole match, to 9", group)
		}
		if !p.possible(t) {
			return "", nil
		}
		if group == 0 {
			return p.re.FindString(t), nil
		}
		at := p.re.FindStringSubmatchIndex(t)
		if g := int(group) * 2; g < len(at) && at[g] >= 0 {
			return t[at[g]:at[g+1]], nil
		}
		return "", nil
	})
}

// replaceBy replaces the first match, or all.
func replaceBy(all bool) patternEval {
	return func(env *expr.Env, pattern func(i int) (*pattern, error), s *expr.Scratch, args []*vec.Vector, n int) (*vec.Vector, error) {
		texts, mask := each.Column[string](args[0])
		withs, withMask := each.Column[string](args[2])
		template := each.Memo(parseRewrite)
		most := env.MaxText
		var buf []byte
		var made each.Texts
		return each.Rows(s, text, args[:3], n, func(i int) (string, error) {
			p, err := pattern(i)
			if err != nil {
				return "", err
			}
			with, err := template(withs[i&withMask])
			if err != nil {
				return "", err
			}
			if groups := p.re.NumSubexp(); with.most > groups {
				return "", fail.New(fail.Value, `\%d in the replacement, but the regular expression has %d groups`, with.most, groups)
			}
			t := texts[i&mask]
			if !p.possible(t) {
				return t, nil
			}
			times := 1
			if all {
				times = -1
			}
			matches := p.re.FindAllStringSubmatchIndex(t, times)
			if matches == nil {
				return t, nil
			}
			buf = buf[:0]
			from := 0
			for _, m := range matches {
				buf = append(buf, t[from:m[0]]...)
				buf = with.expand(buf, t, m)
				if from = m[1]; most > 0 && len(buf)+len(t)-from > most {
					return "", fail.New(fail.TooLarge, "regexp_replace makes a text of more than %d bytes, the limit of one value", most)
				}
			}
			buf = append(buf, t[from:]...)
			return made.Make(buf), nil
		})
	}
}

// rewrite is a replacement: texts, and groups between them.
type rewrite struct {
	texts  []string
	groups []int
	most   int // the highest group
}

// parseRewrite reads RE2's form: \0 to \9 are groups, \\ a backslash.
func parseRewrite(s string) (rewrite, error) {
	var out rewrite
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch {
		case i < len(s) && s[i] == '\\':
			b.WriteByte('\\')
		case i < len(s) && s[i] >= '0' && s[i] <= '9':
			g := int(s[i] - '0')
			out.texts, out.groups, out.most = append(out.texts, b.String()), append(out.groups, g), max(out.most, g)
			b.Reset()
		default:
			return out, fail.New(fail.Value, `a backslash in a replacement must be followed by a digit or a backslash: \0 to \9 are groups, \\ is a backslash`)
		}
	}
	out.texts = append(out.texts, b.String())
	return out, nil
}

func (r rewrite) expand(dst []byte, s string, match []int) []byte {
	for i, g := range r.groups {
		dst = append(dst, r.texts[i]...)
		if from := match[2*g]; from >= 0 {
			dst = append(dst, s[from:match[2*g+1]]...)
		}
	}
	return append(dst, r.texts[len(r.groups)]...)
}

// Functions are all of the package.
func Functions() []*expr.Func {
	const options = " Options, a constant: i without regard to case, s a dot takes line ends too, l the pattern is plain text."
	replaced := func(name, example, doc string, options int, args ...vec.Type) *expr.Func {
		f := matcher(name, example, doc, text, anywhere, options, replaceBy(false), args...)
		if options < 0 {
			return f
		}
		first, all := f.Bind, matcher(name, example, doc, text, anywhere, options, replaceBy(true), args...).Bind
		f.Bind = func(env *expr.Env, given []expr.Expr) (expr.Eval, error) {
			if o, ok := each.Const(given[options]); ok && strings.Contains(o.Text, "g") {
				return all(env, given)
			}
			return first(env, given)
		}
		return f
	}
	return []*expr.Func{
		matcher("regexp_matches", "regexp_matches('hello', 'l+')", "Whether a part of the text matches.", truth, anywhere, -1, test, text, text),
		matcher("regexp_matches", "regexp_matches('HELLO', 'l+', 'i')", "Whether a part of the text matches."+options, truth, anywhere, 2, test, text, text, text),
		matcher("regexp_full_match", "regexp_full_match('hello', 'h.*o')", "Whether the whole text matches; this is what ~ and SIMILAR TO ask.", truth, whole, -1, test, text, text),
		matcher("regexp_full_match", "regexp_full_match('HELLO', 'h.*o', 'i')", "Whether the whole text matches."+options, truth, whole, 2, test, text, text, text),
		matcher("regexp_extract", "regexp_extract('id=42;', '[0-9]+') = '42'", "The first match; empty if there is none.", text, anywhere, -1, extract, text, text),
		matcher("regexp_extract", "regexp_extract('id=42;', 'id=([0-9]+)', 1) = '42'", "A group of the first match, from 1 to 9; 0 is the whole match. Empty if there is none.", text, anywhere, -1, extract, text, text, num),
		matcher("regexp_extract", "regexp_extract('ID=42;', 'id=([0-9]+)', 1, 'i') = '42'", "A group of the first match."+options, text, anywhere, 3, extract, text, text, num, text),
		replaced("regexp_replace", `regexp_replace('hello', '(l)', '[\1]') = 'he[l]lo'`, `The text with the first match replaced; \0 to \9 in the replacement are groups of the match, \\ is a backslash.`, -1, text, text, text),
		replaced("regexp_replace", "regexp_replace('hello', 'l', 'L', 'g') = 'heLLo'", "The same; option g replaces all matches."+options, 3, text, text, text, text),
		{Name: "regexp_escape", Args: []vec.Type{text}, Out: text, Example: `regexp_escape('a.b') = 'a\.b'`, Doc: "The text as a pattern that matches just it.", Eval: each.One(text, each.Sure(escape))},
	}
}

// escape puts a backslash before all that is no letter, digit or underscore of ASCII, as RE2's QuoteMeta does.
func escape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c < 0x80 && c != '_' && !(c >= '0' && c <= '9') && !(c|0x20 >= 'a' && c|0x20 <= 'z') {
			if c == 0 {
				b.WriteString(`\x00`)
				continue
			}
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return b.String()
}
