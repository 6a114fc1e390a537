package jsonscan

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
)

// Shapes reads documents by those that came before. The documents of one producer differ in their
// values; the text between two values (commas, keys, colons, braces) is the same as in the last one. Such a
// text was checked once and is compared at once; values are scanned as always. What is unlike all
// that is known is parsed in full, and learned.
//
// Known texts form a tree: below a value are the texts that followed it. A way from the root to an end is a document
// that was parsed, so that its keys are known to repeat nowhere. The zero value is ready.
type Shapes struct {
	slots  []*slot // 0 is the root, with no text
	bytes  int     // of their texts
	places []Place
	misses int // since a document was known
	rest   int // documents that are parsed in full before the next try
}

// Place is a value of a document, its token and its slot: a value of another document in the
// same slot has the same keys, and no value of another path has the slot.
type Place struct{ Slot, Token int32 }

// slot is a value, or the document's end, after all that is before it.
type slot struct {
	text   []byte   // before it, from the end of the value before
	words  []uint64 // the same, eight bytes each, the last filled up with zeros
	mask   uint64   // of the last word's bytes that are text
	likely *slot    // that followed the last time
	depth  int      // of the value: how many objects it lies in
	end    bool
	tokens []Token // that the text makes; the last is the value's own, unless it is the document's end
	opens  []int32 // by token: for an End the index of its Object
	index  int32   // its own, and its parent's
	parent int32
	next   []*slot

	// Of a Paths: the paths that end at objects in the text, and at the value.
	objects, ends []int
}

const (
	// maxSlots and maxShapeBytes bound the memory of shapes: 3 MiB with all that belongs to them.
	maxSlots      = 4 << 10
	maxShapeBytes = 256 << 10
	// maxNext bounds the texts that may follow a value.
	maxNext = 16
	// maxRest bounds the documents between two tries, where documents have no shape.
	maxRest = 64
)

// Slots bounds the slots of places.
func (s *Shapes) Slots() int { return len(s.slots) }

// Path is the keys from the document's object to a slot's value; they do not change.
func (s *Shapes) Path(slot int32) (keys [][]byte) {
	s.paths(slot, func(path [][]byte, object bool) {
		if !object {
			keys = path
		}
	})
	return keys
}

// paths calls f with the keys of each object that begins in a slot's text, and then with those of its value if it has one.
func (s *Shapes) paths(slot int32, f func(keys [][]byte, object bool)) {
	var way []int32
	for n := slot; n != 0; n = s.slots[n].parent {
		way = append(way, n)
	}
	var keys [][]byte
	for i, n := range slices.Backward(way) {
		known := s.slots[n]
		for k, tok := range known.tokens {
			if tok.Kind == End {
				keys = keys[:len(keys)-1]
				continue
			}
			object := tok.Kind == Object
			if object || i == 0 && k == len(known.tokens)-1 {
				keys = append(keys, known.text[tok.keyStart:tok.keyEnd])
				if i == 0 {
					f(keys, object)
				}
			}
		}
	}
}

// Parse is t.Parse(doc), with the places of all its values if their shape was known: else they are nil. They are
// valid until the next Parse.
func (s *Shapes) Parse(t *Tape, doc []byte) ([]Place, error) {
	if !s.tries(doc) {
		return nil, t.Parse(doc)
	}
	known := s.follow(t, doc)
	s.tried(known)
	if known {
		return s.places, nil
	}
	err := t.Parse(doc)
	if err == nil {
		s.learn(t)
	}
	return nil, err
}

// tries says whether a document is worth a try. Who tries says then how it went.
func (s *Shapes) tries(doc []byte) bool {
	if len(s.slots) == 0 {
		s.slots = append(s.slots, &slot{})
	}
	if s.rest > 0 || len(doc) > math.MaxUint32 {
		s.rest = max(s.rest-1, 0)
		return false
	}
	return true
}

func (s *Shapes) tried(known bool) {
	if known {
		s.misses = 0
		return
	}
	s.misses++
	s.rest = min(s.misses-1, maxRest)
}

