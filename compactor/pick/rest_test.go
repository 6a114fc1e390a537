package pick

import (
	"fmt"
	"testing"
	"time"

	"github.com/togodb/togo/internal/shardlog"
)

// TestATinyOneHoldsNothingUp: a fragment of a few rows keeps none of the others, which are of one size, from their last merge.
func TestATinyOneHoldsNothingUp(t *testing.T) {
	p := DefaultPolicy()
	b := Bucket{Tenant: "acme", Table: shardlog.TableDeadLetters, Idle: time.Hour}
	for i := range 12 {
		b.Fragments = append(b.Fragments, shardlog.Fragment{Key: fmt.Sprint(i), Tenant: b.Tenant, Table: b.Table, Bytes: 1 << 20, Rows: 1000})
	}
	b.Fragments[0].Bytes = 1 << 10
	jobs := Pick(b, p)
	if len(jobs) != 1 || len(jobs[0].Inputs) != 12 {
		t.Fatalf("%d jobs of a bucket that rests: %d fragments stay for ever", len(jobs), len(b.Fragments))
	}
}
