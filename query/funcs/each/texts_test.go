package each

import (
	"strings"
	"testing"
)

func TestTextsStay(t *testing.T) {
	var texts Texts
	var made, want []string
	buf := make([]byte, 0, 200_000)
	for i := range 3000 {
		n := i * 7 % 300
		if i == 1000 {
			n = 3 * lastPiece
		}
		s := strings.Repeat(string(rune('a'+i%26)), n)
		buf = append(buf[:0], s...) // the same bytes again and again
		made, want = append(made, texts.Make(buf)), append(want, s)
	}
	for i := range made {
		if made[i] != want[i] {
			t.Fatalf("text %d changed", i)
		}
	}
	if n := testing.AllocsPerRun(10, func() {
		var texts Texts
		for range 2000 {
			texts.Make(buf[:20])
		}
	}); n > 12 {
		t.Errorf("%g pieces", n)
	}
}
