package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/sim/loop"
)

var (
	errTimeout = errors.New("sim: no answer in time")
	errReset   = fmt.Errorf("sim: connection reset: %w", io.ErrUnexpectedEOF)
	errInner   = errors.New("sim: 500 internal error")
)

// What a store may answer in place of the truth; 409 only to a conditional write.
var (
	refusedAny    = []error{objstore.ErrUnavailable, errInner}
	refusedCreate = []error{objstore.ErrUnavailable, errInner, objstore.ErrConflict}
)

// client is the object store as one process sees it.
type client struct {
	w *world
	p *loop.Process
}

var _ objstore.Store = (*client)(nil)

func (c *client) Put(ctx context.Context, key string, body []byte) error {
	body = slices.Clone(body) // it may land when the caller has gone on
	return c.w.call(c.p, "store", "put "+key, true, refusedAny, func() error { return c.w.landed(c.p, key, body, true) })
}

func (c *client) PutIfAbsent(ctx context.Context, key string, body []byte) error {
	body = slices.Clone(body)
	c.pauseBefore(key)
	return c.w.call(c.p, "store", "create "+key, true, refusedCreate, func() error { return c.w.landed(c.p, key, body, false) })
}

// pauseBefore freezes the process now and then just before it puts a record into a log: when it goes on, the
// position may have been taken, and even be free again.
func (c *client) pauseBefore(key string) {
	if c.w.plan.faultRate == 0 || !strings.Contains(key, "/log/") {
		return
	}
	s := c.w.faults.stream(c.p.Name + "/records")
	s.n++
	draw, d := s.r.IntN(40), delay(s.r, time.Second, 20*time.Minute)
	if draw == 0 && s.strike("freeze", "%s before it creates %s, for %s", c.p.Name, key, d.Round(time.Millisecond)) {
		c.p.Freeze(d)
		c.w.Sleep(0)
	}
}

func (c *client) Get(ctx context.Context, key string) (body []byte, err error) {
	err = c.w.call(c.p, "store", "get "+key, false, refusedAny, func() (err error) {
		body, err = c.w.objects.Get(ctx, key)
		return err
	})
	if err != nil {
		return nil, err
	}
	return body, nil
}

func (c *client) GetRange(ctx context.Context, key string, off, n int64) (body []byte, err error) {
	err = c.w.call(c.p, "store", fmt.Sprintf("get %s [%d,+%d)", key, off, n), false, refusedAny, func() (err error) {
		body, err = c.w.objects.GetRange(ctx, key, off, n)
		return err
	})
	if err != nil {
		return nil, err
	}
	return body, nil
}

func (c *client) List(ctx context.Context, prefix, after string) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) {
		var page []objstore.Object
		err := c.w.call(c.p, "store", "list "+prefix, false, refusedAny, func() error {
			for o, err := range c.w.objects.List(ctx, prefix, after) {
				if err != nil {
					return err
				}
				page = append(page, o)
			}
			return nil
		})
		if err != nil {
			yield(objstore.Object{}, err)
			return
		}
		for _, o := range page {
			if !yield(o, nil) {
				return
			}
		}
	}
}

func (c *client) Delete(ctx context.Context, keys ...string) error {
	return c.w.call(c.p, "store", "delete "+strings.Join(keys, " "), true, refusedAny, func() error {
		for _, key := range keys {
			if err := c.w.watch.deleted(key); err != nil {
				c.w.fail("%s: %v", c.p.Name, err)
			}
		}
		return c.w.objects.Delete(ctx, keys...)
	})
}

func (c *client) Date(ctx context.Context) (at time.Time, err error) {
	err = c.w.call(c.p, "store", "date", false, refusedAny, func() error {
		at = c.w.trueTime().Truncate(time.Second)
		return nil
	})
	return at, err
}

// landed applies a write to the store, and has the invariants checked on what it
// brought.
func (w *world) landed(p *loop.Process, key string, body []byte, replace bool) error {
	ctx := context.Background()
	if replace {
		if err := w.watch.beforePut(key, body); err != nil {
			w.fail("%s: %v", p.Name, err)
		}
		return w.objects.Put(ctx, key, body)
	}
	if err := w.objects.PutIfAbsent(ctx, key, body); err != nil {
		return err
	}
	if err := w.watch.created(p.Name, key, body); err != nil {
		w.fail("%s created %s: %v", p.Name, key, err)
	}
	return nil
}
