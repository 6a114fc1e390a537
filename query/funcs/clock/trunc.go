package clock

import (
	"github.com/togodb/togo/query/calendar"
	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/funcs/each"
	"github.com/togodb/togo/query/vec"
)

func truncation() []*expr.Func {
	const doc = "The start of the year, quarter, month, week (Monday), day, hour, minute, second and so on that a time lies in."
	var out []*expr.Func
	for _, t := range times {
		to := t
		if t == date {
			to = wall
		}
		f := withUnit(one("date_trunc", "", doc, to, nil, text, t), func(u calendar.Unit) expr.Eval { return truncate(u, t, to) })
		f.Rises, f.Total = true, true
		out = append(out, f)
	}
	out[0].Example = "date_trunc('hour', TIMESTAMPTZ '2026-03-31 10:20:30Z') = TIMESTAMPTZ '2026-03-31 10:00:00Z'"
	out[1].Example = "date_trunc('week', TIMESTAMP '2026-03-31 10:20:30') = TIMESTAMP '2026-03-30'"
	out[2].Example = "date_trunc('month', DATE '2026-03-31') = TIMESTAMP '2026-03-01'"
	out = append(out,
		withUnit(one("date_trunc", "date_trunc('day', TIMESTAMPTZ '2026-03-31 23:20:30Z', 'Europe/Berlin') = TIMESTAMPTZ '2026-03-31 22:00:00Z'",
			"The same by the clock of a zone.", instant, nil, text, instant, text), truncateIn),
		withUnit(one("date_trunc", "date_trunc('day', INTERVAL '5 days 3 hours') = INTERVAL '5 days'", "The interval without what is finer than the unit.", interval, nil, text, interval),
			func(u calendar.Unit) expr.Eval {
				return each.One(interval, func(s vec.Span) (vec.Span, error) { return truncateInterval(u, s) })
			}),
	)
	return append(out, also("datetrunc", out...)...)
}

func truncate(u calendar.Unit, from, to vec.Type) expr.Eval {
	if n, ok := u.Fixed(); ok && from != date {
		return func(_ *expr.Scratch, args []*vec.Vector, _ int) (*vec.Vector, error) { return fixed(to, args[0], n, 0) }
	}
	return each.One(to, func(at int64) (int64, error) {
		if from == date {
			return calendar.FromDate(calendar.TruncDate(u, at))
		}
		return calendar.Trunc(u, at)
	})
}

// fixed gives for each time the last one that is a multiple of n, above 0, away from an origin.
func fixed(to vec.Type, v *vec.Vector, n, origin int64) (*vec.Vector, error) {
	out := &vec.Vector{Type: to, Len: v.Len, Const: v.Const, Ints: make([]int64, len(v.Ints))}
	shift := origin % n
	if shift < 0 {
		shift += n
	}
	for i, at := range v.Ints {
		rest := at%n - shift // above -2n
		if rest < 0 {
			rest += n
		}
		if rest < 0 {
			rest += n
		}
		if out.Ints[i] = at - rest; out.Ints[i] > at {
			return nil, fail.New(fail.OutOfRange, "a time before 1677-09-21, which nanoseconds in 64 bits begin with")
		}
	}
	return out, nil
}

// truncateIn is by the clock of a zone. Units below a day are cut from the instant's own offset, so that the hour that
// comes twice stays two hours.
func truncateIn(u calendar.Unit) expr.Eval {
	nanos, short := u.Fixed()
	return func(s *expr.Scratch, args []*vec.Vector, n int) (*vec.Vector, error) {
		cursor := cursors()
		ints, mask := each.Column[int64](args[0])
		names, nameMask := each.Column[string](args[1])
		return each.Rows(s, instant, args, n, func(i int) (int64, error) {
			c, err := cursor(names[i&nameMask])
			if err != nil {
				return 0, err
			}
			at := ints[i&mask]
			local, err := c.ToLocal(at)
			if err != nil {
				return 0, err
			}
			if short {
				start, err := calendar.TruncTo(nanos, local)
				return at - (local - start), err
			}
			start, err := calendar.Trunc(u, local)
			if err != nil {
				return 0, err
			}
			return c.ToUTC(start)
		})
	}
}

func truncateInterval(u calendar.Unit, s vec.Span) (vec.Span, error) {
	if n, ok := u.Fixed(); ok {
		s.Nanos -= s.Nanos % n
		return s, nil
	}
	s.Nanos = 0
	switch u {
	case calendar.UnitWeek, calendar.UnitYearWeek:
		s.Days -= s.Days % 7
	case calendar.UnitMillennium, calendar.UnitCentury, calendar.UnitDecade, calendar.UnitYear, calendar.UnitQuarter, calendar.UnitMonth, calendar.UnitISOYear:
		if u == calendar.UnitISOYear {
			u = calendar.UnitYear
		}
		s.Days = 0
		s.Months -= s.Months % int32(u.Months())
	}
	return s, nil
}

// origins of the buckets: a Monday, so that weeks begin with one; for months the start of a year.
const (
	mondayOrigin = int64(946857600) * calendar.Second // 2000-01-03
	yearOrigin   = mondayOrigin - 2*calendar.Day
)

// width is the length of a bucket: months, or nanoseconds; days tells that it is whole days.
type width struct {
	months, nanos int64
	days          bool
}

func widthOf(s vec.Span) (width, error) {
	if s.Months != 0 {
		if s.Days != 0 || s.Nanos != 0 {
			return width{}, fail.New(fail.Value, "time_bucket: an interval of months with days or hours; take one of the two")
		}
		if s.Months < 0 {
			return width{}, notPositive()
		}
		return width{months: int64(s.Months)}, nil
	}
	whole, err := calendar.Times(vec.Span{Nanos: calendar.Day}, int64(s.Days))
	if err == nil {
		whole, err = calendar.Sum(whole, vec.Span{Nanos: s.Nanos})
	}
	if err != nil {
		return width{}, err
	}
	if whole.Nanos <= 0 {
		return width{}, notPositive()
	}
	return width{nanos: whole.Nanos, days: s.Days != 0}, nil
}

func notPositive() error {
	return fail.New(fail.Value, "time_bucket: an interval that is not above 0")
}

// start of the bucket of a time; the origin is a time, of which for months its month counts.
func (w width) start(at, origin int64) (int64, error) {
	if w.months == 0 {
		rest := (at%w.nanos - origin%w.nanos) % w.nanos
		if rest < 0 {
			rest += w.nanos
		}
		if at-rest > at {
			return 0, fail.New(fail.OutOfRange, "a time before 1677-09-21, which nanoseconds in 64 bits begin with")
		}
		return at - rest, nil
	}
	month := func(ns int64) int64 {
		d, _ := calendar.Split(ns)
		year, m, _ := calendar.Civil(d)
		return year*12 + int64(m) - 1
	}
	n := (month(at) - month(origin)) % w.months
	if n < 0 {
		n += w.months
	}
	m := month(at) - n
	year := m / 12
	if m%12 < 0 {
		year--
	}
	return calendar.FromDate(calendar.DateOf(year, int(m-year*12)+1, 1))
}

func (w width) origin() int64 {
	if w.months != 0 {
		return yearOrigin
	}
	return mondayOrigin
}
