package dedup

import (
	"encoding/binary"

	"github.com/togodb/togo/internal/event"
)

// pending is the set of ids that are in no confirmed commit yet: each is looked for before all
// else, found to be new nearly always, put in, and taken out a little later. So it is an open table
// with a byte for each slot beside the entries: as a rule a look-up reads these bytes alone, which
// stay in the processor's cache where entries do not. Unlike table it is large for what it
// holds, which the buffers of the ids' events bound.
type pending struct {
	marks   []byte // by slot: 0 if it is free, else seven bits of the hash
	entries []entry
	len     int
}

const (
	leastPending = 1 << 6
	// keptPending slots stay when the last id has gone.
	keptPending = 1 << 16
)

// at is where the search for id begins, and its mark. It takes the half of the hash by which no
// unit is ordered, so that taking ids out in their order walks over all of the table.
func (p *pending) at(id *event.Hash) (slot int, mark byte) {
	h := binary.LittleEndian.Uint64(id[8:]) * 0x9E3779B97F4A7C15
	return int(h>>32) & (len(p.marks) - 1), byte(h>>25) | 0x80
}

// find is the slot of id, or the free one where it belongs.
func (p *pending) find(id *event.Hash) (slot int, found bool) {
	slot, mark := p.at(id)
	for ; p.marks[slot] != 0; slot = (slot + 1) & (len(p.marks) - 1) {
		if p.marks[slot] == mark && p.entries[slot].id == *id {
			return slot, true
		}
	}
	return slot, false
}

// get is the payload hash of an id.
func (p *pending) get(id *event.Hash) (payload uint32, ok bool) {
	if p.len == 0 {
		return 0, false
	}
	slot, ok := p.find(id)
	if !ok {
		return 0, false
	}
	return p.entries[slot].payload, true
}

// put adds an id unless it is there; then it answers the payload hash that is.
func (p *pending) put(id *event.Hash, payload uint32) (there uint32, added bool) {
	if 4*(p.len+1) > 3*len(p.marks) {
		p.grow()
	}
	slot, found := p.find(id)
	if found {
		return p.entries[slot].payload, false
	}
	p.set(slot, &entry{*id, payload})
	return payload, true
}

func (p *pending) set(slot int, e *entry) {
	_, p.marks[slot] = p.at(&e.id)
	p.entries[slot] = *e
	p.len++
}

func (p *pending) grow() {
	n := max(leastPending, 2*len(p.marks))
	old := *p
	*p = pending{marks: make([]byte, n), entries: make([]entry, n)}
	for i, mark := range old.marks {
		if mark != 0 {
			e := &old.entries[i]
			slot, _ := p.find(&e.id)
			p.set(slot, e)
		}
	}
}

// remove takes an id out and answers its payload hash.
func (p *pending) remove(id *event.Hash) (payload uint32, removed bool) {
	if p.len == 0 {
		return 0, false
	}
	free, found := p.find(id)
	if !found {
		return 0, false
	}
	payload = p.entries[free].payload
	if p.len--; p.len == 0 && len(p.marks) > keptPending {
		*p = pending{}
		return payload, true
	}
	// Those behind move up, so that each is found from where its search begins.
	mask := len(p.marks) - 1
	for slot := (free + 1) & mask; p.marks[slot] != 0; slot = (slot + 1) & mask {
		if begin, _ := p.at(&p.entries[slot].id); (slot-begin)&mask >= (slot-free)&mask {
			p.marks[free], p.entries[free] = p.marks[slot], p.entries[slot]
			free = slot
		}
	}
	p.marks[free] = 0
	return payload, true
}

func (p *pending) bytes() int64 { return int64(len(p.marks)) * (1 + entryBytes) }
