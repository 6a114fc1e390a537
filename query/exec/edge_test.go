package exec

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/togodb/togo/query/exec/exectest"
	"github.com/togodb/togo/query/scan"
	"github.com/togodb/togo/query/vec"
)

// Which of both zeros stands for them does not depend on which came first, nor on who read it.
func TestBothZerosAreOneValue(t *testing.T) {
	columns := []scan.Column{{Name: "d", Type: vec.Double}, {Name: "g", Type: vec.Int}}
	schema := &Schema{Table: "events", Columns: []SchemaColumn{{Name: "d", Type: vec.Double}, {Name: "g", Type: vec.Int}}}
	minus := math.Copysign(0, -1)
	for _, rows := range [][][]any{{{minus, 1}, {0.0, 1}, {minus, 1}}, {{0.0, 1}, {minus, 1}, {minus, 1}}, {{minus, 1}, {minus, 1}, {0.0, 1}}} {
		for _, batch := range []int{1, 2, 100} {
			src := exectest.New(columns, rows...)
			src.Batch, src.Fragment = batch, 2
			for text, want := range map[string]string{
				"SELECT d, count(*) FROM events GROUP BY 1": "0.0,3", "SELECT DISTINCT d FROM events": "0.0", "SELECT mode(d) FROM events": "0.0",
				"SELECT min(d), max(d) FROM events": "-0.0,0.0", "SELECT g, min(d), max(d) FROM events GROUP BY 1": "1,-0.0,0.0",
				"SELECT min(d), max(d) FROM events WHERE d < 0": "NULL,NULL",
			} {
				for workers := range 3 {
					if got, err := answer(text, src, schema, Limits{}, workers+1); err != nil || len(got) != 1 || got[0] != want {
						t.Errorf("%s of %v: %q, want %q, %v", text, rows, got, want, err)
					}
				}
			}
		}
	}
}

// To bind a long expression over aggregates takes time as its length, not as its square.
func TestManyAggregatesAreBoundInTime(t *testing.T) {
	_, schema := many(1)
	allocations := func(n int) float64 {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf("sum(i + %d)", i)
		}
		text := "SELECT " + strings.Join(list, " + ") + " FROM events"
		return testing.AllocsPerRun(1, func() {
			if _, err := bound(text, schema); err != nil {
				t.Fatal(err)
			}
		})
	}
	if few, more := allocations(100), allocations(800); more > 16*few {
		t.Errorf("8 times as many aggregates take %.0f allocations, which were %.0f", more, few)
	}
}
