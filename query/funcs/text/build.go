package text

import (
	"strings"
	"unicode/utf8"

	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/funcs/each"
	"github.com/togodb/togo/query/vec"
)

// limit is the most bytes that a text may have.
func limit(env *expr.Env) int {
	if env.MaxText <= 0 {
		return 1 << 30
	}
	return env.MaxText
}

func tooLong(name string, most int) error {
	return fail.New(fail.TooLarge, "%s makes a text of more than %d bytes, the limit of one value", name, most)
}

// growing is a function that makes longer texts than it is given, so that it needs the limit.
func growing(name, example, doc string, make func(most int) expr.Eval, args ...vec.Type) *expr.Func {
	return &expr.Func{Name: name, Args: args, Out: text, Example: example, Doc: doc,
		Bind: func(env *expr.Env, _ []expr.Expr) (expr.Eval, error) { return make(limit(env)), nil }}
}

func build() []*expr.Func {
	concat := growing("concat", "concat('a', NULL, 1, true) = 'a1true'", "All arguments as text, one behind the other; NULLs are left out.",
		func(most int) expr.Eval { return join("concat", most, false) }, expr.AnyText, expr.AnyText)
	concatWS := growing("concat_ws", "concat_ws(', ', 'a', NULL, 'b') = 'a, b'", "The arguments behind the first as text, with the first between them; NULLs are left out. NULL if the first is.",
		func(most int) expr.Eval { return join("concat_ws", most, true) }, expr.AnyText, expr.AnyText, expr.AnyText)
	for _, f := range []*expr.Func{concat, concatWS} {
		f.Variadic, f.SeesNulls = true, true
	}
	return []*expr.Func{
		concat, concatWS,
		growing("||", "'a' || 1 = 'a1'", "Both sides as text, one behind the other; NULL if one is NULL.", func(most int) expr.Eval {
			return func(s *expr.Scratch, args []*vec.Vector, n int) (*vec.Vector, error) {
				var buf []byte
				var made each.Texts
				return each.Two(text, func(a, b string) (string, error) {
					if len(a)+len(b) > most {
						return "", tooLong("||", most)
					}
					buf = append(append(buf[:0], a...), b...)
					return made.Make(buf), nil
				})(s, args, n)
			}
		}, expr.AnyText, expr.AnyText),
		growing("repeat", "repeat('ab', 3) = 'ababab'", "The text so many times.", func(most int) expr.Eval {
			return each.Two(text, func(s string, n int64) (string, error) {
				if n <= 0 || s == "" {
					return "", nil
				}
				if n > int64(most/len(s)) {
					return "", tooLong("repeat", most)
				}
				return strings.Repeat(s, int(n)), nil
			})
		}, text, num),
		growing("replace", "replace('a-b-c', '-', '+') = 'a+b+c'", "The text with each occurrence of the second replaced by the third.", func(most int) expr.Eval {
			return each.Three(text, func(s, old, with string) (string, error) {
				if old == "" {
					return s, nil
				}
				if more := len(with) - len(old); more > 0 {
					if n := strings.Count(s, old); n > 0 && n > (most-len(s))/more {
						return "", tooLong("replace", most)
					}
				}
				return strings.ReplaceAll(s, old, with), nil
			})
		}, text, text, text),
		growing("lpad", "lpad('7', 3, '0') = '007'", "The text cut or filled to so many code points, by the third text at its start.",
			func(most int) expr.Eval { return pad("lpad", most, func(s, fill string) string { return fill + s }) }, text, num, text),
		growing("rpad", "rpad('ab', 4, 'xy') = 'abxy'", "The text cut or filled to so many code points, by the third text at its end.",
			func(most int) expr.Eval { return pad("rpad", most, func(s, fill string) string { return s + fill }) }, text, num, text),
		one("translate", "translate('hello', 'el', 'ip') = 'hippo'", "Each code point that is in the second text becomes the one at its place in the third, or goes if there is none.", text,
			each.Three(text, func(s, from, to string) (string, error) { return translate(s, from, to), nil }), text, text, text),
	}
}

// join puts texts together and leaves NULLs out; with a separator the first argument is between the others.
func join(name string, most int, separated bool) expr.Eval {
	return func(s *expr.Scratch, args []*vec.Vector, n int) (*vec.Vector, error) {
		var buf []byte
		var made each.Texts
		return each.Rows(s, text, args, n, func(i int) (string, error) {
			list, separator := args, ""
			if separated {
				if args[0].IsNull(i) {
					return "", each.Null
				}
				separator, list = args[0].Texts[args[0].Index(i)], args[1:]
			}
			buf = buf[:0]
			first := true
			for _, a := range list {
				if a.IsNull(i) {
					continue
				}
				if !first {
					buf = append(buf, separator...)
				}
				first = false
				if buf = append(buf, a.Texts[a.Index(i)]...); len(buf) > most {
					return "", tooLong(name, most)
				}
			}
			return made.Make(buf), nil
		})
	}
}

func pad(name string, most int, together func(s, fill string) string) expr.Eval {
	return each.Three(text, func(s string, n int64, fill string) (string, error) {
		have := count(s)
		if n <= have {
			return s[:skip(s, max(n, 0))], nil
		}
		if fill == "" {
			return "", fail.New(fail.Value, "%s needs a text to fill with that is not empty", name)
		}
		missing, of := n-have, count(fill)
		if missing > int64(most) || missing/of*int64(len(fill)) > int64(most-len(s)) {
			return "", tooLong(name, most)
		}
		filled := strings.Repeat(fill, int(missing/of)) + fill[:skip(fill, missing%of)]
		return together(s, filled), nil
	})
}

func translate(s, from, to string) string {
	if s == "" || from == "" {
		return s
	}
	with := make(map[rune]rune, len(from))
	for _, r := range from {
		w, n := utf8.DecodeRuneInString(to)
		to = to[n:]
		if _, ok := with[r]; ok {
			continue
		}
		if n == 0 {
			w = -1
		}
		with[r] = w
	}
	return strings.Map(func(r rune) rune {
		if w, ok := with[r]; ok {
			return w
		}
		return r
	}, s)
}
