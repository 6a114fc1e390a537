package compactor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/togodb/togo/compactor/garbage"
	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/shardlog"
)

// Judge gives the collector the state of a shard as it was read last, if it was: an older one
// shows less garbage, and to read the log for each page of a listing would cost more than the listing.
func (c *Compactor) Judge(ctx context.Context, id event.ShardID, judge func(*shardlog.State)) error {
	s := c.of(id)
	if s == nil {
		return nil
	}
	return s.alone(ctx, func() error {
		if s.state != nil {
			judge(s.state)
		}
		return nil
	})
}

// Collected is what a collection did.
type Collected struct {
	garbage.Listed // zero if no listing was due
	Deleted        garbage.Deleted
}

// Collect deletes what the logs have removed and a listing has found, when its grace is over, and old records of
// the logs. It lists the store if that is due. It starts no goroutine, and is called by one goroutine at a time.
func (c *Compactor) Collect(ctx context.Context) (Collected, error) {
	var out Collected
	var errs []error
	var read []event.ShardID
	var erased []event.TenantID
	for _, id := range c.Shards() {
		err := c.of(id).withState(ctx, func() (err error) {
			erased, err = c.of(id).recall(ctx, erased)
			return err
		})
		if err != nil {
			errs = append(errs, fmt.Errorf("read the log of shard %s: %w", id, err))
			continue // its share is not listed
		}
		read = append(read, id)
	}
	slices.Sort(erased)
	if erased = slices.Compact(erased); len(erased) > 0 {
		if _, err := c.garbage.List(ctx, foldersOf(erased...)); err != nil {
			errs = append(errs, fmt.Errorf("list what was erased: %w", err))
		}
	}
	var err error
	if out.Listed, err = c.listDue(ctx, read); err != nil {
		errs = append(errs, err)
	}
	begin := c.d.Clock()
	out.Deleted, err = c.garbage.Delete(ctx)
	c.metrics.deletedGarbage(out.Deleted, c.garbage.Waiting())
	c.log.Info("deleted garbage", "objects", out.Deleted.Objects, "bytes", out.Deleted.Bytes, "removed", out.Deleted.Removed,
		"uploads_ended", out.Deleted.Uploads, "waiting", c.garbage.Waiting(), "took", c.d.Clock()-begin)
	errs = append(errs, err)
	for _, id := range c.Shards() {
		if err := c.of(id).trim(ctx); err != nil {
			errs = append(errs, fmt.Errorf("trim the log of shard %s: %w", id, err))
		}
	}
	if err := c.trimPlacements(ctx); err != nil {
		errs = append(errs, fmt.Errorf("trim the placements: %w", err))
	}
	return out, errors.Join(errs...)
}

// maxRecalled bounds the records that are read again, where nobody has trimmed the log for long.
const maxRecalled = 10_000

// recall finds what was removed by records that were folded before this process could hear of it: the inputs of merges, and the
// tenants that were erased, which it adds to a list. What fell below a floor, and what was removed by records that are gone, is found
// by a listing.
func (s *shard) recall(ctx context.Context, erased []event.TenantID) ([]event.TenantID, error) {
	from := s.recalled
	if s.loadedAt > maxRecalled {
		from = max(from, s.loadedAt-maxRecalled)
	}
	taken, err := s.records.Taken(ctx, from, s.loadedAt)
	if err != nil {
		return erased, err
	}
	for _, key := range taken.Inputs {
		s.c.garbage.Removed(key, 0)
	}
	s.recalled = s.loadedAt
	return append(erased, taken.Erased...), nil
}

// trim deletes old records, checkpoints and manifests of the shard's log.
func (s *shard) trim(ctx context.Context) error {
	t, err := s.records.PlanTrim(ctx, s.c.cfg.KeepRecords)
	if errors.Is(err, chain.ErrTrimmed) {
		return nil // another compactor was faster
	}
	if err != nil {
		return err
	}
	done, err := t.Do(ctx)
	s.c.metrics.trimmed.Add(float64(done.Records + done.Checkpoints + done.Manifests + done.Markers))
	return err
}

// trimPlacements deletes old versions of the placements.
func (c *Compactor) trimPlacements(ctx context.Context) error {
	if c.d.Placements == nil {
		return nil
	}
	t, err := c.d.Placements.PlanTrim(ctx, c.cfg.KeepRecords)
	if errors.Is(err, chain.ErrTrimmed) {
		return nil
	}
	if err != nil {
		return err
	}
	done, err := t.Do(ctx)
	c.metrics.trimmed.Add(float64(done.Records + done.Checkpoints + done.Markers))
	return err
}
