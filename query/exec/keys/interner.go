package keys

import (
	"encoding/binary"
	"hash/maphash"
	"math"

	"github.com/togodb/togo/query/calendar"
	"github.com/togodb/togo/query/exec/memory"
	"github.com/togodb/togo/query/vec"
)

// Interner numbers the distinct values of a column. Doubles are distinct as SQL compares them: NaN equals itself and -0 equals 0;
// so are intervals: a month is 30 days, a day 24 hours.
type Interner struct {
	typ   vec.Type
	ints  table
	dense []uint32 // of each integer from 0 on the number + 1, 0: none yet; ints has those beyond its end
	texts *texts   // of text types and intervals
	spans []string // the keys of intervals, by number
	null  int64    // the number of NULL, -1: none yet
	n     uint32
	// The values by number; at NULL's is any.
	values vec.Vector
	arena  *memory.Arena
	meter  *memory.Meter

	// The dictionary seen last, and the number + 1 of each of its entries; 0: not looked up.
	dict  *vec.Vector
	codes []uint32
}

// Integers are found by index, without hashing, up to the first of these always, up to the last one if at least every so many
// of them is there: then the index takes no more memory than a hash table.
const (
	leastDense = 1 << 12
	mostDense  = 1 << 25
	perDense   = 16
)

var seed = maphash.MakeSeed()

