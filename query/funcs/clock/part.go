package clock

import (
	"github.com/togodb/togo/query/calendar"
	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/funcs/each"
	"github.com/togodb/togo/query/vec"
)

// fractional tells that a part is a DOUBLE.
func fractional(u calendar.Unit) bool { return u == calendar.UnitEpoch || u == calendar.UnitJulian }

// part reads a part of values of a type.
func part(u calendar.Unit, t vec.Type) expr.Eval {
	switch {
	case t == interval && u == calendar.UnitEpoch:
		return each.One(dbl, each.Sure(calendar.IntervalSeconds))
	case t == interval:
		return each.One(num, func(s vec.Span) (int64, error) { return calendar.IntervalPart(u, s) })
	case t == date && u == calendar.UnitEpoch:
		return each.One(dbl, each.Sure(func(d int64) float64 { return float64(d) * 86400 }))
	case t == date && u == calendar.UnitJulian:
		return each.One(dbl, each.Sure(calendar.JulianDate))
	case t == date:
		return each.One(num, each.Sure(func(d int64) int64 { return calendar.DatePart(u, d) }))
	case u == calendar.UnitEpoch:
		return each.One(dbl, each.Sure(calendar.Seconds))
	case u == calendar.UnitJulian:
		return each.One(dbl, each.Sure(calendar.JulianDay))
	}
	return each.One(num, each.Sure(func(ns int64) int64 { return calendar.TimePart(u, ns) }))
}

func parts() []*expr.Func {
	var out []*expr.Func
	for _, t := range append(times[:3:3], interval) {
		f := withUnit(one("date_part", "", "A part of a time or an interval: a BIGINT, of epoch and julian a DOUBLE. EXTRACT(hour FROM x) is date_part('hour', x). Parts are those of date_trunc, and dow (Sunday is 0), isodow, doy, isoyear, yearweek, era, epoch, julian.", num, nil, text, t),
			func(u calendar.Unit) expr.Eval { return part(u, t) })
		f.OutOf = func(args []expr.Expr) vec.Type {
			if u, err := unit(args[0], "date_part"); err == nil && fractional(u) {
				return dbl
			}
			return num
		}
		switch t {
		case instant:
			f.Example = "date_part('hour', TIMESTAMPTZ '2026-03-31 10:20:30Z') = 10"
		case date:
			f.Example = "date_part('dow', DATE '2026-03-31') = 2"
		}
		out = append(out, f)
		out = append(out, also("datepart", f)...)
	}
	for _, p := range shown {
		name := p[0]
		u, err := calendar.ParseUnit(name)
		if err != nil {
			panic(err) // a name of the list above that is none
		}
		to := num
		if fractional(u) {
			to = dbl
		}
		of := times
		if u == calendar.UnitEpoch || u >= calendar.UnitMillennium && u <= calendar.UnitNanosecond && u != calendar.UnitWeek {
			of = append(times[:3:3], interval)
		}
		for _, t := range of {
			f := one(name, "", "The same as date_part('"+name+"', x).", to, part(u, t), t)
			switch u {
			case calendar.UnitMillennium, calendar.UnitCentury, calendar.UnitDecade, calendar.UnitYear, calendar.UnitISOYear, calendar.UnitEpoch, calendar.UnitJulian:
				f.Rises = t != interval
			}
			if t == instant {
				f.Example = name + "(TIMESTAMPTZ '2026-03-31 10:20:30.5Z') = " + p[1]
			}
			out = append(out, f)
		}
	}
	return append(out, named()...)
}

// shown are the parts that have a function of their own, each with what it is on 2026-03-31 at 10:20:30.5.
var shown = [][2]string{
	{"millennium", "3"}, {"century", "21"}, {"decade", "202"}, {"year", "2026"}, {"quarter", "1"}, {"month", "3"}, {"week", "14"}, {"weekofyear", "14"}, {"day", "31"}, {"dayofmonth", "31"},
	{"hour", "10"}, {"minute", "20"}, {"second", "30"}, {"millisecond", "30500"}, {"microsecond", "30500000"}, {"nanosecond", "30500000000"}, {"isoyear", "2026"}, {"yearweek", "202614"},
	{"weekday", "2"}, {"dayofweek", "2"}, {"isodow", "2"}, {"dayofyear", "90"}, {"era", "1"}, {"julian", "2461131.430908564815"}, {"epoch", "1774952430.5"}, {"timezone_hour", "0"}, {"timezone_minute", "0"},
}

// named are the functions that give names, and the last day of a month.
func named() []*expr.Func {
	var out []*expr.Func
	names := func(name, example, doc string, list []string, u calendar.Unit, base int64) {
		for _, t := range times {
			eval := part(u, t)
			f := one(name, "", doc, text, func(s *expr.Scratch, args []*vec.Vector, n int) (*vec.Vector, error) {
				v, err := eval(s, args, n)
				if err != nil {
					return nil, err
				}
				texts := &vec.Vector{Type: text, Len: v.Len, Const: v.Const, Texts: make([]string, len(v.Ints))}
				for i, k := range v.Ints {
					texts.Texts[i] = list[k-base]
				}
				return texts, nil
			}, t)
			if t == date {
				f.Example = example
			}
			out = append(out, f)
		}
	}
	names("dayname", "dayname(DATE '2026-03-31') = 'Tuesday'", "The English name of the day.", dayNames, calendar.UnitDayOfWeek, 0)
	names("monthname", "monthname(DATE '2026-03-31') = 'March'", "The English name of the month.", monthNames, calendar.UnitMonth, 1)
	for _, t := range times {
		f := one("last_day", "", "The last day of the month.", date, each.One(date, each.Sure(func(at int64) int64 {
			if t != date {
				at, _ = calendar.Split(at)
			}
			year, month, _ := calendar.Civil(at)
			return calendar.DateOf(year, month, calendar.DaysIn(year, month))
		})), t)
		if t == date {
			f.Example = "last_day(DATE '2026-02-11') = DATE '2026-02-28'"
		}
		out = append(out, f)
	}
	return out
}

var (
	dayNames   = []string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"}
	monthNames = []string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"}
)
