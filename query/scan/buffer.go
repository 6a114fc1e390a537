package scan

import "github.com/togodb/togo/query/vec"

// buffer is memory for the values of some rows of a chunk.
type buffer struct {
	out     vec.Vector
	nulls   []bool
	ints    []int64
	doubles []float64
	texts   []string
	codes   []int32
	code    int32 // of a vector of one value out of a dictionary
}

// grown is s with n elements, in its own memory if that is enough.
func grown[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// more is s with n elements, of which those that were there stay.
func more[T any](s []T, n int) []T {
	if n <= cap(s) {
		return s[:n]
	}
	next := make([]T, n, max(n, 2*cap(s)))
	copy(next, s)
	return next
}

// room makes out have n rows of the form that v has; those before stay.
func (b *buffer) room(v *vec.Vector, n int) {
	had := b.out.Len
	out := vec.Vector{Type: v.Type, Len: n, Dict: v.Dict}
	switch {
	case v.Dict != nil:
		b.codes = more(b.codes, n)
		out.Codes = b.codes
	case v.Type.HasTexts():
		b.texts = more(b.texts, n)
		out.Texts = b.texts
	case v.Type == vec.Double:
		b.doubles = more(b.doubles, n)
		out.Doubles = b.doubles
	default:
		b.ints = more(b.ints, n)
		out.Ints = b.ints
	}
	if v.Nulls != nil || b.out.Nulls != nil {
		if b.out.Nulls == nil {
			had = 0
		}
		b.nulls = more(b.nulls, n)
		clear(b.nulls[had:])
		if b.out.Nulls == nil {
			clear(b.nulls)
		}
		out.Nulls = b.nulls
	}
	b.out = out
}

// reset empties the buffer.
func (b *buffer) reset() { b.out = vec.Vector{} }

// copy adds v's rows [from, from+n).
func (b *buffer) copy(v *vec.Vector, from, n int) {
	at := b.out.Len
	b.room(v, at+n)
	switch {
	case v.Dict != nil:
		copy(b.codes[at:], v.Codes[from:from+n])
	case v.Type.HasTexts():
		copy(b.texts[at:], v.Texts[from:from+n])
	case v.Type == vec.Double:
		copy(b.doubles[at:], v.Doubles[from:from+n])
	default:
		copy(b.ints[at:], v.Ints[from:from+n])
	}
	if v.Nulls != nil {
		copy(b.nulls[at:], v.Nulls[from:from+n])
	}
}

// pick adds some rows of v: those of rows, less base.
func (b *buffer) pick(v *vec.Vector, rows []int32, base int32) {
	at := b.out.Len
	b.room(v, at+len(rows))
	switch {
	case v.Dict != nil:
		pick(b.codes[at:], v.Codes, rows, base)
	case v.Type.HasTexts():
		pick(b.texts[at:], v.Texts, rows, base)
	case v.Type == vec.Double:
		pick(b.doubles[at:], v.Doubles, rows, base)
	default:
		pick(b.ints[at:], v.Ints, rows, base)
	}
	if v.Nulls != nil {
		pick(b.nulls[at:], v.Nulls, rows, base)
	}
}

func pick[T any](dst, src []T, rows []int32, base int32) {
	for i, row := range rows {
		dst[i] = src[row-base]
	}
}

// slice makes out the rows [from, to) of v, in v's memory.
func slice(out, v *vec.Vector, from, to int) {
	*out = vec.Vector{Type: v.Type, Len: to - from, Dict: v.Dict}
	if v.Nulls != nil {
		out.Nulls = v.Nulls[from:to]
	}
	switch {
	case v.Dict != nil:
		out.Codes = v.Codes[from:to]
	case v.Type.HasTexts():
		out.Texts = v.Texts[from:to]
	case v.Type == vec.Double:
		out.Doubles = v.Doubles[from:to]
	default:
		out.Ints = v.Ints[from:to]
	}
}
