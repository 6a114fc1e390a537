package objstore_test

import (
	"slices"
	"testing"

	"github.com/togodb/togo/internal/objstore"
)

// TestSumGolden keeps the checksum: it stands in the records of every store. The
// values are those of the xxhash package for Python (xxh3_128_hexdigest).
func TestSumGolden(t *testing.T) {
	long := make([]byte, 0, 2048)
	for range 8 {
		for b := range 256 {
			long = append(long, byte(b))
		}
	}
	for text, want := range map[string]string{
		"":           "99aa06d3014798d86001c324468d497f",
		"togo":       "171227fb526c20e54063886d8c70531f",
		string(long): "df73e0768dd183fadd420471ff96bd00",
	} {
		if got := objstore.Sum([]byte(text)); got != want {
			t.Errorf("sum of %.10q: %s, want %s", text, got, want)
		}
	}
}

func TestSummer(t *testing.T) {
	body := make([]byte, 100_000)
	for i := range body {
		body[i] = byte(i * i >> 3)
	}
	for _, size := range []int{0, 1, 16, 17, 240, 241, 1024, 100_000} {
		for _, piece := range []int{1, 7, 64, 1000, 100_000} {
			s := objstore.NewSummer()
			for part := range slices.Chunk(body[:size], piece) {
				_, _ = s.Write(part)
			}
			if got, want := s.Sum(), objstore.Sum(body[:size]); got != want {
				t.Fatalf("%d bytes in pieces of %d: %s, want %s", size, piece, got, want)
			}
		}
	}
}
