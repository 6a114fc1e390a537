package keys

import (
	"github.com/togodb/togo/query/exec/memory"
	"github.com/togodb/togo/query/vec"
)

// Pairs numbers pairs of numbers.
type Pairs struct {
	table table
	small []uint32 // the number + 1 of pairs of small numbers, 0: none yet; nil until one is asked for
	keys  []int64  // by number
	meter *memory.Meter
}

// smallPairs: pairs of two numbers below it are found without hashing.
const smallPairs = 256

// NewPairs makes one.
func NewPairs(m *memory.Meter) *Pairs { return &Pairs{table: newTable(m), meter: m} }

// Len is how many pairs there are.
func (p *Pairs) Len() int { return len(p.keys) }

// At is the pair with a number.
func (p *Pairs) At(id uint32) (a, b uint32) { return uint32(p.keys[id] >> 32), uint32(p.keys[id]) }

// IDs sets out[i] to the number of (a[i], b[i]); out may be a or b.
func (p *Pairs) IDs(a, b, out []uint32) error {
	if p.small == nil && len(out) > smallPairs {
		if err := p.meter.Take(smallPairs * smallPairs * 4); err != nil {
			return err
		}
		p.small = make([]uint32, smallPairs*smallPairs)
	}
	last, lastID := int64(-1), uint32(0)
	for i := range out {
		small := -1
		if p.small != nil && a[i]|b[i] < smallPairs {
			small = int(a[i]*smallPairs + b[i])
			if id := p.small[small]; id != 0 {
				out[i] = id - 1
				continue
			}
		}
		key := int64(a[i])<<32 | int64(b[i])
		if key == last {
			out[i] = lastID
			continue
		}
		id, fresh, err := p.table.find(key, uint32(len(p.keys)))
		if err == nil && fresh {
			p.keys = append(p.keys, key)
			err = p.meter.Take(valueBytes)
		}
		if err != nil {
			return err
		}
		if small >= 0 {
			p.small[small] = id + 1
		}
		out[i], last, lastID = id, key, id
	}
	return nil
}

// Groups numbers the distinct rows of some columns, at least one.
type Groups struct {
	columns []*Interner
	pairs   []*Pairs // of the first two columns, of that and the third, ...
	buffer  []uint32
}

// NewGroups makes one for columns of these types.
func NewGroups(types []vec.Type, m *memory.Meter) *Groups {
	g := &Groups{}
	for i, t := range types {
		g.columns = append(g.columns, NewInterner(t, m))
		if i > 0 {
			g.pairs = append(g.pairs, NewPairs(m))
		}
	}
	return g
}

// Len is how many groups there are.
func (g *Groups) Len() int {
	if n := len(g.pairs); n > 0 {
		return g.pairs[n-1].Len()
	}
	return g.columns[0].Len()
}

// IDs sets out[i] to the number of row i's group.
func (g *Groups) IDs(cols []*vec.Vector, out []uint32) error {
	if err := g.columns[0].IDs(cols[0], out); err != nil {
		return err
	}
	for i, p := range g.pairs {
		if cap(g.buffer) < len(out) {
			g.buffer = make([]uint32, len(out))
		}
		next := g.buffer[:len(out)]
		if err := g.columns[i+1].IDs(cols[i+1], next); err != nil {
			return err
		}
		if err := p.IDs(out, next, out); err != nil {
			return err
		}
	}
	return nil
}

// Rows is the groups [from, to), column by column.
func (g *Groups) Rows(from, to int) []*vec.Vector {
	ids := make([]uint32, to-from)
	for i := range ids {
		ids[i] = uint32(from + i)
	}
	out := make([]*vec.Vector, len(g.columns))
	own := make([]uint32, len(ids))
	for c := len(g.pairs); c > 0; c-- {
		p := g.pairs[c-1]
		for i, id := range ids {
			ids[i], own[i] = p.At(id)
		}
		out[c] = g.columns[c].Gather(own)
	}
	out[0] = g.columns[0].Gather(ids)
	return out
}

// mergeStep bounds how many groups are taken over at once.
const mergeStep = 4096

// Merge adds the groups of another one, and gives the number here of each of its groups.
func (g *Groups) Merge(other *Groups) ([]uint32, error) {
	to := make([]uint32, other.Len())
	for from := 0; from < len(to); from += mergeStep {
		if err := g.columns[0].meter.Stopped(); err != nil {
			return nil, err
		}
		end := min(from+mergeStep, len(to))
		if err := g.IDs(other.Rows(from, end), to[from:end]); err != nil {
			return nil, err
		}
	}
	return to, nil
}
