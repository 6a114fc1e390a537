package expr

import (
	"context"
	"strings"
	"testing"

	"github.com/togodb/togo/query/vec"
)

// TestDeep binds and evaluates each construct nested as deep as the parser takes it: what is written once is evaluated once, so
// the time does not double with each level.
func TestDeep(t *testing.T) {
	for _, form := range []string{
		"(X + 1)", "(- X)", "nullif(X, 3)", "nullif(3, X)", "if(b, X, 1)", "if(X > 1, X2, 1)", "if(i BETWEEN X AND 3, 1, 2)", "if((X) BETWEEN 1 AND 3, 1, 2)", "if((X, 1) < (2, X2), 1, 2)", "if((X, 1) >= (2, 3), 1, 2)",
		"CASE X WHEN 1 THEN 2 WHEN 2 THEN 3 WHEN 3 THEN 4 END", "CASE WHEN X = 1 THEN 2 WHEN X2 = 3 THEN 4 END", "coalesce(X, 1)", "coalesce(NULL, X)", "greatest(X, 2)", "CAST(CAST(X AS VARCHAR) AS BIGINT)",
		"if(X IN (1, 2, i), 1, 2)", "if(X IS NULL, 1, 2)", "if(NOT (X = 1), 1, 2)", "if(X IS DISTINCT FROM 1, 1, 2)", "if(X = 1 OR (b AND X2 = 3), 1, 2)", "if(CAST(X AS VARCHAR) LIKE 'a%', 1, 2)", "(X // m)", "halved(X)",
	} {
		text := "i"
		for range 40 {
			text = strings.ReplaceAll(strings.ReplaceAll(form, "X2", "k"), "X", text)
		}
		e := bind(t, wide, text)
		in := &vec.Batch{Len: 3}
		for _, c := range wide.columns {
			in.Cols = append(in.Cols, vec.New(c.T, 3))
		}
		if _, err := e.Eval(&Scratch{Ctx: context.Background()}, in); err != nil {
			t.Errorf("%s: %v", form, err)
		}
		Judge(&state{e, "NULL", false}, func(int) Bounds {
			return Bounds{Rows: 3, Known: true, Min: vec.Value{Type: vec.Int}, Max: vec.Value{Type: vec.Int}}
		})
		WithNull(e, func(slot int) bool { return slot == 1 })
		if len(Key(e)) > 100*len(text) {
			t.Errorf("%s: the expression of %d bytes has become one of %d", form, len(text), len(Key(e)))
		}
	}
}
