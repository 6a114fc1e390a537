package shardlog

import (
	"context"
	"errors"
	"fmt"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
)

// Stored is a record with its bytes in the store.
type Stored struct {
	Record Record
	Bytes  []byte
}

// Link is what the next record must name.
func (s Stored) Link() Link { return Link{Nonce: s.Record.Nonce, Sum: objstore.Sum(s.Bytes)} }

// Follow applies every record after s's position that is there now, and returns
// them. What it applies is confirmed (package chain). If records that s had not read were
// deleted, s becomes the newest state, by a checkpoint; of the records that it passes over that
// way none is returned.
func (l *Log) Follow(ctx context.Context, s *State) ([]Record, error) {
	var out []Record
	for {
		batch, err := l.ReadAfter(ctx, s.Position(), followBatch)
		for _, one := range batch {
			if err := s.Apply(one.Record, one.Bytes); err != nil {
				return out, err
			}
			out = append(out, one.Record)
		}
		if errors.Is(err, chain.ErrTrimmed) {
			return out, l.reload(ctx, s, err)
		}
		if err != nil || len(batch) < followBatch {
			return out, err
		}
	}
}

// reload makes s the newest state, because it is behind what was deleted.
func (l *Log) reload(ctx context.Context, s *State, why error) error {
	l.log.Info("loading the shard log anew", "position", uint64(s.Position()), "reason", why)
	loaded, err := l.Load(ctx)
	if err != nil {
		return err
	}
	*s = *loaded
	return nil
}

// followBatch bounds the records that are read before they are folded.
const followBatch = 64

// catchUp is Follow without keeping the records.
func (l *Log) catchUp(ctx context.Context, s *State) (records int, err error) {
	for {
		batch, err := l.ReadAfter(ctx, s.Position(), followBatch)
		for _, one := range batch {
			if err := s.Apply(one.Record, one.Bytes); err != nil {
				return records, err
			}
			records++
		}
		if err != nil || len(batch) < followBatch {
			return records, err
		}
	}
}

// ReadAfter returns the records behind a position that are there now, at most
// limit of them, without folding them. With an error come the records before it. All are
// confirmed, and so is that there are no more; chain.ErrTrimmed if records behind the
// position were deleted.
//
// It reads one record, and as long as all are there, more and more at a time, so
// that a poll of the head costs one request and a long way few round trips.
func (l *Log) ReadAfter(ctx context.Context, after chain.Position, limit int) ([]Stored, error) {
	out, err := l.readAfter(ctx, after, limit)
	if err != nil && len(out) == 0 && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrNewerFormat) {
		return nil, err // the store's; nothing was found that could be false
	}
	if err := l.chain.Confirm(ctx, after+1); err != nil {
		return nil, fmt.Errorf("shard %s: %w", l.shard, err)
	}
	return out, err
}

// readAfter is ReadAfter before the question whether what was found is true.
func (l *Log) readAfter(ctx context.Context, after chain.Position, limit int) ([]Stored, error) {
	var out []Stored
	for window := 1; len(out) < limit; window = min(2*window, l.cfg.Parallel) {
		bodies, err := l.readWindow(ctx, after+1, min(window, limit-len(out)))
		for _, body := range bodies {
			after++
			r, err := l.decode(after, body)
			if err != nil {
				return out, err
			}
			out = append(out, Stored{r, body})
		}
		l.cfg.Metrics.read.Add(float64(len(bodies)))
		if err != nil || len(bodies) < min(window, limit-len(out)+len(bodies)) {
			return out, err
		}
	}
	return out, nil
}

// readWindow reads n positions at once, and returns the bodies up to the first
// position that has none.
func (l *Log) readWindow(ctx context.Context, from chain.Position, n int) ([][]byte, error) {
	bodies, errs := make([][]byte, n), make([]error, n)
	l.parallel(n, func(i int) { bodies[i], errs[i] = l.chain.Read(ctx, from+chain.Position(i)) })
	for i, err := range errs {
		if err == nil {
			continue
		}
		if !errors.Is(err, objstore.ErrNotFound) {
			return bodies[:i], fmt.Errorf("shard %s: %w", l.shard, err)
		}
		return bodies[:i], l.checkHole(ctx, from+chain.Position(i), errs[i+1:])
	}
	return bodies, nil
}

// checkHole: a position without a record is the head, unless a later one has a
// record. Its writer had read this one, so that then the record has either come while
// the window was read, or gone.
func (l *Log) checkHole(ctx context.Context, p chain.Position, later []error) error {
	for i, err := range later {
		if err != nil {
			continue
		}
		if _, err := l.chain.Read(ctx, p); errors.Is(err, objstore.ErrNotFound) {
			return corrupt(l.shard, p, refuse("the record is gone, but position %d has one", uint64(p)+uint64(i)+1))
		}
		return nil
	}
	return nil
}

// Taken is what records took out of a shard.
type Taken struct {
	Inputs []string         // of merges that ended
	Erased []event.TenantID // whose objects the records do not name
}

// Taken reads the records in (after, to], as far as they are still there.
func (l *Log) Taken(ctx context.Context, after, to chain.Position) (Taken, error) {
	var out Taken
	for after < to {
		batch, err := l.ReadAfter(ctx, after, int(min(followBatch, to-after)))
		var trimmed *chain.TrimmedError
		if errors.As(err, &trimmed) {
			after = trimmed.Base
			continue
		}
		if err != nil || len(batch) == 0 {
			return out, err
		}
		for _, one := range batch {
			if end := one.Record.MergeEnd; end != nil {
				out.Inputs = append(out.Inputs, end.Inputs...)
			}
			if x := one.Record.Erase; x != nil {
				out.Erased = append(out.Erased, x.Tenant)
			}
		}
		after += chain.Position(len(batch))
	}
	return out, nil
}
