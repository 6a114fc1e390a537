package kernel

import (
	"math"
	"math/big"
	"testing"

	"github.com/togodb/togo/query/value"
	"github.com/togodb/togo/query/vec"
)

var (
	ints    = []int64{0, 1, -1, 2, 3, -7, 1 << 31, 1 << 32, -1 << 40, 3037000500, math.MaxInt64, math.MaxInt64 - 1, math.MinInt64, math.MinInt64 + 1}
	doubles = []float64{0, math.Copysign(0, -1), 1, -1.5, math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat64}
)

// TestInts compares with numbers of any size.
func TestInts(t *testing.T) {
	for name, exact := range map[string]func(z, x, y *big.Int) *big.Int{"+": (*big.Int).Add, "-": (*big.Int).Sub, "*": (*big.Int).Mul, "//": (*big.Int).Quo, "%": (*big.Int).Rem} {
		for _, x := range ints {
			for _, y := range ints {
				out := vec.New(vec.Int, 1)
				bad := Ints(name, out, []int64{x}, []int64{y}, nil)
				if y == 0 && (name == "//" || name == "%") {
					if bad >= 0 || !out.IsNull(0) {
						t.Errorf("%d %s 0 is %d, not NULL", x, name, out.Ints[0])
					}
					continue
				}
				want := exact(new(big.Int), big.NewInt(x), big.NewInt(y))
				if want.IsInt64() != (bad < 0) || bad < 0 && out.Ints[0] != want.Int64() {
					t.Errorf("%d %s %d is %d (%d), not %s", x, name, y, out.Ints[0], bad, want)
				}
				if Ints(name, out, []int64{x}, []int64{y}, []bool{true}) >= 0 {
					t.Errorf("%d %s %d fails though it is NULL", x, name, y)
				}
			}
		}
	}
}

// TestCompare compares each form of vectors with single values.
func TestCompare(t *testing.T) {
	all := vec.New(vec.Int, len(ints))
	copy(all.Ints, ints)
	numbers := vec.New(vec.Double, len(doubles))
	copy(numbers.Doubles, doubles)
	texts := vec.New(vec.Text, 4)
	copy(texts.Texts, []string{"", "a", "ab", "b"})
	for _, v := range []*vec.Vector{all, numbers, texts} {
		for name, c := range Comparisons {
			for i := range v.Len {
				one := vec.Constant(v.Type, v.At(i), v.Len)
				right, left, pairs := Compare(c, v.Type, v, one, v.Len), Compare(c, v.Type, one, v, v.Len), Compare(c, v.Type, v, one.Flat(), v.Len)
				for j := range v.Len {
					want := bit(c.Holds(value.Compare(v.At(j), v.At(i))))
					if right.Ints[j] != want || pairs.Ints[j] != want || left.Ints[j] != bit(c.Holds(value.Compare(v.At(i), v.At(j)))) {
						t.Errorf("%s %s %s", value.Format(v.At(j)), name, value.Format(v.At(i)))
					}
				}
			}
		}
	}
}
