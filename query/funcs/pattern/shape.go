package pattern

import (
	"regexp/syntax"
	"strings"
)

// literal is a text that is looked for; with fold it is lower-case ASCII, and stands for both cases.
type literal struct {
	text string
	fold bool
}

// sequence is what many patterns are: literals one behind the other with .* between them.
type sequence struct {
	parts      []literal
	head, tail bool // the first begins the text, the last ends it
	gap        bool // there is a .* somewhere
	lines      bool // which does not take a line's end
	open       bool // the last atom was a .*
	began      bool // something stands before what comes next
	ended      bool // $ was there: nothing may follow
}

// maxShapes bounds the alternatives of a pattern that are looked for one by one.
const maxShapes = 16

// shapes are the alternatives of a pattern, if it is made of literals, .*, anchors, alternatives and small classes alone.
// Then it matches if one of them does.
func shapes(t *syntax.Regexp, full bool) []sequence {
	list := extend([]sequence{{head: full}}, t)
	for i := range list {
		s := &list[i]
		if full || s.ended {
			s.tail = !s.open
		}
		if s.open {
			s.tail = false
		}
	}
	return list
}

// extend puts a part of a pattern behind each alternative; nil if it cannot.
func extend(list []sequence, t *syntax.Regexp) []sequence {
	switch t.Op {
	case syntax.OpEmptyMatch:
		return list
	case syntax.OpCapture:
		return extend(list, t.Sub[0])
	case syntax.OpConcat:
		for _, sub := range t.Sub {
			if list = extend(list, sub); list == nil {
				return nil
			}
		}
		return list
	case syntax.OpAlternate, syntax.OpQuest, syntax.OpCharClass:
		return choose(list, t)
	case syntax.OpLiteral:
		l := literal{text: string(t.Rune)}
		if t.Flags&syntax.FoldCase != 0 {
			if l = (literal{strings.ToLower(l.text), true}); !ascii(l.text) {
				return nil
			}
		}
		return change(list, func(s *sequence) bool { return s.literal(l) })
	case syntax.OpStar:
		any := t.Sub[0].Op
		if any != syntax.OpAnyChar && any != syntax.OpAnyCharNotNL {
			return nil
		}
		return change(list, func(s *sequence) bool { return s.star(any == syntax.OpAnyCharNotNL) })
	case syntax.OpBeginText:
		return change(list, func(s *sequence) bool {
			ok := !s.began && !s.ended
			s.head, s.began = true, true
			return ok
		})
	case syntax.OpEndText:
		return change(list, func(s *sequence) bool { s.ended = true; return true })
	}
	return nil
}

// change changes all alternatives, or gives nil if one cannot be.
func change(list []sequence, f func(s *sequence) bool) []sequence {
	out := make([]sequence, len(list))
	for i, s := range list {
		s.parts = append([]literal(nil), s.parts...)
		if !f(&s) {
			return nil
		}
		out[i] = s
	}
	return out
}

// choose multiplies the alternatives.
func choose(list []sequence, t *syntax.Regexp) []sequence {
	var ways []*syntax.Regexp
	switch t.Op {
	case syntax.OpAlternate:
		ways = t.Sub
	case syntax.OpQuest:
		ways = []*syntax.Regexp{{Op: syntax.OpEmptyMatch}, t.Sub[0]}
	case syntax.OpCharClass:
		for i := 0; i+1 < len(t.Rune); i += 2 {
			for r := t.Rune[i]; r <= t.Rune[i+1]; r++ {
				if ways = append(ways, &syntax.Regexp{Op: syntax.OpLiteral, Rune: []rune{r}}); len(ways) > maxShapes {
					return nil
				}
			}
		}
	}
	var out []sequence
	for _, w := range ways {
		more := extend(list, w)
		if more == nil || len(out)+len(more) > maxShapes {
			return nil
		}
		out = append(out, more...)
	}
	return out
}

