// Package number has the functions of numbers. Where DuckDB ends a query with an error (the root of a negative number), so do
// these: a result is never silently another.
package number

import (
	"math"
	"math/bits"

	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/funcs/each"
	"github.com/togodb/togo/query/vec"
)

const (
	num   = vec.Int
	dbl   = vec.Double
	truth = vec.Bool
)

func one(name, example, doc string, out vec.Type, eval expr.Eval, args ...vec.Type) *expr.Func {
	return &expr.Func{Name: name, Args: args, Out: out, Eval: eval, Example: example, Doc: doc}
}

// also is the same function under another name.
func also(name string, f *expr.Func) *expr.Func {
	g := *f
	g.Name, g.Example, g.Doc = name, "", "The same as "+f.Name+"."
	return &g
}

func outOfRange(format string, args ...any) error { return fail.New(fail.OutOfRange, format, args...) }

// Functions are all of the package.
func Functions() []*expr.Func {
	var out []*expr.Func
	for _, list := range [][]*expr.Func{rounding(), powers(), angles(), tests(), whole()} {
		out = append(out, list...)
	}
	return out
}

func double(name, example, doc string, f func(float64) float64) *expr.Func {
	return one(name, example, doc, dbl, each.One(dbl, each.Sure(f)), dbl)
}

func rounding() []*expr.Func {
	same := func(n int64) (int64, error) { return n, nil }
	ceil := double("ceil", "ceil(2.1) = 3", "The next whole number that is not smaller.", math.Ceil)
	even := func(x float64, digits int64) float64 {
		if math.Mod(math.Abs(x)*math.Pow(10, float64(digits+1)), 10) == 5 {
			return scaled(x/2, digits, math.Round) * 2
		}
		return scaled(x, digits, math.Round)
	}
	roundEven := one("round_even", "round_even(2.5, 0) = 2", "Rounded to so many digits after the point, halves to the even digit.", dbl, each.Two(dbl, each.Sure2(even)), dbl, num)
	list := []*expr.Func{
		one("abs", "abs(-5) = 5", "The number without its sign.", num, each.One(num, absInt), num),
		double("abs", "abs(-5.5) = 5.5", "The number without its sign.", math.Abs),
		one("sign", "sign(-5) = -1", "-1, 0 or 1 by the number's sign.", num, each.One(num, each.Sure(signInt)), num),
		one("sign", "sign(-5.5) = -1", "-1, 0 or 1 by the number's sign; 0 of NaN.", num, each.One(num, each.Sure(signDouble)), dbl),
		double("floor", "floor(-2.5) = -3", "The next whole number that is not greater.", math.Floor),
		ceil, also("ceiling", ceil),
		one("trunc", "trunc(5) = 5", "The number itself.", num, each.One(num, same), num),
		one("trunc", "trunc(1234, -2) = 1200", "The number without what is after so many digits; negative: before the point.", num, each.Two(num, each.Sure2(truncInt)), num, num),
		double("trunc", "trunc(-2.7) = -2", "The number without what is after the point.", math.Trunc),
		one("trunc", "trunc(2.789, 2) = 2.78", "The number without what is after so many digits.", dbl, each.Two(dbl, each.Sure2(truncDouble)), dbl, num),
		one("round", "round(5) = 5", "The number itself.", num, each.One(num, same), num),
		double("round", "round(2.5) = 3", "Rounded to a whole number, halves away from zero.", math.Round),
		one("round", "round(1250, -2) = 1300", "Rounded to so many digits after the point; negative: before it.", num, each.Two(num, roundInt), num, num),
		one("round", "round(2.345, 2) = 2.35", "Rounded to so many digits after the point, halves away from zero; negative: before it.", dbl, each.Two(dbl, each.Sure2(func(x float64, n int64) float64 { return scaled(x, n, math.Round) })), dbl, num),
		roundEven, also("roundbankers", roundEven),
		double("even", "even(2.1) = 4", "The next even number away from zero.", evenUp),
	}
	for _, f := range list {
		f.Rises = len(f.Args) == 1 && f.Name != "abs" && f.Name != "sign" // sign of NaN is 0
	}
	return list
}

// evenUp rounds away from zero before it halves anything: half of the least double is 0.
func evenUp(x float64) float64 {
	n := math.Ceil(math.Abs(x))
	if math.Mod(n, 2) != 0 {
		n++
	}
	return math.Copysign(n, x)
}

func absInt(n int64) (int64, error) {
	if n == math.MinInt64 {
		return 0, outOfRange("abs(%d) is beyond BIGINT", n)
	}
	return max(n, -n), nil
}

