package memory

import (
	"fmt"
	"strings"
	"sync"
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

// TestAQueryIsSureOfItsShare, whatever another takes, and what is shared comes back.
func TestAQueryIsSureOfItsShare(t *testing.T) {
	p := NewPool(1<<20, 2<<20)
	greedy, modest := p.Account(0), p.Account(0)
	g := greedy.Meter()
	var err error
	for err == nil {
		err = g.Take(100 << 10)
	}
	if fail.CodeOf(err) != fail.Unavailable || greedy.Used() < 3<<20 {
		t.Fatalf("%v at %d bytes", err, greedy.Used())
	}
	m := modest.Meter()
	if err := m.Take(900 << 10); err != nil {
		t.Errorf("what a query is sure of: %v", err)
	}
	if err := m.Take(300 << 10); fail.CodeOf(err) != fail.Unavailable {
		t.Errorf("beyond it, while another has all: %v", err)
	}
	m.Give(300 << 10)
	g.Give(1 << 20)
	if err := m.Take(300 << 10); err != nil {
		t.Errorf("after the other gave some back: %v", err)
	}
	greedy.Close()
	m.Release()
	modest.Close()
	if p.Used() != 0 || greedy.Used() != 0 {
		t.Errorf("%d bytes of the pool are left, %d of the account", p.Used(), greedy.Used())
	}
}

// TestThePoolAddsUp under many meters at a time.
func TestThePoolAddsUp(t *testing.T) {
	p := NewPool(100<<10, 1<<30)
	var wg sync.WaitGroup
	for range 4 {
		a := p.Account(0)
		defer a.Close()
		for range 4 {
			wg.Go(func() {
				m := a.Meter()
				for i := range int64(2000) {
					if m.Take(i*7) != nil {
						t.Error("the pool is full")
					}
					m.Give(i * 7)
				}
				m.Release()
			})
		}
	}
	wg.Wait()
	if p.Used() != 0 {
		t.Errorf("%d bytes are left", p.Used())
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
