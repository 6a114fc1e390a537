package parquetfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/huff0"
	"github.com/klauspost/compress/zstd"
)

func TestLiteralsAreZstd(t *testing.T) {
	decoder, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer decoder.Close()
	r := rand.New(rand.NewPCG(1, 2))
	var s huff0.Scratch
	for _, size := range []int{0, 1, 5, 1000, zstdBlock - 1, zstdBlock, zstdBlock + 1, 300_000, 1 << 20} {
		for _, alphabet := range []int{1, 2, 16, 100, 256} {
			src := make([]byte, size)
			for i := range src {
				src[i] = byte(r.IntN(alphabet))
			}
			frame := appendLiterals(nil, src, &s)
			back, err := decoder.DecodeAll(frame, nil)
			if err != nil || !bytes.Equal(back, src) {
				t.Fatalf("%d bytes of %d kinds: %v", size, alphabet, err)
			}
			if alphabet == 16 && size > 100_000 && len(frame) > size*52/100 {
				t.Errorf("%d bytes of %d kinds in %d", size, alphabet, len(frame))
			}
		}
	}
}

func TestPagesArePackedSmall(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	ids, lines, noise := make([][]byte, 30), make([][]byte, 30), make([][]byte, 30)
	for i := range ids {
		for range 50_000 {
			noise[i] = append(noise[i], byte(r.IntN(128))) // of which packing spares an eighth
		}
		for range 6000 {
			ids[i] = fmt.Appendf(ids[i], "%016x%016x", r.Uint64(), r.Uint64())
			lines[i] = fmt.Appendf(lines[i], "request %d done in time for the user;", r.IntN(1000))
		}
	}
	w := scratches.Get().(*scratch)
	var id, line, changing, little packer
	for i := range ids {
		plain := len(zipper().EncodeAll(ids[i], nil))
		if n := len(id.pack(nil, ids[i], w)); n > plain+plain/100 || !id.literals {
			t.Errorf("ids: page %d has %d bytes, %d by zstd", i, n, plain)
		}
		plain = len(zipper().EncodeAll(lines[i], nil))
		if n := len(line.pack(nil, lines[i], w)); n != plain {
			t.Errorf("text: page %d has %d bytes, %d by zstd", i, n, plain)
		}
		page := ids[i]
		if i >= 10 {
			page = lines[i]
		}
		changing.pack(nil, page, w)
		page = noise[i]
		if i >= 10 {
			page = lines[i]
		}
		frame := little.pack(nil, page, w)
		if i < 10 && len(frame) != len(page)+12 || i >= 16 && len(frame) > len(page)/4 {
			t.Errorf("what hardly packs, then text: page %d of %d bytes has %d", i, len(page), len(frame))
		}
		if back, err := unzipper().DecodeAll(frame, make([]byte, 0, len(page))); err != nil || !bytes.Equal(back, page) {
			t.Errorf("page %d: %v", i, err)
		}
	}
	if changing.literals {
		t.Error("text that follows ids is packed as ids are, to the end")
	}
}

// Ids of which a page has some again, far apart, as those of traces: no page is larger than by zstd.
func TestPagesOfIDsThatRepeat(t *testing.T) {
	w := scratches.Get().(*scratch)
	for _, distinct := range []int{500, 2000, 6000, 8000, 12_000, 20_000, 60_000} {
		r := rand.New(rand.NewPCG(3, uint64(distinct)))
		for i := range 10 {
			var page []byte
			for range 6000 {
				page = fmt.Appendf(page, "%032x", idOf(uint64(r.IntN(distinct))))
			}
			var p packer
			plain := len(zipper().EncodeAll(page, nil))
			if n := len(p.pack(nil, page, w)); n > plain+plain/50 {
				t.Errorf("%d ids: page %d has %d bytes, %d by zstd", distinct, i, n, plain)
			}
		}
	}
}

// idOf makes 16 bytes of a number that look like any.
func idOf(n uint64) []byte {
	b := make([]byte, 16)
	r := rand.New(rand.NewPCG(n, n))
	binary.LittleEndian.PutUint64(b, r.Uint64())
	binary.LittleEndian.PutUint64(b[8:], r.Uint64())
	return b
}
