package chain_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/objstore/s3test"
)

// race lets writers append to one chain at the same time.
func race(t *testing.T, store objstore.Store) {
	t.Helper()
	const writers, records = 8, 6
	all := make([]*writer, writers)
	errs := make([]error, writers)
	var wg sync.WaitGroup
	for i := range all {
		log := &chain.Log{Store: store, Prefix: "log", Backoff: chain.Backoff{Min: time.Millisecond}}
		all[i] = newWriter(log, fmt.Sprint("w", i))
		wg.Go(func() { errs[i] = all[i].run(t.Context(), records) })
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			t.Errorf("writer %d: %v", i, err)
		}
	}
	check(t, store, all)
	head, err := (&chain.Log{Store: store, Prefix: "log"}).Head(t.Context(), 0)
	if err != nil || head != writers*records {
		t.Errorf("the chain ends at %d, %v; want %d", head, err, writers*records)
	}
}

func TestRaceInMemory(t *testing.T) { race(t, objstore.NewMemory()) }

func TestRaceInADirectory(t *testing.T) {
	store, err := objstore.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	race(t, store)
}

func TestRaceOnS3(t *testing.T) { race(t, s3test.Start(t).Store(t)) }

// BenchmarkAppendOnS3 is an append with and without the look at the base markers.
func BenchmarkAppendOnS3(b *testing.B) {
	store := s3test.Start(b).Store(b)
	body := make([]byte, 1000)
	for _, base := range []string{"", "base"} {
		b.Run("base="+base, func(b *testing.B) {
			log := chain.Log{Store: store, Prefix: "log" + chain.NewNonce(), Base: base}
			for p := chain.Position(1); b.Loop(); p++ {
				if out, err := log.Append(b.Context(), p, body, nil); err != nil || !out.Won {
					b.Fatal(out, err)
				}
			}
		})
	}
}
