package scan

import (
	"cmp"
	"slices"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/vec"
)

// plan is what a request asks for.
type plan struct {
	columns []Column // the request's, and the time where it is needed
	stages  []stage
	output  []int
	first   []int // the slots that Request.First reads
	time    int   // the slot of the event's time; -1: nobody needs it
}

// stage is a condition with the slots that it reads.
type stage struct {
	cond  expr.Expr // nil: the floor
	slots []int
	fails bool // evaluating it may be an error that depends on the values
}

const minTime = event.Timestamp(-1 << 63)

func newPlan(r *Request) *plan {
	p := &plan{columns: r.Columns, output: r.Output}
	p.time = slices.IndexFunc(r.Columns, func(c Column) bool { return c.Name == Timestamp })
	floor := r.Kind == fragment.Events && r.Floor > minTime
	if p.time < 0 && (floor || r.Top != nil) {
		p.time = len(r.Columns)
		p.columns = append(slices.Clip(r.Columns), Column{Timestamp, vec.TimestampTZ})
	}
	if floor {
		p.stages = append(p.stages, stage{nil, []int{p.time}, false})
	}
	if r.First != nil {
		p.first = expr.Slots(r.First.By)
	}
	for _, cond := range r.Filter {
		p.stages = append(p.stages, stage{cond, expr.Slots(cond), expr.Fails(cond)})
	}
	return p
}

// inOrder puts stages in the order in which they are done: those that read least first, then those that
// may fail, as they stand. (A row that another condition has taken out must not fail where it would not if that came first; which
// comes first is not SQL's matter, and errors that come or go with the sizes of columns would be nobody's friend.)
func inOrder(stages []stage, cost func(s *stage) int64) []stage {
	out := slices.Clone(stages)
	slices.SortStableFunc(out, func(a, b stage) int {
		switch {
		case a.fails != b.fails && a.fails:
			return 1
		case a.fails != b.fails:
			return -1
		case a.fails:
			return 0
		}
		return cmp.Compare(cost(&a), cost(&b))
	})
	return out
}

// without gives the stage for a file that has no columns for some slots. decided tells that it is the same for all
// rows; then truth is what it is.
func (s *stage) without(absent func(slot int) bool) (out stage, decided, truth bool) {
	if s.cond == nil || !slices.ContainsFunc(s.slots, absent) {
		return *s, false, false
	}
	cond := expr.WithNull(s.cond, absent)
	if c, ok := cond.(*expr.Const); ok {
		return *s, true, c.Value.Type == vec.Bool && c.Value.Int != 0
	}
	return stage{cond, expr.Slots(cond), expr.Fails(cond)}, false, false
}
