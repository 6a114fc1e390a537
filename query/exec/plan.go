package exec

import (
	"context"
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
	time     int        // the slot of the event's time, -1: not read
	edge     *expr.Edge // what is still wanted, of the first key of ORDER BY; nil: nobody asks
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

// Times are bounds, [from, to), of the event time of all rows that the answer is made of: those that the conditions give, or all. There may be
// many conditions: once ctx has ended they are not asked any more.
func (p *Plan) Times(ctx context.Context) (from, to event.Timestamp) {
	if p.Request == nil || p.time < 0 || len(p.Request.Filter) == 0 {
		return math.MinInt64, math.MaxInt64
	}
	low, high := expr.Limits(ctx, expr.And(p.Request.Filter...), p.time)
	switch {
	case low > high:
		return 0, 0
	case high == math.MaxInt64:
		return event.Timestamp(low), math.MaxInt64
	}
	return event.Timestamp(low), event.Timestamp(high) + 1
}
