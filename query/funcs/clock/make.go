package clock

import (
	"math"

	"github.com/togodb/togo/query/calendar"
	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/funcs/each"
	"github.com/togodb/togo/query/vec"
)

func epochs() []*expr.Func {
	var out []*expr.Func
	for _, u := range []struct {
		name, example string
		nanos         int64
	}{
		{"epoch_ms", "epoch_ms(TIMESTAMPTZ '2026-03-31 10:20:30.123Z') = 1774952430123", calendar.Millisecond},
		{"epoch_us", "epoch_us(TIMESTAMPTZ '2026-03-31 10:20:30.123Z') = 1774952430123000", calendar.Microsecond},
		{"epoch_ns", "epoch_ns(TIMESTAMPTZ '2026-03-31 10:20:30.123456789Z') = 1774952430123456789", 1},
	} {
		const doc = "How many milliseconds, microseconds or nanoseconds have passed since 1970; of an interval how long it is."
		for _, t := range times {
			f := one(u.name, "", doc, num, each.One(num, func(at int64) (int64, error) {
				if t == date {
					var err error
					if at, err = calendar.FromDate(at); err != nil {
						return 0, err
					}
				}
				return at / u.nanos, nil
			}), t)
			f.Rises = true
			if t == instant {
				f.Example = u.example
			}
			out = append(out, f)
		}
		out = append(out, one(u.name, "", doc, num, each.One(num, func(s vec.Span) (int64, error) {
			days := int64(s.Months)*30 + int64(s.Days)
			whole, err := calendar.Times(vec.Span{Nanos: calendar.Day}, days)
			if err == nil {
				whole, err = calendar.Sum(whole, vec.Span{Nanos: s.Nanos})
			}
			return whole.Nanos / u.nanos, err
		}), interval))
	}
	return append(out, one("epoch_ms", "epoch_ms(1774952430123) = TIMESTAMP '2026-03-31 10:20:30.123'", "The time so many milliseconds after 1970.", wall,
		each.One(wall, since1970(calendar.Millisecond)), num))
}

// since1970 is a number of units as a time.
func since1970(unit int64) func(n int64) (int64, error) {
	return func(n int64) (int64, error) {
		s, err := calendar.Times(vec.Span{Nanos: unit}, n)
		if err != nil {
			return 0, fail.New(fail.OutOfRange, "a time outside of 1677-09-21 to 2262-04-11, which nanoseconds in 64 bits hold")
		}
		return s.Nanos, nil
	}
}

func making() []*expr.Func {
	return []*expr.Func{
		one("to_timestamp", "to_timestamp(1774952430.5) = TIMESTAMPTZ '2026-03-31 10:20:30.5Z'", "The instant so many seconds after 1970.", instant, each.One(instant, func(x float64) (int64, error) {
			us := math.Round(x * 1e6) // a DOUBLE has no more digits
			if !(math.Abs(us) < math.MaxInt64/1000) {
				return 0, fail.New(fail.OutOfRange, "to_timestamp: seconds outside of 1677-09-21 to 2262-04-11, which nanoseconds in 64 bits hold")
			}
			return int64(us) * 1000, nil
		}), dbl),
		one("make_date", "make_date(2026, 3, 31) = DATE '2026-03-31'", "The date of year, month and day.", date, each.Three(date, makeDate), num, num, num),
		one("make_date", "make_date(20000) = DATE '2024-10-04'", "The date so many days after 1970-01-01.", date, each.One(date, func(n int64) (int64, error) {
			if n < calendar.MinDate || n > calendar.MaxDate {
				return 0, fail.New(fail.OutOfRange, "make_date(%d) is beyond DATE", n)
			}
			return n, nil
		}), num),
		one("make_timestamp", "make_timestamp(2026, 3, 31, 10, 20, 30.5) = TIMESTAMP '2026-03-31 10:20:30.5'", "The time of year, month, day, hour, minute and seconds.", wall, made(wall, nil), num, num, num, num, num, dbl),
		one("make_timestamp", "make_timestamp(1774952430000000) = TIMESTAMP '2026-03-31 10:20:30'", "The time so many microseconds after 1970.", wall, each.One(wall, since1970(calendar.Microsecond)), num),
		one("make_timestamp_ms", "make_timestamp_ms(1774952430000) = TIMESTAMP '2026-03-31 10:20:30'", "The time so many milliseconds after 1970.", wall, each.One(wall, since1970(calendar.Millisecond)), num),
		one("make_timestamp_ns", "make_timestamp_ns(1774952430000000001) = TIMESTAMP '2026-03-31 10:20:30.000000001'", "The time so many nanoseconds after 1970.", wall, each.One(wall, since1970(1)), num),
		one("make_timestamptz", "make_timestamptz(2026, 3, 31, 10, 20, 30.5) = TIMESTAMPTZ '2026-03-31 10:20:30.5Z'", "The instant of year, month, day, hour, minute and seconds in UTC.", instant, made(instant, nil), num, num, num, num, num, dbl),
		one("make_timestamptz", "make_timestamptz(2026, 3, 31, 10, 20, 30, 'Europe/Berlin') = TIMESTAMPTZ '2026-03-31 08:20:30Z'", "The same in a zone.", instant, made(instant, cursors), num, num, num, num, num, dbl, text),
		one("make_timestamptz", "make_timestamptz(1774952430000000) = TIMESTAMPTZ '2026-03-31 10:20:30Z'", "The instant so many microseconds after 1970.", instant, each.One(instant, since1970(calendar.Microsecond)), num),
	}
}

func makeDate(year, month, day int64) (int64, error) {
	if month < 1 || month > 12 || day < 1 || day > 31 || !calendar.Valid(year, int(month), int(day)) {
		return 0, fail.New(fail.Value, "there is no date %d-%d-%d", year, month, day)
	}
	return calendar.DateOf(year, int(month), int(day)), nil
}

// made puts a time together of its parts; zones, if set, is for a zone's name at the end.
func made(out vec.Type, zones func() func(string) (*calendar.Cursor, error)) expr.Eval {
	return func(s *expr.Scratch, args []*vec.Vector, n int) (*vec.Vector, error) {
		var ints [5][]int64
		var masks [5]int
		for k := range ints {
			ints[k], masks[k] = each.Column[int64](args[k])
		}
		seconds, secondMask := each.Column[float64](args[5])
		var names []string
		var nameMask int
		var cursor func(string) (*calendar.Cursor, error)
		if zones != nil {
			names, nameMask = each.Column[string](args[6])
			cursor = zones()
		}
		return each.Rows(s, out, args, n, func(i int) (int64, error) {
			get := func(k int) int64 { return ints[k][i&masks[k]] }
			day, err := makeDate(get(0), get(1), get(2))
			if err != nil {
				return 0, err
			}
			hour, minute, second := get(3), get(4), seconds[i&secondMask]
			ns := int64(math.Round(second*1e6)) * 1000
			clock := hour*calendar.Hour + minute*calendar.Minute + ns
			if hour < 0 || hour > 24 || minute < 0 || minute > 59 || !(second >= 0 && second <= 60) || clock > calendar.Day {
				return 0, fail.New(fail.Value, "there is no time %d:%d:%g", hour, minute, second)
			}
			at, err := calendar.Join(day, clock)
			if err != nil || cursor == nil {
				return at, err
			}
			c, err := cursor(names[i&nameMask])
			if err != nil {
				return 0, err
			}
			return c.ToUTC(at)
		})
	}
}
