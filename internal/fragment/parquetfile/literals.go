package parquetfile

import (
	"encoding/binary"

	"github.com/klauspost/compress/huff0"
)

// Values that do not repeat, as ids, have nothing to match: what zstd gains from them is
// the coding of their bytes. A frame of literals alone says the same and costs a third,
// to write and to read. It is a zstd frame as any other.
//
// A column's packer looks now and then at samples of a page whether they repeat anything. Pages
// that literals hardly make smaller, as the deltas of times, are stored as they are: to read them
// is a copy.
type packer struct {
	pages    int
	literals bool // nothing repeats
	plain    bool // and literals are hardly smaller
	repeats  bool // the last page that tells became less than 1/packsWell
}

const (
	// packTiny is the size of a page that packing would hardly make smaller, for more than all else that
	// writing it costs.
	packTiny = 128
	// packLeast is the size of a page below which packing costs little.
	packLeast = 2 << 10
	// packAgain is after how many pages a packer looks again.
	packAgain = 16
	// packTells is the size of a page from which its packed size tells of the next one's.
	packTells = 16 << 10
	// packLittle is what part of a page packing must spare at least.
	packLittle = 6
	// packsWell is how many times smaller a column's pages become if small ones do as well.
	packsWell = 4
)

// pageBytes is how large the column's next page may become. Text that repeats packs nearly as well in small pages (messages become 2%
// larger), of which a look-up of some rows unpacks less. Ids, which pack by what lies far before, would become a quarter larger.
func (p *packer) pageBytes() int {
	if p.repeats {
		return SmallPageBytes
	}
	return PageBytes
}

// pack appends a page as a zstd frame.
func (p *packer) pack(dst, page []byte, w *scratch) []byte {
	at := len(dst)
	dst = p.frame(dst, page, w)
	if len(page) >= packTells {
		p.repeats = packsWell*(len(dst)-at) < len(page)
	}
	return dst
}

func (p *packer) frame(dst, page []byte, w *scratch) []byte {
	if len(page) <= packTiny {
		dst = binary.LittleEndian.AppendUint32(dst, zstdMagic)
		dst = append(dst, zstdTiny, byte(len(page)))
		return append(appendBlockHeader(dst, 1, blockRaw, len(page)), page...)
	}
	if len(page) < packLeast {
		return zipper().EncodeAll(page, dst)
	}
	look := p.pages%packAgain == 0
	if p.pages++; look {
		p.literals, p.plain = !samplesRepeat(page, &w.places), false
	}
	switch {
	case p.plain:
		return appendRaw(dst, page)
	case !p.literals:
		return zipper().EncodeAll(page, dst)
	}
	at := len(dst)
	dst = appendLiterals(dst, page, &w.huffman)
	if p.plain = look && len(dst)-at > len(page)-len(page)/packLittle; p.plain {
		dst = appendRaw(dst[:at], page)
	}
	return dst
}

const (
	// Samples of a page, evenly spread: so many, of a 32nd of the page each, in these bounds.
	samples                    = 4
	leastSample, largestSample = 512, 4 << 10
	// window is how many bytes must be the same, as zstd's fastest level wants it.
	window = 6
	// placeBits is the logarithm of the number of places that are remembered.
	placeBits = 12
	// repeatsOf is the share of places at which a match pays for the search: one of so many.
	repeatsOf = 32
)

// samplesRepeat tells that the samples of a page have bytes again that they had before, often enough.
func samplesRepeat(page []byte, places *[1 << placeBits]int32) bool {
	clear(places[:])
	size := min(max(len(page)/32, leastSample), largestSample)
	seen, found := 0, 0
	for n := range samples {
		from := (len(page) - size) * n / (samples - 1)
		for i := from; i < from+size-8; i++ {
			w := binary.LittleEndian.Uint64(page[i:]) << (64 - 8*window)
			place := &places[w*0x9E3779B97F4A7C15>>(64-placeBits)]
			if at := int(*place) - 1; at >= 0 && binary.LittleEndian.Uint64(page[at:])<<(64-8*window) == w {
				found++
			}
			*place = int32(i + 1)
			seen++
		}
	}
	return found*repeatsOf > seen
}

const (
	zstdMagic = 0xFD2FB528
	zstdBlock = 128 << 10 // the most that a block holds
	// A single segment whose size is given in four bytes, without checksum or dictionary.
	zstdDescriptor = 2<<6 | 1<<5
	zstdTiny       = 1 << 5 // the size in one byte

	blockRaw        = 0
	blockCompressed = 2
	literalsHuffman = 2
)

// appendLiterals appends a frame whose blocks have literals and no sequences.
func appendLiterals(dst, src []byte, s *huff0.Scratch) []byte {
	return appendFrame(dst, src, func(dst, block []byte, last uint32) []byte { return appendBlock(dst, block, last, s) })
}

// appendRaw appends a frame that holds src as it is.
func appendRaw(dst, src []byte) []byte {
	return appendFrame(dst, src, func(dst, block []byte, last uint32) []byte {
		return append(appendBlockHeader(dst, last, blockRaw, len(block)), block...)
	})
}

func appendFrame(dst, src []byte, one func(dst, block []byte, last uint32) []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, zstdMagic)
	dst = append(dst, zstdDescriptor)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(src)))
	for {
		block := src[:min(len(src), zstdBlock)]
		src = src[len(block):]
		last := uint32(0)
		if len(src) == 0 {
			last = 1
		}
		if dst = one(dst, block, last); last == 1 {
			return dst
		}
	}
}

func appendBlock(dst, block []byte, last uint32, s *huff0.Scratch) []byte {
	s.Reuse = huff0.ReusePolicyNone
	packed, _, err := huff0.Compress4X(block, s)
	const more = 5 + 1 // of the header, and of the number of sequences
	if err != nil || len(packed)+more >= len(block) {
		dst = appendBlockHeader(dst, last, blockRaw, len(block))
		return append(dst, block...)
	}
	// Four streams; both sizes in 18 bits.
	header := uint64(literalsHuffman) | 3<<2 | uint64(len(block))<<4 | uint64(len(packed))<<22
	dst = appendBlockHeader(dst, last, blockCompressed, len(packed)+more)
	dst = append(dst, byte(header), byte(header>>8), byte(header>>16), byte(header>>24), byte(header>>32))
	return append(append(dst, packed...), 0)
}

func appendBlockHeader(dst []byte, last, kind uint32, size int) []byte {
	h := last | kind<<1 | uint32(size)<<3
	return append(dst, byte(h), byte(h>>8), byte(h>>16))
}
