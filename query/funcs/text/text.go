// Package text has the functions of text and of bytes. Positions and lengths count code points, from 1.
package text

import (
	"strings"
	"unicode/utf8"

	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/funcs/each"
	"github.com/togodb/togo/query/vec"
)

const (
	text  = vec.Text
	num   = vec.Int
	dbl   = vec.Double
	truth = vec.Bool
)

// Functions are all of the package.
func Functions() []*expr.Func {
	var out []*expr.Func
	for _, list := range [][]*expr.Func{simple(), parts(), search(), build(), formats(), codes(), hashes(), distances()} {
		out = append(out, list...)
	}
	return out
}

func one(name, example, doc string, out vec.Type, eval expr.Eval, args ...vec.Type) *expr.Func {
	return &expr.Func{Name: name, Args: args, Out: out, Eval: eval, Example: example, Doc: doc}
}

// also is the same function under another name.
func also(name string, f *expr.Func) *expr.Func {
	g := *f
	g.Name, g.Example, g.Doc = name, strings.Replace(f.Example, f.Name+"(", name+"(", 1), "The same as "+f.Name+"."
	return &g
}

func simple() []*expr.Func {
	lower := one("lower", "lower('ÄB') = 'äb'", "Lower case, letter by letter.", text, each.One(text, each.Sure(strings.ToLower)), text)
	upper := one("upper", "upper('äb') = 'ÄB'", "Upper case, letter by letter.", text, each.One(text, each.Sure(upperCase)), text)
	length := one("length", "length('äb') = 2", "Number of code points.", num, each.One(num, each.Sure(count)), text)
	return []*expr.Func{
		lower, also("lcase", lower), upper, also("ucase", upper),
		length, also("len", length), also("char_length", length), also("character_length", length),
		one("strlen", "strlen('äb') = 3", "Number of bytes of the UTF-8 form.", num, each.One(num, each.Sure(size)), text),
		one("bit_length", "bit_length('äb') = 24", "Number of bits of the UTF-8 form.", num, each.One(num, each.Sure(func(s string) int64 { return 8 * size(s) })), text),
		one("octet_length", "octet_length(encode('äb')) = 3", "Number of bytes.", num, each.One(num, each.Sure(size)), vec.Blob),
		one("reverse", "reverse('abc') = 'cba'", "The code points backwards.", text, each.One(text, each.Sure(reverse)), text),
		one("ascii", "ascii('A') = 65", "The first code point's number; 0 of an empty text.", num, each.One(num, each.Sure(first)), text),
		one("unicode", "unicode('ä') = 228", "The first code point's number; -1 of an empty text.", num, each.One(num, each.Sure(firstOrMinus)), text),
		one("ord", "ord('ä') = 228", "The same as unicode.", num, each.One(num, each.Sure(firstOrMinus)), text),
		{Name: "typeof", Args: []vec.Type{expr.Any}, Out: text, SeesNulls: true, Example: "typeof(1.5) = 'DOUBLE'", Doc: "The name of the argument's type.", Bind: typeOf},
		one("chr", "chr(228) = 'ä'", "The code point of a number.", text, each.One(text, chr), num),
	}
}

// upperCase is strings.ToUpper, with the capital ß that Unicode has by now.
func upperCase(s string) string {
	s = strings.ToUpper(s)
	if strings.Contains(s, "ß") {
		return strings.ReplaceAll(s, "ß", "ẞ")
	}
	return s
}

func typeOf(_ *expr.Env, args []expr.Expr) (expr.Eval, error) {
	name := vec.Value{Type: text, Text: args[0].Type().String()}
	return func(_ *expr.Scratch, _ []*vec.Vector, n int) (*vec.Vector, error) {
		return vec.Constant(text, name, n), nil
	}, nil
}

func count(s string) int64 { return int64(utf8.RuneCountInString(s)) }
func size(s string) int64  { return int64(len(s)) }

func first(s string) int64 {
	if s == "" {
		return 0
	}
	r, _ := utf8.DecodeRuneInString(s)
	return int64(r)
}

func firstOrMinus(s string) int64 {
	if s == "" {
		return -1
	}
	return first(s)
}

func chr(n int64) (string, error) {
	if n < 0 || n > utf8.MaxRune || !utf8.ValidRune(rune(n)) {
		return "", fail.New(fail.Value, "chr(%d): there is no such code point", n)
	}
	return string(rune(n)), nil
}

func reverse(s string) string {
	out := make([]byte, len(s))
	at := len(s)
	for i := 0; i < len(s); {
		_, n := utf8.DecodeRuneInString(s[i:])
		at -= n
		copy(out[at:], s[i:i+n])
		i += n
	}
	return string(out)
}

