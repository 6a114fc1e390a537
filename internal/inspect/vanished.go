package inspect

import (
	"context"
	"errors"
	"fmt"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
)

// ErrVanished: an object that the view names is gone, because it was merged into others
// and collected, or expired, since the view was made. Nothing is lost: a new view names
// what came in its place.
var ErrVanished = errors.New("merged into other files or expired, and collected, since the reading began; begin again")

// vanished says whether the newest state of a shard no longer names an object that is
// gone. If it does, the object is missing.
func (v *View) vanished(ctx context.Context, shard event.ShardID, key string) (bool, error) {
	s, err := v.logs[shard].Load(ctx)
	if isFinding(err) {
		return false, nil // the log says nothing that excuses it
	}
	if err != nil {
		return false, fmt.Errorf("shard %d: %w", shard, err)
	}
	return !s.Names(key), nil
}

// explain tells a reader of a file which of the two it met.
func (v *View) explain(ctx context.Context, f File, err error) error {
	if !errors.Is(err, objstore.ErrNotFound) {
		return err
	}
	gone, failed := v.vanished(ctx, f.Shard, f.Key)
	switch {
	case failed != nil:
		return errors.Join(err, failed)
	case gone:
		return fmt.Errorf("%s: %w", f.Key, ErrVanished)
	}
	return fmt.Errorf("%w: the log of shard %d names it", err, f.Shard)
}
