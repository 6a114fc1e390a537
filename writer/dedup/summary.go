package dedup

import (
	"encoding/binary"
	"math/bits"
	"sort"
	"unsafe"

	"github.com/togodb/togo/internal/event"
)

// summary says of ids whose exact ones left memory that an id is none of them, or
// may be one. It takes 3.3 bytes an id.
//
// It keeps 24 bits of each hash, its print, beside those of hashes that share the
// leading bits: so few share them that a strange id's print is among them once in 50,000
// times, or less often. A Bloom filter of 2 bytes an id is asked in half of the time, but errs
// twenty times as often, sets bits all over, and must know how many ids will come; prints are sorted
// as tables are, so that what leaves a table is a merge of short sorted lists.
type summary struct {
	layers []layer
	ids    int
	bytes  int64

	hand   uint64 // the hash at which the unit's next ids are demoted
	blocks int64  // read of covered parts since ids were demoted
}

// noSummary is that of units none of whose ids were demoted.
var noSummary summary

// layer holds prints by the first depth bits of the hash. It never gets deeper, because
// a print does not tell the bits that follow it: when its lists are long, a deeper layer is begun.
type layer struct {
	depth uint8
	ids   int
	lists [][]byte // of prints, ascending, each once
}

const (
	printBytes = 3
	printBits  = 8 * printBytes
	// listPrints is how long a layer's lists are expected to become, and maxPrints how long
	// they may be on average: then one of 8,000 strange ids has a print in them.
	listPrints = 128
	maxPrints  = 16 * listPrints

	summaryBytes = int64(unsafe.Sizeof(summary{}))
	layerBytes   = int64(unsafe.Sizeof(layer{}))
	listBytes    = int64(unsafe.Sizeof([]byte(nil)))
	// summaryIDBytes is what an id is reckoned to cost before it is in a summary.
	summaryIDBytes = 4
)

// leading is what tables and summaries order ids by.
func leading(id *event.Hash) uint64 { return binary.BigEndian.Uint64(id[:8]) }

// mayHold is false if the id was never added.
func (s *summary) mayHold(id *event.Hash) bool {
	for i := range s.layers {
		l := &s.layers[i]
		if _, found := search(l.lists[l.slot(leading(id))], l.print(leading(id))); found {
			return true
		}
	}
	return false
}

func (l *layer) slot(h uint64) uint64  { return h >> (64 - l.depth) } // a shift by 64 gives 0
func (l *layer) print(h uint64) uint32 { return uint32(h << l.depth >> (64 - printBits)) }

func printAt(list []byte, i int) uint32 {
	b := list[i*printBytes : i*printBytes+printBytes]
	return uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2])
}

// search returns where a print stands in the list, or would stand.
func search(list []byte, print uint32) (i int, found bool) {
	n := len(list) / printBytes
	if n == 0 {
		return 0, false
	}
	if n > 2*maxPrints { // crafted hashes: interpolation would walk
		i = sort.Search(n, func(i int) bool { return printAt(list, i) >= print })
		return i, i < n && printAt(list, i) == print
	}
	i = int(uint64(print) * uint64(n) >> printBits)
	for i > 0 && printAt(list, i) > print {
		i--
	}
	for i < n && printAt(list, i) < print {
		i++
	}
	return i, i < n && printAt(list, i) == print
}

// add takes ids by the first 8 bytes of their hashes, ascending. The unit is expected to come to
// so many.
func (s *summary) add(hashes []uint64, expected int) {
	for len(hashes) > 0 {
		l := s.open(expected)
		slot, n := l.slot(hashes[0]), 1
		for n < len(hashes) && l.slot(hashes[n]) == slot {
			n++
		}
		old := l.lists[slot]
		list := l.merge(old, hashes[:n])
		l.lists[slot] = list
		added := (len(list) - len(old)) / printBytes
		l.ids += added
		s.ids += added
		s.bytes += int64(cap(list) - cap(old))
		hashes = hashes[n:]
	}
}

// open is the layer that takes ids.
func (s *summary) open(expected int) *layer {
	if n := len(s.layers); n > 0 && s.layers[n-1].ids < maxPrints<<s.layers[n-1].depth {
		return &s.layers[n-1]
	}
	l := layer{depth: uint8(bits.Len(uint(max(expected, 2*s.ids) / listPrints)))}
	l.lists = make([][]byte, 1<<l.depth)
	s.layers = append(s.layers, l)
	s.bytes += layerBytes + int64(len(l.lists))*listBytes
	return &s.layers[len(s.layers)-1]
}

// merge returns a list of the prints of both, with the room that the allocator gives anyway.
func (l *layer) merge(list []byte, hashes []uint64) []byte {
	out := append([]byte(nil), make([]byte, len(list)+len(hashes)*printBytes)...)[:0]
	last := uint32(1 << printBits) // no print
	from := 0
	for _, h := range hashes {
		print := l.print(h)
		if print == last {
			continue
		}
		last = print
		i, found := search(list, print)
		out = append(out, list[from*printBytes:i*printBytes]...)
		from = i
		if !found {
			out = append(out, byte(print>>16), byte(print>>8), byte(print))
		}
	}
	return append(out, list[from*printBytes:]...)
}
