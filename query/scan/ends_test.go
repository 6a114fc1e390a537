package scan

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/query/exec/memory"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/vec"
)

// values scans one column with a Scanner, in order, and gives what it cost.
func (s *store) values(t *testing.T, scanner *Scanner, name, cond string) (out []string, cost *Stats) {
	t.Helper()
	r := s.request()
	if cond != "" {
		r.where(t, cond)
	}
	r.TenantColumns = len(s.columns.All())
	slot := r.slot(name)
	r.Output = []int{slot}
	if err := scanner.Scan(t.Context(), r, 1, func(_ int, b *vec.Batch) error {
		for i := range b.Len {
			out = append(out, fmt.Sprint(text(b.Cols[slot], i)))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out, r.Stats
}

// need is how many bytes footers and a column of all files take.
func (s *store) need(t *testing.T, name string) (footers, column int64) {
	t.Helper()
	for i := range s.fragments {
		f := &s.fragments[i]
		body := s.objects[f.Key]
		n, err := fragment.FooterBytes(f.Key, body)
		if err != nil {
			t.Fatal(err)
		}
		footer, err := fragment.ParseFooter(f.Key, f.Bytes, body)
		if err != nil {
			t.Fatal(err)
		}
		footers += n
		for _, g := range footer.Groups {
			column += g.Chunks[footer.Column(name)].Len()
		}
	}
	return footers, column
}

// TestAScanReadsWhatItNeeds: of a column without conditions the footer and the column, with two requests a file; with a condition the indexes
// come with the footer.
func TestAScanReadsWhatItNeeds(t *testing.T) {
	s := newStore(t, 21, 3000, 3100, 3200, 3300, 3400, 3500, 3600, 3700)
	files := int64(len(s.fragments))
	for _, f := range s.fragments {
		if f.Bytes <= fragment.TailBytes {
			t.Fatalf("%s has %d bytes: it is read whole", f.Key, f.Bytes)
		}
	}
	for _, name := range []string{"service", "n"} {
		footers, column := s.need(t, name)
		_, cost := s.values(t, NewScanner(s, Config{}), name, "")
		if n := cost.StoreBytes.Load(); n < footers+column || n > (footers+column)*13/10 {
			t.Errorf("%s: %d bytes are read where footers have %d and the column %d", name, n, footers, column)
		}
		if n := cost.StoreRequests.Load(); n > 2*files {
			t.Errorf("%s: %d requests for %d files", name, n, files)
		}
	}
	scanner := NewScanner(s, Config{Ahead: -1}) // one file after the other
	s.values(t, scanner, "service", "service > 'svc-1'")
	if _, cost := s.values(t, forgetful(scanner), "service", "service > 'svc-1'"); cost.StoreRequests.Load() > 2*files {
		t.Errorf("%d requests for %d files with indexes", cost.StoreRequests.Load(), files)
	}
}

// TestMemoryOfRowGroupsIsCounted: what is read is taken of the query's memory and given back, a scan that has none is an error, and one that has
// little reads one row group after the other.
func TestMemoryOfRowGroupsIsCounted(t *testing.T) {
	s := newStore(t, 21, 3000, 3100, 3200, 3300, 3400, 3500, 3600, 3700)
	scan := func(limit int64, workers, ahead int) (rows int, most int64, err error) {
		r := s.request()
		account := memory.NewAccount(limit)
		r.Memory = account
		var mu sync.Mutex
		err = NewScanner(s, Config{Ahead: ahead}).Scan(t.Context(), r, workers, func(_ int, b *vec.Batch) error {
			mu.Lock()
			defer mu.Unlock()
			rows, most = rows+b.Len, max(most, account.Used())
			return nil
		})
		if n := account.Used(); n != 0 {
			t.Errorf("%d bytes are taken after the scan", n)
		}
		return rows, most, err
	}
	rows, one, err := scan(0, 2, -1) // one file after the other
	if err != nil || rows != 26800 {
		t.Fatalf("%d rows, %v", rows, err)
	}
	var largest int64
	for _, f := range s.fragments {
		largest = max(largest, f.Bytes)
	}
	if one < largest {
		t.Errorf("%d bytes are counted at most; a file has %d", one, largest)
	}
	if rows, n, err := scan(one+one/4, 4, 4); err != nil || rows != 26800 {
		t.Errorf("with memory for a file, %d: %d rows, %d bytes, %v", one, rows, n, err)
	}
	if _, _, err := scan(64<<10, 4, 4); fail.CodeOf(err) != fail.TooLarge {
		t.Errorf("with too little memory: %v", err)
	}
}

// forgetful is a Scanner that knows how large the ends of files are, but not what is in them.
func forgetful(s *Scanner) *Scanner {
	out := NewScanner(s.ranges, Config{})
	out.ends.seen = s.ends.seen
	return out
}

// TestAWrongGuessIsOneMoreRequest: whatever is thought of a file's end, the rows are the same.
func TestAWrongGuessIsOneMoreRequest(t *testing.T) {
	s := newStore(t, 21, 3000, 3100, 3200, 3300, 3400, 3500, 3600, 3700)
	want := map[string][]string{}
	conditions := []string{"", "n % 7 = 3", "service = 'svc-1'"}
	for _, cond := range conditions {
		want[cond], _ = s.values(t, NewScanner(s, Config{}), "message", cond)
	}
	for _, size := range []endSize{{20, 0}, {100, 0}, {2000, 1e-9}, {5000, 0.5}, {1 << 40, 3}} {
		for _, cond := range conditions {
			scanner := NewScanner(s, Config{})
			for i := range s.fragments {
				scanner.ends.seen[endOf{"t", fragment.Events, groupsOf(&s.fragments[i])}] = size
			}
			got, cost := s.values(t, scanner, "message", cond)
			if !slices.Equal(got, want[cond]) {
				t.Errorf("%+v, %s: %d rows, %d are right", size, cond, len(got), len(want[cond]))
			}
			if n, most := cost.StoreRequests.Load(), int64(6*len(s.fragments)); n > most {
				t.Errorf("%+v, %s: %d requests", size, cond, n)
			}
		}
	}
}

// TestDictionariesAreKept: a second scan does not read them again, and those of many columns stay within their bound.
func TestDictionariesAreKept(t *testing.T) {
	s := newStore(t, 21, 3000, 3100, 3200, 3300, 3400, 3500, 3600, 3700)
	scanner := NewScanner(s, Config{})
	first, cold := s.values(t, scanner, "service", "service >= 'svc-2'")
	again, warm := s.values(t, scanner, "service", "service >= 'svc-2'")
	if !slices.Equal(first, again) || len(first) == 0 {
		t.Errorf("%d rows, then %d", len(first), len(again))
	}
	if scanner.dicts.bytes == 0 || warm.StoreBytes.Load() >= cold.StoreBytes.Load() {
		t.Errorf("%d bytes of dictionaries are kept; %d bytes are read, then %d", scanner.dicts.bytes, cold.StoreBytes.Load(), warm.StoreBytes.Load())
	}
	small := NewScanner(s, Config{FooterBytes: 16 << 10})
	for range 2 {
		for _, name := range []string{"service", "status", "ok", "http.code"} {
			s.values(t, small, name, "service >= 'svc-2'")
		}
		if n := small.dicts.bytes; n == 0 || n > 4<<10 {
			t.Errorf("%d bytes of dictionaries are kept", n)
		}
	}
}