func parts() []*expr.Func {
	from2 := each.Two(text, each.Sure2(func(s string, from int64) string { return substring(s, from, 1<<62) }))
	from3 := each.Three(text, func(s string, from, n int64) (string, error) { return substring(s, from, n), nil })
	const about = "The code points from a position on, all or so many; a negative position counts from the end, a negative number takes those before."
	return []*expr.Func{
		one("substring", "substring('hello', 2) = 'ello'", about, text, from2, text, num),
		one("substring", "substring('hello', 2, 3) = 'ell'", about, text, from3, text, num, num),
		one("substr", "substr('hello', 2) = 'ello'", "The same as substring.", text, from2, text, num),
		one("substr", "substr('hello', -3, 2) = 'll'", "The same as substring.", text, from3, text, num, num),
		one("left", "left('hello', 2) = 'he'", "The first code points; with a negative number all but the last.", text, each.Two(text, each.Sure2(left)), text, num),
		one("right", "right('hello', 2) = 'lo'", "The last code points; with a negative number all but the first.", text, each.Two(text, each.Sure2(right)), text, num),
		one("trim", "trim('  a ') = 'a'", "Without the spaces at both ends.", text, each.One(text, each.Sure(func(s string) string { return strings.Trim(s, " ") })), text),
		one("trim", "trim('xaxx', 'x') = 'a'", "Without any of the second text's code points at both ends.", text, each.Two(text, each.Sure2(strings.Trim)), text, text),
		one("ltrim", "ltrim('  a ') = 'a '", "As trim, at the start alone.", text, each.One(text, each.Sure(func(s string) string { return strings.TrimLeft(s, " ") })), text),
		one("ltrim", "ltrim('xyax', 'yx') = 'ax'", "As trim, at the start alone.", text, each.Two(text, each.Sure2(strings.TrimLeft)), text, text),
		one("rtrim", "rtrim(' a  ') = ' a'", "As trim, at the end alone.", text, each.One(text, each.Sure(func(s string) string { return strings.TrimRight(s, " ") })), text),
		one("rtrim", "rtrim('xaxy', 'yx') = 'xa'", "As trim, at the end alone.", text, each.Two(text, each.Sure2(strings.TrimRight)), text, text),
		one("split_part", "split_part('a,b,c', ',', 2) = 'b'", "The part at a position, from 1, or from -1 backwards; empty if there is none.", text,
			each.Three(text, func(s, by string, at int64) (string, error) { return splitPart(s, by, at), nil }), text, text, num),
		one("parse_filename", "parse_filename('/a/b.c') = 'b.c'", "What follows the last slash of a path.", text, each.One(text, each.Sure(filename)), text),
	}
}

// skip is the byte at which so many code points are behind, at most the length.
func skip(s string, n int64) int {
	if n >= int64(len(s)) {
		return len(s) // a code point has at least one byte
	}
	i := 0
	for ; n > 0 && i < len(s); n-- {
		if s[i] < utf8.RuneSelf {
			i++
			continue
		}
		_, w := utf8.DecodeRuneInString(s[i:])
		i += w
	}
	return i
}

func substring(s string, from, n int64) string {
	var start, end int64 // code points, end left out
	const most = 1 << 40
	from, n = max(min(from, most), -most), max(min(n, most), -most)
	switch {
	case from > 0:
		start = from - 1
	case from < 0:
		start = count(s) + from
	default: // a position before the first, which takes one of the number
		start = -1
	}
	if end = start + n; n < 0 {
		start, end = end, start
	}
	start = max(start, 0)
	if end <= start {
		return ""
	}
	at := skip(s, start)
	return s[at : at+skip(s[at:], end-start)]
}

func left(s string, n int64) string {
	if n < 0 {
		n = max(count(s)+n, 0)
	}
	return s[:skip(s, n)]
}

func right(s string, n int64) string {
	if n < 0 {
		if n < -int64(len(s)) {
			return ""
		}
		return s[skip(s, -n):]
	}
	return s[skip(s, max(count(s)-n, 0)):]
}

func splitPart(s, by string, at int64) string {
	if by == "" {
		if at < 0 {
			at += count(s) + 1
		}
		if at < 1 {
			return ""
		}
		return substring(s, at, 1)
	}
	if at == 0 || at > int64(len(s))+1 || at < -int64(len(s))-1 {
		return ""
	}
	if at < 0 {
		if at += int64(strings.Count(s, by)) + 2; at < 1 {
			return ""
		}
	}
	for ; at > 1; at-- {
		i := strings.Index(s, by)
		if i < 0 {
			return ""
		}
		s = s[i+len(by):]
	}
	part, _, _ := strings.Cut(s, by)
	return part
}

func filename(s string) string { return s[strings.LastIndexAny(s, `/\`)+1:] }

func search() []*expr.Func {
	contains := each.Two(truth, each.Sure2(strings.Contains))
	starts := one("starts_with", "starts_with('hello', 'he')", "Whether the text begins with the other.", truth, each.Two(truth, each.Sure2(strings.HasPrefix)), text, text)
	ends := one("ends_with", "ends_with('hello', 'lo')", "Whether the text ends with the other.", truth, each.Two(truth, each.Sure2(strings.HasSuffix)), text, text)
	strpos := one("strpos", "strpos('hällo', 'l') = 3", "Where the other text begins in the text, from 1; 0 if it is not in it. POSITION(a IN b) is strpos(b, a).", num, each.Two(num, each.Sure2(position)), text, text)
	return []*expr.Func{
		one("contains", "contains('hello', 'ell')", "Whether the other text is in the text.", truth, contains, text, text),
		starts, also("prefix", starts), ends, also("suffix", ends), strpos, also("instr", strpos),
	}
}

func position(s, sub string) int64 {
	i := strings.Index(s, sub)
	if i < 0 {
		return 0
	}
	return count(s[:i]) + 1
}
