package exec

import (
	"fmt"
	"strings"

	"github.com/togodb/togo/query/expr"
)

// Explain shows the plan, a line a step, the last step first; each step reads from the one below it.
func (p *Plan) Explain() []string {
	var lines []string
	add := func(format string, args ...any) {
		lines = append(lines, strings.Repeat("  ", len(lines))+fmt.Sprintf(format, args...))
	}
	if p.limit >= 0 || p.offset > 0 {
		limit := "LIMIT ALL"
		if p.limit >= 0 {
			limit = fmt.Sprintf("LIMIT %d", p.limit)
		}
		if p.offset > 0 {
			limit += fmt.Sprintf(" OFFSET %d", p.offset)
		}
		add("%s", limit)
	}
	if len(p.orders) > 0 {
		how := ""
		if p.top() != nil {
			how = ", which bounds the scan"
		} else if p.first() >= 0 {
			how = fmt.Sprintf(", keeping %d rows", p.first())
		}
		add("ORDER BY %s%s", strings.Join(p.orders, ", "), how)
	}
	if p.distinct {
		add("DISTINCT")
	}
	add("SELECT %s", texts(p.project[:len(p.Outputs)]))
	if g := p.group; g != nil {
		if len(g.having) > 0 {
			add("HAVING %s", conditions(g.having))
		}
		var list []string
		for _, a := range g.aggregates {
			list = append(list, a.text)
		}
		text := "AGGREGATE " + strings.Join(list, ", ")
		if len(list) == 0 {
			text = "GROUPS"
		}
		if len(g.keys) > 0 {
			text += " BY " + texts(g.keys)
		}
		if p.Request != nil && p.FromRecords() {
			text += " (whole fragments by their records)"
		}
		add("%s", text)
	}
	if p.Request == nil {
		if len(p.filter) > 0 {
			add("FILTER %s", conditions(p.filter))
		}
		add("ONE ROW")
		return lines
	}
	if len(p.Request.Filter) > 0 {
		add("FILTER %s", conditions(p.Request.Filter))
	}
	var columns []string
	for _, c := range p.Request.Columns {
		columns = append(columns, c.Name)
	}
	add("%s", strings.TrimSuffix(fmt.Sprintf("SCAN %s: %s", p.Request.Kind, strings.Join(columns, ", ")), ": "))
	return lines
}

func texts(list []expr.Expr) string {
	out := make([]string, len(list))
	for i, e := range list {
		out[i] = e.String()
	}
	return strings.Join(out, ", ")
}

func conditions(list []expr.Expr) string {
	out := make([]string, len(list))
	for i, e := range list {
		out[i] = e.String()
	}
	return strings.Join(out, " AND ")
}
