package shardlog

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/objstore"
)

// maxRootTries bounds the checkpoints that one start tries before it reads the
// whole log.
const maxRootTries = 16

// maxLoadTries bounds how often one start begins again because records or checkpoints
// that it reads are deleted meanwhile.
const maxLoadTries = 8

var (
	// errMoved: what a checkpoint names is gone, and there are other checkpoints by now.
	errMoved = errors.New("the checkpoints were deleted while they were read")
	// errStore marks an answer of the store that says nothing of the object.
	errStore = errors.New("can't be read")
)

// Load returns the newest state: the newest checkpoint and every record after it.
// A checkpoint that cannot be used is passed over, with a line in the log of the
// process: the shard log is the truth, and an older checkpoint or none makes a start
// only slower. Where old records were deleted, one checkpoint above them must be
// usable: ErrCorrupt if none is, which names the place.
func (l *Log) Load(ctx context.Context) (*State, error) {
	var floor chain.Position // records up to here were deleted: what was made of older ones alone counts no more
	for try := 1; ; try++ {
		s, err := l.loadOnce(ctx, floor)
		var trimmed *chain.TrimmedError
		switch {
		case err == nil:
			return s, nil
		case try == maxLoadTries:
			return nil, err
		case errors.As(err, &trimmed):
			floor = max(floor, trimmed.Base)
		case !errors.Is(err, errMoved):
			return nil, err
		}
		l.log.Info("records or checkpoints were deleted during the start, beginning again", "reason", err)
	}
}

// Oldest is the first state that can be known, and base the position up to which records may be gone:
// the empty state and 0, or, where old records were deleted, the state of the oldest checkpoint above them that can be used.
func (l *Log) Oldest(ctx context.Context) (s *State, base chain.Position, err error) {
	for try := 1; ; try++ {
		s, base, err = l.oldestOnce(ctx)
		if try == maxLoadTries || !errors.Is(err, errMoved) {
			return s, base, err
		}
	}
}

// oldestOnce is one try of Oldest; errMoved if the checkpoints were deleted meanwhile.
func (l *Log) oldestOnce(ctx context.Context) (s *State, base chain.Position, err error) {
	markers, err := l.chain.Markers(ctx)
	if err != nil {
		return nil, 0, err
	}
	if len(markers) == 0 {
		return NewState(l.shard), 0, nil
	}
	base = markers[len(markers)-1]
	roots, err := l.listRoots(ctx, base-1)
	if err != nil {
		return nil, base, err
	}
	for _, at := range roots {
		s, err := l.loadRoot(ctx, at)
		if err == nil {
			return s, base, nil
		}
		if errors.Is(err, ErrCorrupt) || errors.Is(err, ErrNewerFormat) || errors.Is(err, errStore) {
			return nil, base, err
		}
	}
	switch now, err := l.listRoots(ctx, base-1); {
	case err != nil:
		return nil, base, err
	case !slices.Equal(now, roots):
		return nil, base, errMoved
	}
	return nil, base, corrupt(l.shard, base, refuse("the records up to here were deleted, and no checkpoint above them can be used"))
}

// loadOnce is one try of Load, from a checkpoint at floor or above.
func (l *Log) loadOnce(ctx context.Context, floor chain.Position) (*State, error) {
	roots, err := l.newestRoots(ctx)
	if err != nil {
		return nil, err
	}
	s, err := l.newestUsable(ctx, roots, floor)
	if err != nil {
		return nil, err
	}
	from := s.Position()
	if _, err := l.catchUp(ctx, s); err != nil {
		return nil, err
	}
	l.log.Info("loaded", "checkpoint", uint64(from), "position", uint64(s.Position()))
	return s, nil
}

// newestUsable is the state of the newest root that can be used, or of the empty log if
// none can and no record was deleted.
func (l *Log) newestUsable(ctx context.Context, roots []chain.Position, floor chain.Position) (*State, error) {
	var failed error // of the store
	for i := len(roots) - 1; i >= max(0, len(roots)-maxRootTries) && roots[i] >= floor; i-- {
		s, err := l.loadRoot(ctx, roots[i])
		switch {
		case err == nil:
			if i < len(roots)-1 {
				s.parent = 0 // there is a newer one, that is not understood
			}
			return s, nil
		case errors.Is(err, ErrNewerFormat) || errors.Is(err, ErrCorrupt) || errors.Is(err, chain.ErrTrimmed) || ctx.Err() != nil:
			return nil, err
		case errors.Is(err, objstore.ErrNotFound):
			if err := l.checkMoved(ctx, roots); err != nil {
				return nil, err
			}
		case errors.Is(err, errStore):
			failed = err
		}
		l.cfg.Metrics.fallbacks.Inc()
		l.log.Error("checkpoint cannot be used, going back to an older one", "position", uint64(roots[i]), "error", err)
	}
	markers, err := l.chain.Markers(ctx)
	if err != nil {
		return nil, err
	}
	if len(markers) > 0 {
		if failed != nil {
			return nil, failed
		}
		if err := l.checkMoved(ctx, roots); err != nil {
			return nil, err
		}
		return nil, corrupt(l.shard, markers[len(markers)-1], refuse("the records up to here were deleted, and no checkpoint above them can be used"))
	}
	if len(roots) > 0 {
		l.log.Error("no checkpoint can be used, reading the whole log", "checkpoints", len(roots))
	}
	return NewState(l.shard), nil
}

// checkMoved is errMoved if the newest checkpoints are others than those listed before.
func (l *Log) checkMoved(ctx context.Context, roots []chain.Position) error {
	now, err := l.newestRoots(ctx)
	if err == nil && !slices.Equal(now, roots) {
		err = errMoved
	}
	return err
}

// rootPage is how many entries of a listing are read before we look for its end
// in another way: what a store gives for one request.
const rootPage = 1000

// newestRoots are the positions of the newest checkpoints, ascending: all, or the last
// of very many, found in a number of requests that grows with the logarithm of the position.
func (l *Log) newestRoots(ctx context.Context) ([]chain.Position, error) {
	page, err := l.listRoots(ctx, 0)
	if err != nil || len(page) < rootPage {
		return page, err
	}
	// Roots may lie in (low, high]; high is not known at first.
	low, high := page[len(page)-1], chain.Position(0)
	for high == 0 || high-low > 1 {
		at := 2 * low
		if high > 0 {
			at = low + (high-low)/2
		}
		next, err := l.listRoots(ctx, at)
		switch {
		case err != nil:
			return nil, err
		case len(next) == 0:
			high = at
		default:
			page, low = next, next[len(next)-1]
			if len(next) < rootPage {
				return next, nil
			}
		}
	}
	next, err := l.listRoots(ctx, low)
	return append(page, next...), err
}

// listRoots lists one page of the checkpoints behind a position.
func (l *Log) listRoots(ctx context.Context, after chain.Position) ([]chain.Position, error) {
	var out []chain.Position
	prefix := l.rootPrefix()
	for object, err := range l.store.List(ctx, prefix, prefix+after.String()) {
		if err != nil {
			return nil, fmt.Errorf("list the checkpoints of shard %s: %w", l.shard, err)
		}
		p, err := chain.ParsePosition(object.Key[len(prefix):])
		if err != nil {
			l.log.Warn("stray object among the checkpoints", "key", object.Key)
			continue
		}
		if out = append(out, p); len(out) == rootPage {
			break
		}
	}
	return out, nil
}
