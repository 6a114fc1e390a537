package parquetfile

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/rle"
)

// TestCodedValuesLieInMemoryOnce: rows of a dictionary that is too large to be interned take no more than the dictionary, however
// many they are.
func TestCodedValuesLieInMemoryOnce(t *testing.T) {
	const values, rows = 100, 4000
	d := &Dictionary{}
	for v := range values {
		d.text = appendPlain(d.text, fmt.Appendf(bytes.Repeat([]byte{'x'}, 50_000), "%d", v))
		d.ends = append(d.ends, uint32(len(d.text)))
	}
	f := &Field{Name: "c", Kind: String}
	c := NewColumn("c", 1, String)
	for from := 0; from < rows; from += 1000 {
		p := &Page{Field: f, Rows: 1000, count: 1000, dict: d}
		for i := range p.Rows {
			p.codes = append(p.codes, int32((from+i)*7%values))
		}
		c.AppendPage(from, p, p.Rows)
	}
	for row := range rows {
		if _, text, ok := c.At(row); !ok || !bytes.Equal(text, d.Text(row*7%values)) {
			t.Fatalf("row %d: %t, %d bytes", row, ok, len(text))
		}
	}
	if kept := int64(c.Kept()); kept > 5*d.Kept() {
		t.Errorf("%d bytes for a dictionary of %d", kept, d.Kept())
	}
}

// TestUnpack reads values of every width, of every number of them.
func TestUnpack(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for width := range 33 {
		for n := range 70 {
			want := make([]int64, n)
			packed := make([]byte, (n+7)/8*width)
			for i := range want {
				want[i] = int64(r.Uint64() & (1<<width - 1))
				for b := range width {
					if want[i]>>b&1 == 1 {
						packed[(i*width+b)/8] |= 1 << ((i*width + b) % 8)
					}
				}
			}
			got := make([]int64, n)
			unpack(got, packed, width)
			if !slices.Equal(got, want) {
				t.Fatalf("%d values of %d bits: %v, not %v", n, width, got, want)
			}
			codes := make([]int32, n)
			unpack(codes, packed, width)
			for i := range codes {
				if uint32(codes[i]) != uint32(want[i]) {
					t.Fatalf("%d codes of %d bits: %d, not %d", n, width, codes[i], want[i])
				}
			}
		}
	}
}

func BenchmarkUnpack(b *testing.B) {
	for _, width := range []int{1, 3, 8, 12, 22, 29} {
		b.Run(fmt.Sprint(width), func(b *testing.B) {
			packed, dst := make([]byte, PageRows/8*width), make([]int32, PageRows)
			for b.Loop() {
				unpack(dst, packed, width)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/PageRows, "ns/value")
		})
	}
}

// TestRunsOfCodes: long runs, of any length, come as runs, and other codes do not; both are what was written.
func TestRunsOfCodes(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for size := 1; size < 400; size += 7 {
		for _, longest := range []int{3, 700, 5000} {
			var codes []int32
			for len(codes) < 10_000 {
				codes = append(codes, slices.Repeat([]int32{int32(r.IntN(size))}, 1+r.IntN(longest))...)
			}
			var e rle.DictionaryEncoding
			src, err := e.EncodeInt32(nil, codes)
			if err != nil {
				t.Fatal(err)
			}
			p := &Page{Rows: len(codes), runs: decodeRuns(nil, src, len(codes), size)}
			if long := longest == 5000 || size == 1; long != (p.runs != nil) && longest != 700 {
				t.Fatalf("%d codes below %d in runs of up to %d: %d runs", len(codes), size, longest, len(p.runs))
			}
			if p.runs != nil && !slices.Equal(p.Expand(), codes) {
				t.Fatalf("%d codes below %d in runs of up to %d are others", len(codes), size, longest)
			}
			for range 50 {
				bad := bytes.Clone(src)
				bad[r.IntN(len(bad))] ^= 1 << r.IntN(8)
				p := &Page{Rows: len(codes), runs: decodeRuns(nil, bad, len(codes), size)}
				if p.runs == nil {
					continue
				}
				for i, code := range p.Expand() {
					if code < 0 || int(code) >= size || p.runs[len(p.runs)-1].End != len(codes) {
						t.Fatalf("code %d of %d, row %d", code, size, i)
					}
				}
			}
		}
	}
}
