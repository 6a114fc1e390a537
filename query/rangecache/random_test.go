package rangecache

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/togodb/togo/internal/objstore"
)

// Many requests at random, some of which give up, over a store that fails now and then and a small disk cache.
func TestRandomRequests(t *testing.T) {
	r := newRig(t, 400_000, 150_000, 70_000)
	var calls atomic.Int64
	r.store.Decide = func(call objstore.Call) *objstore.Rule {
		switch n := calls.Add(1); {
		case n%13 == 0:
			return &objstore.Rule{Effect: objstore.FailBefore, Err: objstore.ErrUnavailable}
		case n%17 == 0:
			return &objstore.Rule{Effect: objstore.Truncate, Bytes: 100}
		}
		return nil
	}
	c := r.open(Config{MaxBytes: 500_000, Tries: 20})
	var wait sync.WaitGroup
	for g := range 8 {
		wait.Go(func() {
			random := rand.New(rand.NewPCG(uint64(g), 5))
			for range 300 {
				k := key(random.IntN(3))
				off := random.Int64N(int64(len(r.want[k])))
				n := 1 + random.Int64N(min(int64(len(r.want[k]))-off, 50_000))
				ctx, cancel := context.WithCancel(t.Context())
				gives := random.IntN(10) == 0
				if gives {
					go cancel()
				}
				got, err := c.GetRange(ctx, k, off, n, nil)
				if err == nil && !bytes.Equal(got, r.want[k][off:off+n]) {
					t.Errorf("%s [%d, %d): other bytes", k, off, off+n)
				}
				if err != nil && !(gives && errors.Is(err, context.Canceled)) {
					t.Errorf("%s [%d, %d): %v", k, off, off+n, err)
				}
				cancel()
			}
		})
	}
	wait.Wait()
	c.Close()
	if _, bytes := r.files(); bytes > 500_000 {
		t.Errorf("%d bytes on the disk", bytes)
	}
}
