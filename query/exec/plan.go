package exec

import (
	"math"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/query/exec/agg"
	"github.com/togodb/togo/query/exec/rows"
	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/scan"
	"github.com/togodb/togo/query/vec"
)

// Plan is a SELECT that is bound to a table's columns. It runs once.
type Plan struct {
	// Request says what the scan has to give: its Columns, Filter and Output, and Top and Whole where the query
	// allows for them. Who runs the plan fills in the rest: tenant, fragments and so on. It is nil without FROM.
	Request *scan.Request
	Outputs []Output

	filter   []expr.Expr // conditions of a SELECT without FROM
	group    *grouping   // nil: the answer's rows are the scan's
	project  []expr.Expr // the outputs, and after them what else to sort by
	distinct bool
	after    []expr.Expr // with distinct: the outputs and what else to sort by, over the outputs
	order    []rows.Key  // columns of project, or of after
	orders   []string    // as EXPLAIN shows them
	limit    int64       // -1: none
	offset   int64
	time     int // the slot of the event's time, -1: not read
}

// grouping is GROUP BY and the aggregates. Its rows are the keys and behind them the aggregates' results.
type grouping struct {
	keys       []expr.Expr
	aggregates []aggregate
	having     []expr.Expr
}

// aggregate is one of them, with what it reads of the scan's rows.
type aggregate struct {
	name     string
	fn       *agg.Func
	args     []expr.Expr
	filter   expr.Expr // nil: none
	distinct bool
	order    []expr.Expr // of the rows within a group, with their keys; columns of args + order
	keys     []rows.Key
	text     string
}

// types are those of expressions.
func types(list []expr.Expr) []vec.Type {
	out := make([]vec.Type, len(list))
	for i, e := range list {
		out[i] = e.Type()
	}
	return out
}

// Times are bounds, [from, to), of the event time of all rows that the answer is made of: those that the conditions give, or all.
func (p *Plan) Times() (from, to event.Timestamp) {
	low, high := int64(math.MinInt64), int64(math.MaxInt64)
	if p.Request == nil || p.time < 0 {
		return event.Timestamp(low), event.Timestamp(high)
	}
	never := func(min, max int64) bool {
		at := func(n int64) vec.Value { return vec.Value{Type: vec.TimestampTZ, Int: n} }
		for _, c := range p.Request.Filter {
			v := expr.Judge(c, func(slot int) expr.Bounds {
				if slot != p.time {
					return expr.Bounds{Rows: 1, Nulls: -1}
				}
				return expr.Bounds{Rows: 1, Known: true, Min: at(min), Max: at(max)}
			})
			if v == expr.Never {
				return true
			}
		}
		return false
	}
	// The most that is surely excluded below and above: bisected, as a narrower range is excluded where a wider one is.
	if never(math.MinInt64, math.MaxInt64) {
		return 0, 0
	}
	low = bisect(func(t int64) bool { return never(math.MinInt64, t) })
	high = ^bisect(func(t int64) bool { return never(^t, math.MaxInt64) })
	return event.Timestamp(low), event.Timestamp(high)
}

// bisect is the first time for which out is no longer true, given that it is true up to there.
func bisect(out func(int64) bool) int64 {
	low, high := int64(math.MinInt64), int64(math.MaxInt64)
	if !out(low) {
		return low
	}
	for high-low > 1 || high-low < 0 { // the difference may be beyond an int64
		middle := low/2 + high/2 + (low%2+high%2)/2
		if out(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}
