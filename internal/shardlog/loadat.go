package shardlog

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/objstore"
)

// ErrOutOfReach: the state of a position cannot be known any more, or only by very many records.
var ErrOutOfReach = errors.New("no checkpoint near below the position")

// LoadAt returns the state that the log had at a position, by the newest checkpoint at or below it and at most limit records
// behind that. ErrOutOfReach if there is none so near, or the records were deleted. The position was confirmed once: a log
// that does not reach it is corrupt.
func (l *Log) LoadAt(ctx context.Context, at chain.Position, limit int) (*State, error) {
	roots, err := l.newestRoots(ctx)
	if err != nil {
		return nil, err
	}
	s, err := l.rootBelow(ctx, roots, at)
	if err != nil {
		return nil, err
	}
	if at-s.Position() > chain.Position(limit) {
		return nil, fmt.Errorf("shard %s, position %d: %w", l.shard, uint64(at), ErrOutOfReach)
	}
	for s.Position() < at {
		batch, err := l.ReadAfter(ctx, s.Position(), int(min(followBatch, at-s.Position())))
		for _, one := range batch {
			if err := s.Apply(one.Record, one.Bytes); err != nil {
				return nil, err
			}
		}
		switch {
		case errors.Is(err, chain.ErrTrimmed):
			return nil, fmt.Errorf("shard %s, position %d: %w: %w", l.shard, uint64(at), ErrOutOfReach, err)
		case err != nil:
			return nil, err
		case len(batch) == 0:
			return nil, corrupt(l.shard, at, refuse("the record was there, and is gone: the bucket was rolled back"))
		}
	}
	return s, nil
}

// rootBelow is the state of the newest usable checkpoint at or below a position; the empty state if there is none, which
// counts only as long as no record was deleted.
func (l *Log) rootBelow(ctx context.Context, roots []chain.Position, at chain.Position) (*State, error) {
	for _, root := range slices.Backward(roots) {
		if root > at {
			continue
		}
		s, err := l.loadRoot(ctx, root)
		switch {
		case err == nil:
			s.parent = 0
			return s, nil
		case errors.Is(err, ErrNewerFormat) || errors.Is(err, ErrCorrupt) || errors.Is(err, errStore) || ctx.Err() != nil:
			return nil, err
		case errors.Is(err, chain.ErrTrimmed) || errors.Is(err, objstore.ErrNotFound):
			return nil, fmt.Errorf("shard %s, position %d: %w: %w", l.shard, uint64(at), ErrOutOfReach, err)
		}
		l.log.Error("checkpoint cannot be used, going back to an older one", "position", uint64(root), "error", err)
	}
	return NewState(l.shard), nil
}
