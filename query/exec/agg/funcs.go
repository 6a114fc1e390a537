package agg

import (
	"sort"

	"github.com/togodb/togo/query/exec/memory"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/vec"
)

// Call is an aggregate as it is called. Parameters, arguments that must be constant, are not among the types.
type Call struct {
	Name   string
	Args   []vec.Type
	Params []vec.Value
	At     fail.Placed
}

// Func is an aggregate for certain types.
type Func struct {
	Out vec.Type
	// Casts are the types that the arguments must have.
	Casts   []vec.Type
	Ordered bool // the result depends on the order of rows
	// Once tells that further rows with equal arguments change nothing, so that DISTINCT does not either.
	Once bool
	New  func(*memory.Meter) State
}

// kind is an aggregate by name.
type kind struct {
	args    int  // how many arguments
	params  int  // how many constants may follow
	need    int  // how many of them must be there
	numbers int  // bit i: argument i of a path of several types is read as a number
	bools   bool // the argument is read as a boolean
	bind    func(c Call) (*Func, error)
	doc     string
}

var kinds = map[string]kind{
	"count":       {args: 1, bind: bindCount, doc: "count(x): rows in which x is not NULL; count(*): all rows"},
	"count_if":    {args: 1, bools: true, bind: bindCountIf, doc: "count_if(c): rows in which c is TRUE"},
	"sum":         {args: 1, numbers: 1, bind: bindSum, doc: "sum(x): of BIGINT a BIGINT, an error if it does not fit; of DOUBLE a DOUBLE"},
	"avg":         {args: 1, numbers: 1, bind: bindAvg, doc: "avg(x)"},
	"min":         {args: 1, numbers: 1, bind: bindExtreme(false), doc: "min(x): of any type"},
	"max":         {args: 1, numbers: 1, bind: bindExtreme(true), doc: "max(x): of any type"},
	"var_samp":    {args: 1, numbers: 1, bind: bindVariance(false, false), doc: "var_samp(x): variance of a sample"},
	"var_pop":     {args: 1, numbers: 1, bind: bindVariance(true, false), doc: "var_pop(x): variance of all"},
	"stddev_samp": {args: 1, numbers: 1, bind: bindVariance(false, true), doc: "stddev_samp(x): standard deviation of a sample"},
	"stddev_pop":  {args: 1, numbers: 1, bind: bindVariance(true, true), doc: "stddev_pop(x): standard deviation of all"},
	"bool_and":    {args: 1, bools: true, bind: bindBool(false), doc: "bool_and(c): whether c is TRUE in all rows that have it"},
	"bool_or":     {args: 1, bools: true, bind: bindBool(true), doc: "bool_or(c): whether c is TRUE in some row"},
}

// aliases are other names.
var aliases = map[string]string{
	"mean": "avg", "stddev": "stddev_samp", "variance": "var_samp", "countif": "count_if",
	"fsum": "sum", "kahan_sum": "sum", "sumkahan": "sum", "favg": "avg",
}

func find(name string) (kind, string, bool) {
	if to, ok := aliases[name]; ok {
		name = to
	}
	k, ok := kinds[name]
	return k, name, ok
}

// Is tells whether a function is an aggregate.
func Is(name string) bool {
	_, _, ok := find(name)
	return ok
}

// Names are all aggregates with what they do, sorted by name; other names for the same stand behind.
func Names() (names, docs []string) {
	for n := range kinds {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		docs = append(docs, kinds[n].doc)
	}
	return names, docs
}

// Reads says how argument i of a path of several types is read.
func Reads(name string, i int) (number, boolean bool) {
	k, _, _ := find(name)
	return k.numbers>>i&1 == 1, k.bools && i == 0
}

// Shape says how many arguments an aggregate has and how many constants may follow them.
func Shape(name string) (args, params int) {
	k, _, _ := find(name)
	return k.args, k.params
}

// Bind finds the form of an aggregate for types.
func Bind(c Call) (*Func, error) {
	k, name, _ := find(c.Name)
	if len(c.Args) != k.args && !(name == "count" && len(c.Args) == 0) || len(c.Params) < k.need || len(c.Params) > k.params {
		return nil, fail.At(c.At, fail.Type, "%s takes %s", c.Name, k.doc)
	}
	return k.bind(c)
}

func wrong(c Call) error {
	hint := ""
	if c.Args[0] == vec.Text || c.Args[0] == vec.JSON {
		hint = "; write " + c.Name + "(TRY_CAST(... AS DOUBLE)) if the text holds numbers"
	}
	return fail.At(c.At, fail.Type, "%s does not take %s%s", c.Name, c.Args[0], hint)
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
