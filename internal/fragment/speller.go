package fragment

import (
	"fmt"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
)

// Speller gives events as they were sent, from the values of a file's columns, which are read elsewhere. It holds one
// row at a time and is not safe for concurrent use.
type Speller struct {
	key             string
	columns         []int // of the file
	attrs           []attribute
	values          []parquet.Value // by attrs
	rest, keys, raw []byte
	tree            *shapeNode
	sent            asSent
}

// NewSpeller makes a Speller for the events of a file; key names it in errors.
func (f *Footer) NewSpeller(key string) *Speller {
	s := &Speller{key: key}
	for i := range f.Columns {
		if c := &f.Columns[i]; c.Attribute.Type != 0 {
			s.columns = append(s.columns, i)
			s.attrs = append(s.attrs, attribute{c.Attribute, i})
		}
	}
	for _, name := range sentColumns {
		if i := f.Column(name); i >= 0 {
			s.columns = append(s.columns, i)
		}
	}
	s.values = make([]parquet.Value, len(s.attrs))
	s.sent.attrs = s.attrs
	return s
}

var sentColumns = []string{colRest, colKeys, colRaw}

// SentColumns are the places of the columns that events are made of, among the file's.
func (f *Footer) SentColumns() []int {
	var out []int
	for i := range f.Columns {
		if f.Columns[i].Attribute.Type != 0 {
			out = append(out, i)
		}
	}
	for _, name := range sentColumns {
		if i := f.Column(name); i >= 0 {
			out = append(out, i)
		}
	}
	return out
}

// Clear makes all values of the row null.
func (s *Speller) Clear() {
	clear(s.values)
	s.rest, s.keys, s.raw = nil, nil, nil
}

// SetNumber gives the k-th of SentColumns a value: an integer, or 0 or 1 for a boolean.
func (s *Speller) SetNumber(k int, n int64) {
	if s.attrs[k].Type == Boolean {
		s.values[k] = parquet.BooleanValue(n != 0)
		return
	}
	s.values[k] = parquet.Int64Value(n)
}

// SetDouble gives the k-th of SentColumns a value.
func (s *Speller) SetDouble(k int, f float64) { s.values[k] = parquet.DoubleValue(f) }

// SetText gives the k-th of SentColumns a value, which stays where it is until the next row.
func (s *Speller) SetText(k int, name string, text []byte) {
	switch {
	case k < len(s.attrs):
		s.values[k] = parquet.ByteArrayValue(text)
	case name == colRest:
		s.rest = text
	case name == colKeys:
		s.keys = text
	default:
		s.raw = text
	}
}

// AppendJSON appends the row's event; see Event.AppendJSON.
func (s *Speller) AppendJSON(dst []byte) ([]byte, error) {
	if s.raw != nil && utf8.Valid(s.raw) {
		return append(dst, s.raw...), nil
	}
	if s.rest == nil && s.keys == nil {
		if s.tree == nil {
			s.tree = shapeOf(s.attrs)
		}
		dst, _ = s.tree.append(append(dst, '{'), s.attrs, s.values)
		return append(dst, '}'), nil
	}
	at := len(dst)
	dst, err := s.sent.append(dst, s.values, s.rest, s.keys)
	if err != nil {
		return dst[:at], fmt.Errorf("%w: %s: an event: %w", ErrCorrupt, s.key, err)
	}
	return dst, nil
}
