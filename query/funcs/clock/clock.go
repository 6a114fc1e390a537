// Package clock has the functions of times, dates and intervals. The session's zone is UTC.
package clock

import (
	"strings"

	"github.com/togodb/togo/query/calendar"
	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/funcs/each"
	"github.com/togodb/togo/query/vec"
)

const (
	text     = vec.Text
	num      = vec.Int
	dbl      = vec.Double
	instant  = vec.TimestampTZ
	wall     = vec.Timestamp
	date     = vec.Date
	interval = vec.Interval
)

// times are the types that most functions have a form for; the first is what a constant text becomes.
var times = []vec.Type{instant, wall, date}

// Functions are all of the package.
func Functions() []*expr.Func {
	var out []*expr.Func
	for _, list := range [][]*expr.Func{now(), truncation(), buckets(), parts(), epochs(), making(), differences(), zones(), texts(), intervals()} {
		out = append(out, list...)
	}
	return out
}

func one(name, example, doc string, out vec.Type, eval expr.Eval, args ...vec.Type) *expr.Func {
	return &expr.Func{Name: name, Args: args, Out: out, Eval: eval, Example: example, Doc: doc}
}

// also is the same functions under another name.
func also(name string, list ...*expr.Func) []*expr.Func {
	var out []*expr.Func
	for _, f := range list {
		g := *f
		g.Name, g.Example, g.Doc = name, strings.Replace(f.Example, f.Name+"(", name+"(", 1), "The same as "+f.Name+"."
		out = append(out, &g)
	}
	return out
}

func now() []*expr.Func {
	constant := func(name, example, doc string, t vec.Type, of func(ns int64) int64) *expr.Func {
		return &expr.Func{Name: name, Out: t, Example: example, Doc: doc, Bind: func(env *expr.Env, _ []expr.Expr) (expr.Eval, error) {
			v := vec.Value{Type: t, Int: of(env.Now.UnixNano())}
			return func(_ *expr.Scratch, _ []*vec.Vector, n int) (*vec.Vector, error) { return vec.Constant(t, v, n), nil }, nil
		}}
	}
	same := func(ns int64) int64 { return ns }
	day := func(ns int64) int64 { d, _ := calendar.Split(ns); return d }
	return []*expr.Func{
		constant("now", "now() > TIMESTAMPTZ '2026-01-01'", "The time at which the query began; CURRENT_TIMESTAMP is the same.", instant, same),
		constant("current_timestamp", "current_timestamp() = now()", "The same as now.", instant, same),
		constant("get_current_timestamp", "get_current_timestamp() = now()", "The same as now.", instant, same),
		constant("transaction_timestamp", "transaction_timestamp() = now()", "The same as now.", instant, same),
		constant("current_date", "current_date() >= DATE '2026-01-01'", "The date at which the query began, in UTC.", date, day),
		constant("today", "today() = current_date()", "The same as current_date.", date, day),
	}
}

// unit is the unit that a constant argument names.
func unit(e expr.Expr, name string) (calendar.Unit, error) {
	c, ok := each.Const(e)
	if !ok {
		return 0, fail.New(fail.Type, "the unit of %s must be a constant text, as 'hour'", name)
	}
	return calendar.ParseUnit(c.Text)
}

// withUnit is a function whose first argument names a unit; eval is given the others.
func withUnit(f *expr.Func, eval func(u calendar.Unit) expr.Eval) *expr.Func {
	f.Bind = func(_ *expr.Env, args []expr.Expr) (expr.Eval, error) {
		u, err := unit(args[0], f.Name)
		if err != nil {
			return nil, err
		}
		of := eval(u)
		return func(s *expr.Scratch, args []*vec.Vector, n int) (*vec.Vector, error) { return of(s, args[1:], n) }, nil
	}
	return f
}

func differences() []*expr.Func {
	var out []*expr.Func
	for _, t := range times {
		diff := withUnit(one("date_diff", "", "How many starts of the unit lie between two times; weeks are counted as 7 days.", num, nil, text, t, t),
			func(u calendar.Unit) expr.Eval { return difference(u, t, calendar.Boundaries) })
		sub := withUnit(one("date_sub", "", "How many whole units lie between two times.", num, nil, text, t, t),
			func(u calendar.Unit) expr.Eval { return difference(u, t, calendar.Whole) })
		if t == wall {
			diff.Example = "date_diff('hour', TIMESTAMP '2026-03-31 10:59:00', TIMESTAMP '2026-03-31 12:00:00') = 2"
			sub.Example = "date_sub('hour', TIMESTAMP '2026-03-31 10:59:00', TIMESTAMP '2026-03-31 12:00:00') = 1"
		}
		out = append(out, diff, sub)
		out = append(out, also("datediff", diff)...)
		out = append(out, also("datesub", sub)...)
		if t != date {
			out = append(out, one("age", "", "The interval from the second time to the first, in years, months, days and time as on a calendar.", interval,
				each.Two(interval, each.Sure2(calendar.Age)), t, t))
		}
		to := t
		if t == date {
			to = wall
		}
		out = append(out, one("date_add", "", "The time moved by the interval, as +.", to, each.Two(to, func(at int64, by vec.Span) (int64, error) {
			if t == date {
				var err error
				if at, err = calendar.FromDate(at); err != nil {
					return 0, err
				}
			}
			return calendar.Add(at, by)
		}), t, interval))
	}
	for _, f := range out {
		switch {
		case f.Name == "age" && f.Args[0] == wall:
			f.Example = "age(TIMESTAMP '2026-03-01', TIMESTAMP '2026-01-31') = INTERVAL '1 month 1 day'"
		case f.Name == "date_add" && f.Args[0] == date:
			f.Example = "date_add(DATE '2026-03-31', INTERVAL '1 day') = TIMESTAMP '2026-04-01'"
		}
	}
	return out
}

