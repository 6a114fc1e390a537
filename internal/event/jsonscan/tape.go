package jsonscan

import "bytes"

// keepTokens bounds the tokens that a tape keeps for the next document, so that one
// huge document does not hold its memory for ever: 1.5 MiB.
const keepTokens = 1 << 16

// Parse reads doc, which must stay unchanged as long as the tape is used. After an
// error the tape is empty.
func (t *Tape) Parse(doc []byte) error {
	t.begin(doc)
	s := scanner{doc: doc}
	i := s.open()
	if i != failed {
		i = t.object(&s, i, 1)
	}
	if i != failed {
		i = s.close(i)
	}
	if i == failed {
		t.Tokens = t.Tokens[:0]
		t.RepeatedKeys, t.LoneSurrogates = false, false
	}
	return s.err
}

// begin empties the tape for a document.
func (t *Tape) begin(doc []byte) {
	if cap(t.Tokens) > keepTokens {
		t.Tokens, t.tables, t.keys = nil, nil, nil
	}
	t.Tokens, t.keys = t.Tokens[:0], t.keys[:0]
	t.RepeatedKeys, t.LoneSurrogates = false, false
	t.doc = doc
}

// object reads an object that lies depth deep, from the byte after its brace to the
// byte after its end.
func (t *Tape) object(s *scanner, i, depth int) int {
	doc := s.doc
	if i = space(doc, i); at(doc, i) == '}' {
		return i + 1
	}
	seen := siblings{first: uint32(len(t.Tokens)), depth: depth}
	for {
		end, value, keyFlags := s.key(i)
		if end == failed {
			return failed
		}
		tok := t.next()
		tok.keyStart, tok.keyEnd = uint32(i+1), uint32(end)
		key := doc[i+1 : end]
		if keyFlags != 0 {
			t.escapedKey(tok, key, keyFlags)
			key = t.key(tok)
		}
		t.repeated(&seen, key)
		if i = t.value(s, tok, value, depth); i == failed {
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

// next appends a token without a key and a value and returns its place. Its parts are
// then written one by one: copying a token that was just put together would wait for
// the writes.
func (t *Tape) next() *Token {
	n := len(t.Tokens)
	if n == cap(t.Tokens) {
		t.Tokens = append(t.Tokens, Token{})
	}
	t.Tokens = t.Tokens[:n+1]
	tok := &t.Tokens[n]
	tok.Next = uint32(n + 1)
	tok.Kind, tok.Flags = 0, 0
	return tok
}

// value reads the value at i into tok, the last token.
func (t *Tape) value(s *scanner, tok *Token, i, depth int) int {
	start, end := i, failed
	var flags Flag
	switch at(s.doc, i) {
	case '"':
		if end, flags = s.str(i + 1); end == failed {
			return failed
		}
		tok.Kind, start, i = String, i+1, end+1
	case '{':
		if depth == MaxDepth {
			return s.tooDeep()
		}
		inner := space(s.doc, i+1)
		if at(s.doc, inner) != '}' {
			return t.inner(s, tok, inner, depth)
		}
		tok.Kind, end = EmptyObject, inner+1
		i = end
	case '[':
		if end, tok.Kind, flags = s.skip(i, depth); end == failed {
			return failed
		}
		i = end
	default:
		if end, tok.Kind, flags = s.scalar(i); end == failed {
			return failed
		}
		i = end
	}
	tok.start, tok.end = uint32(start), uint32(end)
	if flags != 0 {
		tok.Flags |= flags
		if flags&LoneSurrogate != 0 {
			t.LoneSurrogates = true
		}
	}
	return i
}

// inner reads an object with members inside another.
func (t *Tape) inner(s *scanner, tok *Token, i, depth int) int {
	index := len(t.Tokens) - 1
	tok.Kind, tok.start, tok.end = Object, 0, 0
	if i = t.object(s, i, depth+1); i == failed {
		return failed
	}
	end := t.next()
	end.Kind = End
	end.keyStart, end.keyEnd, end.start, end.end = 0, 0, 0, 0
	t.Tokens[index].Next = end.Next
	return i
}

func (t *Tape) escapedKey(tok *Token, raw []byte, flags Flag) {
	tok.Flags |= KeyEscaped
	if flags&LoneSurrogate != 0 {
		tok.Flags |= KeyLoneSurrogate
		t.LoneSurrogates = true
	}
	tok.keyStart = uint32(len(t.keys))
	t.keys = AppendUnescaped(t.keys, raw)
	tok.keyEnd = uint32(len(t.keys))
}

func (t *Tape) key(tok *Token) []byte {
	if tok.Has(KeyEscaped) {
		return t.keys[tok.keyStart:tok.keyEnd]
	}
	return t.doc[tok.keyStart:tok.keyEnd]
}

// Key is the unescaped key of token i; of an End it is empty. It is valid until the
// next Parse.
func (t *Tape) Key(i int) []byte { return t.key(&t.Tokens[i]) }

// Raw is the text of the value of token i, as its Kind says; part of the document.
func (t *Tape) Raw(i int) []byte { return t.doc[t.Tokens[i].start:t.Tokens[i].end] }

// AppendString appends the unescaped text of token i, a String.
func (t *Tape) AppendString(dst []byte, i int) []byte {
	if !t.Tokens[i].Has(Escaped) {
		return append(dst, t.Raw(i)...)
	}
	return AppendUnescaped(dst, t.Raw(i))
}

// Each calls f for every leaf that counts, in the order of the text, and stops at its
// first error.
func (t *Tape) Each(f func(Leaf) error) error {
	var path [][]byte
	dotted := 0 // keys of path with a dot
	dot := func(key []byte) int {
		if bytes.IndexByte(key, '.') >= 0 {
			return 1
		}
		return 0
	}
	for i := 0; i < len(t.Tokens); {
		tok := &t.Tokens[i]
		switch {
		case tok.Kind == End:
			last := len(path) - 1
			dotted -= dot(path[last])
			path = path[:last]
			i++
		case tok.Has(Dropped):
			i = int(tok.Next)
		case tok.Kind == Object:
			path = append(path, t.Key(i))
			dotted += dot(t.Key(i))
			i++
		default:
			key := t.Key(i)
			leaf := Leaf{Path: append(path, key), DottedKey: dotted+dot(key) > 0, Kind: tok.Kind, Flags: tok.Flags, Raw: t.Raw(i)}
			if err := f(leaf); err != nil {
				return err
			}
			i++
		}
	}
	return nil
}
