package expr

import "github.com/togodb/togo/query/vec"

// Func is one form of a scalar function.
type Func struct {
	Name string
	// Args are the types that it takes; a call whose arguments cast implicitly to them takes it. With
	// Variadic the last one repeats, from no time on.
	Args     []vec.Type
	Variadic bool
	Out      vec.Type
	// OutOf, if it is set, gives the type of the result instead of Out: where a constant argument decides it.
	OutOf func(args []Expr) vec.Type
	// SeesNulls: Eval is given rows with NULL arguments; otherwise such rows are NULL, and
	// what Eval gives for them is not looked at.
	SeesNulls bool
	// Volatile results are not computed once for each entry of a dictionary, or once for constants.
	Volatile bool
	// Rises: the result never falls while the last argument rises, the others being constant. Fragments and pages are then
	// passed over by it.
	Rises bool
	// Total: the result is NULL only where an argument is.
	Total bool
	// Bind, if it is set, is given the arguments when the query is bound and gives the Eval for this call: here
	// constant arguments (patterns, zones) are checked and prepared.
	Bind func(env *Env, args []Expr) (Eval, error)
	Eval Eval
	// Example is a call and its result, for docs/sql.md, as "upper('ab') = 'AB'"; a test evaluates it.
	Example, Doc string
}

// Types that stand in Func.Args alone.
const (
	Any     vec.Type = 255 // an argument of any type, taken as it is; NULL is of type Null then
	AnyText vec.Type = 254 // an argument of any type, cast to VARCHAR as CAST does
)

// Eval computes n rows. Arguments are flat or constant, unless they are the only one that is not constant: then
// they may be entries of a dictionary, which is flat too. It must not keep or change them. An error for
// a row is a *fail.Error with code Value or OutOfRange.
type Eval func(s *Scratch, args []*vec.Vector, n int) (*vec.Vector, error)

// Library are functions by name, in lower case.
type Library map[string][]*Func

// Add puts functions in.
func (l Library) Add(funcs ...*Func) {
	for _, f := range funcs {
		l[f.Name] = append(l[f.Name], f)
	}
}
