// Package vec holds the values that a query works on, column by column: a Vector is a run of
// values of one type, flat, one value for all rows, or codes of a dictionary; a Batch is
// some vectors of the same length.
//
// A vector is immutable once it is handed on. The memory of a batch that a scan emits
// is used again after the emit returns, text too: what is kept longer is cloned.
package vec

// Type is the type of a vector's values. The numbers are not stored anywhere.
type Type uint8

const (
	Null        Type = iota // NULL alone, which any type takes
	Bool                    // BOOLEAN: Ints 0 or 1
	Int                     // BIGINT: Ints
	Double                  // DOUBLE: Doubles; NaN equals itself and is above all others, as in DuckDB
	Text                    // VARCHAR: Texts, UTF-8
	JSON                    // JSON: Texts, the text of a JSON value
	Blob                    // BLOB: Texts, any bytes
	TimestampTZ             // TIMESTAMPTZ, an instant: Ints, nanoseconds since 1970 UTC
	Timestamp               // TIMESTAMP, a clock on a wall: Ints, nanoseconds since 1970
	Date                    // DATE: Ints, days since 1970-01-01
	Interval                // INTERVAL: Intervals
)

var names = [...]string{"NULL", "BOOLEAN", "BIGINT", "DOUBLE", "VARCHAR", "JSON", "BLOB", "TIMESTAMPTZ", "TIMESTAMP", "DATE", "INTERVAL"}

// String is the type's name in SQL.
func (t Type) String() string { return names[t] }

// HasInts tells that values are in Ints.
func (t Type) HasInts() bool {
	return t == Bool || t == Int || t == TimestampTZ || t == Timestamp || t == Date
}

// HasTexts tells that values are in Texts.
func (t Type) HasTexts() bool { return t == Text || t == JSON || t == Blob }

// Span is an INTERVAL: months, days and nanoseconds are not converted into each other.
type Span struct {
	Months, Days int32
	Nanos        int64
}

// Vector is Len values of one type. Exactly one of three forms:
//
//   - flat: Len values in the slice of the type; where Nulls is set, the value is any;
//   - constant (Const): one value, at index 0, stands for all rows; Nulls has one entry or is nil;
//   - coded (Dict is set): Codes has Len indexes into Dict, a flat vector without nulls, of the same type, with
//     distinct values; Nulls is by row. The code of a null is any valid one, or 0 if Dict is empty.
//
// Vectors of type Null have neither values nor Nulls: all is null.
type Vector struct {
	Type      Type
	Len       int
	Const     bool
	Nulls     []bool // by row, true: NULL; nil: no nulls
	Ints      []int64
	Doubles   []float64
	Texts     []string
	Intervals []Span
	Codes     []int32
	Dict      *Vector // the same pointer for all vectors of a column chunk, so results by code can be kept by it
}

// IsNull tells whether row i is NULL, in any form.
func (v *Vector) IsNull(i int) bool {
	if v.Type == Null {
		return true
	}
	if v.Nulls == nil {
		return false
	}
	if v.Const {
		i = 0
	}
	return v.Nulls[i]
}

// Index is where row i's value is: in v itself, or in v.Dict if that is set.
func (v *Vector) Index(i int) int {
	switch {
	case v.Const:
		return 0
	case v.Dict != nil:
		return int(v.Codes[i])
	}
	return i
}

// Values is the vector that Index points into.
func (v *Vector) Values() *Vector {
	if v.Dict != nil {
		return v.Dict
	}
	return v
}

// Value is one value, boxed: for constants, bounds and results, never for each row of a scan.
type Value struct {
	Type   Type // Null: NULL of any type
	Int    int64
	Double float64
	Text   string
	Span   Span
}

// At is the value of row i.
func (v *Vector) At(i int) Value {
	if v.IsNull(i) {
		return Value{}
	}
	at, in := v.Index(i), v.Values()
	out := Value{Type: v.Type}
	switch {
	case v.Type.HasInts():
		out.Int = in.Ints[at]
	case v.Type == Double:
		out.Double = in.Doubles[at]
	case v.Type.HasTexts():
		out.Text = in.Texts[at]
	case v.Type == Interval:
		out.Span = in.Intervals[at]
	}
	return out
}

// Constant is a vector that has one value n times. t is the type if the value is NULL.
func Constant(t Type, value Value, n int) *Vector {
	v := &Vector{Type: t, Len: n, Const: true}
	if value.Type == Null {
		v.Nulls = []bool{true}
	}
	switch {
	case t.HasInts():
		v.Ints = []int64{value.Int}
	case t == Double:
		v.Doubles = []float64{value.Double}
	case t.HasTexts():
		v.Texts = []string{value.Text}
	case t == Interval:
		v.Intervals = []Span{value.Span}
	}
	return v
}

// Batch is rows, column by column. A column that nobody asked for may be nil.
type Batch struct {
	Len  int
	Cols []*Vector
}
