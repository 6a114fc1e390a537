package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// answer collects what a query gave, as text that both engines write alike.
type answer struct {
	began    time.Time
	FirstRow time.Duration // 0: there was none
	Rows     []string
}

func (a *answer) first() {
	if a.FirstRow == 0 {
		a.FirstRow = time.Since(a.began)
	}
}

func (a *answer) row(values []any) {
	var b strings.Builder
	for i, v := range values {
		if i > 0 {
			b.WriteByte('|')
		}
		switch v := v.(type) {
		case float64:
			b.WriteString(strconv.FormatFloat(v, 'g', 9, 64))
		case int64:
			b.WriteString(strconv.FormatInt(v, 10))
		case string:
			b.WriteString(v)
		default:
			fmt.Fprint(&b, v)
		}
	}
	a.Rows = append(a.Rows, b.String())
}

// same tells whether two answers have the same rows.
func same(q *question, a, b []string) bool {
	if q.SQL == schemaQuery {
		return len(a) > 0 && len(b) > 0 // they list different things of a column
	}
	if !q.Ordered {
		slices.Sort(a)
		slices.Sort(b)
	}
	return slices.Equal(a, b)
}
