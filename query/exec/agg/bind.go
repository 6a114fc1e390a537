package agg

import (
	"math"

	"github.com/togodb/togo/query/exec/memory"
	"github.com/togodb/togo/query/exec/sketch"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/vec"
)

var kinds = map[string]kind{
	"count":         {args: 1, bind: bindCount, doc: "count(x): the rows in which x is not NULL; count(*): all rows"},
	"count_if":      {args: 1, bools: true, bind: bindCountIf, doc: "count_if(c): the rows in which c is TRUE"},
	"sum":           {args: 1, numbers: 1, bind: bindSum, doc: "sum(x): of BIGINT a BIGINT, an error if it does not fit; of DOUBLE a DOUBLE; of BOOLEAN how many are TRUE"},
	"avg":           {args: 1, numbers: 1, bind: bindAvg, doc: "avg(x): the mean of numbers or times"},
	"min":           {args: 1, numbers: 1, bind: bindExtreme(false), doc: "min(x): the least value, of any type"},
	"max":           {args: 1, numbers: 1, bind: bindExtreme(true), doc: "max(x): the greatest value, of any type"},
	"var_samp":      {args: 1, numbers: 1, bind: bindVariance(false, false), doc: "var_samp(x): the variance of a sample"},
	"var_pop":       {args: 1, numbers: 1, bind: bindVariance(true, false), doc: "var_pop(x): the variance of all"},
	"stddev_samp":   {args: 1, numbers: 1, bind: bindVariance(false, true), doc: "stddev_samp(x): the standard deviation of a sample"},
	"stddev_pop":    {args: 1, numbers: 1, bind: bindVariance(true, true), doc: "stddev_pop(x): the standard deviation of all"},
	"bool_and":      {args: 1, bools: true, bind: bindBool(false), doc: "bool_and(c): whether c is TRUE in all rows that have it"},
	"bool_or":       {args: 1, bools: true, bind: bindBool(true), doc: "bool_or(c): whether c is TRUE in some row"},
	"any_value":     {args: 1, bind: bindChoose(false, false), doc: "any_value(x): x of some row that has it"},
	"first":         {args: 1, bind: bindChoose(false, true), doc: "first(x ORDER BY y): x of the first row, NULL too; without ORDER BY of any row"},
	"last":          {args: 1, bind: bindChoose(true, true), doc: "last(x ORDER BY y): x of the last row, NULL too; without ORDER BY of any row"},
	"arg_min":       {args: 2, numbers: 2, bind: bindArgExtreme(false), doc: "arg_min(x, y): x of the row with the least y; rows in which either is NULL do not count"},
	"arg_max":       {args: 2, numbers: 2, bind: bindArgExtreme(true), doc: "arg_max(x, y): x of the row with the greatest y; rows in which either is NULL do not count"},
	"median":        {args: 1, numbers: 1, bind: bindMedian, doc: "median(x): quantile_cont(x, 0.5) of numbers and times, quantile_disc(x, 0.5) of text"},
	"quantile_cont": {args: 1, params: 1, need: 1, numbers: 1, bind: bindQuantile(false), doc: "quantile_cont(x, q): the value below which the part q of all lies, between two values where none is there; exact"},
	"quantile_disc": {args: 1, params: 1, need: 1, numbers: 1, bind: bindQuantile(true), doc: "quantile_disc(x, q): as quantile_cont, but always one of the values, of any type"},
	"mode":          {args: 1, bind: bindMode, doc: "mode(x): the most frequent value; of several the least"},
	"string_agg":    {args: 1, params: 1, bind: bindConcat, doc: "string_agg(x, separator ORDER BY y): all values in one text; the separator is ',' if it is left out"},
	"approx_count_distinct": {args: 1, bind: bindApproxCount,
		doc: "approx_count_distinct(x): about count(DISTINCT x), in little memory: HyperLogLog, with a standard error of 0.8%"},
	"approx_quantile": {args: 1, params: 1, need: 1, numbers: 1, bind: bindApproxQuantile,
		doc: "approx_quantile(x, q): about quantile_cont(x, q), in little memory: a t-digest, exact up to 256 values, then within 1% of the rank, nearer at the ends"},
}

