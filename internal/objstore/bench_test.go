package objstore_test

import (
	"fmt"
	"testing"

	"github.com/togodb/togo/bench/cpu"
	"github.com/togodb/togo/internal/objstore"
)

// measure runs one operation for each loop and reports its CPU time beside the
// time on the clock.
func measure(b *testing.B, do func(i int) error) {
	b.Helper()
	b.ReportAllocs()
	begin, i := cpu.Time(), 0
	for b.Loop() {
		if err := do(i); err != nil {
			b.Fatal(err)
		}
		i++
	}
	b.ReportMetric(float64((cpu.Time()-begin).Nanoseconds())/float64(i), "cpu-ns/op")
}

func stores(b *testing.B) map[string]objstore.Store {
	return map[string]objstore.Store{"memory": objstore.NewMemory(), "dir": openDir(b)}
}

func BenchmarkPutIfAbsentAndDelete(b *testing.B) {
	for name, s := range stores(b) {
		for _, size := range []int{1 << 10, 1 << 20} {
			body := make([]byte, size)
			b.Run(fmt.Sprintf("%s/%dKiB", name, size>>10), func(b *testing.B) {
				measure(b, func(i int) error {
					// Two keys, so that a long run does not fill the disk.
					key := fmt.Sprintf("put/%d/%d", size, i%2)
					if err := s.Delete(b.Context(), key); err != nil {
						return err
					}
					return s.PutIfAbsent(b.Context(), key, body)
				})
			})
		}
	}
}

func BenchmarkGet(b *testing.B) {
	for name, s := range stores(b) {
		if err := s.Put(b.Context(), "a/b/small", make([]byte, 1<<10)); err != nil {
			b.Fatal(err)
		}
		if err := s.Put(b.Context(), "a/b/large", make([]byte, 1<<20)); err != nil {
			b.Fatal(err)
		}
		for _, key := range []string{"small", "large"} {
			b.Run(name+"/"+key, func(b *testing.B) {
				measure(b, func(int) error {
					_, err := s.Get(b.Context(), "a/b/"+key)
					return err
				})
			})
		}
		b.Run(name+"/range", func(b *testing.B) {
			measure(b, func(int) error {
				_, err := s.GetRange(b.Context(), "a/b/large", 1000, 4096)
				return err
			})
		})
	}
}

func BenchmarkList1000(b *testing.B) {
	for name, s := range stores(b) {
		for i := range 1000 {
			if err := s.Put(b.Context(), fmt.Sprintf("l/%d/%04d", i%10, i), nil); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(name, func(b *testing.B) {
			measure(b, func(int) error {
				n := 0
				for _, err := range s.List(b.Context(), "l/", "") {
					if err != nil {
						return err
					}
					n++
				}
				if n != 1000 {
					return fmt.Errorf("%d objects", n)
				}
				return nil
			})
		})
	}
}

func BenchmarkSum1MiB(b *testing.B) {
	body := make([]byte, 1<<20)
	b.SetBytes(int64(len(body)))
	measure(b, func(int) error {
		objstore.Sum(body)
		return nil
	})
}
