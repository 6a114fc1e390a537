package query

import (
	"context"
	"errors"
	"iter"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/objstore"
)

// readTries bounds how often what the store does not answer is asked for.
const readTries = 4

// patient is a store whose reads of logs and lists are tried again. (Parts of files have their own way, in the cache.)
type patient struct {
	objstore.Store
	backoff chain.Backoff
}

// Get returns the whole object.
func (p patient) Get(ctx context.Context, key string) (body []byte, err error) {
	for try := 1; ; try++ {
		if body, err = p.Store.Get(ctx, key); !p.again(ctx, try, err) {
			return body, err
		}
	}
}

// GetRange returns a part of the object.
func (p patient) GetRange(ctx context.Context, key string, off, n int64) (body []byte, err error) {
	for try := 1; ; try++ {
		if body, err = p.Store.GetRange(ctx, key, off, n); !p.again(ctx, try, err) {
			return body, err
		}
	}
}

// List goes on behind the last object that it gave.
func (p patient) List(ctx context.Context, prefix, after string) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) {
		for try := 1; ; try++ {
			var failed error
			for object, err := range p.Store.List(ctx, prefix, after) {
				if failed = err; err != nil {
					break
				}
				if after, try = object.Key, 1; !yield(object, nil) {
					return
				}
			}
			if failed == nil {
				return
			}
			if !p.again(ctx, try, failed) {
				yield(objstore.Object{}, failed)
				return
			}
		}
	}
}

// again waits before the next try, if there is to be one.
func (p patient) again(ctx context.Context, try int, err error) bool {
	final := err == nil || errors.Is(err, objstore.ErrNotFound) || errors.Is(err, objstore.ErrRange) || errors.Is(err, objstore.ErrInvalidKey)
	return !final && try < readTries && p.backoff.Wait(ctx, try) == nil
}
