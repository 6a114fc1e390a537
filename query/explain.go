package query

import (
	"fmt"
	"time"

	"github.com/togodb/togo/query/exec"
	"github.com/togodb/togo/query/vec"
)

// explain gives the plan as rows of one text column.
func (c *counter) explain(p *plan, ran bool, took time.Duration) error {
	lines := p.Explain()
	if p.snap != nil {
		lines = append(lines, pruned(p, ran)...)
	}
	if ran {
		lines = append(lines, fmt.Sprintf("time: %s", took.Round(time.Microsecond)))
	}
	c.columns([]exec.Output{{Name: "plan", Type: vec.Text}})
	return c.batch(&vec.Batch{Len: len(lines), Cols: []*vec.Vector{{Type: vec.Text, Len: len(lines), Texts: lines}}})
}

// pruned says what was left out, and by what: without running, what the commit records tell.
func pruned(p *plan, ran bool) []string {
	s := p.Request.Stats
	lines := []string{fmt.Sprintf("fragments: %d, %d pruned by time, %d by range", s.Fragments.Load(), s.PrunedByTime.Load(), s.PrunedByRange.Load())}
	if !ran {
		if p.FromRecords() && p.left > 0 {
			return append(lines, fmt.Sprintf("to be opened: at most %d, but for those that the conditions take whole", p.left))
		}
		return append(lines, fmt.Sprintf("to be opened: %d", p.left))
	}
	return append(lines,
		fmt.Sprintf("fragments: %d pruned by footer and filter, %d answered by their record, %d read", s.PrunedByFilter.Load(), s.AnsweredByMeta.Load(), s.Read.Load()-s.PrunedByFilter.Load()),
		fmt.Sprintf("row groups: %d, %d pruned; pages: %d decoded, %d passed over", s.RowGroups.Load(), s.RowGroupsPruned.Load(), s.Pages.Load(), s.PagesPruned.Load()),
		fmt.Sprintf("rows: %d scanned, %d passed the filter", s.Rows.Load(), s.RowsOut.Load()),
		fmt.Sprintf("bytes: %d from the store by %d requests, %d from the cache", s.StoreBytes.Load(), s.StoreRequests.Load(), s.CacheBytes.Load()),
		fmt.Sprintf("CPU of the scan: %s", time.Duration(s.CPU.Load()).Round(time.Microsecond)))
}
