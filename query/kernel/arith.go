package kernel

import (
	"math"
	"math/bits"

	"github.com/togodb/togo/query/vec"
)

// Doubles writes l + r and so on to out, a flat vector of DOUBLE. x // 0 is NULL; all else follows IEEE 754.
func Doubles(name string, out *vec.Vector, l, r []float64) {
	to := out.Doubles[:len(l)]
	r = r[:len(l)]
	switch name {
	case "+":
		for i, x := range l {
			to[i] = x + r[i]
		}
	case "-":
		for i, x := range l {
			to[i] = x - r[i]
		}
	case "*":
		for i, x := range l {
			to[i] = x * r[i]
		}
	case "/", "//":
		for i, x := range l {
			to[i] = x / r[i]
		}
		for i := 0; name == "//" && i < len(r); i++ {
			if r[i] == 0 {
				out.SetNull(i)
			}
		}
	case "%":
		for i, x := range l {
			to[i] = math.Mod(x, r[i])
		}
	}
}

// Ints writes l + r and so on to out, a flat vector of BIGINT; x // 0 and x % 0 are NULL. It gives the
// first row whose result is beyond BIGINT and that is not NULL in nulls; -1 if there is none.
func Ints(name string, out *vec.Vector, l, r []int64, nulls []bool) int {
	bad := -1
	wrong := func(i int) {
		if bad < 0 && (nulls == nil || !nulls[i]) {
			bad = i
		}
	}
	to := out.Ints[:len(l)]
	r = r[:len(l)]
	switch name {
	case "+":
		for i, x := range l {
			z := x + r[i]
			if (z^x)&(z^r[i]) < 0 {
				wrong(i)
			}
			to[i] = z
		}
	case "-":
		for i, x := range l {
			z := x - r[i]
			if (x^r[i])&(z^x) < 0 {
				wrong(i)
			}
			to[i] = z
		}
	case "*":
		for i, x := range l {
			z, ok := multiply(x, r[i])
			if !ok {
				wrong(i)
			}
			to[i] = z
		}
	default:
		divide(name, out, l, r, wrong)
	}
	return bad
}

func divide(name string, out *vec.Vector, l, r []int64, wrong func(int)) {
	for i, x := range l {
		switch {
		case r[i] == 0:
			out.SetNull(i)
		case r[i] == -1 && x == math.MinInt64:
			if name == "//" {
				wrong(i)
			}
		case name == "%":
			out.Ints[i] = x % r[i]
		default:
			out.Ints[i] = x / r[i]
		}
	}
}

func multiply(x, y int64) (int64, bool) {
	hi, lo := bits.Mul64(uint64(x), uint64(y))
	h := int64(hi)
	if x < 0 {
		h -= y
	}
	if y < 0 {
		h -= x
	}
	return int64(lo), h == int64(lo)>>63
}
