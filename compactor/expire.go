package compactor

import (
	"context"
	"errors"
	"fmt"

	"github.com/togodb/togo/compactor/retain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/shardlog"
)

// expire raises the floors of the shard, if the retention of a tenant asks for it.
func (s *shard) expire(ctx context.Context) (bool, error) {
	if s.c.d.Clock() < s.expired {
		return false, nil
	}
	now, err := s.c.now(ctx)
	if err != nil {
		return false, fmt.Errorf("expire: %w", err)
	}
	rules := retain.Rules{
		Settings: s.c.d.Tenants.Current(), DataBucketSeconds: s.c.d.Meta.DataBucketSeconds, IDBucketSeconds: s.c.d.Meta.IDBucketSeconds,
	}
	if s.c.d.MayHold != nil {
		rules.MayHold = s.c.d.MayHold(s.id)
	}
	var x *shardlog.Expire
	done, err := s.insist(ctx, func() *shardlog.Record {
		if x = retain.Expire(s.state, rules, now); x == nil {
			return nil
		}
		return &shardlog.Record{Kind: shardlog.KindExpire, Expire: x}
	})
	if errors.Is(err, shardlog.ErrRefused) {
		// A fault of ours; it must not keep the shard from merging.
		s.log.Error("a record that raises floors was refused; what is older stays until the next try", "error", err)
		err, done = nil, false
	}
	if err != nil {
		return false, fmt.Errorf("expire: %w", err)
	}
	if !done {
		s.expired = s.c.d.Clock() + s.c.cfg.ExpireEvery
		return false, nil
	}
	s.c.metrics.expires.Inc()
	s.log.Info("expired", "floors", len(x.Floors), "ids_below", x.IDsBelow)
	return true, nil
}

// now is the smaller of two clocks: one that is far ahead must not expire anything.
func (c *Compactor) now(ctx context.Context) (event.Timestamp, error) {
	date, err := c.d.Store.Date(ctx)
	if err != nil {
		return 0, err
	}
	return retain.Clock(c.d.Now(), date), nil
}
