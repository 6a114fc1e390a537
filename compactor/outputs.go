package compactor

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
)

// outputs are the uploads of one merge.
type outputs struct {
	c       *Compactor
	ctx     context.Context // of the merge, for create
	creator shardlog.Creator
	key     func(shardlog.Creator) string
	keys    []string
	uploads []objstore.Upload
}

// create begins the n-th upload. The one before it is whole by then, and waits for finish
// without taking memory.
func (o *outputs) create(n int) (io.Writer, error) {
	if n != len(o.uploads) {
		panic(fmt.Sprintf("compactor: output %d after %d", n, len(o.uploads)))
	}
	if n > 0 {
		if err := o.uploads[n-1].Seal(o.ctx); err != nil {
			return nil, fmt.Errorf("upload %s: %w", o.keys[n-1], err)
		}
	}
	creator := o.creator
	creator.Number = uint64(n)
	key := o.key(creator)
	u, err := objstore.Create(o.ctx, o.c.d.Store, key)
	if err != nil {
		return nil, err
	}
	o.keys, o.uploads = append(o.keys, key), append(o.uploads, u)
	return u, nil
}

// finish makes all outputs objects. A write whose outcome is unknown counts as failed: it
// may land, and is garbage then.
func (o *outputs) finish(ctx context.Context) error {
	for i, u := range o.uploads {
		if err := u.Finish(ctx); err != nil {
			return fmt.Errorf("upload %s: %w", o.keys[i], err)
		}
	}
	return nil
}

// cancel takes back what was sent and not finished.
func (o *outputs) cancel(ctx context.Context) {
	var errs []error
	for _, u := range o.uploads {
		errs = append(errs, u.Cancel(ctx))
	}
	if err := errors.Join(errs...); err != nil && ctx.Err() == nil {
		o.c.log.Warn("unfinished uploads stay until they are collected", "job", o.creator.Nonce, "error", err)
	}
}
