package keys

import (
	"encoding/binary"
	"hash/maphash"
	"math"

	"github.com/togodb/togo/query/exec/memory"
	"github.com/togodb/togo/query/vec"
)

// Interner numbers the distinct values of a column. Doubles are distinct as SQL compares them: NaN equals itself and -0 equals 0;
// so are intervals: a month is 30 days, a day 24 hours.
type Interner struct {
	typ   vec.Type
	ints  table
	texts *texts // of text types and intervals
	null  int64  // the number of NULL, -1: none yet
	n     uint32
	// The values by number; at NULL's is any.
	values vec.Vector
	meter  *memory.Meter

	// The dictionary seen last, and the number + 1 of each of its entries; 0: not looked up.
	dict  *vec.Vector
	codes []uint32
}

var seed = maphash.MakeSeed()

// NewInterner makes one for values of one type.
func NewInterner(t vec.Type, m *memory.Meter) *Interner {
	in := &Interner{typ: t, null: -1, meter: m, values: vec.Vector{Type: t}}
	if t.HasTexts() || t == vec.Interval {
		in.texts = newTexts(m)
	} else {
		in.ints = newTable(m)
	}
	return in
}

// Len is how many values there are, NULL among them.
func (in *Interner) Len() int { return int(in.n) }

// IDs sets out[i] to the number of row i of v, whose type is the interner's or Null.
func (in *Interner) IDs(v *vec.Vector, out []uint32) error {
	out = out[:v.Len]
	if v.Len == 0 {
		return nil
	}
	switch {
	case v.Type == vec.Null:
		return in.fill(v, out, true)
	case v.Const:
		return in.fill(v, out, v.IsNull(0))
	case v.Dict != nil:
		return in.coded(v, out)
	}
	return in.flat(v, out)
}

func (in *Interner) fill(v *vec.Vector, out []uint32, null bool) error {
	id, err := uint32(0), error(nil)
	if null {
		id, err = in.nullID()
	} else {
		id, err = in.one(v, 0)
	}
	for i := range out {
		out[i] = id
	}
	return err
}

func (in *Interner) nullID() (uint32, error) {
	if in.null >= 0 {
		return uint32(in.null), nil
	}
	in.null = int64(in.n)
	return uint32(in.null), in.append(&vec.Vector{}, -1)
}

// append adds the value at i of v under the next number.
func (in *Interner) append(v *vec.Vector, i int) error {
	in.n++
	switch {
	case in.typ.HasInts():
		x := int64(0)
		if i >= 0 {
			x = v.Ints[i]
		}
		in.values.Ints = append(in.values.Ints, x)
	case in.typ == vec.Double:
		x := 0.0
		if i >= 0 {
			x = v.Doubles[i]
		}
		in.values.Doubles = append(in.values.Doubles, x)
	case in.typ.HasTexts():
		x := ""
		if i >= 0 {
			x = in.texts.values[len(in.texts.values)-1]
		}
		in.values.Texts = append(in.values.Texts, x)
	case in.typ == vec.Interval:
		x := vec.Span{}
		if i >= 0 {
			x = v.Intervals[i]
		}
		in.values.Intervals = append(in.values.Intervals, x)
	}
	return in.meter.Take(valueBytes)
}

// one is the number of the value at i of a flat or constant vector, which is not NULL.
func (in *Interner) one(v *vec.Vector, i int) (uint32, error) {
	switch {
	case in.typ.HasInts():
		return in.int(v, i, v.Ints[i])
	case in.typ == vec.Double:
		return in.int(v, i, doubleKey(v.Doubles[i]))
	case in.typ.HasTexts():
		return in.text(v, i, v.Texts[i])
	case in.typ == vec.Interval:
		var key [24]byte
		return in.text(v, i, string(spanKey(key[:0], v.Intervals[i])))
	}
	return in.nullID()
}

func (in *Interner) int(v *vec.Vector, i int, key int64) (uint32, error) {
	id, fresh, err := in.ints.find(key, in.n)
	if fresh {
		err = in.append(v, i)
	}
	return id, err
}

func (in *Interner) text(v *vec.Vector, i int, text string) (uint32, error) {
	at, fresh, err := in.texts.find(maphash.String(seed, text), text)
	if err != nil {
		return 0, err
	}
	if fresh {
		if err := in.append(v, i); err != nil {
			return 0, err
		}
	}
	// The table of texts has no NULL: what came after it has a number that is one higher here.
	if in.null >= 0 && int64(at) >= in.null {
		at++
	}
	return at, nil
}

func (in *Interner) coded(v *vec.Vector, out []uint32) error {
	if in.dict != v.Dict {
		in.dict = v.Dict
		if cap(in.codes) < v.Dict.Len {
			if err := in.meter.Take(int64(v.Dict.Len-cap(in.codes)) * 4); err != nil {
				return err
			}
			in.codes = make([]uint32, v.Dict.Len)
		}
		in.codes = in.codes[:v.Dict.Len]
		clear(in.codes)
	}
	codes := in.codes
	for i, code := range v.Codes {
		if v.Nulls != nil && v.Nulls[i] {
			id, err := in.nullID()
			if err != nil {
				return err
			}
			out[i] = id
			continue
		}
		id := codes[code]
		if id == 0 {
			fresh, err := in.one(v.Dict, int(code))
			if err != nil {
				return err
			}
			id = fresh + 1
			codes[code] = id
		}
		out[i] = id - 1
	}
	return nil
}

func (in *Interner) flat(v *vec.Vector, out []uint32) error {
	for i := range out {
		var err error
		switch {
		case v.Nulls != nil && v.Nulls[i]:
			out[i], err = in.nullID()
		case i > 0 && v.Ints != nil && v.Ints[i] == v.Ints[i-1] && (v.Nulls == nil || !v.Nulls[i-1]):
			out[i] = out[i-1] // rows are sorted by what is often asked for
		default:
			out[i], err = in.one(v, i)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Gather is the values with these numbers.
func (in *Interner) Gather(ids []uint32) *vec.Vector {
	out := &vec.Vector{Type: in.typ, Len: len(ids)}
	if in.typ == vec.Null {
		return out
	}
	out.Alloc()
	if in.null >= 0 {
		out.Nulls = make([]bool, len(ids))
	}
	for i, id := range ids {
		switch {
		case int64(id) == in.null:
			out.Nulls[i] = true
		case out.Ints != nil:
			out.Ints[i] = in.values.Ints[id]
		case out.Doubles != nil:
			out.Doubles[i] = in.values.Doubles[id]
		case out.Texts != nil:
			out.Texts[i] = in.values.Texts[id]
		default:
			out.Intervals[i] = in.values.Intervals[id]
		}
	}
	return out
}

func doubleKey(f float64) int64 {
	switch {
	case f == 0:
		return 0
	case f != f:
		return int64(math.Float64bits(math.NaN()))
	}
	return int64(math.Float64bits(f))
}

// spanKey is equal for intervals that compare equal: whole days of 24 hours are carried, and months of 30 days.
func spanKey(b []byte, s vec.Span) []byte {
	const day = 24 * 3600 * 1e9
	days := int64(s.Months)*30 + int64(s.Days) + s.Nanos/day
	rest := s.Nanos % day
	if rest < 0 {
		days, rest = days-1, rest+day
	}
	b = binary.BigEndian.AppendUint64(b, uint64(days))
	return binary.BigEndian.AppendUint64(b, uint64(rest))
}

// Type is that of the values.
func (in *Interner) Type() vec.Type { return in.typ }
