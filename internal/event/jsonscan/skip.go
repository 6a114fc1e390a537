package jsonscan

// nest is a stack of containers: a bit each, set for an object.
type nest struct {
	objects [MaxDepth/64 + 1]uint64
	depth   int
}

func (n *nest) push(object bool) {
	n.depth++
	bit := uint64(1) << (n.depth & 63)
	if object {
		n.objects[n.depth>>6] |= bit
	} else {
		n.objects[n.depth>>6] &^= bit
	}
}

func (n *nest) object() bool { return n.objects[n.depth>>6]>>(n.depth&63)&1 == 1 }

// skip validates the value at i, inside depth containers. Of a container it gives the
// kinds Array and Object, and no flag but LoneSurrogate.
func (s *scanner) skip(i, depth int) (end int, kind Kind, flags Flag) {
	switch at(s.doc, i) {
	case '{':
		kind = Object
	case '[':
		kind = Array
	default:
		return s.scalar(i)
	}
	n := nest{depth: depth}
	for {
		var f Flag
		if i, f = s.enter(i, &n); i == failed {
			return failed, kind, flags
		}
		flags |= f & LoneSurrogate
		if i, f = s.leave(i, &n, depth); i == failed {
			return failed, kind, flags
		}
		flags |= f & LoneSurrogate
		if n.depth == depth {
			return i, kind, flags
		}
	}
}

// enter reads a scalar or an empty container whole, and of others everything up to
// and with their first such value.
func (s *scanner) enter(i int, n *nest) (int, Flag) {
	var flags Flag
	for {
		c := at(s.doc, i)
		if c != '{' && c != '[' {
			end, _, f := s.scalar(i)
			return end, flags | f
		}
		if n.depth == MaxDepth {
			return s.tooDeep(), flags
		}
		i = space(s.doc, i+1)
		if at(s.doc, i) == c+2 { // ] is [ + 2, } is { + 2
			return i + 1, flags
		}
		n.push(c == '{')
		if c == '{' {
			var f Flag
			if _, i, f = s.key(i); i == failed {
				return failed, flags
			}
			flags |= f
		}
	}
}

// leave reads what follows a value: the ends of containers down to outside, or a comma
// and, in an object, the next key.
func (s *scanner) leave(i int, n *nest, outside int) (int, Flag) {
	for n.depth > outside {
		i = space(s.doc, i)
		object := n.object()
		switch c := at(s.doc, i); {
		case c == ',':
			i = space(s.doc, i+1)
			if !object {
				return i, 0
			}
			_, value, f := s.key(i)
			return value, f
		case c == '}' && object, c == ']' && !object:
			n.depth--
			i++
		case object:
			return s.fail(i, "expected a comma or the object's end"), 0
		default:
			return s.fail(i, "expected a comma or the array's end"), 0
		}
	}
	return i, 0
}
