package text

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/togodb/togo/query/calendar"
	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/funcs/each"
	"github.com/togodb/togo/query/vec"
)

func formats() []*expr.Func {
	formatter := func(name, example, doc string, parse func(string) ([]piece, error)) *expr.Func {
		return &expr.Func{Name: name, Args: []vec.Type{text, expr.Any}, Variadic: true, Out: text, Example: example, Doc: doc,
			Bind: func(env *expr.Env, args []expr.Expr) (expr.Eval, error) {
				if f, ok := each.Const(args[0]); ok {
					if _, err := parse(f.Text); err != nil {
						return nil, err
					}
				}
				return format(name, limit(env), parse), nil
			}}
	}
	size := one("format_bytes", "format_bytes(123456) = '120.5 KiB'", "A number of bytes in KiB, MiB and so on.", text, each.One(text, each.Sure(formatBytes)), num)
	return []*expr.Func{
		formatter("format", "format('{} took {:.1f} ms', 'it', 12.34) = 'it took 12.3 ms'", "The text with the arguments in its braces: {}, {0}, {:>8}, {:,}, {:.2f}, {:05d}, {:x} as in fmt and Python.", parseBraces),
		formatter("printf", "printf('%s took %.1f ms', 'it', 12.34) = 'it took 12.3 ms'", "The text with the arguments at its %: %s, %5d, %-8s, %05d, %x, %.2f, %e, %g.", parsePercents),
		size,
	}
}

func format(name string, most int, parse func(string) ([]piece, error)) expr.Eval {
	return func(s *expr.Scratch, args []*vec.Vector, n int) (*vec.Vector, error) {
		texts, mask := each.Column[string](args[0])
		pieces := each.Memo(parse)
		var buf []byte
		var made each.Texts
		return each.Rows(s, text, args, n, func(i int) (string, error) {
			list, err := pieces(texts[i&mask])
			if err != nil {
				return "", err
			}
			buf = buf[:0]
			for _, p := range list {
				buf = append(buf, p.text...)
				if p.arg >= 0 {
					if p.arg >= len(args)-1 {
						return "", fail.New(fail.Value, "%s: there is no argument %d", name, p.arg+1)
					}
					if buf, err = p.spec.write(buf, args[p.arg+1].At(i)); err != nil {
						return "", err
					}
				}
				if len(buf) > most {
					return "", tooLong(name, most)
				}
			}
			return made.Make(buf), nil
		})
	}
}

// write appends one value.
func (sp spec) write(dst []byte, v vec.Value) ([]byte, error) {
	switch v.Type {
	case vec.Bool:
		if sp.verb != 0 && sp.verb != 's' {
			return sp.integer(dst, v.Int)
		}
		if sp.verb == 's' && !sp.c {
			return nil, wrongVerb(sp.verb, "BOOLEAN")
		}
		return sp.text(dst, strconv.FormatBool(v.Int != 0)), nil
	case vec.Int:
		return sp.integer(dst, v.Int)
	case vec.Double:
		return sp.double(dst, v.Double)
	}
	if sp.verb != 0 && sp.verb != 's' {
		return nil, wrongVerb(sp.verb, v.Type.String())
	}
	s := v.Text
	switch v.Type {
	case vec.TimestampTZ:
		s = string(calendar.AppendTimestampTZ(nil, v.Int))
	case vec.Timestamp:
		s = string(calendar.AppendTimestamp(nil, v.Int))
	case vec.Date:
		s = string(calendar.AppendDate(nil, v.Int))
	case vec.Interval:
		s = string(calendar.AppendInterval(nil, v.Span))
	}
	return sp.text(dst, s), nil
}

func wrongVerb(verb byte, what string) error {
	return fail.New(fail.Value, "a format of type %q for a %s; take s or none for text, d or x for BIGINT, f, e or g for DOUBLE", string(verb), what)
}

func (sp spec) text(dst []byte, s string) []byte {
	if sp.precision >= 0 {
		s = s[:skip(s, int64(sp.precision))]
	}
	return sp.padded(dst, "", s, '<')
}

func (sp spec) integer(dst []byte, n int64) ([]byte, error) {
	magnitude, base, prefix := uint64(n), 10, ""
	if n < 0 {
		magnitude = -magnitude
	}
	switch sp.verb {
	case 0, 'd':
	case 'x', 'X':
		base, prefix = 16, "0"+string(sp.verb)
	case 'o':
		base, prefix = 8, "0"
	case 'b', 'B':
		base, prefix = 2, "0"+string(sp.verb)
	case 'c':
		s, err := chr(n)
		return sp.padded(dst, "", s, '<'), err
	default:
		return nil, wrongVerb(sp.verb, "BIGINT")
	}
	body := strconv.FormatUint(magnitude, base)
	if sp.verb == 'X' {
		body = strings.ToUpper(body)
	}
	if sp.thousands != "" {
		body = grouped(body, sp.thousands)
	}
	if !sp.alternate {
		prefix = ""
	}
	return sp.padded(dst, sp.signOf(n < 0)+prefix, body, '>'), nil
}

