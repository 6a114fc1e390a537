package rangecache

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/togodb/togo/internal/objstore"
)

// BenchmarkKept reads parts that are on the disk (in the memory of the system), checksums compared.
func BenchmarkKept(b *testing.B) {
	for _, n := range []int64{16 << 10, 256 << 10, 4 << 20} {
		b.Run(fmt.Sprintf("%dKiB", n>>10), func(b *testing.B) {
			store := objstore.NewMemory()
			if err := store.Put(b.Context(), "data/x", make([]byte, 16<<20)); err != nil {
				b.Fatal(err)
			}
			c, err := Open(Config{Store: store, StoreID: "s", Dir: b.TempDir(), Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				b.Fatal(err)
			}
			for off := int64(0); off < 16<<20; off += n {
				if _, err := c.GetRange(b.Context(), "data/x", off, n, nil); err != nil {
					b.Fatal(err)
				}
			}
			for { // until all is on the disk
				c.mu.Lock()
				queued := c.queued
				c.mu.Unlock()
				if queued == 0 {
					break
				}
				time.Sleep(time.Millisecond)
			}
			defer c.Close()
			b.SetBytes(n)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := c.GetRange(b.Context(), "data/x", int64(i)*n%(16<<20), n, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
