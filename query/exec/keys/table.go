// Package keys gives numbers to values and to combinations of values: groups of GROUP BY, rows of DISTINCT, members of
// count(DISTINCT ...).
//
// An Interner numbers the distinct values of one column, from 0 in the order of arrival, NULL among them. Tuples of several columns
// are numbered pair by pair: ((a, b), c). So every step is a loop over numbers, and a column with a
// dictionary is looked up once for each entry.
package keys

import "github.com/togodb/togo/query/exec/memory"

// table is a hash table of int64 keys to numbers from 0.
type table struct {
	slots []slot // a power of two
	shift uint   // 64 - log2(len(slots))
	n     int
	meter *memory.Meter
}

type slot struct {
	key int64
	id  uint32 // the number + 1; 0: free
}

const slotBytes = 16

func newTable(m *memory.Meter) table {
	return table{slots: make([]slot, 64), shift: 64 - 6, meter: m}
}

// mix spreads a key's bits; the highest ones are used.
func mix(key int64) uint64 {
	h := uint64(key) * 0x9E3779B97F4A7C15
	h ^= h >> 32
	return h * 0xD6E8FEB86659FD93
}

// find is the number of key, and whether it is new: then it is next.
func (t *table) find(key int64, next uint32) (id uint32, fresh bool, err error) {
	mask := uint64(len(t.slots) - 1)
	for at := mix(key) >> t.shift; ; at = (at + 1) & mask {
		s := &t.slots[at]
		if s.id == 0 {
			if t.n*2 >= len(t.slots) {
				if err := t.grow(); err != nil {
					return 0, false, err
				}
				return t.find(key, next)
			}
			s.key, s.id = key, next+1
			t.n++
			return next, true, nil
		}
		if s.key == key {
			return s.id - 1, false, nil
		}
	}
}

func (t *table) grow() error {
	old := t.slots
	// Few large steps: each one moves all.
	factor := 4
	if len(old) >= 1<<20 {
		factor = 2
	}
	if err := t.meter.Take(int64(len(old)*(factor-1)) * slotBytes); err != nil {
		return err
	}
	t.slots = make([]slot, factor*len(old))
	t.shift -= uint(factor / 2)
	mask := uint64(len(t.slots) - 1)
	for _, s := range old {
		if s.id == 0 {
			continue
		}
		at := mix(s.key) >> t.shift
		for t.slots[at].id != 0 {
			at = (at + 1) & mask
		}
		t.slots[at] = s
	}
	return nil
}

// texts is a hash table of texts to numbers, whose values it does not keep itself.
type texts struct {
	slots []textSlot
	shift uint
	n     int
	meter *memory.Meter
}

type textSlot struct {
	hash uint64
	id   uint32 // the number + 1; 0: free
}

func newTexts(m *memory.Meter) *texts {
	return &texts{slots: make([]textSlot, 64), shift: 64 - 6, meter: m}
}

// find is the number of text, whose values are by number; if it is none of them it gets next.
func (t *texts) find(hash uint64, text string, values []string, next uint32) (id uint32, fresh bool, err error) {
	mask := uint64(len(t.slots) - 1)
	for at := hash >> t.shift; ; at = (at + 1) & mask {
		s := &t.slots[at]
		if s.id == 0 {
			if t.n*2 >= len(t.slots) {
				if err := t.grow(); err != nil {
					return 0, false, err
				}
				return t.find(hash, text, values, next)
			}
			s.hash, s.id = hash, next+1
			t.n++
			return next, true, nil
		}
		if s.hash == hash && values[s.id-1] == text {
			return s.id - 1, false, nil
		}
	}
}

func (t *texts) grow() error {
	old := t.slots
	// Few large steps: each one moves all.
	factor := 4
	if len(old) >= 1<<20 {
		factor = 2
	}
	if err := t.meter.Take(int64(len(old)*(factor-1)) * slotBytes); err != nil {
		return err
	}
	t.slots = make([]textSlot, factor*len(old))
	t.shift -= uint(factor / 2)
	mask := uint64(len(t.slots) - 1)
	for _, s := range old {
		if s.id == 0 {
			continue
		}
		at := s.hash >> t.shift
		for t.slots[at].id != 0 {
			at = (at + 1) & mask
		}
		t.slots[at] = s
	}
	return nil
}

// valueBytes is what a value's entry in a list takes, with the list's room to grow.
const valueBytes = 24