func bindCount(c Call) (*Func, error) {
	return &Func{Out: vec.Int, Casts: c.Args, New: func(m *memory.Meter) State { return &count{meter: m} }}, nil
}

func bindCountIf(c Call) (*Func, error) {
	f := &Func{Out: vec.Int, Casts: []vec.Type{vec.Bool}, New: func(m *memory.Meter) State { return &countIf{count{meter: m}} }}
	return f, boolean(c)
}

func boolean(c Call) error {
	if t := c.Args[0]; t != vec.Bool && t != vec.Null && t != vec.Int {
		return fail.At(c.At, fail.Type, "%s takes a condition, not %s", c.Name, t)
	}
	return nil
}

func bindSum(c Call) (*Func, error) {
	switch c.Args[0] {
	case vec.Int, vec.Bool, vec.Null:
		in := []vec.Type{value(c.Args[0])}
		return &Func{Out: vec.Int, Casts: in, New: func(m *memory.Meter) State { return &sumInts{out: vec.Int, meter: m} }}, nil
	case vec.Double:
		return &Func{Out: vec.Double, Casts: c.Args, New: func(m *memory.Meter) State { return &sumDoubles{meter: m} }}, nil
	}
	return nil, wrong(c)
}

func bindAvg(c Call) (*Func, error) {
	ints := func(in, out vec.Type) *Func {
		return &Func{Out: out, Casts: []vec.Type{in}, New: func(m *memory.Meter) State { return &sumInts{avg: true, out: out, meter: m} }}
	}
	switch c.Args[0] {
	case vec.Int, vec.Null:
		return ints(vec.Int, vec.Double), nil
	case vec.TimestampTZ, vec.Timestamp:
		return ints(c.Args[0], c.Args[0]), nil
	case vec.Date:
		return ints(vec.Timestamp, vec.Timestamp), nil
	case vec.Double:
		return &Func{Out: vec.Double, Casts: c.Args, New: func(m *memory.Meter) State { return &sumDoubles{avg: true, meter: m} }}, nil
	}
	return nil, wrong(c)
}

// value is the type that an argument of any type is kept as.
func value(t vec.Type) vec.Type {
	if t == vec.Null {
		return vec.Int
	}
	return t
}

func bindExtreme(max bool) func(Call) (*Func, error) {
	return func(c Call) (*Func, error) {
		t := value(c.Args[0])
		return &Func{Out: t, Casts: []vec.Type{t}, Once: true, New: func(m *memory.Meter) State { return newExtreme(t, max, m) }}, nil
	}
}

func bindBool(max bool) func(Call) (*Func, error) {
	return func(c Call) (*Func, error) {
		if t := c.Args[0]; t != vec.Bool && t != vec.Null {
			return nil, fail.At(c.At, fail.Type, "%s takes a condition, not %s", c.Name, t)
		}
		return &Func{Out: vec.Bool, Casts: []vec.Type{vec.Bool}, Once: true, New: func(m *memory.Meter) State {
			return newExtreme(vec.Bool, max, m)
		}}, nil
	}
}

func bindVariance(population, root bool) func(Call) (*Func, error) {
	return func(c Call) (*Func, error) {
		if t := c.Args[0]; t != vec.Int && t != vec.Double && t != vec.Null {
			return nil, wrong(c)
		}
		return &Func{Out: vec.Double, Casts: []vec.Type{vec.Double}, New: func(m *memory.Meter) State {
			return &variance{name: c.Name, population: population, root: root, meter: m}
		}}, nil
	}
}

func bindChoose(last, nulls bool) func(Call) (*Func, error) {
	return func(c Call) (*Func, error) {
		t := value(c.Args[0])
		return &Func{Out: t, Casts: []vec.Type{t}, Ordered: true, New: func(m *memory.Meter) State { return newChoose(t, last, nulls, m) }}, nil
	}
}

