package jsonscan

import "bytes"

// Value is what Paths found. Raw and Flags are as in Token; an Object has neither.
type Value struct {
	Kind  Kind // 0: not in the document; an object, also an empty one, comes as Object
	Flags Flag
	Raw   []byte
}

// Paths finds the values at a few paths of a document and validates the rest. It is
// not safe for concurrent use.
type Paths struct {
	root    *node
	paths   int
	scratch []byte // a key without its escapes

	shapes   Shapes
	tape     Tape // of the document that is learned
	failures int  // to learn, one after the other
	rest     int  // documents that are not learned before the next try
}

// node is a key that some path goes through.
type node struct {
	key     string
	lengths uint64 // a bit for each length (mod 64) of next's keys
	next    []*node
	ends    []int // paths that end here
	under   []int // paths that end here or below
}

// NewPaths prepares a reader of the paths, each a list of one or more keys from the
// document's object.
func NewPaths(paths ...[]string) *Paths {
	p := &Paths{root: &node{}, paths: len(paths)}
	for i, path := range paths {
		n := p.root
		for _, key := range path {
			n = n.child(key)
			n.under = append(n.under, i)
		}
		n.ends = append(n.ends, i)
	}
	return p
}

func (n *node) child(key string) *node {
	for _, c := range n.next {
		if c.key == key {
			return c
		}
	}
	c := &node{key: key}
	n.next = append(n.next, c)
	n.lengths |= 1 << (len(key) & 63)
	return c
}

// Find reads doc. The value of path i is found at values[i]; values must be as long as
// the list of paths was. After an error all values are empty.
func (p *Paths) Find(doc []byte, values []Value) error {
	values = values[:p.paths]
	clear(values)
	if !p.shapes.tries(doc) {
		return p.find(doc, values)
	}
	known := p.follow(doc, values)
	p.shapes.tried(known)
	if known {
		return nil
	}
	clear(values)
	err := p.find(doc, values)
	if err == nil {
		p.learn(doc)
	}
	return err
}

// find is Find of a document whose shape is not known.
func (p *Paths) find(doc []byte, values []Value) error {
	s := scanner{doc: doc}
	i := s.open()
	if i != failed {
		i = p.object(&s, p.root, values, i, 1)
	}
	if i != failed {
		s.close(i)
	}
	if s.err != nil {
		clear(values)
	}
	return s.err
}

// follow is find of a document whose shape is known; false: it is not, or the document is no good.
func (p *Paths) follow(doc []byte, values []Value) bool {
	s := scanner{doc: doc}
	i := 0
	for cur := p.shapes.slots[0]; ; {
		if cur = cur.follower(doc, i); cur == nil {
			return false
		}
		for _, path := range cur.objects {
			values[path] = Value{Kind: Object}
		}
		if cur.end {
			return true
		}
		begin := i + len(cur.text)
		if c := at(doc, begin); len(cur.ends) > 0 {
			var v Value
			i, v = s.whole(begin, cur.depth)
			for _, path := range cur.ends {
				values[path] = v
			}
		} else if c == '"' {
			if i, _ = s.str(begin + 1); i != failed {
				i++
			}
		} else if c == '-' || c-'0' <= 9 {
			i, _ = s.number(begin)
		} else {
			i, _, _ = s.skip(begin, cur.depth)
		}
		if i == failed {
			return false
		}
	}
}

// learn takes in the shape of a good document, so that the next of its kind is known. It costs as much as reading it; where
// there is nothing to learn, it is tried now and then alone.
func (p *Paths) learn(doc []byte) {
	if p.rest > 0 {
		p.rest--
		return
	}
	before := p.shapes.Slots()
	if err := p.tape.Parse(doc); err == nil && p.shapes.learn(&p.tape) {
		p.failures = 0
	} else {
		p.failures++
		p.rest = min(p.failures, maxRest)
	}
	for n := before; n < p.shapes.Slots(); n++ {
		known := p.shapes.slots[n]
		p.shapes.paths(int32(n), func(keys [][]byte, object bool) {
			at := p.root
			for i := 0; i < len(keys) && at != nil; i++ {
				at = at.find(keys[i])
			}
			switch {
			case at == nil:
			case object:
				known.objects = append(known.objects, at.ends...)
			default:
				known.ends = at.ends
			}
		})
	}
}

// object reads an object that lies depth deep and holds keys of n, from the byte after
// its brace to the byte after its end.
func (p *Paths) object(s *scanner, n *node, values []Value, i, depth int) int {
	doc := s.doc
	if i = space(doc, i); at(doc, i) == '}' {
		return i + 1
	}
	for {
		end, value, flags := s.key(i)
		if end == failed {
			return failed
		}
		key := doc[i+1 : end]
		if flags != 0 {
			p.scratch = AppendUnescaped(p.scratch[:0], key)
			key = p.scratch
		}
		if c := n.find(key); c != nil {
			i = p.value(s, c, values, value, depth)
		} else {
			i = p.pass(s, value, depth)
		}
		if i == failed {
			return failed
		}
		i = space(doc, i)
		switch at(doc, i) {
		case ',':
			i = space(doc, i+1)
		case '}':
			return i + 1
		default:
			return s.fail(i, "expected a comma or the object's end")
		}
	}
}

// pass validates the value at i, which no path goes through, inside depth containers.
// Strings and objects need not take the way of all values.
func (p *Paths) pass(s *scanner, i, depth int) int {
	switch c := at(s.doc, i); {
	case c == '"':
		if i, _ = s.str(i + 1); i == failed {
			return failed
		}
		return i + 1
	case c == '{' && depth < MaxDepth:
		return p.object(s, &nothing, nil, i+1, depth+1)
	}
	i, _, _ = s.skip(i, depth)
	return i
}

// nothing is a node that no path goes through.
var nothing node

func (n *node) find(key []byte) *node {
	if n.lengths>>(len(key)&63)&1 == 0 {
		return nil
	}
	for _, c := range n.next {
		if len(c.key) == len(key) && bytes.Equal([]byte(c.key), key) {
			return c
		}
	}
	return nil
}

// value reads the value of n's key at i. What an earlier equal key gave is forgotten.
func (p *Paths) value(s *scanner, n *node, values []Value, i, depth int) int {
	for _, path := range n.under {
		values[path] = Value{}
	}
	var v Value
	var end int
	if at(s.doc, i) == '{' && len(n.next) > 0 {
		if depth == MaxDepth {
			return s.tooDeep()
		}
		v.Kind = Object
		end = p.object(s, n, values, i+1, depth+1)
	} else {
		end, v = s.whole(i, depth)
	}
	if end == failed {
		return failed
	}
	for _, path := range n.ends {
		values[path] = v
	}
	return end
}

// whole reads the value at i, inside depth containers.
func (s *scanner) whole(i, depth int) (end int, v Value) {
	end, v.Kind, v.Flags = s.skip(i, depth)
	if end == failed {
		return failed, Value{}
	}
	switch v.Kind {
	case Object:
		v.Flags = 0
	case String:
		v.Raw = s.doc[i+1 : end-1]
	default:
		v.Raw = s.doc[i:end]
	}
	return end, v
}
