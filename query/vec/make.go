package vec

import "slices"

// New is a flat vector of n values, all zero, without nulls.
func New(t Type, n int) *Vector {
	v := &Vector{Type: t, Len: n}
	switch {
	case t.HasInts():
		v.Ints = make([]int64, n)
	case t == Double:
		v.Doubles = make([]float64, n)
	case t.HasTexts():
		v.Texts = make([]string, n)
	case t == Interval:
		v.Intervals = make([]Span, n)
	}
	return v
}

// Of is a flat vector of values of one type; NULLs are of type Null.
func Of(t Type, values ...Value) *Vector {
	v := New(t, len(values))
	for i, value := range values {
		v.Set(i, value)
	}
	return v
}

// Set writes row i of a flat vector that is being made.
func (v *Vector) Set(i int, value Value) {
	if value.Type == Null {
		v.SetNull(i)
		return
	}
	switch {
	case v.Type.HasInts():
		v.Ints[i] = value.Int
	case v.Type == Double:
		v.Doubles[i] = value.Double
	case v.Type.HasTexts():
		v.Texts[i] = value.Text
	case v.Type == Interval:
		v.Intervals[i] = value.Span
	}
}

// SetNull makes row i of a flat vector that is being made NULL.
func (v *Vector) SetNull(i int) {
	if v.Type == Null {
		return
	}
	if v.Nulls == nil {
		v.Nulls = make([]bool, v.Len)
	}
	v.Nulls[i] = true
}

// AllNull is a vector of n NULLs of type t.
func AllNull(t Type, n int) *Vector { return Constant(t, Value{}, n) }

// MayHaveNulls is false if surely no row is NULL.
func (v *Vector) MayHaveNulls() bool { return v.Type == Null || v.Nulls != nil }

// IsAllNull tells of constants and of type Null whether all rows are NULL.
func (v *Vector) IsAllNull() bool {
	return v.Type == Null || v.Const && v.Nulls != nil && v.Nulls[0]
}

// Scatter writes the rows of from, of any form and of the same type, to the given rows of v, a flat vector that is being made.
func (v *Vector) Scatter(from *Vector, rows []int32) {
	if from.IsAllNull() {
		for _, r := range rows {
			v.SetNull(int(r))
		}
		return
	}
	from = from.Flat()
	switch {
	case v.Type.HasInts():
		scatter(v.Ints, from.Ints, rows)
	case v.Type == Double:
		scatter(v.Doubles, from.Doubles, rows)
	case v.Type.HasTexts():
		scatter(v.Texts, from.Texts, rows)
	case v.Type == Interval:
		scatter(v.Intervals, from.Intervals, rows)
	}
	if from.Nulls == nil && v.Nulls == nil {
		return
	}
	if v.Nulls == nil {
		v.Nulls = make([]bool, v.Len)
	}
	for i, r := range rows {
		v.Nulls[r] = from.Nulls != nil && from.Nulls[i]
	}
}

func scatter[T any](to, from []T, rows []int32) {
	for i, r := range rows {
		to[r] = from[i]
	}
}

// True appends to rows the rows of a BOOLEAN vector that are TRUE.
func (v *Vector) True(rows []int32) []int32 {
	switch {
	case v.IsAllNull():
		return rows
	case v.Const:
		if v.Ints[0] != 0 {
			for i := range v.Len {
				rows = append(rows, int32(i))
			}
		}
		return rows
	}
	v = v.Flat()
	rows = slices.Grow(rows, v.Len)
	if v.Nulls == nil {
		for i, b := range v.Ints[:v.Len] {
			if b != 0 {
				rows = append(rows, int32(i))
			}
		}
		return rows
	}
	for i, b := range v.Ints[:v.Len] {
		if b != 0 && !v.Nulls[i] {
			rows = append(rows, int32(i))
		}
	}
	return rows
}
