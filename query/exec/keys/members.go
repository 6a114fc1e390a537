package keys

import (
	"math/bits"

	"github.com/togodb/togo/query/exec/memory"
)

// Members are sets of numbers, one for each group. They are bit sets as long as these take less memory than a hash table, as for the
// values of a column of which each group has a good part.
type Members struct {
	sets  [][]uint64 // by group
	words int        // of all sets
	n     int        // members of all sets
	pairs *Pairs     // instead of the sets, once they are too sparse
	meter *memory.Meter
}

// NewMembers makes empty sets.
func NewMembers(m *memory.Meter) *Members { return &Members{meter: m} }

const (
	freeWords   = 1 << 17 // sets may have as many in any case
	memberWords = 6       // and as many for each member: what a hash table takes
)

// Add puts ids[i] into the set of groups[i].
func (m *Members) Add(groups, ids []uint32) error {
	for i, id := range ids {
		if m.pairs != nil {
			rest := make([]uint32, len(ids)-i)
			return m.pairs.IDs(groups[i:], ids[i:], rest)
		}
		g, word := int(groups[i]), int(id>>6)
		if g >= len(m.sets) || word >= len(m.sets[g]) {
			if err := m.grow(g, word); err != nil {
				return err
			}
			if m.pairs != nil {
				rest := make([]uint32, len(ids)-i)
				return m.pairs.IDs(groups[i:], ids[i:], rest)
			}
		}
		bit := uint64(1) << (id & 63)
		if m.sets[g][word]&bit == 0 {
			m.sets[g][word] |= bit
			m.n++
		}
	}
	return nil
}

// grow makes room for a word in group g's set, or turns all sets into pairs.
func (m *Members) grow(g, word int) error {
	if g >= len(m.sets) {
		more := max(g+1, 2*len(m.sets)) - len(m.sets)
		if err := m.meter.Take(int64(more) * 24); err != nil {
			return err
		}
		m.sets = append(m.sets, make([][]uint64, more)...)
	}
	have := len(m.sets[g])
	need := max(word+1, 2*have)
	m.words += need - have
	if m.words > freeWords+memberWords*m.n {
		return m.sparse()
	}
	if err := m.meter.Take(int64(need-have) * 8); err != nil {
		return err
	}
	m.sets[g] = append(m.sets[g], make([]uint64, need-have)...)
	return nil
}

// sparse turns the sets into pairs.
func (m *Members) sparse() error {
	pairs := NewPairs(m.meter)
	err := m.Each(func(groups, ids []uint32) error { return pairs.IDs(groups, ids, ids) })
	for _, s := range m.sets {
		m.meter.Give(int64(len(s)) * 8)
	}
	m.pairs, m.sets = pairs, nil
	return err
}

// Each gives all members with their groups, in steps. The slices may be changed, and are used again.
func (m *Members) Each(f func(groups, ids []uint32) error) error {
	groups, ids := make([]uint32, 0, mergeStep), make([]uint32, 0, mergeStep)
	put := func(g, id uint32) error {
		groups, ids = append(groups, g), append(ids, id)
		if len(ids) < mergeStep {
			return nil
		}
		err := f(groups, ids)
		groups, ids = groups[:0], ids[:0]
		if err == nil {
			err = m.meter.Stopped()
		}
		return err
	}
	if m.pairs != nil {
		for i := range m.pairs.Len() {
			if err := put(m.pairs.At(uint32(i))); err != nil {
				return err
			}
		}
	}
	for g, set := range m.sets {
		for w, word := range set {
			for ; word != 0; word &= word - 1 {
				if err := put(uint32(g), uint32(w<<6+bits.TrailingZeros64(word))); err != nil {
					return err
				}
			}
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return f(groups, ids)
}
