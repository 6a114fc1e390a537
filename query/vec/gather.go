package vec

// Gather is the vector of the rows at sel, in its order. Texts and the dictionary are shared with v, the rest is new.
func (v *Vector) Gather(sel []int32) *Vector {
	out := &Vector{Type: v.Type, Len: len(sel), Const: v.Const, Dict: v.Dict}
	if v.Const {
		out.Nulls, out.Ints, out.Doubles, out.Texts, out.Intervals = v.Nulls, v.Ints, v.Doubles, v.Texts, v.Intervals
		return out
	}
	out.Nulls = gather(v.Nulls, sel)
	if v.Dict != nil {
		out.Codes = gather(v.Codes, sel)
		return out
	}
	out.Ints = gather(v.Ints, sel)
	out.Doubles = gather(v.Doubles, sel)
	out.Texts = gather(v.Texts, sel)
	out.Intervals = gather(v.Intervals, sel)
	return out
}

func gather[T any](from []T, sel []int32) []T {
	if from == nil {
		return nil
	}
	out := make([]T, len(sel))
	for i, at := range sel {
		out[i] = from[at]
	}
	return out
}

// Flat is v in the flat form: v itself if it is flat already, else new memory that shares texts with it.
func (v *Vector) Flat() *Vector {
	if v.Type == Null || !v.Const && v.Dict == nil {
		return v
	}
	out := &Vector{Type: v.Type, Len: v.Len, Nulls: v.Nulls}
	if !v.Const {
		if v.Dict.Len == 0 { // all is null
			fresh := Nulls(v.Type, v.Len)
			return fresh
		}
		out.Ints = gather(v.Dict.Ints, v.Codes)
		out.Doubles = gather(v.Dict.Doubles, v.Codes)
		out.Texts = gather(v.Dict.Texts, v.Codes)
		out.Intervals = gather(v.Dict.Intervals, v.Codes)
		return out
	}
	out.Nulls = nil
	if v.Nulls != nil && v.Nulls[0] {
		return Nulls(v.Type, v.Len)
	}
	out.Ints = repeat(v.Ints, v.Len)
	out.Doubles = repeat(v.Doubles, v.Len)
	out.Texts = repeat(v.Texts, v.Len)
	out.Intervals = repeat(v.Intervals, v.Len)
	return out
}

func repeat[T any](one []T, n int) []T {
	if len(one) == 0 {
		return nil
	}
	out := make([]T, n)
	for i := range out {
		out[i] = one[0]
	}
	return out
}

// Nulls is a flat vector of n NULLs.
func Nulls(t Type, n int) *Vector {
	v := &Vector{Type: t, Len: n, Nulls: make([]bool, n)}
	for i := range v.Nulls {
		v.Nulls[i] = true
	}
	v.Alloc()
	return v
}

// Alloc gives a flat vector the slice of its type, of Len zero values.
func (v *Vector) Alloc() {
	switch {
	case v.Type.HasInts():
		v.Ints = make([]int64, v.Len)
	case v.Type == Double:
		v.Doubles = make([]float64, v.Len)
	case v.Type.HasTexts():
		v.Texts = make([]string, v.Len)
	case v.Type == Interval:
		v.Intervals = make([]Span, v.Len)
	}
}

// Slice is the rows [from, to) of v, sharing its memory.
func (v *Vector) Slice(from, to int) *Vector {
	out := *v
	out.Len = to - from
	if v.Const {
		return &out
	}
	out.Nulls = cut(v.Nulls, from, to)
	out.Codes = cut(v.Codes, from, to)
	out.Ints = cut(v.Ints, from, to)
	out.Doubles = cut(v.Doubles, from, to)
	out.Texts = cut(v.Texts, from, to)
	out.Intervals = cut(v.Intervals, from, to)
	return &out
}

func cut[T any](s []T, from, to int) []T {
	if s == nil {
		return nil
	}
	return s[from:to]
}

// Gather is the rows at sel of each column; a nil column stays nil.
func (b *Batch) Gather(sel []int32) *Batch {
	out := &Batch{Len: len(sel), Cols: make([]*Vector, len(b.Cols))}
	for i, c := range b.Cols {
		if c != nil {
			out.Cols[i] = c.Gather(sel)
		}
	}
	return out
}

// Slice is the rows [from, to) of each column, sharing memory; a nil column stays nil.
func (b *Batch) Slice(from, to int) *Batch {
	out := &Batch{Len: to - from, Cols: make([]*Vector, len(b.Cols))}
	for i, c := range b.Cols {
		if c != nil {
			out.Cols[i] = c.Slice(from, to)
		}
	}
	return out
}
