package expr

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/togodb/togo/query/value"
	"github.com/togodb/togo/query/vec"
)

// TestWhatIsAheadOfAnEdge holds the condition against its definition, row by row, and Judge against the rows.
func TestWhatIsAheadOfAnEdge(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	random := func(ty vec.Type) vec.Value {
		v := vec.Value{Type: ty}
		switch {
		case r.IntN(5) == 0:
			return vec.Value{}
		case ty == vec.Double:
			v.Double = []float64{float64(r.IntN(6)), math.NaN(), math.Inf(-1), math.Copysign(0, -1)}[r.IntN(4)]
		case ty == vec.Text:
			v.Text = fmt.Sprint(r.IntN(6))
		case ty == vec.Interval:
			v.Span = vec.Span{Months: r.Int32N(2), Days: r.Int32N(40)}
		default:
			v.Int = r.Int64N(6)
		}
		return v
	}
	for range 5000 {
		ty := []vec.Type{vec.Int, vec.Double, vec.Text, vec.TimestampTZ, vec.Interval}[r.IntN(5)]
		values := make([]vec.Value, 1+r.IntN(6))
		for i := range values {
			values[i] = random(ty)
		}
		v := vec.Of(ty, values...)
		if r.IntN(4) == 0 {
			for i := range values {
				values[i] = values[0]
			}
			v = vec.Constant(ty, values[0], len(values))
		}
		a := &Ahead{X: &Column{Slot: 0, Name: "x", T: ty}, Edge: &Edge{Desc: r.IntN(2) == 0, NullsFirst: r.IntN(2) == 0}}
		at, moved := random(ty), r.IntN(6) > 0
		if moved {
			a.Edge.Move(at)
		}
		got, err := a.Eval(&Scratch{}, &vec.Batch{Len: v.Len, Cols: []*vec.Vector{v}})
		if err != nil {
			t.Fatal(err)
		}
		b := Bounds{Rows: int64(len(values)), Known: true}
		any := false
		for i, x := range values {
			want := true
			switch {
			case !moved:
			case x.Type == vec.Null:
				want = a.Edge.NullsFirst || at.Type == vec.Null
			case at.Type == vec.Null:
				want = !a.Edge.NullsFirst
			case a.Edge.Desc:
				want = value.Compare(x, at) >= 0
			default:
				want = value.Compare(x, at) <= 0
			}
			any = any || want
			if is := got.At(i).Int == 1; is != want || got.IsNull(i) {
				t.Fatalf("%v with the edge %v (%+v): %v, want %v", x, at, a.Edge, is, want)
			}
			switch {
			case x.Type == vec.Null:
				b.Nulls++
			case b.Min.Type == vec.Null:
				b.Min, b.Max = x, x
			default:
				if value.Compare(x, b.Min) < 0 {
					b.Min = x
				}
				if value.Compare(x, b.Max) > 0 {
					b.Max = x
				}
			}
		}
		verdict := Judge(a, func(int) Bounds { return b })
		if verdict == Always || any && verdict == Never {
			t.Fatalf("%v with the edge %v (%+v): judged %v", values, at, a.Edge, verdict)
		}
		if moved && !any && verdict != Never {
			t.Fatalf("%v with the edge %v (%+v): judged %v, though none is wanted", values, at, a.Edge, verdict)
		}
	}
}

func TestSameInAllRows(t *testing.T) {
	at := func(n int64) vec.Value { return vec.Value{Type: vec.Int, Int: n} }
	bounds := func(low, high, nulls int64) func(int) Bounds {
		return func(int) Bounds { return Bounds{Rows: 9, Nulls: nulls, Known: true, Min: at(low), Max: at(high)} }
	}
	x := &Column{Slot: 0, Name: "x", T: vec.Int}
	if v, ok := Same(x, bounds(4, 4, 0)); !ok || v.Int != 4 {
		t.Errorf("one value: %v, %v", v, ok)
	}
	for _, b := range []func(int) Bounds{bounds(4, 5, 0), bounds(4, 4, 1), bounds(4, 4, -1), func(int) Bounds { return Bounds{Rows: 9} }} {
		if v, ok := Same(x, b); ok {
			t.Errorf("%+v: %v", b(0), v)
		}
	}
}
