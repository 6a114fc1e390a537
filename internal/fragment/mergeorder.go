package fragment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"sort"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment/parquetfile"
)

// run is rows of one input that follow each other in the output, too.
type run struct {
	in   *mergeInput
	from int64 // row of the input
	rows int64
}

// keyCursor walks the sort key of an input.
type keyCursor struct {
	m     *merger
	in    *mergeInput
	paths [][]keyStream // by path of the sort key: the input's columns of it
	times *stream
	nanos *stream // nil: zero in all rows

	row      int64 // of the input: the first of the block
	at, n    int   // the next row within the block, and the block's rows
	time     []int64
	sub      []int64
	changed  []byte // 1: another value of the key's paths than the row before
	prefix   []byte // the paths' values in the row at hand, as text that compares
	version  int    // of the prefix
	known    [8]knownPrefix
	lead     int // of prefix: those of the spec's KeyColumns paths
	last     []byte
	lastTime int64      // of the row before the one at hand
	below    [][2]int64 // rows of this row group that lie below the floor
}

type keyStream struct {
	*stream
	column *mergeColumn
}

// blockRows is how many rows a cursor looks at at once.
const blockRows = 4 << 10

// newCursor has streams of its own: the order runs ahead of the copying.
func (m *merger) newCursor(in *mergeInput) *keyCursor {
	c := &keyCursor{m: m, in: in}
	again := func(column int) *stream {
		if column < 0 || in.streams[column] == nil {
			return nil
		}
		s := in.streams[column]
		return newStream(m, in, s.column, &m.columns[column])
	}
	for _, columns := range m.byPath {
		var of []keyStream
		for _, column := range columns {
			if s := again(column); s != nil {
				of = append(of, keyStream{s, &m.columns[column]})
			}
		}
		c.paths = append(c.paths, of)
	}
	c.times, c.nanos = again(m.columnOf(colTimestamp)), again(m.columnOf(colNanos))
	n := int64(0)
	_ = c.streams(func(*stream) error { n++; return nil })
	_ = c.streams(func(s *stream) error {
		s.allow = int64(keyShare*float64(m.spec.MemoryBytes)) / n / int64(len(m.inputs))
		return nil
	})
	return c
}

// streams calls f for each stream of the cursor.
func (c *keyCursor) streams(f func(*stream) error) error {
	for _, of := range c.paths {
		for _, s := range of {
			if err := f(s.stream); err != nil {
				return err
			}
		}
	}
	if err := f(c.times); err != nil || c.nanos == nil {
		return err
	}
	return f(c.nanos)
}

// fill reads the block after the one at hand. The prefix is that of its first row.
func (c *keyCursor) fill() error {
	_ = c.streams(func(s *stream) error {
		if c.n > 0 {
			s.page.Skip(c.n)
		}
		return nil
	})
	c.row += int64(c.n)
	c.at, c.n = 0, int(min(blockRows, c.in.info.Rows-c.row))
	if c.n == 0 {
		return nil
	}
	err := c.streams(func(s *stream) error {
		err := s.load()
		if err == nil {
			c.n = min(c.n, s.page.Left())
		}
		return err
	})
	if err != nil {
		return err
	}
	c.time, c.sub, c.changed = grown(c.time, c.n), grown(c.sub, c.n), grown(c.changed, c.n)
	clear(c.changed)
	for _, of := range c.paths {
		for _, s := range of {
			s.page.Changes(c.changed)
		}
	}
	c.times.page.Numbers(c.time)
	clear(c.sub)
	if c.nanos != nil {
		c.nanos.page.Numbers(c.sub)
	}
	for i := range c.time {
		c.time[i] = c.time[i]*1000 + c.sub[i]
	}
	return nil
}

