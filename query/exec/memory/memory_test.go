package memory

import (
	"fmt"
	"strings"
	"testing"

	"github.com/togodb/togo/query/fail"
)

func TestTheLimitIsThatOfAllMeters(t *testing.T) {
	a := NewAccount(1 << 20)
	one, two := a.Meter(), a.Meter()
	if err := one.Take(600 << 10); err != nil {
		t.Fatal(err)
	}
	if err := two.Take(300 << 10); err != nil {
		t.Fatal(err)
	}
	if err := two.Take(200 << 10); fail.CodeOf(err) != fail.TooLarge || !strings.Contains(err.Error(), "its limit of 1 MiB") {
		t.Fatalf("above the limit: %v", err)
	}
	one.Release()
	two.Give(400 << 10)
	if err := one.Take(700 << 10); err != nil {
		t.Fatalf("after memory was given back: %v", err)
	}
	one.Release()
	two.Release()
	if a.Used() != 0 {
		t.Errorf("%d bytes are left", a.Used())
	}
}

func TestKeptTextsStayAsTheyWere(t *testing.T) {
	a := NewAccount(0)
	m := a.Meter()
	arena := NewArena(m)
	var kept, want []string
	total := 0
	for i := range 3000 {
		buffer := []byte(strings.Repeat(fmt.Sprint(i), i%40))
		if i%500 == 0 {
			buffer = make([]byte, blockSize)
		}
		s, err := arena.Keep(string(buffer))
		if err != nil {
			t.Fatal(err)
		}
		kept, want = append(kept, s), append(want, string(buffer))
		total += len(buffer)
	}
	for i := range kept {
		if kept[i] != want[i] {
			t.Fatalf("text %d has changed", i)
		}
	}
	if used := a.Used(); used < int64(total) || used > int64(total)*5/4+3*blockSize {
		t.Errorf("%d bytes are accounted for %d", used, total)
	}
}
