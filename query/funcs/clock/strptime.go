package clock

import (
	"strings"

	"github.com/togodb/togo/query/calendar"
	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/funcs/each"
	"github.com/togodb/togo/query/vec"
)

// reader is strptime; try gives NULL for a text that does not fit.
func reader(name, example, doc string, try bool) *expr.Func {
	format := func(e expr.Expr) ([]item, bool, error) {
		c, ok := each.Const(e)
		if !ok {
			return nil, false, fail.New(fail.Type, "the format of %s must be a constant text", name)
		}
		items, err := parseFormat(c.Text)
		zoned := false
		for _, it := range items {
			zoned = zoned || it.letter == 'z' || it.letter == 'Z'
			if it.letter == 'U' || it.letter == 'W' {
				return nil, false, fail.New(fail.Unsupported, "%s does not read %%%s; take %%G, %%V and %%u, or month and day", name, string(it.letter))
			}
		}
		return items, zoned, err
	}
	return &expr.Func{Name: name, Args: []vec.Type{text, text}, Out: wall, Example: example, Doc: doc,
		OutOf: func(args []expr.Expr) vec.Type {
			if _, zoned, err := format(args[1]); err == nil && zoned {
				return instant
			}
			return wall
		},
		Bind: func(_ *expr.Env, args []expr.Expr) (expr.Eval, error) {
			items, zoned, err := format(args[1])
			if err != nil {
				return nil, err
			}
			out := wall
			if zoned {
				out = instant
			}
			return func(s *expr.Scratch, args []*vec.Vector, n int) (*vec.Vector, error) {
				texts, mask := each.Column[string](args[0])
				cursor := cursors()
				return each.Rows(s, out, args[:1], n, func(i int) (int64, error) {
					at, err := readTime(texts[i&mask], items, cursor)
					if err != nil && try {
						return 0, each.Null
					}
					return at, err
				})
			}, nil
		}}
}

// fields are what a text has told so far.
type fields struct {
	year, month, day            int64
	hour, minute, second, nanos int64
	half                        int // 1 AM, 2 PM
	twelve                      bool
	yearDay                     int64
	isoYear, isoWeek            int64
	isoDay                      int64
	offset                      int64
	zone                        string
}

func readTime(s string, items []item, cursor func(string) (*calendar.Cursor, error)) (int64, error) {
	f := fields{year: 1900, month: 1, day: 1, isoDay: 1}
	r := &reading{s: s, all: s}
	r.spaces()
	for _, it := range items {
		if !r.literal(it.text) || it.letter != 0 && !f.read(r, it) {
			return 0, r.wrong()
		}
	}
	r.spaces()
	if r.s != "" {
		return 0, r.wrong()
	}
	at, err := f.time(r)
	if err != nil || f.zone == "" {
		return at, err
	}
	c, err := cursor(f.zone)
	if err != nil {
		return 0, err
	}
	return c.ToUTC(at)
}

// time puts the fields together.
func (f *fields) time(r *reading) (int64, error) {
	if f.twelve && (f.hour < 1 || f.hour > 12) {
		return 0, r.wrong()
	}
	switch {
	case f.half == 1 && f.hour == 12, f.twelve && f.half == 0 && f.hour == 12:
		f.hour = 0
	case f.half == 2 && f.hour < 12:
		f.hour += 12
	}
	var day int64
	switch {
	case f.yearDay != 0:
		day = calendar.DateOf(f.year, 1, 1) + f.yearDay - 1
	case f.isoYear != 0 || f.isoWeek != 0:
		day = calendar.Monday(calendar.DateOf(f.isoYear, 1, 4)) + 7*(f.isoWeek-1) + f.isoDay - 1
	default:
		if !calendar.Valid(f.year, int(f.month), int(f.day)) {
			return 0, fail.New(fail.Value, "%q has a date that there is not", short(r.all))
		}
		day = calendar.DateOf(f.year, int(f.month), int(f.day))
	}
	at, err := calendar.Join(day, f.hour*calendar.Hour+f.minute*calendar.Minute+f.second*calendar.Second+f.nanos)
	if err != nil || f.offset == 0 {
		return at, err
	}
	return calendar.Subtract(at, vec.Span{Nanos: f.offset})
}

