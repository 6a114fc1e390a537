package router

import (
	"context"
	"errors"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/placements"
)

// Pauses before the placements are asked again.
const (
	askPause   = 500 * time.Millisecond
	aheadPause = 5 * time.Second // of a record from the future: the clock decides
	askTimeout = 30 * time.Second
)

// ask has a newer table made or found if records wait for one.
func (s *session) ask() {
	if s.asking || time.Now().Before(s.askAfter) {
		return
	}
	need, ok := s.core.Need()
	if !ok {
		return
	}
	if need.Wanted && need.Horizon >= s.tooFar && time.Now().Before(s.tooFarTill) {
		need.Wanted = false
		if len(need.Admit) == 0 {
			return
		}
	}
	s.asking = true
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
		defer cancel()
		t, err := s.find(ctx, need)
		s.tables <- tableDone{need, t, err}
	}()
}

func (s *session) find(ctx context.Context, need Need) (t *placements.Table, err error) {
	keeper := s.r.deps.Placements
	if len(need.Admit) > 0 {
		if t, err = keeper.Admit(ctx, need.Admit...); err != nil {
			return nil, err
		}
	}
	if need.Wanted {
		newer, err := keeper.Extend(ctx, need.Horizon)
		if err != nil {
			return t, err
		}
		t = newer
	}
	return t, nil
}

func (s *session) newTable(t tableDone) error {
	s.asking = false
	if t.err != nil {
		if errors.Is(t.err, placements.ErrTooFarAhead) {
			s.tooFar, s.tooFarTill = t.need.Horizon, time.Now().Add(aheadPause)
			s.sayAhead()
		} else {
			s.askAfter = time.Now().Add(askPause)
			s.r.deps.Log.Warn("router: records wait for newer placements, which can't be made now", "err", t.err)
		}
	}
	if t.table == nil {
		return nil
	}
	return s.step(NewTable{t.table})
}

// sayAhead names the partitions whose next record claims to be from the future.
func (s *session) sayAhead() {
	if time.Since(s.saidAhead) < time.Minute {
		return
	}
	s.saidAhead = time.Now()
	for _, l := range s.core.Lags() {
		if l.Waiting {
			s.r.deps.Log.Error("router: a record's Kafka timestamp lies far in the future; its partition waits until the clocks get there",
				"topic", l.Topic, "partition", l.Partition, "offset", l.Next, "kafka_timestamp", event.Timestamp(l.For).String())
		}
	}
}
