package scan

import (
	"slices"
	"testing"
)

// Rows that the pages of two columns leave are those that both leave, each once.
func TestRunsOfBoth(t *testing.T) {
	for _, c := range []struct{ a, b, want []rowRange }{
		{[]rowRange{{0, 5}, {10, 20}}, []rowRange{{0, 30}}, []rowRange{{0, 5}, {10, 20}}},
		{[]rowRange{{0, 30}}, []rowRange{{2, 5}, {10, 40}}, []rowRange{{2, 5}, {10, 30}}},
		{[]rowRange{{0, 10}, {20, 30}}, []rowRange{{5, 25}}, []rowRange{{5, 10}, {20, 25}}},
		{[]rowRange{{0, 10}}, []rowRange{{10, 20}}, nil},
		{nil, []rowRange{{0, 9}}, nil},
	} {
		if got := both(c.a, c.b); !slices.Equal(got, c.want) {
			t.Errorf("%v and %v: %v, want %v", c.a, c.b, got, c.want)
		}
		if got := both(c.b, c.a); !slices.Equal(got, c.want) {
			t.Errorf("%v and %v: %v, want %v", c.b, c.a, got, c.want)
		}
	}
}
