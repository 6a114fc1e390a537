package parquetfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// Decoders of the encodings that Writer writes. Each fills all of dst, or fails: dst has
// as many values as the page, so that no count in the data can ask for memory.

var errEnds = errors.New("an encoded run ends beyond its page")

// runs walks the runs of the RLE and bit-packing hybrid. fill gets a repeated value;
// unpack gets packed values, a multiple of 8, of which those beyond dst's end are padding.
func runs(n int, src []byte, width int, fill func(at, count int, v uint32) error, unpack func(at, count int, packed []byte) error) error {
	if n == 0 && len(src) == 1 && src[0] == 0 { // how a page without values is written
		return nil
	}
	at := 0
	for at < n {
		header, size := binary.Uvarint(src)
		if size <= 0 {
			return errEnds
		}
		src = src[size:]
		count := header >> 1
		if header&1 == 0 {
			bytes := (width + 7) / 8
			if len(src) < bytes || count == 0 || count > uint64(n-at) {
				return fmt.Errorf("a run of %d values where %d are left, in %d bytes", count, n-at, len(src))
			}
			v := uint32(0)
			for i := range bytes {
				v |= uint32(src[i]) << (8 * i)
			}
			if err := fill(at, int(count), v); err != nil {
				return err
			}
			src, at = src[bytes:], at+int(count)
			continue
		}
		if count == 0 || count > uint64(n-at+7)/8 || uint64(len(src)) < count*uint64(width) {
			return fmt.Errorf("%d packed groups where %d values are left, in %d bytes", count, n-at, len(src))
		}
		if err := unpack(at, min(8*int(count), n-at), src[:int(count)*width]); err != nil {
			return err
		}
		src, at = src[int(count)*width:], min(n, at+8*int(count))
	}
	if len(src) > 0 {
		return fmt.Errorf("%d bytes behind the values of a page", len(src))
	}
	return nil
}

// oneRun tells that levels are one run of n alike.
func oneRun(src []byte, n int) (v byte, ok bool) {
	header, size := binary.Uvarint(src)
	if size <= 0 || header != uint64(n)<<1 || len(src) != size+1 {
		return 0, false
	}
	return src[size], true
}

// decodeLevels reads levels of 0 and 1.
func decodeLevels(dst, src []byte) error {
	return runs(len(dst), src, 1, func(at, count int, v uint32) error {
		if v > 1 {
			return fmt.Errorf("a level of %d", v)
		}
		run := dst[at : at+count]
		for i := range run {
			run[i] = byte(v)
		}
		return nil
	}, func(at, count int, packed []byte) error {
		run := dst[at : at+count]
		for i := range run {
			run[i] = packed[i>>3] >> (i & 7) & 1
		}
		return nil
	})
}

// decodeCodes reads codes below size, behind a byte with their width.
func decodeCodes(dst []int32, src []byte, size int) error {
	if len(src) == 0 || src[0] > 32 {
		if len(dst) == 0 && len(src) == 0 {
			return nil
		}
		return fmt.Errorf("codes of no width below 33")
	}
	width := int(src[0])
	highest := uint32(0)
	err := runs(len(dst), src[1:], width, func(at, count int, v uint32) error {
		highest = max(highest, v)
		repeat(dst[at:at+count], int32(v))
		return nil
	}, func(at, count int, packed []byte) error {
		run := dst[at : at+count]
		unpack(run, packed, width)
		for _, v := range run {
			highest = max(highest, uint32(v))
		}
		return nil
	})
	if err == nil && len(dst) > 0 && uint64(highest) >= uint64(size) {
		return fmt.Errorf("code %d in a dictionary of %d", highest, size)
	}
	return err
}

// repeat makes all of dst v, by copies of what is made already: long runs take a fraction of a loop's time.
func repeat(dst []int32, v int32) {
	const most = 2 << 10 // stays in the nearest cache
	n := min(8, len(dst))
	for i := range n {
		dst[i] = v
	}
	for n < len(dst) {
		n += copy(dst[n:], dst[:min(n, most)])
	}
}

// unpack reads len(dst) values of width bits, at most 32; packed has at least as many.
func unpack[T int32 | int64](dst []T, packed []byte, width int) {
	mask := uint64(1)<<width - 1
	bit, i := 0, 0
	switch {
	case width <= 8:
		i = unpackEights(dst, packed, width, mask)
	case width <= 16:
		i = unpackFours(dst, packed, width, mask)
	case width <= 28:
		i = unpackTwos(dst, packed, width, mask)
	}
	bit = i * width
	for ; i < len(dst) && bit>>3+8 <= len(packed); i++ {
		dst[i] = T(binary.LittleEndian.Uint64(packed[bit>>3:]) >> (bit & 7) & mask)
		bit += width
	}
	for ; i < len(dst); i++ {
		var last [8]byte
		copy(last[:], packed[bit>>3:])
		dst[i] = T(binary.LittleEndian.Uint64(last[:]) >> (bit & 7) & mask)
		bit += width
	}
}

