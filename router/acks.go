package router

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/togodb/togo/internal/kafka"
)

// ackList collects acknowledgements from the producer's goroutine, which must never wait.
type ackList struct {
	wake chan struct{} // has a token while list is not empty

	mu    sync.Mutex
	list  []Acked // guarded by mu
	fatal error   // guarded by mu
}

func (a *ackList) add(id BatchID, err error) {
	a.mu.Lock()
	switch {
	case err == nil:
		a.list = append(a.list, Acked{Batch: id})
	case errors.Is(err, kafka.ErrTooLarge):
		a.list = append(a.list, Acked{Batch: id, TooLarge: true})
	case a.fatal == nil:
		a.fatal = err
	}
	a.mu.Unlock()
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

func (a *ackList) take(into []Acked) ([]Acked, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	into = append(into[:0], a.list...)
	a.list = a.list[:0]
	return into, a.fatal
}

func (s *session) takeAcks(acks []Acked) ([]Acked, error) {
	acks, fatal := s.acks.take(acks)
	if len(acks) > 0 {
		s.lastAck = time.Now()
	}
	for _, a := range acks {
		if err := s.step(a); err != nil {
			return acks, err
		}
	}
	if fatal != nil {
		return acks, fmt.Errorf("router: produce to %s: %w", s.r.deps.ShardTopic, fatal)
	}
	return acks, nil
}
