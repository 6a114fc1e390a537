// Package queue lets some queries in at a time, and shares that between tenants.
//
// What it promises:
//
//  1. At most Config.Concurrent run at one time, of one tenant at most Config.TenantConcurrent.
//  2. Of those that wait, the next is of the tenant that has the fewest running; of equal ones, of the tenant whose last start, or
//     whose coming if it had nothing here, is the longest ago. Within a tenant, the first come is the first. So however
//     many queries of one tenant wait, it starts at most one before another tenant that came meanwhile and has no more running.
//  3. What waits is bounded: for a tenant by Config.Waiting, for all by Config.AllWaiting, in time by Config.Wait.
package queue

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/togodb/togo/internal/event"
)

// Config are the bounds, all positive.
type Config struct {
	Concurrent, TenantConcurrent int
	Waiting, AllWaiting          int
	Wait                         time.Duration
}

// Errors of Enter, beside the context's.
var (
	ErrFull    = errors.New("too many queries of this tenant wait already")
	ErrAllFull = errors.New("too many queries wait already")
	ErrWaited  = errors.New("the query waited too long for its turn")
)

// Queue is safe for concurrent use.
type Queue struct {
	cfg Config

	mu      sync.Mutex
	running int                      // guarded by mu, as is all below
	waiting int                      //
	clock   uint64                   // counts starts and comings
	tenants map[event.TenantID]*line // those with something running or waiting
}

// line is one tenant's.
type line struct {
	running int
	waiting []chan struct{} // closed to let one in
	last    uint64          // the clock at its last start, or when it came
}

// New makes an empty queue.
func New(cfg Config) *Queue {
	return &Queue{cfg: cfg, tenants: map[event.TenantID]*line{}}
}

// Enter waits for a turn. leave must be called once when the query has ended.
func (q *Queue) Enter(ctx context.Context, tenant event.TenantID) (leave func(), err error) {
	turn, err := q.join(tenant)
	if err != nil {
		return nil, err
	}
	return q.wait(ctx, tenant, turn)
}

// wait is for the turn of one that has joined.
func (q *Queue) wait(ctx context.Context, tenant event.TenantID, turn chan struct{}) (leave func(), err error) {
	timer := time.NewTimer(q.cfg.Wait)
	defer timer.Stop()
	select {
	case <-turn:
		return q.leave(tenant), nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-timer.C:
		err = ErrWaited
	}
	if !q.abandon(tenant, turn) { // it was let in meanwhile
		q.leave(tenant)()
	}
	return nil, err
}

// Len tells how many run and how many wait.
func (q *Queue) Len() (running, waiting int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.running, q.waiting
}

// join puts one at the end of its tenant's line.
func (q *Queue) join(tenant event.TenantID) (chan struct{}, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.tenants[tenant]
	if l == nil {
		q.clock++
		l = &line{last: q.clock}
	}
	atOnce := q.running < q.cfg.Concurrent && l.running < q.cfg.TenantConcurrent && len(l.waiting) == 0
	switch {
	case atOnce:
	case len(l.waiting) >= q.cfg.Waiting:
		return nil, ErrFull
	case q.waiting >= q.cfg.AllWaiting:
		return nil, ErrAllFull
	}
	q.tenants[tenant] = l
	turn := make(chan struct{})
	l.waiting = append(l.waiting, turn)
	q.waiting++
	q.admit()
	return turn, nil
}

// abandon takes one out of its line; false: it is no longer there.
func (q *Queue) abandon(tenant event.TenantID, turn chan struct{}) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.tenants[tenant]
	for i, t := range l.waiting {
		if t == turn {
			l.waiting = append(l.waiting[:i], l.waiting[i+1:]...)
			q.waiting--
			q.forget(tenant, l)
			return true
		}
	}
	return false
}

// leave gives the function that ends one, however often it is called.
func (q *Queue) leave(tenant event.TenantID) func() {
	return sync.OnceFunc(func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		l := q.tenants[tenant]
		l.running--
		q.running--
		q.forget(tenant, l)
		q.admit()
	})
}

// forget needs mu.
func (q *Queue) forget(tenant event.TenantID, l *line) {
	if l.running == 0 && len(l.waiting) == 0 {
		delete(q.tenants, tenant)
	}
}

// admit lets in as many as may run. It needs mu.
func (q *Queue) admit() {
	for q.running < q.cfg.Concurrent {
		var next *line
		for _, l := range q.tenants {
			if len(l.waiting) == 0 || l.running >= q.cfg.TenantConcurrent {
				continue
			}
			if next == nil || l.running < next.running || l.running == next.running && l.last < next.last {
				next = l
			}
		}
		if next == nil {
			return
		}
		close(next.waiting[0])
		next.waiting = next.waiting[1:]
		next.running++
		q.waiting--
		q.running++
		q.clock++
		next.last = q.clock
	}
}