func signInt(n int64) int64 { return int64(min(max(n, -1), 1)) }

func signDouble(x float64) int64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}

// scaled rounds to so many digits after the point.
func scaled(x float64, digits int64, f func(float64) float64) float64 {
	var y float64
	if digits < 0 {
		m := math.Pow(10, float64(-digits))
		y = f(x/m) * m
		if math.IsInf(y, 0) || math.IsNaN(y) {
			return 0
		}
		return y
	}
	m := math.Pow(10, float64(digits))
	y = f(x*m) / m
	if math.IsInf(y, 0) || math.IsNaN(y) {
		return x
	}
	return y
}

// truncDouble gives the number itself where it cannot be scaled.
func truncDouble(x float64, digits int64) float64 {
	m := math.Pow(10, math.Abs(float64(digits)))
	y := math.Trunc(x*m) / m
	if digits < 0 {
		y = math.Trunc(x/m) * m
	}
	if math.IsInf(y, 0) || math.IsNaN(y) {
		return x
	}
	return y
}

func roundInt(n, digits int64) (int64, error) {
	if digits >= 0 {
		return n, nil
	}
	if digits < -18 {
		return 0, nil
	}
	unit := int64(1)
	for ; digits < 0; digits++ {
		unit *= 10
	}
	rest := n % unit
	down := n - rest
	if half := unit / 2; rest >= half {
		if down > math.MaxInt64-unit {
			return 0, outOfRange("round(%d) is beyond BIGINT", n)
		}
		return down + unit, nil
	} else if rest <= -half {
		if down < math.MinInt64+unit {
			return 0, outOfRange("round(%d) is beyond BIGINT", n)
		}
		return down - unit, nil
	}
	return down, nil
}

func truncInt(n, digits int64) int64 {
	if digits >= 0 {
		return n
	}
	if digits < -18 {
		return 0
	}
	unit := int64(1)
	for ; digits < 0; digits++ {
		unit *= 10
	}
	return n - n%unit
}

func powers() []*expr.Func {
	positive := func(name string, f func(float64) float64) func(float64) (float64, error) {
		return func(x float64) (float64, error) {
			if x <= 0 {
				return 0, outOfRange("%s of a number that is not above 0", name)
			}
			return f(x), nil
		}
	}
	pow := one("pow", "pow(2, 10) = 1024", "The first to the power of the second; ^ and ** are the same.", dbl, each.Two(dbl, each.Sure2(math.Pow)), dbl, dbl)
	tenth := one("log10", "log10(1000) = 3", "The logarithm to base 10.", dbl, each.One(dbl, positive("log10", log10)), dbl)
	return []*expr.Func{
		one("sqrt", "sqrt(9) = 3", "The square root.", dbl, each.One(dbl, func(x float64) (float64, error) {
			if x < 0 {
				return 0, outOfRange("sqrt of a negative number")
			}
			return math.Sqrt(x), nil
		}), dbl),
		double("cbrt", "cbrt(27) = 3", "The cube root.", math.Cbrt),
		double("exp", "exp(0) = 1", "e to the power of the number.", math.Exp),
		pow, also("power", pow),
		one("ln", "ln(1) = 0", "The natural logarithm.", dbl, each.One(dbl, positive("ln", ln)), dbl),
		one("log", "log(100) = 2", "The logarithm to base 10.", dbl, each.One(dbl, positive("log", log10)), dbl),
		one("log", "log(2, 8) = 3", "The logarithm of the second to the base of the first.", dbl, each.Two(dbl, logBase), dbl, dbl),
		one("log2", "log2(8) = 3", "The logarithm to base 2.", dbl, each.One(dbl, positive("log2", math.Log2)), dbl),
		tenth,
		one("gamma", "gamma(5) = 24", "The gamma function.", dbl, each.One(dbl, func(x float64) (float64, error) {
			if x == 0 {
				return 0, outOfRange("gamma of 0")
			}
			return math.Gamma(x), nil
		}), dbl),
		one("lgamma", "lgamma(1) = 0", "The logarithm of the gamma function.", dbl, each.One(dbl, func(x float64) (float64, error) {
			if x == 0 {
				return 0, outOfRange("lgamma of 0")
			}
			y, _ := math.Lgamma(x)
			return y, nil
		}), dbl),
	}
}

// subnormal is below what math.Log and math.Log10 are good for.
const subnormal = 0x1p-1022

func ln(x float64) float64 {
	if x < subnormal {
		return math.Log(x*0x1p54) - 54*math.Ln2
	}
	return math.Log(x)
}

