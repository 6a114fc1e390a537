package scan

import (
	"unsafe"

	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/query/vec"
)

// speller makes the events of a row group as they were sent.
type speller struct {
	fragment.Speller
	columns []int // of the file
	bufs    []buffer
	cells   []*vec.Vector
	text    []byte
	out     buffer
}

// spellRows is how many events are spelled from values that lie in memory at once.
const spellRows = 256

// events gives the events of a window's rows that are left.
func (s *slot) events(w *window) (*vec.Vector, error) {
	g := s.g
	if s.spell == nil {
		s.spell = &speller{Speller: *g.file.footer.NewSpeller(g.file.Key), columns: g.file.sent}
		s.spell.bufs = make([]buffer, len(g.file.sent))
		s.spell.cells = make([]*vec.Vector, len(g.file.sent))
	}
	p := s.spell
	p.text = nil // the batch that was given on before may lie there
	ends := make([]int, 0, w.left())
	for from := 0; from < w.left(); from += spellRows {
		part := w.part(from, min(from+spellRows, w.left()))
		for k, column := range p.columns {
			v, err := g.chunk(column).values(&part, &p.bufs[k])
			if err != nil {
				return nil, err
			}
			p.cells[k] = v
		}
		for i := range part.left() {
			p.row(g, i)
			var err error
			if p.text, err = p.AppendJSON(p.text); err != nil {
				return nil, err
			}
			ends = append(ends, len(p.text))
		}
	}
	p.out.texts = grown(p.out.texts, len(ends))
	at := 0
	for i, end := range ends {
		p.out.texts[i] = unsafe.String(&p.text[at], end-at) // an event has two bytes at least
		at = end
	}
	p.out.out = vec.Vector{Type: vec.JSON, Len: len(ends), Texts: p.out.texts}
	return &p.out.out, nil
}

// row sets the values of a row.
func (p *speller) row(g *rowGroup, i int) {
	p.Clear()
	for k, v := range p.cells {
		if v.IsNull(i) {
			continue
		}
		in, at := v.Values(), v.Index(i)
		switch {
		case v.Type.HasTexts():
			t := in.Texts[at]
			p.SetText(k, g.file.footer.Columns[p.columns[k]].Name, unsafe.Slice(unsafe.StringData(t), len(t)))
		case v.Type == vec.Double:
			p.SetDouble(k, in.Doubles[at])
		default:
			p.SetNumber(k, in.Ints[at])
		}
	}
}
