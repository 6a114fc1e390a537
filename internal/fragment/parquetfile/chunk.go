package parquetfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/bloom"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// bloomBits a value: about one false positive in a hundred.
const bloomBits = 10

// maxNumbers bounds the dictionary of a column of numbers. Above, plain or delta forms
// are as small.
const maxNumbers = 4 << 10

// scratch is memory that chunks use one after the other.
type scratch struct {
	pos    []int32 // by row of the file
	levels []byte  // by row of the row group
	values []int32 // indexes of the row group's values in their column
	codes  []int32 // the same as dictionary codes
	remap  []int32 // by interned value: code in this row group + 1
	dict   []int32 // by code: index of the interned value, or of a value
	nums   []int64
	page   []byte
	zip    []byte
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// The window is what a page needs; the encoder's memory follows from it.
var zipper = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false),
		zstd.WithWindowSize(512<<10), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic(fmt.Sprintf("parquetfile: %v", err)) // constant options
	}
	return e
})

func grown[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// chunk is one column of one row group while it is written.
type chunk struct {
	w       *writer
	c       *Column
	meta    format.ColumnMetaData
	index   *format.ColumnIndex
	offsets *format.OffsetIndex
	filter  []byte

	least, largest []byte // of pages so far, as the index has them
}

func (k *chunk) write(rows []int32) error {
	k.gather(rows)
	k.meta = format.ColumnMetaData{
		Type: k.c.physical(), PathInSchema: []string{k.c.Name}, Codec: format.Zstd, NumValues: int64(len(rows)),
	}
	dictionary := k.dictionary()
	k.meta.Encoding = []format.Encoding{format.RLE}
	encoding := k.encoding()
	begin := k.w.offset()
	if dictionary {
		k.meta.DictionaryPageOffset = begin
		k.meta.Encoding = append(k.meta.Encoding, format.Plain)
		encoding = format.RLEDictionary
		if err := k.writeDictionary(); err != nil {
			return err
		}
	}
	k.meta.Encoding = append(k.meta.Encoding, encoding)
	k.meta.DataPageOffset = k.w.offset()
	value := 0
	for from := 0; from < len(rows); {
		next, values := k.pageEnd(from, value, len(rows), dictionary)
		if err := k.writePage(from, next, value, value+values, encoding); err != nil {
			return err
		}
		from, value = next, value+values
	}
	k.meta.Statistics.MinValue, k.meta.Statistics.MaxValue = k.least, k.largest
	k.index.BoundaryOrder = k.boundaryOrder()
	k.meta.TotalCompressedSize = k.w.offset() - begin
	if k.c.Bloom && k.c.text() {
		k.bloom(dictionary)
	}
	return nil
}

// gather lists the row group's levels and values in the rows' order.
func (k *chunk) gather(rows []int32) {
	w := k.w
	pos := k.c.places(w.pos)
	w.levels, w.values = w.levels[:0], w.values[:0]
	if pos == nil {
		w.values = append(w.values, rows...)
		if !k.c.Required {
			w.levels = grown(w.levels, len(rows))
			for i := range w.levels {
				w.levels[i] = 1
			}
		}
		return
	}
	for _, row := range rows {
		p := pos[row]
		if p < 0 {
			w.levels = append(w.levels, 0)
			continue
		}
		w.levels = append(w.levels, 1)
		w.values = append(w.values, p)
	}
}

func (k *chunk) encoding() format.Encoding {
	switch k.c.Kind {
	case Int64, TimestampMicros:
		return format.DeltaBinaryPacked
	}
	return format.Plain
}

// dictionary builds codes and dict if a dictionary pays.
func (k *chunk) dictionary() bool {
	w, c := k.w, k.c
	switch {
	case c.Kind == Boolean || len(w.values) == 0:
		return false
	case c.text():
		if !c.interned || !c.pays() {
			return false
		}
		w.remap = grown(w.remap, len(c.views))
		clear(w.remap)
		w.codes, w.dict = w.codes[:0], w.dict[:0]
		for _, v := range w.values {
			interned := c.codes[v]
			if w.remap[interned] == 0 {
				w.dict = append(w.dict, interned)
				w.remap[interned] = int32(len(w.dict))
			}
			w.codes = append(w.codes, w.remap[interned]-1)
		}
		return true
	}
	return k.numberDictionary()
}

func (k *chunk) numberDictionary() bool {
	w, c := k.w, k.c
	const size = 4 * maxNumbers
	w.remap = grown(w.remap, size)
	clear(w.remap)
	w.codes, w.dict = w.codes[:0], w.dict[:0]
	most := min(maxNumbers, len(w.values)/4)
	for _, v := range w.values {
		n := c.nums[v]
		i := int(uint64(n)*0x9E3779B97F4A7C15>>48) & (size - 1)
		for w.remap[i] != 0 && c.nums[w.dict[w.remap[i]-1]] != n {
			i = (i + 1) & (size - 1)
		}
		if w.remap[i] == 0 {
			if len(w.dict) == most {
				return false
			}
			w.dict = append(w.dict, v)
			w.remap[i] = int32(len(w.dict))
		}
		w.codes = append(w.codes, w.remap[i]-1)
	}
	return true
}

func (k *chunk) writeDictionary() error {
	w := k.w
	w.page = w.page[:0]
	for _, v := range w.dict {
		w.page = k.appendPlain(w.page, v, true)
	}
	header := format.PageHeader{Type: format.DictionaryPage}
	header.DictionaryPageHeader.Set(format.DictionaryPageHeader{NumValues: int32(len(w.dict)), Encoding: format.Plain})
	_, err := k.emit(&header, format.Plain)
	return err
}

// appendPlain appends one value; of an interned column v is the interned one's index.
func (k *chunk) appendPlain(dst []byte, v int32, interned bool) []byte {
	switch k.c.Kind {
	case Int32:
		return binary.LittleEndian.AppendUint32(dst, uint32(k.c.nums[v]))
	case Int64, TimestampMicros, Double:
		return binary.LittleEndian.AppendUint64(dst, uint64(k.c.nums[v]))
	}
	var b []byte
	if interned {
		b = k.c.at(k.c.views[v])
	} else {
		b = k.c.value(v)
	}
	return append(binary.LittleEndian.AppendUint32(dst, uint32(len(b))), b...)
}

// pageEnd finds the rows [from, next) of a page, and how many values they have.
func (k *chunk) pageEnd(from, value, rows int, dictionary bool) (next, values int) {
	w, c := k.w, k.c
	end := min(from+PageRows, rows)
	if dictionary || !c.text() {
		if len(w.levels) == 0 {
			return end, end - from
		}
		return end, bytes.Count(w.levels[from:end], []byte{1})
	}
	size := 0
	for next = from; next < end; next++ {
		if len(w.levels) > 0 && w.levels[next] == 0 {
			continue
		}
		n := 4 + len(c.value(w.values[value+values]))
		if next > from && size+n > PageBytes {
			break
		}
		size += n
		values++
	}
	return next, values
}

func (k *chunk) writePage(from, next, value, valueEnd int, encoding format.Encoding) error {
	w := k.w
	w.page = w.page[:0]
	if !k.c.Required {
		w.page = append(w.page, 0, 0, 0, 0)
		var err error
		levels := rle.Encoding{BitWidth: 1}
		encoded, err := levels.EncodeLevels(nil, w.levels[from:next])
		if err != nil {
			return err
		}
		w.page = append(w.page, encoded...)
		binary.LittleEndian.PutUint32(w.page, uint32(len(encoded)))
	}
	if err := k.appendValues(value, valueEnd, encoding); err != nil {
		return err
	}
	header := format.PageHeader{Type: format.DataPage}
	header.DataPageHeader.Set(format.DataPageHeader{
		NumValues: int32(next - from), Encoding: encoding, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE,
	})
	offset := w.offset()
	size, err := k.emit(&header, encoding)
	if err != nil {
		return err
	}
	k.offsets.PageLocations = append(k.offsets.PageLocations, format.PageLocation{
		Offset: offset, CompressedPageSize: int32(size), FirstRowIndex: int64(from),
	})
	nulls := int64(next - from - (valueEnd - value))
	k.meta.Statistics.NullCount += nulls
	k.bounds(value, valueEnd, nulls, encoding == format.RLEDictionary)
	return nil
}

func (k *chunk) appendValues(from, to int, encoding format.Encoding) error {
	w, c := k.w, k.c
	switch {
	case encoding == format.RLEDictionary:
		var codes rle.DictionaryEncoding
		encoded, err := codes.EncodeInt32(w.zip[:0], w.codes[from:to])
		w.zip = encoded
		w.page = append(w.page, encoded...)
		return err
	case encoding == format.DeltaBinaryPacked:
		w.nums = w.nums[:0]
		for _, v := range w.values[from:to] {
			w.nums = append(w.nums, c.nums[v])
		}
		var deltas delta.BinaryPackedEncoding
		encoded, err := deltas.EncodeInt64(w.zip[:0], w.nums)
		w.zip = encoded
		w.page = append(w.page, encoded...)
		return err
	case c.Kind == Boolean:
		var b byte
		for i, v := range w.values[from:to] {
			b |= byte(c.nums[v]) << (i & 7)
			if i&7 == 7 {
				w.page, b = append(w.page, b), 0
			}
		}
		if (to-from)&7 != 0 {
			w.page = append(w.page, b)
		}
		return nil
	}
	for _, v := range w.values[from:to] {
		w.page = k.appendPlain(w.page, v, false)
	}
	return nil
}

// emit compresses w.page and writes it behind its header.
func (k *chunk) emit(header *format.PageHeader, encoding format.Encoding) (size int, err error) {
	w := k.w
	if len(w.page) > math.MaxInt32 {
		return 0, fmt.Errorf("a page of %d bytes: Parquet's limit is 2 GiB", len(w.page))
	}
	w.zip = zipper().EncodeAll(w.page, w.zip[:0])
	header.UncompressedPageSize = int32(len(w.page))
	header.CompressedPageSize = int32(len(w.zip))
	header.CRC = int32(crc32.ChecksumIEEE(w.zip))
	b, err := thrift.Marshal(&compact, header)
	if err != nil {
		return 0, err
	}
	w.out = append(append(w.out, b...), w.zip...)
	k.meta.TotalUncompressedSize += int64(len(b) + len(w.page))
	for i := range k.meta.EncodingStats {
		if s := &k.meta.EncodingStats[i]; s.PageType == header.Type && s.Encoding == encoding {
			s.Count++
			return len(b) + len(w.zip), nil
		}
	}
	k.meta.EncodingStats = append(k.meta.EncodingStats, format.PageEncodingStats{PageType: header.Type, Encoding: encoding, Count: 1})
	return len(b) + len(w.zip), nil
}

// bloom makes the filter of the row group's values.
func (k *chunk) bloom(dictionary bool) {
	w, c := k.w, k.c
	n := len(w.values)
	if dictionary {
		n = len(w.dict)
	}
	if n == 0 {
		return
	}
	filter := make(bloom.SplitBlockFilter, bloom.NumSplitBlocksOf(int64(n), bloomBits))
	var hash bloom.XXH64
	if dictionary {
		for _, v := range w.dict {
			filter.Insert(hash.Sum64(c.at(c.views[v])))
		}
	} else {
		for _, v := range w.values {
			filter.Insert(hash.Sum64(c.value(v)))
		}
	}
	k.filter = slices.Clone(filter.Bytes())
}
