package calendar

import (
	"math"
	"strings"

	"github.com/togodb/togo/query/fail"
)

func badTimestamp(s string) error {
	return fail.New(fail.Value, "%q is not a time; write it as YYYY-MM-DD HH:MM:SS[.FRACTION], with Z, +HH:MM or a zone's name behind it where the zone is not UTC", short(s))
}

func badDate(s string) error {
	return fail.New(fail.Value, "%q is not a date; write it as YYYY-MM-DD", short(s))
}

// short keeps an error small, whatever the value is.
func short(s string) string {
	if len(s) > 60 {
		return s[:60] + "..."
	}
	return s
}

// ParseDate reads YYYY-MM-DD, with one of - / \ or a space between. A time of day behind it is left out.
func ParseDate(s string) (int64, error) {
	p := cursor{s: s}
	date, ok, special := p.date()
	if !ok {
		return 0, badDate(s)
	}
	if special {
		p.spaces()
		if !p.done() {
			return 0, badDate(s)
		}
		return date, nil
	}
	if !p.done() && isDigit(p.s[p.i]) {
		return 0, badDate(s)
	}
	return date, nil
}

// ParseTimestamp reads a clock on a wall: a date and perhaps a time of day, behind a space or a T. An
// offset from UTC is passed over, as DuckDB does; the name of a zone other than UTC is refused.
func ParseTimestamp(s string) (int64, error) {
	ns, _, zone, err := parseTime(s)
	if err == nil && zone != "" && !strings.EqualFold(zone, "UTC") {
		return 0, fail.New(fail.Value, "%q names a zone, which a TIMESTAMP has not; cast it to TIMESTAMPTZ", short(s))
	}
	return ns, err
}

// ParseTimestampTZ reads an instant: as ParseTimestamp, with Z, an offset (+01, +01:30, -0130) or the name of a
// zone behind it; without any it is UTC.
func ParseTimestampTZ(s string) (int64, error) {
	ns, offset, zone, err := parseTime(s)
	if err != nil || zone == "" && offset == 0 {
		return ns, err
	}
	if zone == "" {
		return add(ns, -offset)
	}
	z, err := LoadZone(zone)
	if err != nil {
		return 0, err
	}
	return z.Cursor().ToUTC(ns)
}

func parseTime(s string) (ns, offset int64, zone string, err error) {
	p := cursor{s: s}
	date, ok, special := p.date()
	if !ok {
		return 0, 0, "", badTimestamp(s)
	}
	if p.done() {
		ns, err = Join(date, 0)
		return ns, 0, "", err
	}
	if special {
		return 0, 0, "", badTimestamp(s)
	}
	if c := p.s[p.i]; c == ' ' || c == 'T' {
		p.i++
	}
	clock, ok := p.clock(2)
	if !ok {
		return 0, 0, "", badTimestamp(s)
	}
	if clock > Day {
		return 0, 0, "", badTimestamp(s)
	}
	if ns, err = Join(date, clock); err != nil {
		return 0, 0, "", err
	}
	if !p.done() {
		switch p.s[p.i] {
		case 'Z':
			p.i++
		case '+', '-':
			if offset, ok = p.offset(); !ok {
				return 0, 0, "", badTimestamp(s)
			}
		case ' ':
			p.spaces()
			start := p.i
			for !p.done() && isZoneChar(p.s[p.i]) {
				p.i++
			}
			zone = p.s[start:p.i]
		default:
			return 0, 0, "", badTimestamp(s)
		}
	}
	p.spaces()
	if !p.done() {
		return 0, 0, "", badTimestamp(s)
	}
	return ns, offset, zone, nil
}

// cursor reads a text from its start.
type cursor struct {
	s string
	i int
}

func (p *cursor) done() bool { return p.i >= len(p.s) }

func (p *cursor) spaces() {
	for !p.done() && isSpace(p.s[p.i]) {
		p.i++
	}
}

func (p *cursor) take(c byte) bool {
	if p.done() || p.s[p.i] != c {
		return false
	}
	p.i++
	return true
}

// digits reads from one to most digits.
func (p *cursor) digits(most int) (n int64, ok bool) {
	start := p.i
	for !p.done() && isDigit(p.s[p.i]) && p.i-start < most {
		n = n*10 + int64(p.s[p.i]-'0')
		p.i++
	}
	return n, p.i > start
}

// date reads a date, or epoch, which is special.
func (p *cursor) date() (date int64, ok, special bool) {
	p.spaces()
	if len(p.s)-p.i >= 5 && strings.EqualFold(p.s[p.i:p.i+5], "epoch") {
		p.i += 5
		return 0, true, true
	}
	negative := p.take('-')
	year, ok := p.digits(7)
	if !ok || p.done() {
		return 0, false, false
	}
	separator := p.s[p.i]
	if separator != '-' && separator != '/' && separator != '\\' && separator != ' ' {
		return 0, false, false
	}
	p.i++
	month, ok := p.digits(2)
	if !ok || !p.take(separator) {
		return 0, false, false
	}
	day, ok := p.digits(2)
	if !ok {
		return 0, false, false
	}
	if rest := p.s[p.i:]; len(rest) >= 5 && strings.EqualFold(rest[:5], " (BC)") {
		p.i += 5
		if negative || year == 0 {
			return 0, false, false
		}
		year, negative = year-1, true
	}
	if negative {
		year = -year
	}
	if !Valid(year, int(month), int(day)) {
		return 0, false, false
	}
	return DateOf(year, int(month), int(day)), true, false
}

// clock reads HH:MM[:SS[.FRACTION]], the hour of at most so many digits. What is finer than a nanosecond is cut off.
func (p *cursor) clock(hourDigits int) (ns int64, ok bool) {
	p.spaces()
	hour, ok := p.digits(hourDigits)
	if !ok || !p.take(':') || hour > math.MaxInt64/Hour-1 {
		return 0, false
	}
	minute, ok := p.digits(2)
	if !ok || minute > 59 {
		return 0, false
	}
	ns = hour*Hour + minute*Minute
	if !p.take(':') {
		return ns, true
	}
	second, ok := p.digits(2)
	if !ok || second > 59 {
		return 0, false
	}
	ns += second * Second
	if p.take('.') {
		ns += p.fraction()
	}
	return ns, true
}

// fraction reads digits behind a point, in parts of 1e-9; there may be none.
func (p *cursor) fraction() (n int64) {
	for unit := Second / 10; !p.done() && isDigit(p.s[p.i]); unit /= 10 {
		n += unit * int64(p.s[p.i]-'0')
		p.i++
	}
	return n
}

// offset reads +HH, +HHMM, +HH:MM or +HH:MM:SS.
func (p *cursor) offset() (ns int64, ok bool) {
	negative := p.s[p.i] == '-'
	p.i++
	hour, ok := p.pair()
	if !ok {
		return 0, false
	}
	ns = hour * Hour
	for _, unit := range []int64{Minute, Second} {
		colon := p.take(':')
		if p.done() || !isDigit(p.s[p.i]) {
			if colon {
				return 0, false
			}
			break
		}
		n, ok := p.pair()
		if !ok || n > 59 {
			return 0, false
		}
		ns += n * unit
	}
	if negative {
		ns = -ns
	}
	return ns, true
}

// pair reads two digits, no less.
func (p *cursor) pair() (int64, bool) {
	from := p.i
	n, ok := p.digits(2)
	return n, ok && p.i == from+2
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func isZoneChar(c byte) bool {
	return isDigit(c) || isLetter(c) || c == '_' || c == '/' || c == '+' || c == '-'
}