func bindArgExtreme(max bool) func(Call) (*Func, error) {
	return func(c Call) (*Func, error) {
		t, by := value(c.Args[0]), value(c.Args[1])
		return &Func{Out: t, Casts: []vec.Type{t, by}, Once: true, New: func(m *memory.Meter) State { return newArgExtreme(t, by, max, m) }}, nil
	}
}

// quantileOf reads a quantile's second argument.
func quantileOf(c Call, least float64) (float64, error) {
	p := c.Params[0]
	q := p.Double
	if p.Type == vec.Int {
		q = float64(p.Int)
	}
	if p.Type != vec.Int && p.Type != vec.Double || !(q >= least && q <= 1) {
		return 0, fail.At(c.At, fail.Value, "%s takes a number from %g to 1 as the quantile", c.Name, least)
	}
	if c.Desc {
		q = math.Copysign(q, -1)
	}
	return q, nil
}

func bindQuantile(disc bool) func(Call) (*Func, error) {
	return func(c Call) (*Func, error) {
		q, err := quantileOf(c, -1)
		if err != nil {
			return nil, err
		}
		return newQuantile(c, newFraction(q), disc)
	}
}

func newQuantile(c Call, f fraction, disc bool) (*Func, error) {
	in := value(c.Args[0])
	out := in
	switch {
	case in == vec.Interval:
		return nil, fail.At(c.At, fail.Type, "%s does not take INTERVAL", c.Name)
	case disc:
	case in == vec.Int:
		out = vec.Double
	case in == vec.Date:
		in, out = vec.Timestamp, vec.Timestamp
	case in != vec.Double && in != vec.TimestampTZ && in != vec.Timestamp:
		return nil, fail.At(c.At, fail.Type, "%s does not take %s; quantile_disc(x, q) takes any type", c.Name, in)
	}
	return &Func{Out: out, Casts: []vec.Type{in}, New: func(m *memory.Meter) State {
		if in.HasTexts() {
			return &quantile[string]{f: f, disc: disc, in: in, out: out, arena: memory.NewArena(m), meter: m}
		}
		return &quantile[int64]{f: f, disc: disc, in: in, out: out, meter: m}
	}}, nil
}

func bindMedian(c Call) (*Func, error) {
	t := c.Args[0]
	return newQuantile(c, newFraction(0.5), t.HasTexts() || t == vec.Bool)
}

func bindMode(c Call) (*Func, error) {
	t := value(c.Args[0])
	return &Func{Out: t, Casts: []vec.Type{t}, New: func(m *memory.Meter) State { return newMode(t, m) }}, nil
}

func bindConcat(c Call) (*Func, error) {
	separator := ","
	if len(c.Params) > 0 {
		if c.Params[0].Type != vec.Text {
			return nil, fail.At(c.At, fail.Type, "%s takes a constant text as the separator", c.Name)
		}
		separator = c.Params[0].Text
	}
	return &Func{Out: vec.Text, Casts: []vec.Type{vec.Text}, Ordered: true, New: func(m *memory.Meter) State {
		return &concat{name: c.Name, separator: separator, max: c.MaxText, meter: m}
	}}, nil
}

func bindApproxCount(c Call) (*Func, error) {
	t := value(c.Args[0])
	return &Func{Out: vec.Int, Casts: []vec.Type{t}, Once: true, New: func(m *memory.Meter) State { return &approxCount{of: sketch.NewDistinct(m)} }}, nil
}

func bindApproxQuantile(c Call) (*Func, error) {
	q, err := quantileOf(c, 0)
	if err != nil {
		return nil, err
	}
	t := value(c.Args[0])
	switch t {
	case vec.Int, vec.Double, vec.TimestampTZ, vec.Timestamp, vec.Date:
	default:
		return nil, wrong(c)
	}
	return &Func{Out: t, Casts: []vec.Type{t}, New: func(m *memory.Meter) State { return &approxQuantile{q: q, out: t, of: sketch.NewQuantiles(m)} }}, nil
}
