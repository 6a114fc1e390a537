package jsonscan

import (
	"bytes"
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
	slots  []slot // 0 is the root, with no text
	bytes  int    // of their texts
	places []Place
	misses int // since a document was known
	rest   int // documents that are parsed in full before the next try
}

// Place is a value of a document, its token and its slot: a value of another document in the
// same slot has the same keys, and no value of another path has the slot.
type Place struct{ Slot, Token int32 }

// slot is a value, or the document's end, after all that is before it.
type slot struct {
	text   []byte  // before it, from the end of the value before
	tokens []Token // that the text makes; the last is the value's own, unless it is the document's end
	opens  []int32 // by token: for an End the index of its Object
	end    bool
	parent int32
	depth  int // of the value: how many objects it lies in
	next   []int32
	guess  int // into next
}

const (
	// maxSlots and maxShapeBytes bound the memory of shapes: 1.5 MiB with those tokens.
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
	var way []int32
	for ; slot != 0; slot = s.slots[slot].parent {
		way = append(way, slot)
	}
	for i, n := range slices.Backward(way) {
		known := &s.slots[n]
		for k, tok := range known.tokens {
			switch {
			case tok.Kind == End:
				keys = keys[:len(keys)-1]
			case tok.Kind == Object || i == 0 && k == len(known.tokens)-1:
				keys = append(keys, known.text[tok.keyStart:tok.keyEnd])
			}
		}
	}
	return keys
}

// Parse is t.Parse(doc), with the places of all its values if their shape was known: else they are nil. They are
// valid until the next Parse.
func (s *Shapes) Parse(t *Tape, doc []byte) ([]Place, error) {
	if len(s.slots) == 0 {
		s.slots = append(s.slots, slot{})
	}
	if s.rest > 0 || len(doc) > math.MaxUint32 {
		s.rest = max(s.rest-1, 0)
		return nil, t.Parse(doc)
	}
	if s.follow(t, doc) {
		s.misses = 0
		return s.places, nil
	}
	s.misses++
	s.rest = min(s.misses-1, maxRest)
	err := t.Parse(doc)
	if err == nil {
		s.learn(t)
	}
	return nil, err
}

// follow reads a document whose shape is known; false: it is not, or the document is no good.
func (s *Shapes) follow(t *Tape, doc []byte) bool {
	t.begin(doc)
	s.places = s.places[:0]
	scan := scanner{doc: doc}
	at := 0
	for cur := &s.slots[0]; ; {
		n := s.find(cur, doc[at:])
		if n < 0 {
			return false
		}
		cur = &s.slots[n]
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
		s.places = append(s.places, Place{n, int32(len(t.Tokens) - 1)})
	}
}

// find is the slot after cur whose text begins the rest of a document; -1: none.
func (s *Shapes) find(cur *slot, rest []byte) int32 {
	for k := range cur.next {
		k += cur.guess
		if k >= len(cur.next) {
			k -= len(cur.next)
		}
		if n := cur.next[k]; s.slots[n].begins(rest) {
			cur.guess = k
			return n
		}
	}
	return -1
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

// learn takes in the document of a tape.
func (s *Shapes) learn(t *Tape) {
	if t.RepeatedKeys || len(t.keys) > 0 {
		return
	}
	cur, from := int32(0), 0
	var made slot
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
		if cur = s.add(cur, &made); cur < 0 {
			return
		}
		from, made = end, slot{}
	}
	made.text, made.end = t.doc[from:], true
	s.add(cur, &made)
}

// add is the slot that is made, below cur; -1: there is no room.
func (s *Shapes) add(cur int32, made *slot) int32 {
	for _, n := range s.slots[cur].next {
		if known := &s.slots[n]; known.end == made.end && bytes.Equal(known.text, made.text) {
			return n
		}
	}
	if len(s.slots) == maxSlots || s.bytes+len(made.text) > maxShapeBytes || len(s.slots[cur].next) == maxNext {
		return -1
	}
	made.text, made.parent = bytes.Clone(made.text), cur
	s.bytes += len(made.text)
	n := int32(len(s.slots))
	s.slots = append(s.slots, *made)
	s.slots[cur].next = append(s.slots[cur].next, n)
	return n
}
