package parquetfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"math/bits"
	"slices"
	"sync"

	"github.com/klauspost/compress/huff0"
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
	pos      []int32 // by row of the file
	levels   []byte  // by row of the row group
	marks    []byte  // by row of the page that is filled
	values   []int32 // indexes of the row group's values in their column
	codes    []int32 // values as dictionary codes
	remap    []int32 // by interned value: code in this row group + 1
	dict     []int32 // by code: index of the interned value
	table    []int32 // of numbers: code + 1
	seen     []byte  // by code: 1 if the page has it
	distinct []int32 // the page's codes
	nums     []int64
	loose    []int64 // numbers by row, before they are in order
	low      []int64 // a dictionary of numbers, by code
	hashes   []uint64
	intern   *Column
	body     []byte // values of a page
	page     []byte // and their levels before them
	part     []byte
	zip      []byte
	places   [1 << placeBits]int32 // of samplesRepeat
	huffman  huff0.Scratch
	warm     byte // what Column.warm read, so that it does read
	encoded  bytes.Buffer
	encoder  *thrift.Encoder // to encoded
}

// keepPage bounds the buffers of one page that are kept for the next file.
const keepPage = 4 << 20

// trimmed drops the buffers that a huge value has grown.
func (s *scratch) trimmed() *scratch {
	for _, b := range []*[]byte{&s.body, &s.page, &s.part, &s.zip} {
		if cap(*b) > keepPage {
			*b = nil
		}
	}
	if s.encoded.Cap() > keepPage {
		s.encoded, s.encoder = bytes.Buffer{}, nil
	}
	return s
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

// chunk is one column of one row group while it is written. Its values come in the order
// of the file's rows, all at once (numbers, coded) or one after the other (plain).
type chunk struct {
	w       *Writer
	f       *Field
	column  int
	begin   int64
	meta    format.ColumnMetaData
	index   *format.ColumnIndex
	offsets *format.OffsetIndex
	filter  []byte

	least, largest []byte // of pages so far, as the index has them

	// Of plain byte arrays: the page that is filled.
	pageRow, rows, values int
	low, high             [2]int // its least and its largest value, in body
	lowHead, highHead     uint64 // their first eight bytes
}

func (k *chunk) start() {
	k.begin = k.w.offset()
	k.meta.DataPageOffset = k.begin
}

func (k *chunk) end(rows int) {
	k.meta.NumValues = int64(rows)
	k.meta.Statistics.MinValue, k.meta.Statistics.MaxValue = k.least, k.largest
	k.index.BoundaryOrder = k.boundaryOrder()
	k.meta.TotalCompressedSize = k.w.offset() - k.begin
}

// numbers writes the whole chunk of a column of numbers or booleans. levels is 0 or 1 a
// row; empty if each of the rows has a value.
func (k *chunk) numbers(levels []byte, nums []int64, rows int) error {
	k.start()
	encoding := format.Plain
	if k.f.Kind == Int64 || k.f.Kind == TimestampMicros {
		encoding = format.DeltaBinaryPacked
	}
	if k.numberDictionary(nums) {
		encoding = format.RLEDictionary
		k.w.body = k.w.body[:0]
		for _, n := range k.w.low {
			k.w.body = k.f.appendNumber(k.w.body, n)
		}
		if err := k.dictionaryPage(len(k.w.low)); err != nil {
			return err
		}
	}
	k.meta.Encoding = append(k.meta.Encoding, encoding)
	value := 0
	for from := 0; from < rows; from += PageRows {
		to := min(from+PageRows, rows)
		page, values := pageLevels(levels, from, to)
		n := nums[value : value+values]
		if err := k.encodeNumbers(n, value, encoding); err != nil {
			return err
		}
		least, largest := k.numberBounds(n)
		if err := k.dataPage(page, from, to, values, encoding, least, largest); err != nil {
			return err
		}
		value += values
	}
	k.end(rows)
	return nil
}

func pageLevels(levels []byte, from, to int) (page []byte, values int) {
	if len(levels) == 0 {
		return nil, to - from
	}
	page = levels[from:to]
	return page, bytes.Count(page, []byte{1})
}

// numberDictionary builds codes and low if a dictionary pays.
func (k *chunk) numberDictionary(nums []int64) bool {
	w := k.w
	most := min(maxNumbers, len(nums)/4)
	if k.f.Kind == Boolean || most == 0 {
		return false
	}
	size := 4 << bits.Len(uint(most-1))
	w.table = grown(w.table, size)
	clear(w.table)
	w.codes, w.low = grown(w.codes, len(nums)), w.low[:0]
	for j, n := range nums {
		i := int(uint64(n)*0x9E3779B97F4A7C15>>48) & (size - 1)
		for w.table[i] != 0 && w.low[w.table[i]-1] != n {
			i = (i + 1) & (size - 1)
		}
		if w.table[i] == 0 {
			if len(w.low) == most {
				return false
			}
			w.low = append(w.low, n)
			w.table[i] = int32(len(w.low))
		}
		w.codes[j] = w.table[i] - 1
	}
	return true
}

func (f *Field) appendNumber(dst []byte, n int64) []byte {
	if f.Kind == Int32 {
		return binary.LittleEndian.AppendUint32(dst, uint32(n))
	}
	return binary.LittleEndian.AppendUint64(dst, uint64(n))
}

// encodeNumbers fills body with the values of a page; value is the first one's place in
// the chunk.
func (k *chunk) encodeNumbers(nums []int64, value int, encoding format.Encoding) (err error) {
	w := k.w
	switch {
	case encoding == format.RLEDictionary:
		return k.encodeCodes(w.codes[value : value+len(nums)])
	case encoding == format.DeltaBinaryPacked:
		var deltas delta.BinaryPackedEncoding
		w.body, err = deltas.EncodeInt64(w.body[:0], nums)
		return err
	case k.f.Kind == Boolean:
		w.body = w.body[:0]
		var b byte
		for i, n := range nums {
			b |= byte(n) << (i & 7)
			if i&7 == 7 {
				w.body, b = append(w.body, b), 0
			}
		}
		if len(nums)&7 != 0 {
			w.body = append(w.body, b)
		}
		return nil
	}
	w.body = w.body[:0]
	for _, n := range nums {
		w.body = k.f.appendNumber(w.body, n)
	}
	return nil
}

func (k *chunk) encodeCodes(codes []int32) (err error) {
	var e rle.DictionaryEncoding
	k.w.body, err = e.EncodeInt32(k.w.body[:0], codes)
	return err
}

// coded writes the whole chunk of a column of byte arrays as dictionary and codes.
func (k *chunk) coded(levels []byte, codes []int32, dict func(code int32) []byte, size, rows int) error {
	k.start()
	w := k.w
	w.body = w.body[:0]
	for code := range int32(size) {
		w.body = appendPlain(w.body, dict(code))
	}
	if err := k.dictionaryPage(size); err != nil {
		return err
	}
	k.meta.Encoding = append(k.meta.Encoding, format.RLEDictionary)
	value := 0
	for from := 0; from < rows; from += PageRows {
		to := min(from+PageRows, rows)
		page, values := pageLevels(levels, from, to)
		c := codes[value : value+values]
		if err := k.encodeCodes(c); err != nil {
			return err
		}
		least, largest := k.codedBounds(c, dict, size)
		if err := k.dataPage(page, from, to, values, format.RLEDictionary, least, largest); err != nil {
			return err
		}
		value += values
	}
	k.end(rows)
	if k.f.Bloom {
		w.hashes = w.hashes[:0]
		for code := range int32(size) {
			w.hashes = append(w.hashes, bloom.XXH64{}.Sum64(dict(code)))
		}
		k.bloom()
	}
	return nil
}

// codedBounds are the bounds of a page's codes; nil if it has none.
func (k *chunk) codedBounds(codes []int32, dict func(code int32) []byte, size int) (least, largest []byte) {
	if len(codes) == 0 {
		return nil, nil
	}
	w := k.w
	w.seen = grown(w.seen, size)
	clear(w.seen)
	w.distinct = w.distinct[:0]
	for _, code := range codes {
		if w.seen[code] == 0 {
			w.seen[code] = 1
			w.distinct = append(w.distinct, code)
		}
	}
	least = dict(codes[0])
	largest = least
	for _, code := range w.distinct {
		if b := dict(code); bytes.Compare(b, least) < 0 {
			least = b
		} else if bytes.Compare(b, largest) > 0 {
			largest = b
		}
	}
	return cutLeast(least), cutLargest(largest)
}

// dictionaryPage writes body as the chunk's dictionary.
func (k *chunk) dictionaryPage(values int) error {
	k.meta.DictionaryPageOffset = k.begin
	k.meta.Encoding = append(k.meta.Encoding, format.Plain)
	_, err := k.emit(pageHeader{kind: format.DictionaryPage, encoding: format.Plain, values: values}, k.w.body)
	k.meta.DataPageOffset = k.w.offset()
	return err
}

// dataPage writes body as the page of rows [from, to), behind its levels.
func (k *chunk) dataPage(levels []byte, from, to, values int, encoding format.Encoding, least, largest []byte) error {
	w := k.w
	page := w.body
	if !k.f.Required {
		if len(levels) == 0 {
			levels = w.ones(to - from)
		}
		var err error
		if w.part, err = (&rle.Encoding{BitWidth: 1}).EncodeLevels(w.part[:0], levels); err != nil {
			return err
		}
		w.page = binary.LittleEndian.AppendUint32(w.page[:0], uint32(len(w.part)))
		w.page = append(append(w.page, w.part...), w.body...)
		page = w.page
	}
	offset := w.offset()
	size, err := k.emit(pageHeader{kind: format.DataPage, encoding: encoding, values: to - from}, page)
	if err != nil {
		return err
	}
	k.offsets.PageLocations = append(k.offsets.PageLocations, format.PageLocation{
		Offset: offset, CompressedPageSize: int32(size), FirstRowIndex: int64(from),
	})
	nulls := int64(to - from - values)
	k.meta.Statistics.NullCount += nulls
	k.bounds(values == 0, nulls, least, largest)
	return nil
}

var allOnes = bytes.Repeat([]byte{1}, PageRows)

func (w *Writer) ones(n int) []byte { return allOnes[:n] }

// emit compresses a page and writes it behind its header.
func (k *chunk) emit(h pageHeader, page []byte) (size int, err error) {
	w := k.w
	if len(page) > math.MaxInt32 {
		return 0, fmt.Errorf("a page of %d bytes: Parquet's limit is 2 GiB", len(page))
	}
	p := &w.packers[k.column]
	if h.kind == format.DictionaryPage { // which is not like the pages of codes
		p = new(packer)
	}
	w.zip = p.pack(w.zip[:0], page, w.scratch)
	h.raw, h.compressed, h.crc = int64(len(page)), int64(len(w.zip)), int64(int32(crc32.ChecksumIEEE(w.zip)))
	at := len(w.out)
	w.out = appendHeader(w.out, h)
	k.meta.TotalUncompressedSize += int64(len(w.out) - at + len(page))
	w.out = append(w.out, w.zip...)
	size = len(w.out) - at
	if w.check != nil {
		if err := w.check(k.column, w.out[at:]); err != nil {
			return 0, err
		}
	}
	k.count(h.kind, h.encoding)
	return size, w.flush(flushBytes)
}

func (k *chunk) count(t format.PageType, encoding format.Encoding) {
	for i := range k.meta.EncodingStats {
		if s := &k.meta.EncodingStats[i]; s.PageType == t && s.Encoding == encoding {
			s.Count++
			return
		}
	}
	k.meta.EncodingStats = append(k.meta.EncodingStats, format.PageEncodingStats{PageType: t, Encoding: encoding, Count: 1})
}

// bloom makes the filter of the row group's values from their hashes.
func (k *chunk) bloom() {
	if len(k.w.hashes) == 0 {
		return
	}
	filter := make(bloom.SplitBlockFilter, bloom.NumSplitBlocksOf(int64(len(k.w.hashes)), bloomBits))
	for _, h := range k.w.hashes {
		filter.Insert(h)
	}
	k.filter = slices.Clone(filter.Bytes())
}
