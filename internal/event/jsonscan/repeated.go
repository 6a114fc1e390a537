package jsonscan

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
)

// manyKeys is the number of members from which an object's keys are found in a hash
// table. Below it a filter of 512 bits tells nearly all new keys from known ones, and the
// others are compared one by one, which costs as much as reading some members.
const manyKeys = 32

// siblings are the keys of one object seen so far.
type siblings struct {
	first  uint32 // token of the first member
	count  int
	depth  int
	filter [8]uint64
}

// keyTable finds the keys of one large object. Slots hold a token's index plus one.
type keyTable struct {
	slots []uint32
	used  int
}

var keySeed = maphash.MakeSeed()

// repeated notes the key of the last token. If an equal key came before in its object,
// that one's token is Dropped.
func (t *Tape) repeated(seen *siblings, key []byte) {
	next := uint32(len(t.Tokens) - 1)
	seen.count++
	if seen.count > manyKeys {
		t.lookUp(seen, key, next)
		return
	}
	h := filterHash(key)
	word, bit := &seen.filter[h>>61], uint64(1)<<(h>>55&63)
	if *word&bit == 0 {
		*word |= bit
		return
	}
	for j := seen.first; j < next; j = t.Tokens[j].Next {
		tok := &t.Tokens[j]
		if int(tok.keyEnd-tok.keyStart) == len(key) && !tok.Has(Dropped) && bytes.Equal(t.key(tok), key) {
			tok.Flags |= Dropped
			t.RepeatedKeys = true
			return
		}
	}
}

// filterHash mixes the length and the ends of a key. It is no defence against crafted
// keys and needs none: an object with many keys goes to the table.
func filterHash(key []byte) uint64 {
	h := uint64(len(key))
	if len(key) >= 8 {
		h += binary.LittleEndian.Uint64(key) ^ binary.LittleEndian.Uint64(key[len(key)-8:])*0x9E3779B97F4A7C15
	} else if len(key) >= 4 {
		h += uint64(binary.LittleEndian.Uint32(key))<<32 | uint64(binary.LittleEndian.Uint32(key[len(key)-4:]))
	} else if len(key) > 0 {
		h += uint64(key[0])<<48 | uint64(key[len(key)/2])<<32 | uint64(key[len(key)-1])<<16
	}
	h ^= h >> 31
	return h * 0xD6E8FEB86659FD93
}

// lookUp is repeated for an object with many keys.
func (t *Tape) lookUp(seen *siblings, key []byte, next uint32) {
	for len(t.tables) <= seen.depth {
		t.tables = append(t.tables, keyTable{})
	}
	table := &t.tables[seen.depth]
	if seen.count == manyKeys+1 {
		table.reset(4 * manyKeys)
		for j := seen.first; j < next; j = t.Tokens[j].Next {
			if !t.Tokens[j].Has(Dropped) {
				*table.slot(t, t.key(&t.Tokens[j])) = j + 1
				table.used++
			}
		}
	}
	if 2*table.used >= len(table.slots) {
		table.reset(4 * len(table.slots))
		for j := seen.first; j < next; j = t.Tokens[j].Next {
			if !t.Tokens[j].Has(Dropped) {
				*table.slot(t, t.key(&t.Tokens[j])) = j + 1
				table.used++
			}
		}
	}
	slot := table.slot(t, key)
	if *slot == 0 {
		table.used++
	} else {
		t.Tokens[*slot-1].Flags |= Dropped
		t.RepeatedKeys = true
	}
	*slot = next + 1
}

// reset empties the table and gives it size slots, a power of two.
func (k *keyTable) reset(size int) {
	if cap(k.slots) < size {
		k.slots = make([]uint32, size)
	}
	k.slots = k.slots[:size]
	clear(k.slots)
	k.used = 0
}

// slot is where the key is, or where it belongs.
func (k *keyTable) slot(t *Tape, key []byte) *uint32 {
	mask := uint64(len(k.slots) - 1)
	for h := maphash.Bytes(keySeed, key) & mask; ; h = (h + 1) & mask {
		slot := &k.slots[h]
		if *slot == 0 || bytes.Equal(t.key(&t.Tokens[*slot-1]), key) {
			return slot
		}
	}
}
