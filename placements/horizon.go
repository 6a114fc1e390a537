package placements

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/togodb/togo/internal/event"
)

const (
	// The horizon is raised to lead beyond the base when it is less than margin beyond
	// it: one small record a minute, by whichever process comes first, and two
	// minutes for the store to come back before intake waits.
	lead   = 3 * time.Minute
	margin = 2 * time.Minute
	// maxAhead bounds what an event from ahead can ask for: brokers bound the
	// timestamps of records to an hour ahead unless told otherwise.
	maxAhead = time.Hour
	// step is what an extension on demand adds beyond what was asked, so that a
	// stream of events from ahead costs one record a minute and not one each.
	step = time.Minute

	// maxPoll keeps Run's looks well within margin.
	maxPoll = time.Minute
	// roundTimeout ends one round of Run, so that a store that hangs does not hold
	// up others who want the chain.
	roundTimeout = 30 * time.Second
)

// ErrTooFarAhead: the horizon may not be raised so far yet; wait.
var ErrTooFarAhead = errors.New("too far ahead of the clocks")

// Extend raises the horizon above a time: afterwards Horizon() > past. It first
// looks whether another process has done so. ErrTooFarAhead if past lies an hour or more beyond
// the smaller of the own clock and the store's.
func (k *Keeper) Extend(ctx context.Context, past event.Timestamp) (*Table, error) {
	if t := k.Current(); t != nil && t.horizon > past {
		return t, nil
	}
	t, err := k.Refresh(ctx)
	if err != nil {
		return nil, err
	}
	if t.horizon > past {
		return t, nil
	}
	base, err := k.base(ctx)
	if err != nil {
		return nil, err
	}
	bound := later(base.now, maxAhead)
	if past >= bound {
		return nil, fmt.Errorf("extend the placements' horizon above %s: the own clock says %s and the store's %s, at most %s beyond both is allowed: %w",
			past, base.own, base.store, maxAhead, ErrTooFarAhead)
	}
	target := max(later(base.now, lead), min(later(past, step), bound))
	return k.Propose(ctx, func(t *Table) (Record, error) {
		if t.horizon > past {
			return Record{}, ErrNoChange
		}
		return Record{Kind: KindExtend, Extend: &Extend{Horizon: target}}, nil
	})
}

// KeepAhead reads what is new in the chain, and raises the horizon if less than margin
// of it is left: one round of Run.
func (k *Keeper) KeepAhead(ctx context.Context) error {
	t, err := k.Refresh(ctx)
	if err != nil {
		return err
	}
	base, err := k.base(ctx)
	if err != nil {
		return err
	}
	if t.horizon >= later(base.now, margin) {
		return nil
	}
	target := later(base.now, lead)
	_, err = k.Propose(ctx, func(t *Table) (Record, error) {
		if t.horizon >= later(base.now, margin) {
			return Record{}, ErrNoChange
		}
		return Record{Kind: KindExtend, Extend: &Extend{Horizon: target}}, nil
	})
	return err
}

// Run follows the chain and keeps the horizon ahead until ctx ends. It returns nil
// then, and an error only if going on makes no sense (ErrCorrupt, ErrFormat). Whoever runs it waits
// for its return.
func (k *Keeper) Run(ctx context.Context) error {
	for {
		round, cancel := context.WithTimeout(ctx, roundTimeout)
		err := k.KeepAhead(round)
		cancel()
		switch {
		case ctx.Err() != nil:
			return nil
		case isFinal(err):
			return err
		case err != nil:
			k.metrics.failures.Inc()
			k.cfg.Logger.Warn("placements not refreshed", "err", err)
		}
		if sleep(ctx, k.cfg.Poll) != nil {
			return nil
		}
	}
}

// clocks are the two clocks and the smaller of them.
type clocks struct{ own, store, now event.Timestamp }

func (k *Keeper) base(ctx context.Context) (clocks, error) {
	date, err := k.cfg.Store.Date(ctx)
	if err != nil {
		return clocks{}, fmt.Errorf("ask the store for its date: %w", err)
	}
	c := clocks{own: stamp(k.cfg.Now()), store: stamp(date)}
	c.now = min(c.own, c.store)
	return c, nil
}

// stamp is t in nanoseconds; a time beyond their range becomes the end of it.
func stamp(t time.Time) event.Timestamp {
	switch year := t.Year(); {
	case year < 1678:
		return math.MinInt64
	case year > 2261:
		return math.MaxInt64
	}
	return event.Timestamp(t.UnixNano())
}

// later is t + d, or the end of time.
func later(t event.Timestamp, d time.Duration) event.Timestamp {
	if t > math.MaxInt64-event.Timestamp(d) {
		return math.MaxInt64
	}
	return t + event.Timestamp(d)
}