// unpackEights reads as many values of at most 8 bits as whole words hold, eight of each, and tells how many.
func unpackEights[T int32 | int64](dst []T, packed []byte, width int, mask uint64) int {
	i, s := 0, uint(width)
	for at := 0; len(dst)-i >= 8 && at+8 <= len(packed); at += width {
		w := binary.LittleEndian.Uint64(packed[at:])
		d := dst[i : i+8 : i+8]
		d[0] = T(w & mask)
		d[1] = T(w >> (s & 63) & mask)
		d[2] = T(w >> (2 * s & 63) & mask)
		d[3] = T(w >> (3 * s & 63) & mask)
		d[4] = T(w >> (4 * s & 63) & mask)
		d[5] = T(w >> (5 * s & 63) & mask)
		d[6] = T(w >> (6 * s & 63) & mask)
		d[7] = T(w >> (7 * s & 63) & mask)
		i += 8
	}
	return i
}

// unpackFours reads as many values of 9 to 16 bits as whole words hold, twice four of eight, and tells how many.
func unpackFours[T int32 | int64](dst []T, packed []byte, width int, mask uint64) int {
	i, s, half, shift := 0, uint(width), 4*width>>3, 4*width&7
	for at := 0; len(dst)-i >= 8 && at+half+8 <= len(packed); at += width {
		w := binary.LittleEndian.Uint64(packed[at:])
		v := binary.LittleEndian.Uint64(packed[at+half:]) >> shift
		d := dst[i : i+8 : i+8]
		d[0], d[4] = T(w&mask), T(v&mask)
		d[1], d[5] = T(w>>(s&63)&mask), T(v>>(s&63)&mask)
		d[2], d[6] = T(w>>(2*s&63)&mask), T(v>>(2*s&63)&mask)
		d[3], d[7] = T(w>>(3*s&63)&mask), T(v>>(3*s&63)&mask)
		i += 8
	}
	return i
}

// unpackTwos reads as many values of 17 to 28 bits as whole words hold, four times two of eight, and tells how many.
func unpackTwos[T int32 | int64](dst []T, packed []byte, width int, mask uint64) int {
	i, s, two := 0, uint(width), 2*width
	for at := 0; len(dst)-i >= 8 && at+3*two>>3+8 <= len(packed); at += width {
		d := dst[i : i+8 : i+8]
		a := binary.LittleEndian.Uint64(packed[at:])
		b := binary.LittleEndian.Uint64(packed[at+two>>3:]) >> (two & 7)
		c := binary.LittleEndian.Uint64(packed[at+2*two>>3:]) >> (2 * two & 7)
		e := binary.LittleEndian.Uint64(packed[at+3*two>>3:]) >> (3 * two & 7)
		d[0], d[2], d[4], d[6] = T(a&mask), T(b&mask), T(c&mask), T(e&mask)
		d[1], d[3], d[5], d[7] = T(a>>(s&63)&mask), T(b>>(s&63)&mask), T(c>>(s&63)&mask), T(e>>(s&63)&mask)
		i += 8
	}
	return i
}

// unpackWide is unpack for up to 64 bits.
func unpackWide(dst []int64, packed []byte, width int) {
	if width <= 56 {
		unpack(dst, packed, width)
		return
	}
	bit := 0
	for i := range dst {
		var b [16]byte
		copy(b[:], packed[bit>>3:])
		low, high := binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint64(b[8:])
		v := low >> (bit & 7)
		if s := bit & 7; s > 0 {
			v |= high << (64 - s)
		}
		if width < 64 {
			v &= 1<<width - 1
		}
		dst[i] = int64(v)
		bit += width
	}
}

// decodeDeltas reads the DELTA_BINARY_PACKED encoding.
func decodeDeltas(dst []int64, src []byte) error {
	var head [3]uint64 // values of a block, small blocks in it, values in all
	for i := range head {
		v, n := binary.Uvarint(src)
		if n <= 0 {
			return errEnds
		}
		head[i], src = v, src[n:]
	}
	first, n := binary.Varint(src)
	if n <= 0 {
		return errEnds
	}
	src = src[n:]
	small := uint64(0)
	if head[1] > 0 && head[1] <= 64 && head[0] <= 1<<16 && head[0]%head[1] == 0 {
		small = head[0] / head[1]
	}
	if small == 0 || small%8 != 0 || head[2] != uint64(len(dst)) {
		return fmt.Errorf("%d deltas in blocks of %d and %d, where %d values are due", head[2], head[0], head[1], len(dst))
	}
	if len(dst) == 0 {
		return nil
	}
	dst[0] = first
	last, at := first, 1
	for at < len(dst) {
		least, n := binary.Varint(src)
		if n <= 0 || len(src)-n < int(head[1]) {
			return errEnds
		}
		widths := src[n : n+int(head[1])]
		src = src[n+int(head[1]):]
		for _, width := range widths {
			if at == len(dst) {
				break
			}
			if width > 64 || len(src) < int(small)*int(width)/8 {
				return errEnds
			}
			run := dst[at:min(at+int(small), len(dst))]
			if width > 0 {
				unpackWide(run, src, int(width))
			} else {
				clear(run)
			}
			for i, d := range run {
				last += d + least
				run[i] = last
			}
			src, at = src[int(small)*int(width)/8:], at+len(run)
		}
	}
	if len(src) > 0 {
		return fmt.Errorf("%d bytes behind the deltas of a page", len(src))
	}
	return nil
}

// mix is a hash of two words: one multiplication to 128 bits, folded.
func mix(a, b uint64) uint64 {
	high, low := bits.Mul64(a^0x2D358DCCAA6C78A5, b^0x8BB84B93962EACC9)
	return high ^ low
}
