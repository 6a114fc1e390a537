package dedup

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"sort"
	"unsafe"

	"github.com/togodb/togo/internal/event"
)

// table is a set of identities with their payload hashes, at 20 bytes an entry
// and little more.
//
// It is an extendible directory of small sorted arrays. Hashes are uniform, so
// interpolation finds an entry within a few neighbours, without the empty slots
// that an open-addressing table needs (at a load that gives 25 bytes an id, linear probing
// looks at as many entries), and nothing larger than one small array
// is ever copied or allocated to grow: no pause and no moment with both an old and
// a new table. The order is that of id segments, so that paging in is a merge of sorted
// lists.
//
// Hashes are keyed by the store's secret. Were they crafted all the same (one
// long common prefix), arrays would grow beyond maxSub and inserting become
// slow; never wrong.
type table struct {
	subs  []*sub // by the first depth bits of the hash; a sub of less depth stands there several times
	depth uint8
	len   int
	bytes int64 // all that the table has allocated
}

// sub holds the entries whose hash begins with the depth bits that lead to it.
type sub struct {
	entries []entry // ascending by hash
	depth   uint8
}

// entry has no padding: 20 bytes.
type entry struct {
	id      event.Hash
	payload uint32
}

const (
	entryBytes = int64(unsafe.Sizeof(entry{}))
	subBytes   = int64(unsafe.Sizeof(sub{}))

	// maxSub entries split a sub: half of its bytes are moved by an average
	// insert. Smaller ones cost more headers; larger ones more moving.
	maxSub = 128
	// leastRoom is what a full sub gets room for, however small it is: those of a table whose ids go to
	// a summary again and again begin anew each time.
	leastRoom = 4
	// minSubFill: the directory doubles only while it has an average of so many
	// entries a slot, so that crafted hashes cannot blow it up.
	minSubFill = 32
)

func (e *entry) compare(id *event.Hash) int {
	a, b := binary.BigEndian.Uint64(e.id[:8]), binary.BigEndian.Uint64(id[:8])
	if a != b {
		if a < b {
			return -1
		}
		return 1
	}
	return bytes.Compare(e.id[8:], id[8:])
}

func (t *table) slot(id *event.Hash) uint64 {
	return binary.BigEndian.Uint64(id[:8]) >> (64 - t.depth) // a shift by 64 gives 0
}

// search returns where id stands among the entries of s, or would stand.
func (s *sub) search(id *event.Hash) (i int, found bool) {
	n := len(s.entries)
	if n == 0 {
		return 0, false
	}
	if n > 2*maxSub { // crafted hashes: interpolation would walk
		i = sort.Search(n, func(i int) bool { return s.entries[i].compare(id) >= 0 })
		return i, i < n && s.entries[i].id == *id
	}
	expected, _ := bits.Mul64(binary.BigEndian.Uint64(id[:8])<<s.depth, uint64(n))
	i = int(expected)
	c := s.entries[i].compare(id)
	for c > 0 {
		if i == 0 {
			return 0, false
		}
		i--
		if c = s.entries[i].compare(id); c < 0 {
			return i + 1, false
		}
	}
	for c < 0 {
		i++
		if i == n {
			return n, false
		}
		c = s.entries[i].compare(id)
	}
	return i, c == 0
}

// get returns the payload hash stored with id.
func (t *table) get(id *event.Hash) (payload uint32, ok bool) {
	if t.len == 0 {
		return 0, false
	}
	s := t.subs[t.slot(id)]
	i, ok := s.search(id)
	if !ok {
		return 0, false
	}
	return s.entries[i].payload, true
}

// put adds id unless it is there; what is there stays.
func (t *table) put(id *event.Hash, payload uint32) (added bool) {
	if t.subs == nil {
		t.subs = []*sub{{}}
		t.bytes = subBytes + 8
	}
	s := t.subs[t.slot(id)]
	i, found := s.search(id)
	if found {
		return false
	}
	if len(s.entries) >= maxSub && t.split(t.slot(id)) {
		return t.put(id, payload)
	}
	if len(s.entries) == cap(s.entries) {
		t.resize(s, len(s.entries)+max(len(s.entries)/8, leastRoom))
	}
	s.entries = s.entries[:len(s.entries)+1]
	copy(s.entries[i+1:], s.entries[i:])
	s.entries[i] = entry{*id, payload}
	t.len++
	return true
}

// take takes out the entries of the sub that the hash beginning with from leads to, and
// answers where the next sub begins; 0 after the last one. They are ascending.
func (t *table) take(from uint64) (entries []entry, next uint64) {
	s := t.subs[from>>(64-t.depth)]
	entries = s.entries
	s.entries = nil
	t.len -= len(entries)
	t.bytes -= int64(cap(entries)) * entryBytes
	return entries, (from>>(64-s.depth) + 1) << (64 - s.depth)
}

// presized is an empty table with room for so many entries: where ids are paged in, arrays
// that grow take a third of the time.
func presized(n int) (t table) {
	for n>>t.depth > maxSub*7/8 {
		t.depth++
	}
	room := n >> t.depth
	t.subs = make([]*sub, 1<<t.depth)
	t.bytes = 8 << t.depth
	for i := range t.subs {
		t.subs[i] = &sub{depth: t.depth}
		t.bytes += subBytes
		t.resize(t.subs[i], room+room/8)
	}
	return t
}

// trim leaves each sub the room that it would have grown to.
func (t *table) trim() {
	for i, s := range t.subs {
		if n := len(s.entries); (i == 0 || s != t.subs[i-1]) && cap(s.entries) > n+n/8+leastRoom {
			t.resize(s, n+n/8)
		}
	}
}

// resize gives s room for n entries, rounded up to what the allocator hands out
// anyway.
func (t *table) resize(s *sub, n int) {
	t.bytes -= int64(cap(s.entries)) * entryBytes
	s.entries = append(append([]entry(nil), make([]entry, n)...)[:0], s.entries...)
	t.bytes += int64(cap(s.entries)) * entryBytes
}

// split halves the sub at slot by its next bit; false if it must stay.
func (t *table) split(slot uint64) bool {
	s := t.subs[slot]
	if s.depth == t.depth {
		if len(t.subs)*2*minSubFill > t.len || t.depth >= 48 {
			return false
		}
		t.double()
		slot *= 2
	}
	bit := 63 - s.depth
	at := sort.Search(len(s.entries), func(i int) bool {
		return binary.BigEndian.Uint64(s.entries[i].id[:8])>>bit&1 == 1
	})
	right := &sub{depth: s.depth + 1}
	t.bytes += subBytes
	t.adopt(right, s.entries[at:])
	left := s.entries[:at]
	t.bytes -= int64(cap(s.entries)) * entryBytes
	s.entries, s.depth = nil, s.depth+1
	t.adopt(s, left)
	// The slots of s are those that share its bits; the upper half goes right.
	width := uint64(1) << (t.depth - right.depth)
	first := slot / (2 * width) * (2 * width)
	for i := first + width; i < first+2*width; i++ {
		t.subs[i] = right
	}
	return true
}

// adopt gives the empty sub s a copy of entries and room to grow.
func (t *table) adopt(s *sub, entries []entry) {
	t.resize(s, len(entries)+len(entries)/8+1)
	s.entries = append(s.entries, entries...)
}

func (t *table) double() {
	subs := make([]*sub, 2*len(t.subs))
	for i, s := range t.subs {
		subs[2*i], subs[2*i+1] = s, s
	}
	t.bytes += int64(len(t.subs)) * 8
	t.subs = subs
	t.depth++
}