func (s *sequence) literal(l literal) bool {
	if s.ended {
		return false
	}
	last := len(s.parts) - 1
	if last >= 0 && !s.open {
		if s.parts[last].fold != l.fold {
			return false
		}
		s.parts[last].text += l.text
	} else {
		if last < 0 && s.open {
			s.head = false
		}
		s.parts = append(s.parts, l)
	}
	s.began, s.open = true, false
	return true
}

func (s *sequence) star(lines bool) bool {
	if s.ended {
		return false
	}
	if len(s.parts) == 0 {
		s.head = false
	}
	s.began, s.open, s.gap = true, true, true
	s.lines = s.lines || lines
	return true
}

// matches tells whether a text matches; sure is false if only the expression itself can tell.
func (s *sequence) matches(t string, isASCII func() bool) (match, sure bool) {
	if s.gap && s.lines && strings.IndexByte(t, '\n') >= 0 {
		return false, false
	}
	at, last := 0, len(s.parts)-1
	if last < 0 {
		return !(s.head && s.tail) || t == "", true
	}
	for i, l := range s.parts {
		if l.fold && !isASCII() {
			return false, false
		}
		switch {
		case i == 0 && s.head && i == last && s.tail:
			return len(t) == len(l.text) && l.starts(t), true
		case i == 0 && s.head:
			if !l.starts(t) {
				return false, true
			}
			at = len(l.text)
		case i == last && s.tail:
			from := len(t) - len(l.text)
			return from >= at && l.starts(t[from:]), true
		default:
			k := l.index(t[at:])
			if k < 0 {
				return false, true
			}
			at += k + len(l.text)
		}
	}
	return true, true
}

func (l literal) starts(t string) bool {
	if !l.fold {
		return strings.HasPrefix(t, l.text)
	}
	return len(t) >= len(l.text) && same(t[:len(l.text)], l.text)
}

// index is where the literal begins in a text, or -1.
func (l literal) index(t string) int {
	if !l.fold || l.text == "" {
		return strings.Index(t, l.text)
	}
	// The next place of each case of the first letter, each looked for once.
	low := l.text[0]
	high := low
	if low >= 'a' && low <= 'z' {
		high -= 'a' - 'A'
	}
	next := func(c byte, from int) int {
		if i := strings.IndexByte(t[from:], c); i >= 0 {
			return from + i
		}
		return len(t)
	}
	for i, j := next(low, 0), next(high, 0); ; {
		at := min(i, j)
		if at+len(l.text) > len(t) {
			return -1
		}
		if same(t[at:at+len(l.text)], l.text) {
			return at
		}
		if i == at {
			i = next(low, at+1)
		}
		if j == at {
			j = next(high, at+1)
		}
	}
}

// same tells whether a text is a lower-case one of the same length, by ASCII's cases.
func same(t, low string) bool {
	for i := 0; i < len(low); i++ {
		c := t[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != low[i] {
			return false
		}
	}
	return true
}

func ascii(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// needed are texts of which each match holds one; nil if nothing is known.
func needed(t *syntax.Regexp) []string {
	switch t.Op {
	case syntax.OpLiteral:
		if t.Flags&syntax.FoldCase == 0 {
			return []string{string(t.Rune)}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return needed(t.Sub[0])
	case syntax.OpRepeat:
		if t.Min > 0 {
			return needed(t.Sub[0])
		}
	case syntax.OpConcat:
		var best []string
		for _, sub := range t.Sub {
			if n := needed(sub); shortest(n) > shortest(best) {
				best = n
			}
		}
		return best
	case syntax.OpAlternate:
		var all []string
		for _, sub := range t.Sub {
			n := needed(sub)
			if n == nil || len(all)+len(n) > maxShapes {
				return nil
			}
			all = append(all, n...)
		}
		return all
	}
	return nil
}

func shortest(list []string) int {
	n := 0
	for i, s := range list {
		if i == 0 || len(s) < n {
			n = len(s)
		}
	}
	return n
}
