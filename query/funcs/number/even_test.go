package number

import (
	"math"
	"testing"
)

func TestEven(t *testing.T) {
	for _, c := range [][2]float64{
		{5e-324, 2}, {-5e-324, -2}, {0, 0}, {2.1, 4}, {3, 4}, {-3, -4}, {4, 4}, {-0.5, -2}, {1e300, 1e300}, {math.Inf(1), math.Inf(1)}, {9007199254740991, 9007199254740992},
	} {
		if got := evenUp(c[0]); got != c[1] {
			t.Errorf("even(%g) = %g, want %g", c[0], got, c[1])
		}
	}
	if !math.IsNaN(evenUp(math.NaN())) {
		t.Error("even(NaN) is a number")
	}
}
