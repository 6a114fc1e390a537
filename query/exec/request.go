package exec

import (
	"math"
	"sort"

	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/scan"
	"github.com/togodb/togo/query/vec"
)

// request says what the scan has to give.
func (b *binder) request(where []expr.Expr) {
	p := b.plan
	if b.table.schema == nil {
		p.filter = where
		return
	}
	r := &scan.Request{Kind: b.table.schema.Kind, Filter: where}
	p.Request = r
	if i, ok := b.table.byName[scan.Timestamp]; ok {
		// Known even where nobody reads it: conditions may be on it.
		if slot, used := b.table.slots[i]; used {
			p.time = slot
		}
	}
	r.Columns = b.table.used
	needed := map[int]bool{}
	p.reads(func(e expr.Expr) {
		for _, slot := range expr.Slots(e) {
			needed[slot] = true
		}
	})
	for slot := range needed {
		r.Output = append(r.Output, slot)
	}
	sort.Ints(r.Output)
	if first := p.first(); p.group == nil && !p.distinct && len(p.order) == 0 && first >= 0 && first <= maxTop {
		r.Rows = int(first)
	}
	p.firstRows()
}

// firstRows lets the scan know that the first rows of an order are enough, unless it is that of the time, for which top is.
func (p *Plan) firstRows() {
	first := p.first()
	if p.group != nil || p.distinct || len(p.order) == 0 || first < 1 || first > maxTop {
		return
	}
	k := p.order[0]
	by := p.project[k.Column]
	if p.isTime(by) || expr.Fails(by) {
		return
	}
	p.edge = &expr.Edge{Desc: k.Desc, NullsFirst: k.NullsFirst}
	p.Request.Filter = append(p.Request.Filter, &expr.Ahead{X: by, Edge: p.edge})
	p.Request.First = &scan.First{By: by, Key: k, Rows: int(first)}
}

// reads calls f with the expressions over the scan's rows, but for the filter.
func (p *Plan) reads(f func(expr.Expr)) {
	all := func(list []expr.Expr) {
		for _, e := range list {
			f(e)
		}
	}
	if p.group == nil {
		all(p.project)
		return
	}
	all(p.group.keys)
	for _, a := range p.group.aggregates {
		all(a.args)
		all(a.order)
		if a.filter != nil {
			f(a.filter)
		}
	}
}

// isTime tells that e is the event's time itself.
func (p *Plan) isTime(e expr.Expr) bool {
	c, ok := e.(*expr.Column)
	return ok && p.Request != nil && p.time >= 0 && c.Slot == p.time
}

// first is how many of the first rows are wanted; -1: all, or more than can be kept.
func (p *Plan) first() int64 {
	if p.limit < 0 || p.limit > math.MaxInt32-p.offset {
		return -1
	}
	return p.limit + p.offset
}

// maxTop bounds the rows of an order by time for which the scan is told what is still wanted.
const maxTop = 1 << 20

// top is set if the first rows by time are all that is wanted.
func (p *Plan) top() *scan.Top {
	if p.group != nil || p.distinct || len(p.order) == 0 || p.first() < 0 || p.first() > maxTop || !p.isTime(p.project[p.order[0].Column]) {
		return nil
	}
	return &scan.Top{Descending: p.order[0].Desc, Rows: int(p.first())}
}

// FromRecords tells that counts and times of whole fragments are all that the query asks for, by groups that may be those of whole
// fragments.
func (p *Plan) FromRecords() bool {
	if p.group == nil || len(p.group.aggregates) == 0 {
		return false
	}
	for _, k := range p.group.keys {
		for _, slot := range expr.Slots(k) {
			if slot != p.time {
				return false
			}
		}
	}
	for _, a := range p.group.aggregates {
		if a.filter != nil || a.distinct {
			return false
		}
		switch a.name {
		case "count":
			if len(a.args) > 0 && !p.isTime(a.args[0]) && !isValue(a.args[0]) {
				return false
			}
		case "min", "max":
			if !p.isTime(a.args[0]) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// isValue tells that e is a constant that is not NULL.
func isValue(e expr.Expr) bool {
	c, ok := e.(*expr.Const)
	return ok && c.Value.Type != vec.Null
}

// whole is Request.Whole over the workers' groups.
func whole(groups []*grouper, fail func(error)) func(int, *shardlog.Fragment) bool {
	return func(worker int, f *shardlog.Fragment) bool {
		taken, err := groups[worker].whole(f)
		if err != nil {
			fail(err)
		}
		return taken
	}
}
