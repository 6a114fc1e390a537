package clock

import (
	"strconv"
	"strings"

	"github.com/togodb/togo/query/calendar"
	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/funcs/each"
	"github.com/togodb/togo/query/vec"
)

// item is a text of a format and the specifier behind it: its letter, with bare for %-d. The letter of the last is 0.
type item struct {
	text   string
	letter byte
	bare   bool
}

// maxFormat bounds a format of times, in bytes: %c and its like are written out in place, which takes the square of its length.
const maxFormat = 4 << 10

// parseFormat reads a format of strftime and strptime.
func parseFormat(f string) (out []item, err error) {
	switch {
	case f == "":
		return nil, fail.New(fail.Value, "an empty format of times")
	case len(f) > maxFormat:
		return nil, fail.New(fail.Value, "a format of times of %d bytes; up to %d are taken", len(f), maxFormat)
	}
	var b strings.Builder
	for i := 0; i < len(f); i++ {
		if f[i] != '%' {
			b.WriteByte(f[i])
			continue
		}
		i++
		it := item{}
		if i < len(f) && f[i] == '-' {
			it.bare = true
			i++
		}
		if i == len(f) {
			return nil, fail.New(fail.Value, "a format of times that ends with %%; write %%%% for the sign itself")
		}
		it.letter = f[i]
		switch {
		case it.letter == '%' && !it.bare:
			b.WriteByte('%')
			continue
		case !it.bare && strings.IndexByte("cxX", it.letter) >= 0:
			long := map[byte]string{'c': "%Y-%m-%d %H:%M:%S", 'x': "%Y-%m-%d", 'X': "%H:%M:%S"}[it.letter]
			f = f[:i+1] + long + f[i+1:]
			continue
		case it.bare && strings.IndexByte("dmyHIMSj", it.letter) < 0, strings.IndexByte("aAwudbBmyYHIpMSfgnzZjUWGV", it.letter) < 0:
			return nil, fail.New(fail.Value, "unknown specifier %%%s in a format of times; there are %%Y %%m %%d %%H %%M %%S, %%f, %%g and %%n for micro-, milli- and nanoseconds, %%a %%A %%b %%B %%p %%I %%j %%y %%z %%Z %%w %%u %%U %%W %%G %%V %%c %%x %%X", string(it.letter))
		}
		it.text = b.String()
		b.Reset()
		out = append(out, it)
	}
	return append(out, item{text: b.String()}), nil
}

func texts() []*expr.Func {
	var out []*expr.Func
	const doc = "The time as text by a format: %Y %m %d %H %M %S, %f micro-, %g milli-, %n nanoseconds, %a %A %b %B names, %j day of the year, %I %p, %z %Z."
	checked := func(f *expr.Func, format int) *expr.Func {
		eval := f.Eval
		f.Bind = func(_ *expr.Env, args []expr.Expr) (expr.Eval, error) {
			if c, ok := each.Const(args[format]); ok {
				if _, err := parseFormat(c.Text); err != nil {
					return nil, err
				}
			}
			return eval, nil
		}
		return f
	}
	for _, t := range times {
		f := checked(one("strftime", "", doc, text, write(t, 0, 1), t, text), 1)
		g := checked(one("strftime", "", doc, text, write(t, 1, 0), text, t), 0)
		if t == wall {
			f.Example = "strftime(TIMESTAMP '2026-03-31 10:20:30', '%d.%m.%Y %H:%M') = '31.03.2026 10:20'"
		}
		out = append(out, f, g)
	}
	return append(out,
		reader("strptime", "strptime('31 Mar 2026 10:20', '%d %b %Y %H:%M') = TIMESTAMP '2026-03-31 10:20:00'", "The time that a text shows by a format, as of strftime; with %z or %Z a TIMESTAMPTZ.", false),
		reader("try_strptime", "try_strptime('x', '%Y') IS NULL", "The same, but NULL where the text does not fit.", true))
}

