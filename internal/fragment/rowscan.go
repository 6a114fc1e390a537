package fragment

import (
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/togodb/togo/internal/fragment/parquetfile"
)

// cursorValues is how many values a cursor holds at once; scanValues bounds them over
// all cursors of a scan, for files of many columns.
const (
	cursorValues = 512
	scanValues   = 256 << 10
)

// cursor walks the values of one column of a row group; columns are flat, so each row
// has one, null or not.
type cursor struct {
	pages  parquet.Pages
	page   parquet.Page
	values parquet.ValueReader
	buf    []parquet.Value
	n, i   int
}

func (c *cursor) next() (parquet.Value, error) {
	for c.i == c.n {
		if c.values == nil {
			page, err := c.pages.ReadPage()
			if err != nil {
				if errors.Is(err, io.EOF) {
					err = errors.New("fewer values than rows")
				}
				return parquet.Value{}, err
			}
			parquet.Release(c.page)
			c.page, c.values = page, page.Values()
		}
		n, err := c.values.ReadValues(c.buf)
		c.n, c.i = n, 0
		if err != nil {
			if !errors.Is(err, io.EOF) {
				return parquet.Value{}, err
			}
			c.values = nil
		}
	}
	c.i++
	return c.buf[c.i-1], nil
}

func (c *cursor) close() {
	if c.pages != nil {
		parquet.Release(c.page)
		c.pages.Close()
	}
	*c = cursor{buf: c.buf}
}

// rowScan walks the rows of a file over some of its columns.
type rowScan struct {
	r       *Reader
	columns []int // in the file, ascending
	cursors []cursor
	values  []parquet.Value // of the row at hand, as columns
	own     map[string]int  // into values
	attrs   int             // values of attributes begin here
	group   int
	rows    int64 // left in the row group
	err     error
}

// scan begins before the first row. Columns that the file has not are null in all rows.
func (r *Reader) scan(own []string, attrs []attribute) *rowScan {
	s := &rowScan{r: r, own: map[string]int{}, group: -1}
	for _, name := range own { // in the file our own columns stand first, in this order
		if i, ok := r.own[name]; ok {
			s.own[name] = len(s.columns)
			s.columns = append(s.columns, i)
		}
	}
	s.attrs = len(s.columns)
	for _, a := range attrs {
		s.columns = append(s.columns, a.index)
	}
	s.cursors = make([]cursor, len(s.columns))
	s.values = make([]parquet.Value, len(s.columns))
	each := max(16, min(cursorValues, scanValues/max(1, len(s.columns))))
	for i := range s.cursors {
		s.cursors[i].buf = make([]parquet.Value, each)
	}
	return s
}

// next goes to the next row; false at the end or at an error.
func (s *rowScan) next() bool {
	if s.err != nil {
		return false
	}
	more := false
	s.err = s.r.guard(func() (err error) {
		more, err = s.step()
		return err
	})
	return more && s.err == nil
}

func (s *rowScan) step() (bool, error) {
	for s.rows == 0 {
		groups := s.r.file.RowGroups()
		if s.group++; s.group >= len(groups) {
			return false, nil
		}
		meta := &s.r.file.Metadata().RowGroups[s.group]
		if err := s.r.source.fetch(meta, s.columns); err != nil {
			return false, err
		}
		chunks := groups[s.group].ColumnChunks()
		for i, c := range s.columns {
			s.cursors[i].close()
			if err := s.r.source.checkPages(&meta.Columns[c].MetaData); err != nil {
				return false, fmt.Errorf("column %q: %w", s.name(i), err)
			}
			s.cursors[i].pages = chunks[c].Pages()
		}
		s.rows = groups[s.group].NumRows()
	}
	s.rows--
	for i := range s.cursors {
		v, err := s.cursors[i].next()
		if err != nil {
			return false, fmt.Errorf("column %q: %w", s.name(i), err)
		}
		s.values[i] = v
	}
	return true, nil
}

// name is the name of a column of the scan.
func (s *rowScan) name(i int) string { return s.r.file.Metadata().Schema[s.columns[i]+1].Name }

func (s *rowScan) close() {
	for i := range s.cursors {
		s.cursors[i].close()
	}
}

// int is a value of our own columns; 0 for a column that the file has not.
func (s *rowScan) int(name string) int64 {
	i, ok := s.own[name]
	if !ok {
		return 0
	}
	v := s.values[i]
	if v.Kind() == parquet.Int32 {
		return int64(v.Int32())
	}
	return v.Int64()
}

// bytes is a value of our own columns; nil for null or a column that the file has not.
func (s *rowScan) bytes(name string) []byte {
	i, ok := s.own[name]
	if !ok || s.values[i].IsNull() {
		return nil
	}
	return s.values[i].ByteArray()
}

func physicalOf(own int) format.Type {
	switch ownSchema[own].kind {
	case parquetfile.Int32:
		return format.Int32
	case parquetfile.Int64, parquetfile.TimestampMicros:
		return format.Int64
	}
	return format.ByteArray
}