// NewInterner makes one for values of one type.
func NewInterner(t vec.Type, m *memory.Meter) *Interner {
	in := &Interner{typ: t, null: -1, meter: m, values: vec.Vector{Type: t}}
	if t.HasTexts() || t == vec.Interval {
		in.texts = newTexts(m)
		in.arena = memory.NewArena(m)
	} else {
		in.ints = newTable(m)
	}
	if t.HasInts() {
		in.dense = make([]uint32, leastDense)
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
	fill(out, id)
	return err
}

// fill makes all of out id.
func fill(out []uint32, id uint32) {
	if len(out) > 0 {
		out[0] = id
	}
	for n := 1; n < len(out); n *= 2 {
		copy(out[n:], out[:n])
	}
}

func (in *Interner) nullID() (uint32, error) {
	if in.null >= 0 {
		return uint32(in.null), nil
	}
	in.null = int64(in.n)
	in.n++
	switch {
	case in.typ.HasInts():
		in.values.Ints = append(in.values.Ints, 0)
	case in.typ == vec.Double:
		in.values.Doubles = append(in.values.Doubles, 0)
	case in.typ.HasTexts():
		in.values.Texts = append(in.values.Texts, "")
	case in.typ == vec.Interval:
		in.values.Intervals = append(in.values.Intervals, vec.Span{})
		in.spans = append(in.spans, "")
	}
	return uint32(in.null), in.meter.Take(valueBytes)
}

// one is the number of the value at i of a flat or constant vector, which is not NULL.
func (in *Interner) one(v *vec.Vector, i int) (uint32, error) {
	switch {
	case in.typ.HasInts():
		return in.int(v.Ints[i])
	case in.typ == vec.Double:
		return in.double(v.Doubles[i])
	case in.typ.HasTexts():
		return in.text(v.Texts[i])
	case in.typ == vec.Interval:
		return in.span(v.Intervals[i])
	}
	return in.nullID()
}

func (in *Interner) int(x int64) (uint32, error) {
	if uint64(x) < uint64(len(in.dense)) {
		if id := in.dense[x]; id != 0 {
			return id - 1, nil
		}
		in.n++
		in.dense[x] = in.n
		in.values.Ints = append(in.values.Ints, x)
		return in.n - 1, in.meter.Take(valueBytes)
	}
	id, fresh, err := in.ints.find(x, in.n)
	if !fresh {
		return id, err
	}
	in.n++
	in.values.Ints = append(in.values.Ints, x)
	if uint64(x) < mostDense && uint64(x) < perDense*uint64(in.n) {
		if err := in.widen(x); err != nil {
			return 0, err
		}
	}
	return id, in.meter.Take(valueBytes)
}

// widen makes x one of those that are found by index.
func (in *Interner) widen(x int64) error {
	wide := len(in.dense)
	for wide <= int(x) {
		wide *= 2
	}
	if err := in.meter.Take(int64(wide-len(in.dense)) * 4); err != nil {
		return err
	}
	in.dense = make([]uint32, wide)
	for id, x := range in.values.Ints {
		if uint64(x) < uint64(wide) && int64(id) != in.null {
			in.dense[x] = uint32(id) + 1
		}
	}
	return nil
}

func (in *Interner) double(x float64) (uint32, error) {
	id, fresh, err := in.ints.find(doubleKey(x), in.n)
	if !fresh {
		if x == 0 && err == nil && !math.Signbit(x) {
			in.values.Doubles[id] = 0 // of both zeros this one stands for them, whichever came first
		}
		return id, err
	}
	in.n++
	in.values.Doubles = append(in.values.Doubles, x)
	return id, in.meter.Take(valueBytes)
}

func (in *Interner) text(x string) (uint32, error) {
	id, fresh, err := in.texts.find(maphash.String(seed, x), x, in.values.Texts, in.n)
	if !fresh {
		return id, err
	}
	kept, err := in.arena.Keep(x)
	if err != nil {
		return 0, err
	}
	in.n++
	in.values.Texts = append(in.values.Texts, kept)
	return id, in.meter.Take(valueBytes)
}

func (in *Interner) span(x vec.Span) (uint32, error) {
	key := string(spanKey(make([]byte, 0, 24), x))
	id, fresh, err := in.texts.find(maphash.String(seed, key), key, in.spans, in.n)
	if !fresh {
		return id, err
	}
	in.n++
	in.values.Intervals = append(in.values.Intervals, x)
	in.spans = append(in.spans, key)
	return id, in.meter.Take(3 * valueBytes)
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
	if v.Nulls == nil {
		return in.blocks(v, out)
	}
	for i, code := range v.Codes {
		var err error
		if v.Nulls[i] {
			out[i], err = in.nullID()
		} else {
			out[i], err = in.entry(v.Dict, code)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// entry is the number of a dictionary's entry.
func (in *Interner) entry(dict *vec.Vector, code int32) (uint32, error) {
	if id := in.codes[code]; id != 0 {
		return id - 1, nil
	}
	id, err := in.one(dict, int(code))
	if err == nil {
		in.codes[code] = id + 1
	}
	return id, err
}

// blocks is coded without nulls: a block of one code costs little more than its comparison.
func (in *Interner) blocks(v *vec.Vector, out []uint32) (err error) {
	codes, before := in.codes, -1 // before: the code of the whole block before this one
	for from := 0; from < len(out); from += vec.Block {
		block := v.Codes[from:min(from+vec.Block, len(out))]
		ids := out[from:][:len(block)]
		if !vec.Alike(block) {
			before = -1
			for i, code := range block {
				id := codes[code]
				if id == 0 {
					if id, err = in.entry(v.Dict, code); err != nil {
						return err
					}
					id++
				}
				ids[i] = id - 1
			}
			continue
		}
		if before == int(block[0]) {
			copy(ids, out[from-vec.Block:from])
			continue
		}
		id, err := in.entry(v.Dict, block[0])
		if err != nil {
			return err
		}
		fill(ids, id)
		before = int(block[0])
	}
	return nil
}

func (in *Interner) flat(v *vec.Vector, out []uint32) (err error) {
	if in.dense != nil {
		return in.flatInts(v, out)
	}
	for i := range out {
		if v.Nulls != nil && v.Nulls[i] {
			out[i], err = in.nullID()
		} else {
			out[i], err = in.one(v, i)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (in *Interner) flatInts(v *vec.Vector, out []uint32) (err error) {
	last, lastID := int64(0), uint32(0) // of the number + 1; rows are sorted by what is often asked for
	for i, x := range v.Ints[:len(out)] {
		switch {
		case v.Nulls != nil && v.Nulls[i]:
			if out[i], err = in.nullID(); err != nil {
				return err
			}
			continue
		case uint64(x) < uint64(len(in.dense)) && in.dense[x] != 0:
			out[i] = in.dense[x] - 1
			continue
		case x == last && lastID != 0:
			out[i] = lastID - 1
			continue
		}
		if out[i], err = in.int(x); err != nil {
			return err
		}
		last, lastID = x, out[i]+1
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

// spanKey is equal for intervals that compare equal.
func spanKey(b []byte, s vec.Span) []byte {
	months, days, nanos := calendar.Normal(s)
	for _, n := range []int64{months, days, nanos} {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	return b
}

// Type is that of the values.
func (in *Interner) Type() vec.Type { return in.typ }
