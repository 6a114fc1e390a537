package number

import (
	"math"
	"math/rand/v2"

	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/funcs/each"
	"github.com/togodb/togo/query/vec"
)

func angles() []*expr.Func {
	finite := func(name string, f func(float64) float64) func(float64) (float64, error) {
		return func(x float64) (float64, error) {
			if math.IsInf(x, 0) {
				return 0, outOfRange("%s of an infinite number", name)
			}
			return f(x), nil
		}
	}
	within := func(name string, f func(float64) float64) func(float64) (float64, error) {
		return func(x float64) (float64, error) {
			if x < -1 || x > 1 {
				return 0, fail.New(fail.Value, "%s of a number outside of -1 to 1", name)
			}
			return f(x), nil
		}
	}
	fn := func(name, example, doc string, f func(float64) (float64, error)) *expr.Func {
		return one(name, example, doc, dbl, each.One(dbl, f), dbl)
	}
	return []*expr.Func{
		{Name: "pi", Out: dbl, Example: "round(pi(), 2) = 3.14", Doc: "The number pi.",
			Eval: func(_ *expr.Scratch, _ []*vec.Vector, n int) (*vec.Vector, error) {
				return vec.Constant(dbl, vec.Value{Type: dbl, Double: math.Pi}, n), nil
			}},
		double("degrees", "degrees(pi()) = 180", "An angle in degrees.", func(x float64) float64 { return x * (180 / math.Pi) }),
		double("radians", "radians(180) = pi()", "An angle in radians.", func(x float64) float64 { return x * (math.Pi / 180) }),
		fn("sin", "sin(0) = 0", "The sine of radians.", finite("sin", math.Sin)),
		fn("cos", "cos(0) = 1", "The cosine of radians.", finite("cos", math.Cos)),
		fn("tan", "tan(0) = 0", "The tangent of radians.", finite("tan", math.Tan)),
		fn("cot", "round(cot(1), 4) = 0.6421", "The cotangent of radians.", func(x float64) (float64, error) {
			if x == 0 || math.IsInf(x, 0) {
				return 0, outOfRange("cot of 0 or of an infinite number")
			}
			return 1 / math.Tan(x), nil
		}),
		fn("asin", "asin(0) = 0", "The angle of a sine.", within("asin", math.Asin)),
		fn("acos", "acos(1) = 0", "The angle of a cosine.", within("acos", math.Acos)),
		double("atan", "atan(0) = 0", "The angle of a tangent.", math.Atan),
		one("atan2", "atan2(0, 1) = 0", "The angle of the point (second, first).", dbl, each.Two(dbl, each.Sure2(math.Atan2)), dbl, dbl),
		double("sinh", "sinh(0) = 0", "The hyperbolic sine.", math.Sinh),
		double("cosh", "cosh(0) = 1", "The hyperbolic cosine.", math.Cosh),
		double("tanh", "tanh(0) = 0", "The hyperbolic tangent.", math.Tanh),
		double("asinh", "asinh(0) = 0", "The inverse of sinh.", math.Asinh),
		double("acosh", "acosh(1) = 0", "The inverse of cosh; NaN below 1.", math.Acosh),
		fn("atanh", "atanh(0) = 0", "The inverse of tanh.", within("atanh", math.Atanh)),
	}
}

func tests() []*expr.Func {
	is := func(name, example, doc string, f func(float64) bool) *expr.Func {
		return one(name, example, doc, truth, each.One(truth, each.Sure(f)), dbl)
	}
	return []*expr.Func{
		is("isnan", "isnan('nan'::DOUBLE)", "Whether the number is NaN.", math.IsNaN),
		is("isinf", "isinf('inf'::DOUBLE)", "Whether the number is infinite.", func(x float64) bool { return math.IsInf(x, 0) }),
		is("isfinite", "isfinite(1.5)", "Whether the number is neither infinite nor NaN.", func(x float64) bool { return !math.IsInf(x, 0) && !math.IsNaN(x) }),
		is("signbit", "signbit(-1.5)", "Whether the number's sign is set, of -0.0 too.", math.Signbit),
		{Name: "random", Out: dbl, Volatile: true, Example: "random() < 1", Doc: "A random number from 0 to below 1, another for each row.",
			Eval: func(_ *expr.Scratch, _ []*vec.Vector, n int) (*vec.Vector, error) {
				v := &vec.Vector{Type: dbl, Len: n, Doubles: make([]float64, n)}
				for i := range v.Doubles {
					v.Doubles[i] = rand.Float64()
				}
				return v, nil
			}},
		one("nextafter", "nextafter(1, 2) > 1", "The next DOUBLE after the first, towards the second.", dbl, each.Two(dbl, each.Sure2(math.Nextafter)), dbl, dbl),
	}
}
