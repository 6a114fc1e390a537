package clock

import (
	"github.com/togodb/togo/query/calendar"
	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/funcs/each"
	"github.com/togodb/togo/query/vec"
)

func buckets() []*expr.Func {
	const doc = "The start of the bucket of a width that a time lies in. Buckets are counted from 2000-01-03, a Monday, those of months from 2000-01-01"
	var out []*expr.Func
	for _, t := range times {
		plain := bucketed(one("time_bucket", "", doc+".", t, nil, interval, t), t, 0)
		plain.Rises, plain.Total = true, true
		origin := bucketed(one("time_bucket", "", doc+", or from an origin.", t, nil, interval, t, t), t, t)
		offset := bucketed(one("time_bucket", "", doc+", moved by an offset.", t, nil, interval, t, interval), t, interval)
		switch t {
		case instant:
			plain.Example = "time_bucket(INTERVAL '15 minutes', TIMESTAMPTZ '2026-03-31 10:20:30Z') = TIMESTAMPTZ '2026-03-31 10:15:00Z'"
		case wall:
			origin.Example = "time_bucket(INTERVAL '2 hours', TIMESTAMP '2026-03-29 03:20:30', TIMESTAMP '2026-01-01 01:00:00') = TIMESTAMP '2026-03-29 03:00:00'"
			offset.Example = "time_bucket(INTERVAL '2 hours', TIMESTAMP '2026-03-29 03:20:30', INTERVAL '30 minutes') = TIMESTAMP '2026-03-29 02:30:00'"
		case date:
			plain.Example = "time_bucket(INTERVAL '1 month', DATE '2026-03-29') = DATE '2026-03-01'"
		}
		out = append(out, plain, origin, offset)
	}
	return append(out, bucketed(one("time_bucket", "time_bucket(INTERVAL '1 day', TIMESTAMPTZ '2026-03-31 23:20:30Z', 'Europe/Berlin') = TIMESTAMPTZ '2026-03-31 22:00:00Z'",
		doc+", by the clock of a zone.", instant, nil, interval, instant, text), instant, text))
}

// bucketed gives a form of time_bucket for times of type t; third is the type of the third argument, 0 for none.
func bucketed(f *expr.Func, t, third vec.Type) *expr.Func {
	f.Bind = func(_ *expr.Env, args []expr.Expr) (expr.Eval, error) {
		if third == text {
			if z, ok := each.Const(args[2]); ok {
				if _, err := calendar.LoadZone(z.Text); err != nil {
					return nil, err
				}
			}
		}
		if c, ok := each.Const(args[0]); ok {
			w, err := widthOf(c.Span)
			if err != nil {
				return nil, err
			}
			if third == 0 && w.months == 0 && t != date {
				return func(_ *expr.Scratch, args []*vec.Vector, _ int) (*vec.Vector, error) {
					return fixed(t, args[1], w.nanos, mondayOrigin)
				}, nil
			}
			return bucket(t, third, func(int) (width, error) { return w, nil }), nil
		}
		return func(s *expr.Scratch, args []*vec.Vector, n int) (*vec.Vector, error) {
			spans, mask := each.Column[vec.Span](args[0])
			return bucket(t, third, func(i int) (width, error) { return widthOf(spans[i&mask]) })(s, args, n)
		}, nil
	}
	return f
}

func bucket(t, third vec.Type, widths func(i int) (width, error)) expr.Eval {
	return func(s *expr.Scratch, args []*vec.Vector, n int) (*vec.Vector, error) {
		ints, mask := each.Column[int64](args[1])
		of := start(t, third, args)
		return each.Rows(s, t, args, n, func(i int) (int64, error) {
			w, err := widths(i)
			if err != nil {
				return 0, err
			}
			at := ints[i&mask]
			if t == date {
				if at, err = calendar.FromDate(at); err != nil {
					return 0, err
				}
			}
			if at, err = of(w, at, i); err != nil || t != date {
				return at, err
			}
			day, _ := calendar.Split(at)
			return day, nil
		})
	}
}

// start gives the start of the bucket of a time in a row, by what the third argument is.
func start(t, third vec.Type, args []*vec.Vector) func(w width, at int64, i int) (int64, error) {
	switch third {
	case 0:
		return func(w width, at int64, _ int) (int64, error) { return w.start(at, w.origin()) }
	case interval:
		offsets, mask := each.Column[vec.Span](args[2])
		return func(w width, at int64, i int) (int64, error) {
			offset := offsets[i&mask]
			if t == date && w.months != 0 { // months of dates are moved by whole days
				offset.Nanos -= offset.Nanos % calendar.Day
			}
			at, err := calendar.Subtract(at, offset)
			if err == nil {
				at, err = w.start(at, w.origin())
			}
			if err != nil {
				return 0, err
			}
			return calendar.Add(at, offset)
		}
	case text:
		names, mask := each.Column[string](args[2])
		cursor := cursors()
		return func(w width, at int64, i int) (int64, error) {
			c, err := cursor(names[i&mask])
			if err != nil {
				return 0, err
			}
			return startIn(c, w, at)
		}
	}
	origins, mask := each.Column[int64](args[2])
	return func(w width, at int64, i int) (int64, error) {
		origin := origins[i&mask]
		if third == date {
			var err error
			if origin, err = calendar.FromDate(origin); err != nil {
				return 0, err
			}
		}
		return w.start(at, origin)
	}
}

// startIn is by the clock of a zone: days and months begin at its midnights, shorter buckets are
// counted from the origin's instant there.
func startIn(c *calendar.Cursor, w width, at int64) (int64, error) {
	if w.months == 0 && !w.days {
		origin, err := c.ToUTC(mondayOrigin)
		if err != nil {
			return 0, err
		}
		return w.start(at, origin)
	}
	if w.nanos%calendar.Day != 0 {
		return 0, fail.New(fail.Value, "time_bucket in a zone: an interval of days with hours; take one of the two")
	}
	local, err := c.ToLocal(at)
	if err == nil {
		local, err = w.start(local, w.origin())
	}
	if err != nil {
		return 0, err
	}
	return c.ToUTC(local)
}
