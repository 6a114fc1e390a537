package fragment

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/togodb/togo/internal/event"
)

// manyRows is how many rows a test of random ones tries: a million with TOGO_TEST_LONG=1.
func manyRows() int {
	if os.Getenv("TOGO_TEST_LONG") != "" {
		return 1_000_000
	}
	return 6_000
}

// randomValue appends a value of any kind.
func randomValue(b []byte, r *rand.Rand, depth int) []byte {
	switch n := r.IntN(12); {
	case n < 2:
		return fmt.Appendf(b, "%d", r.Int64N(1<<uint(1+r.IntN(62)))-r.Int64N(1000))
	case n == 2:
		return fmt.Appendf(b, "%g", r.NormFloat64()*1e6)
	case n == 3:
		return append(b, []string{"true", "false", "null", "1e400", "18446744073709551615", "9007199254740993", "-0.0", "{}", "[]", "[null]"}[r.IntN(10)]...)
	case n < 7:
		return fmt.Appendf(b, `"%s%d"`, []string{"", "GET ", "\\u0000", "ä😀", strings.Repeat("z", r.IntN(100))}[r.IntN(5)], r.IntN(1000))
	case n < 9 && depth > 0:
		return randomObject(b, r, r.IntN(4), depth-1)
	case n == 9 && depth > 0:
		b = randomValue(append(b, '['), r, depth-1)
		return append(randomValue(append(b, ','), r, depth-1), ']')
	}
	return fmt.Appendf(b, `"v%d"`, r.IntN(20))
}

func randomObject(b []byte, r *rand.Rand, width, depth int) []byte {
	b = append(b, '{')
	for n, k := range r.Perm(4 * max(width, 1))[:width] {
		if n > 0 {
			b = append(b, ',')
		}
		b = randomValue(fmt.Appendf(b, `"k%d":`, k), r, depth)
	}
	return append(b, '}')
}

// TestFault_parquet_corruption: sixteen writers encode random rows, wide and nested, at the same time, of tenants that they
// share. Every row comes back as it was. (The module readback has DuckDB read such files.)
func TestFault_parquet_corruption(t *testing.T) {
	const writers, perFile = 16, 125
	columns := newRegistry() // each tenant has four writers, who race for its columns
	var running sync.WaitGroup
	for w := range writers {
		running.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 7))
			for range manyRows() / writers / perFile {
				rows := jsonRows(make([]string, perFile)...)
				for i := range rows {
					rows[i].Payload = randomObject(nil, r, 1+r.IntN(40), 3)
				}
				f, err := Encode(context.Background(), Input{Tenant: event.TenantID(fmt.Sprint("t", w%4)), Kind: Events, Seq: 1, Rows: rows}, columns)
				if err != nil {
					t.Error(err)
					return
				}
				if err := check(f, rows); err != nil {
					t.Errorf("writer %d: %v", w, err)
					return
				}
			}
		})
	}
	running.Wait()
}

// check is checkFile for any goroutine.
func check(f *File, rows []Row) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	checkFile(panicking{}, f, rows)
	return nil
}

type panicking struct{}

func (panicking) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (panicking) Fatal(args ...any)                 { panic(fmt.Sprint(args...)) }

// TestFault_log_growth_of_wide_fragments: what a commit says of a file does not grow with its columns, nor with its values.
func TestFault_log_growth_of_wide_fragments(t *testing.T) {
	wide := func(columns int) *File {
		var b strings.Builder
		fmt.Fprintf(&b, `{"service":%q,"status":200`, strings.Repeat("s", 10_000))
		for i := range columns {
			fmt.Fprintf(&b, `,"attribute_%d":"%s"`, i, strings.Repeat("v", 100))
		}
		return roundTrip(t, newRegistry(), b.String()+"}", `{"service":"a","status":1.5}`)
	}
	says := func(f *File) (n int) {
		for _, r := range f.Ranges {
			n += len(r.Column) + len(r.Min) + len(r.Max)
		}
		return n
	}
	narrow, broad := says(wide(1)), says(wide(DefaultMaxColumns-10))
	if broad != narrow || broad > 500 {
		t.Errorf("%d bytes of bounds in the log for a file of %d columns, %d for one of three", broad, DefaultMaxColumns, narrow)
	}
}