func difference(u calendar.Unit, t vec.Type, f func(u calendar.Unit, a, b int64) (int64, error)) expr.Eval {
	return each.Two(num, func(a, b int64) (int64, error) {
		if t == date {
			var err error
			if a, err = calendar.FromDate(a); err != nil {
				return 0, err
			}
			if b, err = calendar.FromDate(b); err != nil {
				return 0, err
			}
		}
		return f(u, a, b)
	})
}

func zones() []*expr.Func {
	const doc = "The clock on the wall in a zone at an instant, and the instant at which it shows a time; x AT TIME ZONE z is timezone(z, x). A time that a zone shows twice is the later instant."
	to := func(out vec.Type, f func(c *calendar.Cursor, ns int64) (int64, error)) expr.Eval {
		return func(s *expr.Scratch, args []*vec.Vector, n int) (*vec.Vector, error) {
			cursor := cursors()
			names, mask := each.Column[string](args[0])
			ints, intMask := each.Column[int64](args[1])
			return each.Rows(s, out, args, n, func(i int) (int64, error) {
				c, err := cursor(names[i&mask])
				if err != nil {
					return 0, err
				}
				return f(c, ints[i&intMask])
			})
		}
	}
	checked := func(f *expr.Func) *expr.Func {
		eval := f.Eval
		f.Bind = func(_ *expr.Env, args []expr.Expr) (expr.Eval, error) {
			if z, ok := each.Const(args[0]); ok {
				if _, err := calendar.LoadZone(z.Text); err != nil {
					return nil, err
				}
			}
			return eval, nil
		}
		return f
	}
	return []*expr.Func{
		checked(one("timezone", "timezone('Europe/Berlin', TIMESTAMPTZ '2026-03-31 10:20:30Z') = TIMESTAMP '2026-03-31 12:20:30'", doc, wall, to(wall, (*calendar.Cursor).ToLocal), text, instant)),
		checked(one("timezone", "timezone('Europe/Berlin', TIMESTAMP '2026-03-31 10:20:30') = TIMESTAMPTZ '2026-03-31 08:20:30Z'", doc, instant, to(instant, (*calendar.Cursor).ToUTC), text, wall)),
	}
}

// cursors gives a cursor by a zone's name.
func cursors() func(name string) (*calendar.Cursor, error) {
	return each.Memo(func(name string) (*calendar.Cursor, error) {
		z, err := calendar.LoadZone(name)
		if err != nil {
			return nil, err
		}
		return z.Cursor(), nil
	})
}

func intervals() []*expr.Func {
	var out []*expr.Func
	lengths := []struct {
		name string
		of   vec.Span
	}{
		{"to_millennia", vec.Span{Months: 12000}}, {"to_centuries", vec.Span{Months: 1200}}, {"to_decades", vec.Span{Months: 120}}, {"to_years", vec.Span{Months: 12}},
		{"to_quarters", vec.Span{Months: 3}}, {"to_months", vec.Span{Months: 1}}, {"to_weeks", vec.Span{Days: 7}}, {"to_days", vec.Span{Days: 1}},
		{"to_hours", vec.Span{Nanos: calendar.Hour}}, {"to_minutes", vec.Span{Nanos: calendar.Minute}}, {"to_microseconds", vec.Span{Nanos: calendar.Microsecond}},
	}
	for _, l := range lengths {
		out = append(out, one(l.name, l.name+"(2) = INTERVAL '2 "+strings.TrimPrefix(l.name, "to_")+"'", "An interval of so many.", interval,
			each.One(interval, func(n int64) (vec.Span, error) { return calendar.Times(l.of, n) }), num))
	}
	for _, l := range []struct {
		name string
		of   int64
	}{{"to_seconds", calendar.Second}, {"to_milliseconds", calendar.Millisecond}} {
		out = append(out, one(l.name, l.name+"(1.5) = INTERVAL '1.5 "+strings.TrimPrefix(l.name, "to_")+"'", "An interval of so many.", interval,
			each.One(interval, func(x float64) (vec.Span, error) { return calendar.Scale(vec.Span{Nanos: l.of}, x) }), dbl))
	}
	return out
}
