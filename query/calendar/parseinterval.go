package calendar

import (
	"math"
	"strings"

	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/vec"
)

func badInterval(s string) error {
	return fail.New(fail.Value, "%q is not an interval; write it as '1 day 2 hours' or '1 day 02:30:00'", short(s))
}

// ParseInterval reads an interval: numbers with units, and at the end perhaps a time HH:MM[:SS] or the word ago, which
// turns all around. A single number is seconds.
func ParseInterval(s string) (vec.Span, error) {
	var out vec.Span
	p := cursor{s: s}
	p.spaces()
	p.take('@')
	any := false
	for {
		p.spaces()
		if p.done() {
			break
		}
		if c := p.s[p.i] | 0x20; c == 'a' {
			word := p.word()
			p.spaces()
			if !any || !strings.EqualFold(word, "ago") || !p.done() {
				return out, badInterval(s)
			}
			return Negate(out)
		}
		negative := p.take('-')
		start := p.i
		number, ok := p.number()
		if !ok {
			return out, badInterval(s)
		}
		if !p.done() && p.s[p.i] == ':' {
			p.i = start
			clock, ok := p.clock(18)
			if !ok {
				return out, badInterval(s)
			}
			if negative {
				clock = -clock
			}
			any = true
			var err error
			if out, err = Sum(out, vec.Span{Nanos: clock}); err != nil {
				return out, err
			}
			continue
		}
		var fraction int64
		if p.take('.') {
			fraction = p.fraction()
		}
		if negative {
			number, fraction = -number, -fraction
		}
		p.spaces()
		word := p.word()
		if word == "" && !any && p.done() {
			word = "second"
		}
		part, err := of(word, number, fraction)
		if err != nil {
			return out, err
		}
		if out, err = Sum(out, part); err != nil {
			return out, err
		}
		any = true
	}
	if !any {
		return out, badInterval(s)
	}
	return out, nil
}

// number reads digits that an int64 holds.
func (p *cursor) number() (n int64, ok bool) {
	start := p.i
	for ; !p.done() && isDigit(p.s[p.i]); p.i++ {
		d := int64(p.s[p.i] - '0')
		if n > (math.MaxInt64-d)/10 {
			return 0, false
		}
		n = n*10 + d
	}
	return n, p.i > start
}

func (p *cursor) word() string {
	start := p.i
	for !p.done() && isLetter(p.s[p.i]) {
		p.i++
	}
	return p.s[start:p.i]
}

// of is an interval of some units, with a fraction in parts of 1e-9. Fractions of months and longer become months and
// then days, those of days and weeks nanoseconds.
func of(word string, n, fraction int64) (vec.Span, error) {
	u, err := ParseUnit(word)
	if err != nil {
		return vec.Span{}, err
	}
	coarse := fraction / 1000 * 1000 // as many digits as DuckDB looks at
	switch u {
	case UnitMillennium, UnitCentury, UnitDecade, UnitYear, UnitQuarter, UnitMonth:
		per := u.months()
		if n > math.MaxInt32 || n < math.MinInt32 {
			return vec.Span{}, intervalRange()
		}
		months := coarse * per
		var days int64
		if u == UnitQuarter || u == UnitMonth {
			days = months % Second * 30 / Second
		}
		return span(n*per+months/Second, days, 0)
	case UnitDay, UnitWeek:
		per := int64(1)
		if u == UnitWeek {
			per = 7
		}
		if n > math.MaxInt32 || n < math.MinInt32 {
			return vec.Span{}, intervalRange()
		}
		rest := coarse * per // in parts of 1e-9 of a day
		return span(0, n*per+rest/Second, rest%Second*86400)
	case UnitHour, UnitMinute, UnitSecond, UnitMillisecond, UnitMicrosecond, UnitNanosecond:
		per := u.nanos()
		if u == UnitHour || u == UnitMinute {
			fraction = coarse
		}
		nanos := n * per
		if nanos/per != n {
			return vec.Span{}, intervalRange()
		}
		return Sum(vec.Span{Nanos: nanos}, vec.Span{Nanos: int64(float64(fraction) / 1e9 * float64(per))})
	}
	return vec.Span{}, fail.New(fail.Value, "an INTERVAL has no unit %q; take years, months, weeks, days, hours, minutes, seconds, milliseconds, microseconds or nanoseconds", short(word))
}
