package fragment

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/togodb/togo/internal/fragment/parquetfile"
)

// RangeReader is what a Reader needs of an object store.
type RangeReader interface {
	GetRange(ctx context.Context, key string, off, n int64) ([]byte, error)
}

// tailBytes is what an open reads at once: the footer and the page index of most files.
const tailBytes = 64 << 10

// gapBytes is how much a read may take along unasked for, to save a request.
const gapBytes = 64 << 10

// source gives parquet-go an object as io.ReaderAt. Ranges that were fetched ahead are
// served from memory; others cost a request each.
type source struct {
	ctx   context.Context
	store RangeReader
	key   string
	size  int64
	tail  span
	ahead []span
	err   error // the store's, if one came: then the file is not to blame
}

// span is the bytes [from, from+len(data)) of the object.
type span struct {
	from int64
	data []byte
}

func (s span) holds(from, n int64) bool {
	return s.from <= from && from+n <= s.from+int64(len(s.data))
}

func (s *source) get(from, n int64) (span, error) {
	data, err := s.store.GetRange(s.ctx, s.key, from, n)
	if err != nil {
		s.err = fmt.Errorf("read %d bytes at %d of %s: %w", n, from, s.key, err)
		return span{}, s.err
	}
	if int64(len(data)) != n {
		return span{}, fmt.Errorf("%d bytes at %d asked for, %d got: the object is shorter than %d bytes", n, from, len(data), s.size)
	}
	return span{from, data}, nil
}

// openTail reads the object's end, with all of the footer.
func (s *source) openTail() error {
	var err error
	if s.tail, err = s.get(max(0, s.size-tailBytes), min(s.size, tailBytes)); err != nil {
		return err
	}
	n, err := parquetfile.TailBytes(s.tail.data)
	if err != nil {
		return err
	}
	if n > int64(len(s.tail.data)) && n <= s.size {
		if s.tail, err = s.get(s.size-n, n); err != nil {
			return err
		}
	}
	return nil
}

func (s *source) ReadAt(p []byte, off int64) (int, error) {
	n := int64(len(p))
	if off < 0 || off >= s.size {
		return 0, io.EOF
	}
	short := off+n > s.size
	n = min(n, s.size-off)
	from, err := s.find(off, n)
	if err != nil {
		return 0, err
	}
	copy(p, from.data[off-from.from:])
	if short {
		return int(n), io.EOF
	}
	return int(n), nil
}

func (s *source) find(off, n int64) (span, error) {
	if s.tail.holds(off, n) {
		return s.tail, nil
	}
	for _, a := range s.ahead {
		if a.holds(off, n) {
			return a, nil
		}
	}
	return s.get(off, n)
}

// fetch reads the chunks of a row group that are asked for, each run of neighbours
// with one request. It replaces what was fetched before.
func (s *source) fetch(group *format.RowGroup, columns []int) error {
	s.ahead = s.ahead[:0]
	if s.tail.holds(0, s.size) {
		return nil
	}
	var from, to int64
	flush := func() error {
		if from == to {
			return nil
		}
		got, err := s.get(from, to-from)
		s.ahead = append(s.ahead, got)
		return err
	}
	for _, c := range columns { // ascending, as chunks lie in the file
		begin, end := chunkSpan(&group.Columns[c].MetaData)
		if begin < 0 || end < begin || end > s.size {
			return fmt.Errorf("a column chunk at [%d, %d) lies outside of the file", begin, end)
		}
		if from == to || begin < from || begin > to+gapBytes {
			if err := flush(); err != nil {
				return err
			}
			from, to = begin, begin
		}
		to = max(to, end)
	}
	return flush()
}

// chunkSpan is where a column chunk's pages lie.
func chunkSpan(meta *format.ColumnMetaData) (begin, end int64) {
	begin = meta.DataPageOffset
	if d := meta.DictionaryPageOffset; d > 0 && d < begin {
		begin = d
	}
	return begin, begin + meta.TotalCompressedSize
}

// checkPages walks the page headers of a chunk, which have no checksum, and compares
// them with the footer, which has one: a decoder allocates what a header asks for.
func (s *source) checkPages(meta *format.ColumnMetaData) error {
	begin, end := chunkSpan(meta)
	chunk, err := s.find(begin, end-begin)
	if err != nil {
		return err
	}
	in := bytes.NewReader(chunk.data[begin-chunk.from : end-chunk.from])
	decoder := thrift.NewDecoder((&thrift.CompactProtocol{}).NewReader(in))
	values, size := int64(0), int64(0)
	for in.Len() > 0 {
		var h format.PageHeader
		if err := decoder.Decode(&h); err != nil {
			return fmt.Errorf("a page's header: %w", err)
		}
		if h.CompressedPageSize < 0 || int(h.CompressedPageSize) > in.Len() || h.UncompressedPageSize < 0 {
			return fmt.Errorf("a page of %d bytes, %d in the file, with %d left", h.UncompressedPageSize, h.CompressedPageSize, in.Len())
		}
		size += int64(h.UncompressedPageSize)
		switch {
		case h.Type == format.DataPage && h.DataPageHeader.Valid:
			values += int64(h.DataPageHeader.V.NumValues)
		case h.Type != format.DictionaryPage || !h.DictionaryPageHeader.Valid || h.DictionaryPageHeader.V.NumValues < 0:
			return fmt.Errorf("a page of type %v", h.Type)
		}
		if _, err := in.Seek(int64(h.CompressedPageSize), io.SeekCurrent); err != nil {
			return err
		}
	}
	if values != meta.NumValues || size > meta.TotalUncompressedSize {
		return fmt.Errorf("pages of %d values and %d bytes, the footer says %d and %d", values, size, meta.NumValues, meta.TotalUncompressedSize)
	}
	return nil
}