func grown[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// settle makes the row at hand one that is not below the floor, reading on where needed,
// and checks that rows ascend. It tells whether there is one.
func (c *keyCursor) settle() (bool, error) {
	for {
		fresh := false
		for c.at == c.n {
			if err := c.fill(); err != nil {
				return false, err
			}
			if c.n == 0 {
				return false, nil
			}
			fresh = true
		}
		if fresh || c.changed[c.at] == 1 || c.row+int64(c.at) == 0 {
			if err := c.newPrefix(); err != nil {
				return false, err
			}
		}
		if c.time[c.at] >= int64(c.m.spec.Floor) {
			return true, nil
		}
		end := c.segment()
		// Within equal keys times ascend.
		n := sort.Search(end-c.at, func(i int) bool { return c.time[c.at+i] >= int64(c.m.spec.Floor) })
		if err := c.ascend(n); err != nil {
			return false, err
		}
		from := c.row + int64(c.at)
		c.below = append(c.below, [2]int64{from, from + int64(n)})
		c.m.result.RowsBelow += int64(n)
		c.step(n)
	}
}

func (c *keyCursor) step(n int) {
	c.at += n
	if n > 0 {
		c.lastTime = c.time[c.at-1]
	}
}

// segment is where the rows with the prefix of the row at hand end in the block.
func (c *keyCursor) segment() int {
	if i := bytes.IndexByte(c.changed[c.at+1:c.n], 1); i >= 0 {
		return c.at + 1 + i
	}
	return c.n
}

// ErrUnsorted: the rows of an input are not in the order of its sort key. They can be read.
var ErrUnsorted = errors.New("fragment: rows are not in the order of the file's sort key")

func (c *keyCursor) unsorted() error {
	return &InputError{c.in.key, fmt.Errorf("%w: %s", ErrUnsorted, c.in.key)}
}

// newPrefix makes the prefix of the row at hand, which is not below the one before.
func (c *keyCursor) newPrefix() error {
	c.version++
	c.last = append(c.last[:0], c.prefix...)
	c.prefix = c.prefix[:0]
	for i, of := range c.paths {
		if i == len(keyPaths(c.m.key, c.m.spec.KeyColumns)) {
			c.lead = len(c.prefix)
		}
		c.prefix = c.appendPath(c.prefix, of)
	}
	if len(keyPaths(c.m.key, c.m.spec.KeyColumns)) == len(c.paths) {
		c.lead = len(c.prefix)
	}
	if c.row+int64(c.at) == 0 {
		return nil
	}
	if n := bytes.Compare(c.last, c.prefix); n > 0 || n == 0 && c.lastTime > c.time[c.at] {
		return c.unsorted()
	}
	return nil
}

// appendPath appends the value that the row at hand has for a path.
func (c *keyCursor) appendPath(dst []byte, of []keyStream) []byte {
	for _, s := range of {
		if number, text, ok := s.page.Peek(c.at); ok {
			return appendPrefix(dst, s.field, number, text)
		}
	}
	return appendPrefix(dst, nil, 0, nil)
}

// appendPrefix appends a path's value to a prefix: the field id of its column and the
// value, or the highest id for none (nil). Numbers are their order-preserved bits; a byte
// array is ended by two zeros, and a zero in it is followed by 0xFF.
func appendPrefix(dst []byte, f *parquetfile.Field, number int64, text []byte) []byte {
	if f == nil {
		return binary.BigEndian.AppendUint32(dst, 1<<32-1)
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(f.FieldID))
	if !f.Kind.Text() {
		return binary.BigEndian.AppendUint64(dst, orderedBits(f.Kind, number))
	}
	for {
		i := bytes.IndexByte(text, 0)
		if i < 0 {
			return append(append(dst, text...), 0, 0)
		}
		dst = append(append(dst, text[:i+1]...), 0xFF)
		text = text[i+1:]
	}
}

// keyTextOf is the text of the key whose leading paths' values a prefix has.
func (m *merger) keyTextOf(prefix []byte) string {
	var values []keyValue
	for len(prefix) > 0 {
		v := keyValue{fieldID: int32(binary.BigEndian.Uint32(prefix))}
		prefix = prefix[4:]
		if v.fieldID == -1 {
			values = append(values, keyValue{})
			continue
		}
		for i := range m.columns {
			if m.columns[i].FieldID == v.fieldID {
				v.kind = m.columns[i].Kind
			}
		}
		if !v.kind.Text() {
			v.number = numberOfBits(v.kind, binary.BigEndian.Uint64(prefix))
			prefix = prefix[8:]
		} else {
			for {
				i := bytes.IndexByte(prefix, 0)
				v.text = append(v.text, prefix[:i]...)
				end := prefix[i+1] == 0
				prefix = prefix[i+2:]
				if end {
					break
				}
				v.text = append(v.text, 0)
			}
		}
		values = append(values, v)
	}
	return string(appendSpan(nil, values))
}

// numberOfBits undoes orderedBits.
func numberOfBits(kind parquetfile.Kind, b uint64) int64 {
	if kind == parquetfile.Double && b < 1<<63 {
		return int64(^b)
	}
	return int64(b ^ 1<<63)
}

// before orders cursors by their rows at hand.
func (c *keyCursor) before(d *keyCursor) bool {
	if !c.samePrefix(d) {
		return bytes.Compare(c.prefix, d.prefix) < 0
	}
	if a, b := c.time[c.at], d.time[d.at]; a != b {
		return a < b
	}
	return c.in.n < d.in.n
}

// samePrefix remembers the answer for the last cursor that was asked for: rows of one
// prefix follow each other.
func (c *keyCursor) samePrefix(d *keyCursor) bool {
	known := &c.known[d.in.n%len(c.known)]
	if known.of != d || known.mine != c.version || known.its != d.version {
		*known = knownPrefix{d, c.version, d.version, bytes.Equal(c.prefix, d.prefix)}
	}
	return known.same
}

// knownPrefix is whether the prefix of another cursor is the same, by both versions.
type knownPrefix struct {
	of        *keyCursor
	mine, its int
	same      bool
}

// runTo is the end within the block of the rows at hand that come before the row of the
// next cursor (nil: none is left), of those with the same prefix.
func (c *keyCursor) runTo(d *keyCursor) int {
	end := c.segment()
	if d == nil || !c.samePrefix(d) {
		return end
	}
	limit := d.time[d.at]
	if c.in.n < d.in.n && limit < 1<<63-1 {
		limit++ // equal times: the earlier input first
	}
	at := c.at + 1
	for at < end && c.time[at] < limit {
		at++
	}
	return at
}

// ascend checks that the times of the next n rows, which have one prefix, ascend.
func (c *keyCursor) ascend(n int) error {
	for i := c.at + 1; i < c.at+n; i++ {
		if c.time[i] < c.time[i-1] {
			return c.unsorted()
		}
	}
	if at := c.at + n; at < c.n && c.changed[at] == 0 && c.time[at] < c.time[at-1] {
		return c.unsorted()
	}
	return nil
}

// take goes on by n rows, which have the prefix of the row at hand.
func (c *keyCursor) take(n int) (r run, least, largest event.Timestamp, err error) {
	if err := c.ascend(n); err != nil {
		return run{}, 0, 0, err
	}
	r = run{c.in, c.row + int64(c.at), int64(n)}
	least, largest = event.Timestamp(c.time[c.at]), event.Timestamp(c.time[c.at+n-1])
	c.step(n)
	return r, least, largest, nil
}
