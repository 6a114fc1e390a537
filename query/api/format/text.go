package format

import (
	"errors"
	"io"

	"github.com/togodb/togo/query"
	"github.com/togodb/togo/query/exec"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/vec"
)

// errNoColumns: a bug of whoever writes an answer.
var errNoColumns = errors.New("bug: the end of an answer without columns")

// jsonWriter writes one document: columns, rows as lists, then what Tail has.
type jsonWriter struct {
	w     io.Writer
	buf   []byte
	began bool
	rows  bool // there was one
}

func (j *jsonWriter) Columns(columns []exec.Output) error {
	j.began = true
	j.buf = append(j.buf[:0], `{"columns":[`...)
	for i, c := range columns {
		if i > 0 {
			j.buf = append(j.buf, ',')
		}
		j.buf = append(j.buf, "\n {\"name\":"...)
		j.buf = appendString(j.buf, c.Name)
		j.buf = append(j.buf, `,"type":"`...)
		j.buf = append(j.buf, c.Type.String()...)
		j.buf = append(j.buf, `"}`...)
	}
	j.buf = append(j.buf, "\n],\n\"rows\":["...)
	return j.flush()
}

func (j *jsonWriter) Batch(b *vec.Batch) error {
	j.buf = j.buf[:0]
	for row := range b.Len {
		if j.rows {
			j.buf = append(j.buf, ',')
		}
		j.rows = true
		j.buf = append(j.buf, "\n ["...)
		for i, v := range b.Cols {
			if i > 0 {
				j.buf = append(j.buf, ',')
			}
			j.buf = appendJSON(j.buf, v, row)
		}
		j.buf = append(j.buf, ']')
		if err := j.spill(); err != nil {
			return err
		}
	}
	return j.flush()
}

func (j *jsonWriter) End(s *query.Summary, stats Statistics) error {
	if !j.began {
		return errNoColumns
	}
	j.buf = append(j.buf[:0], "\n],\n\"snapshot\":"...)
	j.buf = appendString(j.buf, s.Snapshot)
	j.buf = append(j.buf, ",\n\"statistics\":"...)
	j.buf = append(j.buf, stats.Line()...)
	j.buf = append(j.buf, "\n}\n"...)
	return j.flush()
}

func (j *jsonWriter) Fail(e *fail.Error) error {
	j.buf = append(j.buf[:0], "{"...)
	if j.began {
		j.buf = append(j.buf[:0], "\n],\n"...)
	}
	j.buf = append(j.buf, errorOf(e).member()...)
	j.buf = append(j.buf, "}\n"...)
	return j.flush()
}

func (j *jsonWriter) flush() error { return flush(j.w, &j.buf) }
func (j *jsonWriter) spill() error { return spill(j.w, &j.buf) }

// ndjsonWriter writes each row as an object on a line of its own. Of columns with the same name the later get a number.
type ndjsonWriter struct {
	w     io.Writer
	buf   []byte
	names [][]byte // `"name":`, with a comma before all but the first
}

func (n *ndjsonWriter) Columns(columns []exec.Output) error {
	for i, name := range distinct(columns) {
		var text []byte
		if i > 0 {
			text = append(text, ',')
		}
		n.names = append(n.names, append(appendString(text, name), ':'))
	}
	return nil
}

func (n *ndjsonWriter) Batch(b *vec.Batch) error {
	n.buf = n.buf[:0]
	for row := range b.Len {
		n.buf = append(n.buf, '{')
		for i, v := range b.Cols {
			n.buf = append(n.buf, n.names[i]...)
			n.buf = appendJSON(n.buf, v, row)
		}
		n.buf = append(n.buf, '}', '\n')
		if err := spill(n.w, &n.buf); err != nil {
			return err
		}
	}
	return flush(n.w, &n.buf)
}

func (n *ndjsonWriter) End(*query.Summary, Statistics) error { return nil }

func (n *ndjsonWriter) Fail(e *fail.Error) error {
	n.buf = append(append(append(n.buf[:0], '{'), errorOf(e).member()...), '}', '\n')
	return flush(n.w, &n.buf)
}

// csvWriter writes a line of names and a line for each row, as RFC 4180 has it but for the line's end (\n). NULL is an empty
// field, the empty text is "".
type csvWriter struct {
	w    io.Writer
	buf  []byte
	cell []byte
}

func (c *csvWriter) Columns(columns []exec.Output) error {
	c.buf = c.buf[:0]
	for i, out := range columns {
		c.comma(i)
		c.field([]byte(out.Name))
	}
	c.buf = append(c.buf, '\n')
	return flush(c.w, &c.buf)
}

func (c *csvWriter) Batch(b *vec.Batch) error {
	c.buf = c.buf[:0]
	for row := range b.Len {
		for i, v := range b.Cols {
			c.comma(i)
			if v.IsNull(row) {
				continue
			}
			c.cell = appendText(c.cell[:0], v, row)
			c.field(c.cell)
		}
		c.buf = append(c.buf, '\n')
		if err := spill(c.w, &c.buf); err != nil {
			return err
		}
	}
	return flush(c.w, &c.buf)
}

func (c *csvWriter) End(*query.Summary, Statistics) error { return nil }
func (c *csvWriter) Fail(*fail.Error) error               { return nil }

func (c *csvWriter) comma(i int) {
	if i > 0 {
		c.buf = append(c.buf, ',')
	}
}

func (c *csvWriter) field(text []byte) {
	quote := len(text) == 0 || text[0] == ' ' || text[len(text)-1] == ' '
	for _, b := range text {
		quote = quote || b == ',' || b == '"' || b == '\n' || b == '\r'
	}
	if !quote {
		c.buf = append(c.buf, text...)
		return
	}
	c.buf = append(c.buf, '"')
	for _, b := range text {
		if b == '"' {
			c.buf = append(c.buf, '"')
		}
		c.buf = append(c.buf, b)
	}
	c.buf = append(c.buf, '"')
}

// spillBytes bounds what a writer holds of a batch with large values.
const spillBytes = 64 << 10

func spill(w io.Writer, buf *[]byte) error {
	if len(*buf) < spillBytes {
		return nil
	}
	return flush(w, buf)
}

// flush writes what is in buf, and keeps its memory unless one huge value made it grow.
func flush(w io.Writer, buf *[]byte) error {
	if len(*buf) == 0 {
		return nil
	}
	_, err := w.Write(*buf)
	if *buf = (*buf)[:0]; cap(*buf) > 4*spillBytes {
		*buf = nil
	}
	return err
}
