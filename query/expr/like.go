package expr

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/sql"
	"github.com/togodb/togo/query/vec"
)

// like binds LIKE and ILIKE: % is any text, _ one character, and the character of ESCAPE takes their meaning from them.
func (b *binder) like(e *sql.Like) (Expr, error) {
	list := []sql.Expr{e.X, e.Pattern}
	if e.Escape != nil {
		list = append(list, e.Escape)
	}
	operands, err := b.operands(list)
	if err != nil {
		return nil, err
	}
	name := "LIKE"
	if e.Fold {
		name = "ILIKE"
	}
	args := make([]Expr, len(operands))
	for i, o := range operands {
		x := o.general()
		if _, ok := implicitCost(x.Type(), vec.Text); !ok {
			return nil, fail.At(e, fail.Type, "%s takes text; %s is %s: CAST it to VARCHAR", name, x, x.Type())
		}
		args[i] = convert(x, vec.Text, o.at)
	}
	out, err := b.liking(name, args, e)
	if err != nil {
		return nil, err
	}
	if e.Not {
		return not(out), nil
	}
	return out, nil
}

func (b *binder) liking(name string, args []Expr, at fail.Placed) (Expr, error) {
	ilike := name == "ILIKE"
	k := &op{name: name, t: vec.Bool, args: args, mayFail: len(args) == 3, show: func(args []Expr) string {
		text := infix(name)(args[:2])
		if len(args) == 3 {
			text = strings.TrimSuffix(text, ")") + " ESCAPE " + args[2].String() + ")"
		}
		return text
	}}
	text, escape := constText(args[1]), ""
	if len(args) == 3 {
		e := constText(args[2])
		if e == nil {
			return nil, fail.At(at, fail.Unsupported, "ESCAPE takes a constant character")
		}
		escape = *e
	}
	if utf8.RuneCountInString(escape) > 1 {
		return nil, fail.At(at, fail.Value, "ESCAPE takes one character, or none")
	}
	most := b.env.MaxPattern
	if text != nil {
		p, err := newPattern(*text, escape, ilike, most)
		if err != nil {
			return nil, fail.At(at, fail.Value, "%s", err.Error())
		}
		k.mayFail = false
		if !ilike {
			k.begins = p.parts[0].head()
		}
		k.run = func(_ *Scratch, args []*vec.Vector, n int, nulls []bool) (*vec.Vector, error) {
			out := vec.New(vec.Bool, n)
			p.match(args[0].Flat().Texts[:n], nulls, out.Ints)
			return out, nil
		}
		return fold(k), nil
	}
	k.run = func(_ *Scratch, args []*vec.Vector, n int, nulls []bool) (*vec.Vector, error) {
		out := vec.New(vec.Bool, n)
		x, y := args[0].Flat().Texts, args[1].Flat().Texts
		for i := range n {
			if nulls != nil && nulls[i] {
				continue
			}
			p, err := newPattern(y[i], escape, ilike, most)
			if err != nil {
				return nil, fail.At(at, fail.Value, "%s", err.Error())
			}
			p.match(x[i:i+1], nil, out.Ints[i:i+1])
		}
		return out, nil
	}
	return fold(k), nil
}

// constText is a constant's text; nil if it is none.
func constText(e Expr) *string {
	c, ok := e.(*Const)
	if !ok || c.Value.Type != vec.Text {
		return nil
	}
	return &c.Value.Text
}

// pattern is what stands between the %s of a LIKE. The first part begins the text and the last one ends it, unless they are empty.
type pattern struct {
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

// newPattern reads a pattern of up to most bytes; 0 is no limit.
func newPattern(text, escape string, fold bool, most int) (*pattern, error) {
	if most > 0 && len(text) > most {
		return nil, patternError(fmt.Sprintf("the LIKE pattern has %d bytes; up to %d are taken", len(text), most))
	}
	esc := rune(-2)
	if escape != "" {
		esc, _ = utf8.DecodeRuneInString(escape)
	}
	p := &pattern{fold: fold}
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

// match writes 1 where a text matches.
func (p *pattern) match(texts []string, nulls []bool, out []int64) {
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
func (p *pattern) matches(t string) bool {
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
