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
	// Desc tells that a quantile counts from the greatest value, as ORDER BY ... DESC within its parentheses says.
	Desc    bool
	MaxText int // bytes of one text that is made; 0: any
	At      fail.Placed
}

// Func is an aggregate for certain types.
type Func struct {
	Out vec.Type
	// Casts are the types that the arguments must be cast to.
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

// aliases are other names.
var aliases = map[string]string{
	"mean": "avg", "stddev": "stddev_samp", "variance": "var_samp", "countif": "count_if",
	"fsum": "sum", "kahan_sum": "sum", "sumkahan": "sum", "favg": "avg",
	"arbitrary": "first", "quantile": "quantile_disc", "percentile_cont": "quantile_cont", "percentile_disc": "quantile_disc",
	"argmin": "arg_min", "min_by": "arg_min", "argmax": "arg_max", "max_by": "arg_max",
	"group_concat": "string_agg", "listagg": "string_agg",
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

// Names are all aggregates, sorted, each with what it does.
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

// OtherNames are further names of an aggregate, sorted.
func OtherNames(name string) []string {
	var out []string
	for other, of := range aliases {
		if of == name {
			out = append(out, other)
		}
	}
	sort.Strings(out)
	return out
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