// write is strftime, with the time and the format at these arguments.
func write(t vec.Type, at, format int) expr.Eval {
	return func(s *expr.Scratch, args []*vec.Vector, n int) (*vec.Vector, error) {
		ints, mask := each.Column[int64](args[at])
		formats, formatMask := each.Column[string](args[format])
		parse := each.Memo(parseFormat)
		var buf []byte
		var made each.Texts
		return each.Rows(s, text, args, n, func(i int) (string, error) {
			items, err := parse(formats[i&formatMask])
			if err != nil {
				return "", err
			}
			day, clock := ints[i&mask], int64(0)
			if t != date {
				day, clock = calendar.Split(day)
			}
			buf = appendTime(buf[:0], items, day, clock, t == instant)
			return made.Make(buf), nil
		})
	}
}

func appendTime(dst []byte, items []item, day, clock int64, zoned bool) []byte {
	for _, it := range items {
		dst = append(dst, it.text...)
		switch it.letter {
		case 'H':
			dst = it.number(dst, clock/calendar.Hour, 2)
		case 'I':
			dst = it.number(dst, (clock/calendar.Hour+11)%12+1, 2)
		case 'p':
			dst = append(dst, [2]string{"AM", "PM"}[clock/(12*calendar.Hour)]...)
		case 'M':
			dst = it.number(dst, clock/calendar.Minute%60, 2)
		case 'S':
			dst = it.number(dst, clock/calendar.Second%60, 2)
		case 'f':
			dst = it.number(dst, clock%calendar.Second/calendar.Microsecond, 6)
		case 'g':
			dst = it.number(dst, clock%calendar.Second/calendar.Millisecond, 3)
		case 'n':
			dst = it.number(dst, clock%calendar.Second, 9)
		case 'z':
			dst = append(dst, "+00"...)
		case 'Z':
			if zoned {
				dst = append(dst, "UTC"...)
			}
		default:
			dst = it.appendDay(dst, day)
		}
	}
	return dst
}

// appendDay writes what a specifier takes of the date.
func (it item) appendDay(dst []byte, day int64) []byte {
	year, month, dayOfMonth := calendar.Civil(day)
	weekday := calendar.Weekday(day)
	switch it.letter {
	case 'a':
		return append(dst, dayNames[weekday][:3]...)
	case 'A':
		return append(dst, dayNames[weekday]...)
	case 'w':
		return it.number(dst, int64(weekday), 1)
	case 'u':
		return it.number(dst, calendar.DatePart(calendar.UnitISODayOfWeek, day), 1)
	case 'd':
		return it.number(dst, int64(dayOfMonth), 2)
	case 'b':
		return append(dst, monthNames[month-1][:3]...)
	case 'B':
		return append(dst, monthNames[month-1]...)
	case 'm':
		return it.number(dst, int64(month), 2)
	case 'y':
		return it.number(dst, max(year%100, -(year%100)), 2)
	case 'Y':
		return it.number(dst, year, 4)
	case 'j':
		return it.number(dst, calendar.DatePart(calendar.UnitDayOfYear, day), 3)
	case 'U': // weeks begin on Sundays
		return it.number(dst, (calendar.DatePart(calendar.UnitDayOfYear, day)-int64(weekday)+6)/7, 2)
	case 'W': // on Mondays
		return it.number(dst, (calendar.DatePart(calendar.UnitDayOfYear, day)-int64((weekday+6)%7)+6)/7, 2)
	case 'G':
		return it.number(dst, calendar.DatePart(calendar.UnitISOYear, day), 4)
	case 'V':
		return it.number(dst, calendar.DatePart(calendar.UnitWeek, day), 2)
	}
	return dst
}

// number writes a number with so many digits at least, or with - before the specifier with as few as it has.
func (it item) number(dst []byte, n int64, width int) []byte {
	if it.bare {
		width = 1
	}
	return padded(dst, n, width)
}

func padded(dst []byte, n int64, width int) []byte {
	if n < 0 {
		return strconv.AppendInt(dst, n, 10)
	}
	var digits [20]byte
	s := strconv.AppendInt(digits[:0], n, 10)
	for i := len(s); i < width; i++ {
		dst = append(dst, '0')
	}
	return append(dst, s...)
}