func (sp spec) double(dst []byte, f float64) ([]byte, error) {
	negative, magnitude := math.Signbit(f), math.Abs(f)
	var body string
	precision := sp.precision
	switch {
	case math.IsNaN(f):
		body = "nan"
	case math.IsInf(f, 0):
		body = "inf"
	case sp.verb == 0 && precision < 0:
		body = shortest(magnitude)
	case sp.verb == 0:
		body = general(magnitude, precision)
	default:
		if precision < 0 {
			precision = 6
		}
		switch sp.verb | 0x20 {
		case 'e', 'f':
			body = strconv.FormatFloat(magnitude, sp.verb|0x20, precision, 64)
		case 'g':
			body = general(magnitude, precision)
		default:
			return nil, wrongVerb(sp.verb, "DOUBLE")
		}
	}
	if sp.verb >= 'A' && sp.verb <= 'Z' {
		body = strings.ToUpper(body)
	}
	if sp.thousands != "" {
		whole := len(body)
		if i := strings.IndexAny(body, ".eE"); i >= 0 {
			whole = i
		}
		body = grouped(body[:whole], sp.thousands) + body[whole:]
	}
	if sp.zero && (math.IsNaN(f) || math.IsInf(f, 0)) { // as fmt does
		sp.zero, sp.fill, sp.align = false, '0', '<'
	}
	return sp.padded(dst, sp.signOf(negative && !math.IsNaN(f)), body, '>'), nil
}

// shortest is the least digits that read back as the number, with an exponent where it is large or small.
func shortest(f float64) string {
	if f != 0 && (f < 1e-4 || f >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// general is C's %g.
func general(f float64, precision int) string {
	precision = max(precision, 1)
	s := strconv.FormatFloat(f, 'e', precision-1, 64)
	exponent, _ := strconv.Atoi(s[strings.IndexByte(s, 'e')+1:])
	if exponent < -4 || exponent >= precision {
		mantissa, rest, _ := strings.Cut(s, "e")
		return trimZeros(mantissa) + "e" + rest
	}
	return trimZeros(strconv.FormatFloat(f, 'f', precision-1-exponent, 64))
}

func trimZeros(s string) string {
	if !strings.Contains(s, ".") {
		return s
	}
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}

func (sp spec) signOf(negative bool) string {
	switch {
	case negative:
		return "-"
	case sp.sign != 0:
		return string(sp.sign)
	}
	return ""
}

// padded writes sign and body in the width.
func (sp spec) padded(dst []byte, sign, body string, usual byte) []byte {
	missing := sp.width - len(sign) - int(count(body))
	if missing <= 0 {
		return append(append(dst, sign...), body...)
	}
	if sp.zero && usual == '>' {
		dst = append(dst, sign...)
		dst = append(dst, strings.Repeat("0", missing)...)
		return append(dst, body...)
	}
	align, fill := sp.align, sp.fill
	if align == 0 {
		align = usual
	}
	if fill == 0 {
		fill = ' '
	}
	before := 0
	switch align {
	case '>':
		before = missing
	case '^':
		before = missing / 2
	}
	for range before {
		dst = utf8.AppendRune(dst, fill)
	}
	dst = append(append(dst, sign...), body...)
	for range missing - before {
		dst = utf8.AppendRune(dst, fill)
	}
	return dst
}

func grouped(digits, by string) string {
	if len(digits) <= 3 || digits[0] > '9' {
		return digits
	}
	first := (len(digits)-1)%3 + 1
	var b strings.Builder
	b.WriteString(digits[:first])
	for i := first; i < len(digits); i += 3 {
		b.WriteString(by)
		b.WriteString(digits[i : i+3])
	}
	return b.String()
}

func formatBytes(n int64) string {
	sign, magnitude := "", uint64(n)
	if n < 0 {
		sign, magnitude = "-", -magnitude
	}
	if magnitude < 1024 {
		if magnitude == 1 {
			return sign + "1 byte"
		}
		return sign + strconv.FormatUint(magnitude, 10) + " bytes"
	}
	units, f := []string{"KiB", "MiB", "GiB", "TiB", "PiB"}, uint64(1024)
	i := 0
	for ; i < len(units)-1 && magnitude/f >= 1024; i++ {
		f *= 1024
	}
	tenths := magnitude / (f / 1024) * 10 / 1024 // cut, not rounded
	return sign + strconv.FormatUint(tenths/10, 10) + "." + strconv.FormatUint(tenths%10, 10) + " " + units[i]
}
