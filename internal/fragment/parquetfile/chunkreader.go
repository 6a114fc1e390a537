package parquetfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
)

// The window bounds what a damaged frame may ask for; a page is one frame.
var unzipper = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic(fmt.Sprintf("parquetfile: %v", err)) // constant options
	}
	return d
})

// unzipSlack is how much room more than a page has lets it be unpacked without asking for each step whether there is room.
const unzipSlack = 64

// ChunkReader decodes the pages of one column chunk in the order in which they lie.
// What it is given may be damaged: that is an error, never a panic, and costs no more
// memory than the limit.
type ChunkReader struct {
	field *Field
	limit int64 // bytes of all pages, unpacked
	dict  *Dictionary
	raw   []byte
	runs  bool
}

// KeepRuns lets pages whose codes are a few long runs be decoded as those (Flat.Runs). Such pages serve for Flatten alone.
func (r *ChunkReader) KeepRuns() { r.runs = true }

// NewChunkReader begins a chunk whose pages have at most limit bytes in all when unpacked.
func NewChunkReader(f *Field, limit int64) *ChunkReader { return &ChunkReader{field: f, limit: limit} }

// SetDictionary gives the reader the chunk's dictionary, which another reader of it has read.
func (r *ChunkReader) SetDictionary(d *Dictionary) { r.dict = d }

// Dictionary is the chunk's, or nil.
func (r *ChunkReader) Dictionary() *Dictionary { return r.dict }

// PageBytes is how many bytes the page at the start of b has, with its header; 0 if b is
// too short to tell.
func (r *ChunkReader) PageBytes(b []byte) (int, error) {
	h, n, err := parseHeader(b)
	if err == errShort {
		return 0, nil
	}
	if err == nil && h.raw > r.limit {
		err = fmt.Errorf("a page of %d bytes in a chunk of %d", h.raw, r.limit)
	}
	return n + int(h.compressed), err
}

// Read decodes the page that b is. into is used again if it is not nil. A dictionary gives
// nil.
func (r *ChunkReader) Read(b []byte, into *Page) (*Page, error) {
	h, n, err := parseHeader(b)
	if err != nil {
		return nil, err
	}
	if h.raw > r.limit || int64(len(b)-n) != h.compressed {
		return nil, fmt.Errorf("a page of %d bytes, %d in the file, where %d are", h.raw, h.compressed, len(b)-n)
	}
	if sum := crc32.ChecksumIEEE(b[n:]); sum != uint32(h.crc) {
		return nil, fmt.Errorf("a page's checksum is %08x, its header says %08x", sum, uint32(h.crc))
	}
	if into == nil {
		into = &Page{}
	}
	raw, slack := &into.raw, int64(unzipSlack)
	if h.kind == format.DictionaryPage { // which stays, while a page's memory is used again
		raw, slack = new([]byte), 0
	}
	if int64(cap(*raw)) < h.raw+slack {
		*raw = make([]byte, 0, h.raw+slack)
	}
	out, err := unzipper().DecodeAll(b[n:], (*raw)[:0])
	if err != nil {
		return nil, fmt.Errorf("unpack a page: %w", err)
	}
	*raw = out
	if int64(len(out)) != h.raw {
		return nil, fmt.Errorf("a page unpacks to %d bytes, its header says %d", len(out), h.raw)
	}
	if h.kind == format.DictionaryPage {
		return nil, r.dictionary(&h, out)
	}
	return into, r.data(into, &h, out)
}

func (r *ChunkReader) dictionary(h *pageHeader, raw []byte) error {
	if r.dict != nil || h.encoding != format.Plain {
		return fmt.Errorf("a dictionary of encoding %v, where one is there: %t", h.encoding, r.dict != nil)
	}
	d := &Dictionary{}
	if err := d.plain(r.field, raw, h.values); err != nil {
		return fmt.Errorf("dictionary: %w", err)
	}
	r.dict = d
	return nil
}

func (r *ChunkReader) data(p *Page, h *pageHeader, raw []byte) error {
	p.Field, p.Rows, p.row, p.value, p.dict = r.field, h.values, 0, 0, nil
	p.levels, p.codes, p.nums, p.text, p.ends, p.runs = p.levels[:0], p.codes[:0], p.nums[:0], nil, p.ends[:0], p.runs[:0]
	p.count = p.Rows
	if !r.field.Required {
		var err error
		if raw, err = p.readLevels(raw); err != nil {
			return err
		}
	}
	switch {
	case h.encoding == format.RLEDictionary:
		if r.dict == nil {
			return fmt.Errorf("a page of codes without a dictionary")
		}
		p.dict = r.dict
		if r.runs && len(p.levels) == 0 {
			if p.runs = decodeRuns(p.runs[:0], raw, p.Rows, r.dict.len()); len(p.runs) > 0 {
				return nil
			}
		}
		p.codes = grown(p.codes, p.count)
		return decodeCodes(p.codes, raw, r.dict.len())
	case h.encoding == format.DeltaBinaryPacked && (r.field.Kind == Int64 || r.field.Kind == TimestampMicros):
		p.nums = grown(p.nums, p.count)
		return decodeDeltas(p.nums, raw)
	case h.encoding == format.Plain:
		return p.plain(r.field, raw, p.count)
	}
	return fmt.Errorf("a page of encoding %v", h.encoding)
}

func (p *Page) readLevels(raw []byte) (rest []byte, err error) {
	if len(raw) < 4 || uint64(binary.LittleEndian.Uint32(raw)) > uint64(len(raw)-4) {
		return nil, fmt.Errorf("a page of %d bytes without its levels", len(raw))
	}
	n := 4 + int(binary.LittleEndian.Uint32(raw))
	if v, ok := oneRun(raw[4:n], p.Rows); ok && v == 1 {
		p.levels = p.levels[:0]
		return raw[n:], nil
	}
	p.levels = grown(p.levels, p.Rows)
	if err := decodeLevels(p.levels, raw[4:n]); err != nil {
		return nil, err
	}
	if p.count = bytes.Count(p.levels, []byte{1}); p.count == p.Rows {
		p.levels = p.levels[:0]
	}
	return raw[n:], nil
}
