package agg

import (
	"math"
	"strings"

	"github.com/togodb/togo/query/exec/memory"
	"github.com/togodb/togo/query/exec/rows"
	"github.com/togodb/togo/query/vec"
)

// extreme is min and max. Of bool_and and bool_or too: FALSE is below TRUE.
type extreme struct {
	max    bool
	values cells
	seen   []bool // by code, and
	picked []int32
}

func newExtreme(t vec.Type, max bool, m *memory.Meter) *extreme {
	return &extreme{max: max, values: cells{typ: t, meter: m}}
}

func (e *extreme) Add(groups []uint32, n int, args []*vec.Vector, total int) error {
	c := &e.values
	if err := c.grow(total); err != nil || allNull(args[0]) {
		return err
	}
	if args[0].Const {
		return e.addFlat(groups, n, args[0].Flat())
	}
	if args[0].Dict != nil && groups == nil && args[0].Dict.Len <= n {
		picked := e.entries(args[0])
		return e.addFlat(nil, picked.Len, picked)
	}
	if args[0].Dict != nil && !c.typ.HasTexts() {
		return e.addFlat(groups, n, args[0].Flat())
	}
	return e.addFlat(groups, n, args[0])
}

// entries are the values of a dictionary that rows of v have, each once.
func (e *extreme) entries(v *vec.Vector) *vec.Vector {
	if cap(e.seen) < v.Dict.Len {
		e.seen = make([]bool, v.Dict.Len)
	}
	seen := e.seen[:v.Dict.Len]
	clear(seen)
	for from := 0; from < len(v.Codes); from += vec.Block {
		to := min(from+vec.Block, len(v.Codes))
		switch block := v.Codes[from:to]; {
		case v.Nulls != nil:
			for i, code := range block {
				if !v.Nulls[from+i] {
					seen[code] = true
				}
			}
		case vec.Alike(block):
			seen[block[0]] = true
		default:
			for _, code := range block {
				seen[code] = true
			}
		}
	}
	e.picked = e.picked[:0]
	for code, is := range seen {
		if is {
			e.picked = append(e.picked, int32(code))
		}
	}
	return v.Dict.Gather(e.picked)
}

// addFlat takes coded texts too.
func (e *extreme) addFlat(groups []uint32, n int, v *vec.Vector) error {
	switch {
	case v.Type.HasInts():
		e.ints(groups, v)
	case v.Type == vec.Double:
		e.doubles(groups, v)
	default:
		in := v.Values()
		for i := range n {
			if v.Nulls != nil && v.Nulls[i] {
				continue
			}
			g, at := group(groups, i), v.Index(i)
			if e.values.set[g] && !e.beats(in, at, int(g)) {
				continue
			}
			if err := e.values.put(g, in, at); err != nil {
				return err
			}
		}
	}
	return nil
}

// beats tells that the value at i of v is better than what group g has.
func (e *extreme) beats(v *vec.Vector, i, g int) bool {
	c := rows.Compare(v, i, e.values.vector(), g)
	return c < 0 && !e.max || c > 0 && e.max || c == 0 && v.Doubles != nil && e.zero(v.Doubles[i])
}

// zero tells that x is the zero that is taken where both are there: -0 is the least, 0 the greatest of them, so that the order of rows
// does not show.
func (e *extreme) zero(x float64) bool { return x == 0 && math.Signbit(x) != e.max }

func (e *extreme) ints(groups []uint32, v *vec.Vector) {
	best, set := e.values.values.Ints, e.values.set
	if groups == nil && v.Nulls == nil && set[0] {
		b := best[0]
		if e.max {
			for _, x := range v.Ints {
				b = max(b, x)
			}
		} else {
			for _, x := range v.Ints {
				b = min(b, x)
			}
		}
		best[0] = b
		return
	}
	for i, x := range v.Ints {
		if v.Nulls != nil && v.Nulls[i] {
			continue
		}
		g := group(groups, i)
		if !set[g] || x < best[g] && !e.max || x > best[g] && e.max {
			best[g], set[g] = x, true
		}
	}
}

func (e *extreme) doubles(groups []uint32, v *vec.Vector) {
	best, set := e.values.values.Doubles, e.values.set
	for i, x := range v.Doubles {
		if v.Nulls != nil && v.Nulls[i] {
			continue
		}
		g := group(groups, i)
		b := best[g]
		// NaN is above all others.
		if !set[g] || e.max && (x > b || x != x) || !e.max && (x < b || b != b) || x == 0 && b == 0 && e.zero(x) {
			best[g], set[g] = x, true
		}
	}
}

func (e *extreme) Merge(other State, to []uint32, total int) error {
	if err := e.values.grow(total); err != nil {
		return err
	}
	from := &other.(*extreme).values
	for g, set := range from.set {
		if !set {
			continue
		}
		at := to[g]
		if e.values.set[at] && !e.beats(from.vector(), g, int(at)) {
			continue
		}
		if err := e.values.put(at, from.vector(), g); err != nil {
			return err
		}
	}
	return nil
}

func (e *extreme) Result(from, to, total int) (*vec.Vector, error) {
	return e.values.result(from, to, total)
}

// cells keep one value, or none, of each group.
type cells struct {
	typ    vec.Type
	set    []bool
	values vec.Vector
	meter  *memory.Meter
}

func (c *cells) vector() *vec.Vector { return &c.values }

func (c *cells) grow(total int) (err error) {
	if c.set, err = grow(c.set, total, false, 1, c.meter); err != nil {
		return err
	}
	v := &c.values
	v.Type, v.Len = c.typ, total
	switch {
	case c.typ.HasInts():
		v.Ints, err = grow(v.Ints, total, 0, 8, c.meter)
	case c.typ == vec.Double:
		v.Doubles, err = grow(v.Doubles, total, 0, 8, c.meter)
	case c.typ.HasTexts():
		v.Texts, err = grow(v.Texts, total, "", 16, c.meter)
	case c.typ == vec.Interval:
		v.Intervals, err = grow(v.Intervals, total, vec.Span{}, 16, c.meter)
	}
	return err
}

// put keeps the value at i of a flat vector for group g. A text is copied.
func (c *cells) put(g uint32, v *vec.Vector, i int) error {
	c.set[g] = true
	switch {
	case c.typ.HasInts():
		c.values.Ints[g] = v.Ints[i]
	case c.typ == vec.Double:
		c.values.Doubles[g] = v.Doubles[i]
	case c.typ.HasTexts():
		old := c.values.Texts[g]
		c.meter.Give(int64(len(old)))
		c.values.Texts[g] = strings.Clone(v.Texts[i])
		return c.meter.Take(int64(len(v.Texts[i])))
	case c.typ == vec.Interval:
		c.values.Intervals[g] = v.Intervals[i]
	}
	return nil
}

func (c *cells) result(from, to, total int) (*vec.Vector, error) {
	if err := c.grow(total); err != nil {
		return nil, err
	}
	out := c.values.Slice(from, to)
	out.Nulls = make([]bool, to-from)
	for i := range out.Nulls {
		out.Nulls[i] = !c.set[from+i]
	}
	return out, nil
}
