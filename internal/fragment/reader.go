package fragment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment/parquetfile"
)

// Info is what a fragment says of itself.
type Info struct {
	Tenant  event.TenantID
	Kind    Kind
	Bucket  int64  // start, seconds since 1970
	Seq     uint64 // of the append that wrote it; a merged file's rows have their own
	Rows    int64
	SortKey []string
	Format  int
	Writer  string
}

// Reader reads one fragment. It is not safe for concurrent use.
type Reader struct {
	key    string
	source *source
	file   *parquet.File
	info   Info
	own    map[string]int // index of our own columns in the file, by name
	attrs  []attribute
	tree   *shapeNode // of attrs; nil until the first event is read
}

// attribute is one column of an attribute in the file.
type attribute struct {
	Column
	index int // in the file
}

// Open opens the object key of size bytes. ctx holds for all reads of the Reader.
func Open(ctx context.Context, store RangeReader, key string, size int64) (*Reader, error) {
	r := &Reader{key: key, source: &source{ctx: ctx, store: store, key: key, size: size}}
	if err := r.guard(r.open); err != nil {
		return nil, err
	}
	return r, nil
}

// OpenBytes opens a fragment that is in memory; key names it in errors.
func OpenBytes(key string, body []byte) (*Reader, error) {
	r := &Reader{key: key, source: &source{key: key, size: int64(len(body)), tail: span{0, body}}}
	if err := r.guard(r.open); err != nil {
		return nil, err
	}
	return r, nil
}

// guard turns what goes wrong while reading into an error that names the key: the
// store's own error, a newer format, or corruption. parquet-go was not made for damaged
// files and panics on some, so that is caught here, and nowhere else.
func (r *Reader) guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %s: the decoder stopped: %v", ErrCorrupt, r.key, p)
		}
	}()
	err = f()
	switch {
	case err == nil, errors.Is(err, ErrNewerFormat), errors.Is(err, ErrCorrupt):
		return err
	case r.source.err != nil:
		return r.source.err
	}
	return fmt.Errorf("%w: %s: %w", ErrCorrupt, r.key, err)
}

func (r *Reader) open() error {
	if r.source.store != nil {
		if err := r.source.openTail(); err != nil {
			return err
		}
	}
	if err := parquetfile.CheckFooter(r.source.tail.data); err != nil {
		return err
	}
	file, err := parquet.OpenFile(r.source, r.source.size, &parquet.FileConfig{
		SkipPageIndex: true, SkipBloomFilters: true, ReadBufferSize: 4 << 10, ReadMode: parquet.ReadModeSync,
	})
	if err != nil {
		return err
	}
	r.file = file
	if r.info, err = infoOf(r.key, file.Metadata()); err != nil {
		return err
	}
	r.own, r.attrs, err = columnsOf(file.Metadata().Schema[1:], r.info.Kind)
	return err
}

func ownColumn(name string, kind Kind) int {
	for i := range ownSchema {
		if ownSchema[i].name == name && (ownSchema[i].tables == 0 || ownSchema[i].tables == kind) {
			return i
		}
	}
	return -1
}

func typeOfElement(e *format.SchemaElement) Type {
	switch e.Type.V {
	case format.Boolean:
		return Boolean
	case format.Int64:
		return Int64
	case format.Double:
		return Double
	case format.ByteArray:
		switch e.LogicalType.Value.(type) {
		case *format.StringType:
			return String
		case *format.JsonType:
			return JSON
		}
	}
	return 0
}

// Info is what the fragment says of itself.
func (r *Reader) Info() Info { return r.info }

// Attributes lists the columns of attributes in the file.
func (r *Reader) Attributes() []Column {
	out := make([]Column, len(r.attrs))
	for i := range r.attrs {
		out[i] = r.attrs[i].Column
	}
	return out
}

// Meta is what our own columns say of a row.
type Meta struct {
	Timestamp       event.Timestamp
	ID              []byte // valid until the next row
	IngestedAt      event.Timestamp
	SourcePartition int32
	SourceOffset    int64
	Seq             uint64
}

// metaColumns are read for every kind of row, in the order of ownSchema.
var metaColumns = []string{colTimestamp, colNanos, colID, colIngestedAt, colSourcePartition, colSourceOffset, colSeq}

func (m *Meta) fill(s *rowScan, id []byte) {
	m.Timestamp = event.Timestamp(s.int(colTimestamp)*1000 + s.int(colNanos))
	m.ID = id
	m.IngestedAt = event.Timestamp(s.int(colIngestedAt) * 1000)
	m.SourcePartition = int32(s.int(colSourcePartition))
	m.SourceOffset = s.int(colSourceOffset)
	m.Seq = uint64(s.int(colSeq))
}

// Meta yields what our own columns say of each row, in the file's order, and reads
// nothing else. The Meta is valid until the next. It ends at the first error.
func (r *Reader) Meta() iter.Seq2[*Meta, error] {
	return func(yield func(*Meta, error) bool) {
		var m Meta
		s := r.scan(metaColumns, nil)
		defer s.close()
		for s.next() {
			m.fill(s, idOf(s.bytes(colID)))
			if !yield(&m, nil) {
				return
			}
		}
		if s.err != nil {
			yield(nil, s.err)
		}
	}
}

// DeadLetter is one row of a dead letters' fragment.
type DeadLetter struct {
	Meta
	Reason        event.Reason
	Detail        string
	SourceCluster string
	SourceTopic   string // topic id, hex
	Format        event.PayloadFormat
	Payload       []byte // as it came; valid until the next row
}

// DeadLetters yields the rows of a dead letters' fragment in the file's order. A row is
// valid until the next. It ends at the first error.
func (r *Reader) DeadLetters() iter.Seq2[*DeadLetter, error] {
	if r.info.Kind != DeadLetters {
		panic("fragment: " + r.key + " holds no dead letters")
	}
	return func(yield func(*DeadLetter, error) bool) {
		var l DeadLetter
		s := r.scan(append(append([]string{}, metaColumns...), colReason, colDetail, colSourceCluster, colSourceTopic, colFormat, colPayload), nil)
		defer s.close()
		for s.next() {
			l.fill(s, idOf(s.bytes(colID)))
			l.Reason, l.Detail = event.Reason(s.bytes(colReason)), string(s.bytes(colDetail))
			l.SourceCluster, l.SourceTopic = string(s.bytes(colSourceCluster)), string(s.bytes(colSourceTopic))
			l.Format, l.Payload = formatOf(string(s.bytes(colFormat))), s.bytes(colPayload)
			if !yield(&l, nil) {
				return
			}
		}
		if s.err != nil {
			yield(nil, s.err)
		}
	}
}

var _ io.ReaderAt = (*source)(nil)