func log10(x float64) float64 {
	if x < subnormal {
		return math.Log10(x*0x1p54) - 54*(math.Ln2/math.Ln10)
	}
	return math.Log10(x)
}

func logBase(base, x float64) (float64, error) {
	if base <= 0 || x <= 0 {
		return 0, outOfRange("log of a number that is not above 0")
	}
	b := log10(base)
	if b == 0 {
		return 0, outOfRange("log to the base 1")
	}
	return log10(x) / b, nil
}

func whole() []*expr.Func {
	gcd := one("gcd", "gcd(12, 18) = 6", "The greatest common divisor.", num, each.Two(num, greatest), num, num)
	lcm := one("lcm", "lcm(4, 6) = 12", "The least common multiple.", num, each.Two(num, least), num, num)
	ints := func(f func(a, b int64) int64) expr.Eval { return each.Two(num, each.Sure2(f)) }
	return []*expr.Func{
		one("mod", "mod(7, 3) = 1", "The rest of a division, with the sign of the first; % is the same.", num, each.Two(num, func(a, b int64) (int64, error) {
			switch b {
			case 0:
				return 0, each.Null
			case -1:
				return 0, nil
			}
			return a % b, nil
		}), num, num),
		one("mod", "mod(7.5, 2) = 1.5", "The rest of a division, with the sign of the first.", dbl, each.Two(dbl, each.Sure2(math.Mod)), dbl, dbl),
		one("fmod", "fmod(-7.5, 2) = 0.5", "The rest of a division, with the sign of the second.", dbl, each.Two(dbl, each.Sure2(func(x, y float64) float64 { return x - y*math.Floor(x/y) })), dbl, dbl),
		gcd, also("greatest_common_divisor", gcd), lcm, also("least_common_multiple", lcm),
		one("factorial", "factorial(5) = 120", "The product of the numbers from 1 on, up to 20.", num, each.One(num, factorial), num),
		one("bit_count", "bit_count(255) = 8", "How many bits are set.", num, each.One(num, each.Sure(func(n int64) int64 { return int64(bits.OnesCount64(uint64(n))) })), num),
		one("xor", "xor(5, 3) = 6", "The bits that are set in one of the two alone.", num, ints(func(a, b int64) int64 { return a ^ b }), num, num),
		one("&", "(5 & 3) = 1", "The bits that are set in both.", num, ints(func(a, b int64) int64 { return a & b }), num, num),
		one("|", "(5 | 3) = 7", "The bits that are set in one of the two.", num, ints(func(a, b int64) int64 { return a | b }), num, num),
		one("~", "(~5) = -6", "The bits that are not set.", num, each.One(num, each.Sure(func(a int64) int64 { return ^a })), num),
		one("<<", "(1 << 3) = 8", "The bits moved up; an error if one is lost.", num, each.Two(num, shiftUp), num, num),
		one(">>", "(8 >> 1) = 4", "The bits moved down.", num, ints(func(a, n int64) int64 {
			if n < 0 || n > 63 {
				return 0
			}
			return a >> uint(n)
		}), num, num),
	}
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

func divisor(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func greatest(a, b int64) (int64, error) {
	d := divisor(magnitude(a), magnitude(b))
	if d > math.MaxInt64 {
		return 0, outOfRange("gcd(%d, %d) is beyond BIGINT", a, b)
	}
	return int64(d), nil
}

func least(a, b int64) (int64, error) {
	if a == 0 || b == 0 {
		return 0, nil
	}
	x, y := magnitude(a), magnitude(b)
	high, low := bits.Mul64(x/divisor(x, y), y)
	if high != 0 || low > math.MaxInt64 {
		return 0, outOfRange("lcm(%d, %d) is beyond BIGINT", a, b)
	}
	return int64(low), nil
}

func factorial(n int64) (int64, error) {
	if n < 0 || n > 20 {
		return 0, outOfRange("factorial(%d); BIGINT holds those of 0 to 20", n)
	}
	out := int64(1)
	for ; n > 1; n-- {
		out *= n
	}
	return out, nil
}

func shiftUp(a, n int64) (int64, error) {
	if a < 0 {
		return 0, outOfRange("%d << %d: a negative number is not moved", a, n)
	}
	if n < 0 || a != 0 && n >= int64(bits.LeadingZeros64(uint64(a))) {
		return 0, outOfRange("%d << %d is beyond BIGINT", a, n)
	}
	if a == 0 {
		return 0, nil
	}
	return a << uint(n), nil
}
