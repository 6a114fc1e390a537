// Package like matches LIKE patterns: % is any text, _ one character, and an escape character takes their meaning from them.
package like

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Pattern is what stands between the %s of a LIKE. The first part begins the text and the last one ends it, unless they are empty.
type Pattern struct {
	fold  bool
	parts []part
}

// part is text in which some characters may be any.
type part struct {
	text string // without _
	any  []rune // with _, as anyRune; then text is not used
}

const anyRune = -1

type patternError string

func (e patternError) Error() string { return string(e) }

// New reads a pattern of up to most bytes; 0 is no limit. escape is one character or none.
func New(text, escape string, fold bool, most int) (*Pattern, error) {
	if most > 0 && len(text) > most {
		return nil, patternError(fmt.Sprintf("the LIKE pattern has %d bytes; up to %d are taken", len(text), most))
	}
	esc := rune(-2)
	if escape != "" {
		esc, _ = utf8.DecodeRuneInString(escape)
	}
	p := &Pattern{fold: fold}
	var runes []rune
	wild, escaped := false, false
	flush := func() {
		next := part{}
		if wild {
			next.any = append([]rune(nil), runes...)
		} else {
			next.text = string(runes)
		}
		p.parts = append(p.parts, next)
		runes, wild = runes[:0], false
	}
	for _, r := range text {
		switch {
		case !escaped && r == esc:
			escaped = true
			continue
		case !escaped && r == '%':
			flush()
		case !escaped && r == '_':
			runes, wild = append(runes, anyRune), true
		default:
			if fold {
				r = unicode.ToLower(r)
			}
			runes = append(runes, r)
		}
		escaped = false
	}
	if escaped {
		return nil, patternError("the LIKE pattern ends with its escape character")
	}
	flush()
	return p, nil
}

// Match writes 1 where a text matches.
func (p *Pattern) Match(texts []string, nulls []bool, out []int64) {
	if p.fold {
		p.matchFolded(texts, nulls, out)
		return
	}
	plain := true
	for _, q := range p.parts {
		plain = plain && q.any == nil
	}
	n := len(p.parts)
	switch {
	case plain && n == 1:
		for i, t := range texts {
			out[i] = bit(t == p.parts[0].text)
		}
	case plain && n == 2:
		head, tail := p.parts[0].text, p.parts[1].text
		for i, t := range texts {
			out[i] = bit(len(t) >= len(head)+len(tail) && strings.HasPrefix(t, head) && strings.HasSuffix(t, tail))
		}
	case plain && n == 3 && p.parts[0].text == "" && p.parts[2].text == "":
		middle := p.parts[1].text
		for i, t := range texts {
			out[i] = bit(strings.Contains(t, middle))
		}
	default:
		for i, t := range texts {
			out[i] = bit(p.matches(t))
		}
	}
}

// matches tells it of one text, in lower case if it folds.
func (p *Pattern) matches(t string) bool {
	last := len(p.parts) - 1
	end := p.parts[0].at(t)
	if end < 0 || last == 0 && end != len(t) {
		return false
	}
	if last == 0 {
		return true
	}
	t = t[end:]
	for _, q := range p.parts[1:last] {
		if end = q.find(t); end < 0 {
			return false
		}
		t = t[end:]
	}
	return p.parts[last].ends(t)
}

// head is the text before the first _.
func (q part) head() string {
	if q.any == nil {
		return q.text
	}
	return string(q.any[:slices.Index(q.any, anyRune)])
}

// at is how many bytes of the text's begin the part takes; -1 if it does not stand there.
func (q part) at(t string) int {
	if q.any == nil {
		if !strings.HasPrefix(t, q.text) {
			return -1
		}
		return len(q.text)
	}
	n := 0
	for _, want := range q.any {
		r, size := utf8.DecodeRuneInString(t[n:])
		if size == 0 || want != anyRune && r != want {
			return -1
		}
		n += size
	}
	return n
}

// find is the end of the first place where the part stands; -1 if there is none.
func (q part) find(t string) int {
	if q.any == nil {
		i := strings.Index(t, q.text)
		if i < 0 {
			return -1
		}
		return i + len(q.text)
	}
	for i := range t {
		if n := q.at(t[i:]); n >= 0 {
			return i + n
		}
	}
	return -1
}

// ends tells whether the part ends the text.
func (q part) ends(t string) bool {
	if q.any == nil {
		return strings.HasSuffix(t, q.text)
	}
	start := len(t)
	for range q.any {
		if start == 0 {
			return false
		}
		_, size := utf8.DecodeLastRuneInString(t[:start])
		start -= size
	}
	return q.at(t[start:]) >= 0
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// Head is the text that all that matches begins with.
func (p *Pattern) Head() string {
	if p.fold {
		return ""
	}
	return p.parts[0].head()
}
