package compactor

import (
	"context"
	"errors"
	"fmt"

	"github.com/togodb/togo/compactor/garbage"
	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/shardlog"
)

// Judge gives the collector the state of a shard as it was read last, if it was: an older one
// shows less garbage, and to read the log for each page of a listing would cost more than the listing.
func (c *Compactor) Judge(ctx context.Context, id event.ShardID, judge func(*shardlog.State)) (bool, error) {
	s := c.of(id)
	if s == nil {
		return false, nil
	}
	known := false
	err := s.alone(ctx, func() error {
		if known = s.state != nil; known {
			judge(s.state)
		}
		return nil
	})
	return known, err
}

// Collect lists the store once and deletes what has been garbage for the grace, and old
// records of the logs. It starts no goroutine, and is called by one goroutine at a time.
func (c *Compactor) Collect(ctx context.Context) (garbage.Report, error) {
	begin := c.d.Clock()
	var errs []error
	for _, id := range c.Shards() {
		if err := c.of(id).withState(ctx, func() error { return nil }); err != nil {
			errs = append(errs, fmt.Errorf("read the log of shard %s: %w", id, err)) // its objects are passed over
		}
	}
	report, err := c.garbage.Pass(ctx, false)
	c.metrics.collected(report, err)
	c.log.Info("collected garbage", "objects", report.Objects, "named", report.Named, "may_commit", report.MayCommit, "garbage", report.Garbage,
		"unknown", report.Unknown, "deleted", report.Deleted, "deleted_bytes", report.DeletedBytes, "uploads_ended", report.Abandoned, "took", c.d.Clock()-begin)
	errs = append(errs, err)
	for _, id := range c.Shards() {
		if err := c.of(id).trim(ctx); err != nil {
			errs = append(errs, fmt.Errorf("trim the log of shard %s: %w", id, err))
		}
	}
	if err := c.trimPlacements(ctx); err != nil {
		errs = append(errs, fmt.Errorf("trim the placements: %w", err))
	}
	return report, errors.Join(errs...)
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