// follow reads a document whose shape is known; false: it is not, or the document is no good.
func (s *Shapes) follow(t *Tape, doc []byte) bool {
	t.begin(doc)
	s.places = s.places[:0]
	scan := scanner{doc: doc}
	at := 0
	for cur := s.slots[0]; ; {
		if cur = cur.follower(doc, at); cur == nil {
			return false
		}
		i := at + len(cur.text)
		var tok *Token
		for k := range cur.tokens {
			known := &cur.tokens[k]
			tok = t.next() // written part by part, not copied: see there
			if known.Kind == End {
				t.Tokens[cur.opens[k]].Next = tok.Next
				tok.Kind, tok.keyStart, tok.keyEnd, tok.start, tok.end = End, 0, 0, 0, 0
				continue
			}
			tok.keyStart, tok.keyEnd = known.keyStart+uint32(at), known.keyEnd+uint32(at)
			if known.Kind == Object {
				tok.Kind, tok.start, tok.end = Object, 0, 0
			}
		}
		if cur.end {
			return true
		}
		if at = t.value(&scan, tok, i, cur.depth); at == failed {
			return false
		}
		s.places = append(s.places, Place{cur.index, int32(len(t.Tokens) - 1)})
	}
}

// follower is the slot after s whose text stands at a place of a document, before a value, or up to the document's end; nil: none.
func (s *slot) follower(doc []byte, at int) *slot {
	if n := s.likely; n != nil && n.stands(doc, at) {
		return n
	}
	for _, n := range s.next {
		if n.begins(doc[at:]) {
			s.likely = n
			return n
		}
	}
	return nil
}

// stands is begins at a place of a document, word by word: the text is most often far from the document's end, and the value no object.
func (s *slot) stands(doc []byte, at int) bool {
	rest := doc[at:]
	if len(rest) <= 8*len(s.words) || s.end || rest[len(s.text)] == '{' {
		return s.begins(rest)
	}
	last := len(s.words) - 1
	for i, word := range s.words[:last] {
		if binary.LittleEndian.Uint64(rest[8*i:]) != word {
			return false
		}
	}
	return binary.LittleEndian.Uint64(rest[8*last:])&s.mask == s.words[last]
}

// begins tells that the rest of a document is the slot's text and a value, or the text to its end.
func (s *slot) begins(rest []byte) bool {
	if !bytes.HasPrefix(rest, s.text) {
		return false
	}
	if s.end {
		return len(rest) == len(s.text)
	}
	// An object with members belongs to the text of another slot.
	i := len(s.text)
	return at(rest, i) != '{' || at(rest, space(rest, i+1)) == '}'
}

// learn takes in the document of a tape; false: it has no shape, or there is no room for it.
func (s *Shapes) learn(t *Tape) bool {
	if t.RepeatedKeys || len(t.keys) > 0 {
		return false
	}
	cur, from := int32(0), 0
	made := new(slot)
	var open []int32
	for i := range t.Tokens {
		tok := t.Tokens[i]
		if tok.Kind == End {
			made.opens = append(made.opens, open[len(open)-1])
			made.tokens = append(made.tokens, tok)
			open = open[:len(open)-1]
			continue
		}
		made.opens = append(made.opens, 0)
		tok.keyStart -= uint32(from)
		tok.keyEnd -= uint32(from)
		if tok.Kind == Object {
			made.tokens = append(made.tokens, tok)
			open = append(open, int32(i))
			continue
		}
		begin, end := int(tok.start), int(tok.end)
		if tok.Kind == String {
			begin, end = begin-1, end+1
		}
		tok.Kind, tok.Flags, tok.start, tok.end = 0, 0, 0, 0
		made.tokens = append(made.tokens, tok)
		made.text, made.depth = t.doc[from:begin], len(open)+1
		if cur = s.add(cur, made); cur < 0 {
			return false
		}
		from, made = end, new(slot)
	}
	made.text, made.end = t.doc[from:], true
	return s.add(cur, made) >= 0
}

// add is the slot that is made, below cur; -1: there is no room.
func (s *Shapes) add(cur int32, made *slot) int32 {
	parent := s.slots[cur]
	for _, n := range parent.next {
		if n.end == made.end && bytes.Equal(n.text, made.text) {
			return n.index
		}
	}
	if len(s.slots) == maxSlots || s.bytes+len(made.text) > maxShapeBytes || len(parent.next) == maxNext {
		return -1
	}
	made.text, made.parent, made.index = bytes.Clone(made.text), cur, int32(len(s.slots))
	made.words, made.mask = words(made.text)
	s.bytes += len(made.text)
	s.slots = append(s.slots, made)
	parent.next = append(parent.next, made)
	return made.index
}

// words are a text, eight bytes each, and the mask of those in the last one.
func words(text []byte) (w []uint64, mask uint64) {
	for len(text) > 8 {
		w = append(w, binary.LittleEndian.Uint64(text))
		text = text[8:]
	}
	var last [8]byte
	copy(last[:], text)
	return append(w, binary.LittleEndian.Uint64(last[:])), 1<<(8*len(text)) - 1
}