// read takes what a specifier stands for.
func (f *fields) read(r *reading, it item) (ok bool) {
	switch it.letter {
	case 'a':
		_, ok = r.name(dayNames, 3)
	case 'A':
		_, ok = r.name(dayNames, 0)
	case 'b':
		f.month, ok = r.name(monthNames, 3)
		f.month++
	case 'B':
		f.month, ok = r.name(monthNames, 0)
		f.month++
	case 'w':
		_, ok = r.number(1, 0, 6)
	case 'u':
		f.isoDay, ok = r.number(1, 1, 7)
	case 'd':
		f.day, ok = r.number(2, 1, 31)
	case 'm':
		f.month, ok = r.number(2, 1, 12)
	case 'y':
		f.year, ok = r.number(2, 0, 99)
		if f.year += 1900; f.year < 1969 {
			f.year += 100
		}
	case 'Y':
		f.year, ok = r.number(4, 0, 9999)
	case 'H':
		f.hour, ok = r.number(2, 0, 23)
	case 'I':
		f.hour, ok = r.number(2, 1, 12)
		f.twelve = true
	case 'M':
		f.minute, ok = r.number(2, 0, 59)
	case 'S':
		f.second, ok = r.number(2, 0, 59)
	case 'f':
		f.nanos, ok = r.fraction(6)
	case 'g':
		f.nanos, ok = r.fraction(3)
	case 'n':
		f.nanos, ok = r.fraction(9)
	case 'p':
		var half int64
		half, ok = r.name([]string{"AM", "PM"}, 0)
		f.half = int(half) + 1
	case 'z':
		f.offset, ok = r.offset()
	case 'Z':
		f.zone = r.zone()
		ok = true
	case 'j':
		f.yearDay, ok = r.number(3, 1, 366)
	case 'G':
		f.isoYear, ok = r.number(4, 0, 9999)
	case 'V':
		f.isoWeek, ok = r.number(2, 1, 53)
	}
	return ok
}

// reading is what is left of a text.
type reading struct{ s, all string }

func (r *reading) wrong() error {
	return fail.New(fail.Value, "%q does not fit the format, from %q on", short(r.all), short(r.s))
}

func short(s string) string {
	if len(s) > 60 {
		return s[:60] + "..."
	}
	return s
}

func (r *reading) spaces() { r.s = strings.TrimLeft(r.s, " \t\n\v\f\r") }

// literal takes a text of the format; white space in it stands for any, but at least one.
func (r *reading) literal(text string) bool {
	for i := 0; i < len(text); i++ {
		if text[i] == ' ' {
			before := len(r.s)
			r.spaces()
			if len(r.s) == before {
				return false
			}
			for i+1 < len(text) && text[i+1] == ' ' {
				i++
			}
			continue
		}
		if r.s == "" || r.s[0] != text[i] {
			return false
		}
		r.s = r.s[1:]
	}
	return true
}

// number takes at most so many digits.
func (r *reading) number(most int, low, high int64) (n int64, ok bool) {
	i := 0
	for ; i < len(r.s) && i < most && r.s[i] >= '0' && r.s[i] <= '9'; i++ {
		n = n*10 + int64(r.s[i]-'0')
	}
	if i == 0 || n < low || n > high {
		return 0, false
	}
	r.s = r.s[i:]
	return n, true
}

// fraction takes digits behind a point, as nanoseconds.
func (r *reading) fraction(most int) (int64, bool) {
	before := len(r.s)
	n, ok := r.number(most, 0, calendar.Second)
	for i := before - len(r.s); ok && i < 9; i++ {
		n *= 10
	}
	return n, ok
}

// name takes a name, or its first letters, without regard to case, and gives its index.
func (r *reading) name(names []string, cut int) (int64, bool) {
	for i, n := range names {
		if cut > 0 {
			n = n[:cut]
		}
		if len(r.s) >= len(n) && strings.EqualFold(r.s[:len(n)], n) {
			r.s = r.s[len(n):]
			return int64(i), true
		}
	}
	return 0, false
}

// offset takes +HH, +HHMM or +HH:MM.
func (r *reading) offset() (int64, bool) {
	if r.s == "" || r.s[0] != '+' && r.s[0] != '-' {
		return 0, false
	}
	negative := r.s[0] == '-'
	r.s = r.s[1:]
	if len(r.s) < 2 || r.s[1] < '0' || r.s[1] > '9' {
		return 0, false
	}
	hour, ok := r.number(2, 0, 99)
	if !ok {
		return 0, false
	}
	ns := hour * calendar.Hour
	for _, unit := range []int64{calendar.Minute, calendar.Second} {
		rest := strings.TrimPrefix(r.s, ":")
		if rest == "" || rest[0] < '0' || rest[0] > '9' {
			break
		}
		r.s = rest
		n, ok := r.number(2, 0, 59)
		if !ok {
			return 0, false
		}
		ns += n * unit
	}
	if negative {
		ns = -ns
	}
	return ns, true
}

// zone takes a zone's name.
func (r *reading) zone() string {
	i := 0
	for i < len(r.s) && (r.s[i]|0x20 >= 'a' && r.s[i]|0x20 <= 'z' || r.s[i] >= '0' && r.s[i] <= '9' || strings.IndexByte("_/+-", r.s[i]) >= 0) {
		i++
	}
	name := r.s[:i]
	r.s = r.s[i:]
	return name
}
