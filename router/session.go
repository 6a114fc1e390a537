package router

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/placements"
)

// session is one membership in the group: a Core, and the goroutines around it. The
// loop alone steps the Core; all others send to it.
type session struct {
	r        *Router
	core     *Core
	consumer *kafka.Consumer
	producer *kafka.Producer

	idle    chan struct{}  // the poller says that no poll is under way
	goOn    chan struct{}  // and waits for leave to poll
	polled  chan polled    // and sends what it got
	calls   chan groupCall // the group's callbacks
	tables  chan tableDone
	commits chan Committed
	ends    chan Ends
	behind  atomic.Bool   // something is not read for now
	done    chan struct{} // the loop has ended

	acks ackList

	commitMu sync.Mutex // one commit at a time, in order

	resting   bool      // the poller is idle, and has no leave to poll
	asking    bool      // for a newer table
	askAfter  time.Time // not before
	saidAhead time.Time
	// Horizons from tooFar on were refused as too far ahead; not asked for before tooFarTill.
	tooFar     event.Timestamp
	tooFarTill time.Time
	stopped    map[string]string

	lastAck    time.Time // or when nothing was on its way
	lastCommit time.Time // that went through, or when there was nothing to commit
}

type polled struct {
	batches []kafka.Batch
	taken   chan struct{}
}

type groupCall struct {
	in     Input
	answer chan map[kafka.TopicPartition]kafka.Position
}

type tableDone struct {
	need  Need
	table *placements.Table
	err   error
}

func (r *Router) session(ctx context.Context) error {
	s := &session{
		r:      r,
		idle:   make(chan struct{}),
		goOn:   make(chan struct{}, 1),
		polled: make(chan polled),
		calls:  make(chan groupCall),
		tables: make(chan tableDone, 1), commits: make(chan Committed, 1), ends: make(chan Ends),
		done:    make(chan struct{}),
		acks:    ackList{wake: make(chan struct{}, 1)},
		stopped: map[string]string{},
	}
	if err := s.open(ctx); err != nil {
		return err
	}
	r.metrics.session()
	r.set(func(st *Status) {
		st.Running, st.LastError, st.Stopped = true, "", nil
	})
	return s.run(ctx)
}

func (s *session) open(ctx context.Context) error {
	d := &s.r.deps
	table := d.Placements.Current()
	if table == nil {
		return errors.New("router: no placements are loaded")
	}
	shardTopic, err := d.Shards.Topic(ctx, d.ShardTopic)
	if err != nil {
		return err
	}
	if n := table.Shards(); int(shardTopic.Partitions) < n {
		return fmt.Errorf("router: topic %s has %d partitions, the placements name %d shards", d.ShardTopic, shardTopic.Partitions, n)
	}
	if s.producer, err = d.Shards.NewProducer(shardTopic, kafka.ProducerConfig{
		Compression: s.r.cfg.Compression,
		// The Core bounds what is in flight; this one must not make the loop wait.
		MaxBufferedBytes: int(4*s.r.cfg.MaxBytes) + 256<<20,
	}); err != nil {
		return err
	}
	s.core = NewCore(CoreConfig{
		Config: s.r.cfg, Hasher: d.Hasher, Limits: d.Limits, MaxRecordBytes: s.producer.MaxRecordBytes(),
	}, table)
	s.consumer, err = d.Intake.NewConsumer(ctx, kafka.ConsumerConfig{
		Group: s.r.cfg.Group, Topics: d.Topics, Read: d.Read, SessionTimeout: s.r.cfg.SessionTimeout,
		OnAssigned: func(parts []kafka.Assignment) { s.call(Assigned{parts}) },
		OnRevoked:  s.onRevoked,
	})
	if err != nil {
		s.producer.Close()
	}
	return err
}

// call has the loop step an input, and returns the commit that it wants.
func (s *session) call(in Input) map[kafka.TopicPartition]kafka.Position {
	c := groupCall{in, make(chan map[kafka.TopicPartition]kafka.Position, 1)}
	select {
	case s.calls <- c:
		return <-c.answer
	case <-s.done:
		return nil
	}
}

// commitTimeout bounds a commit; a rebalance waits for it.
const commitTimeout = 10 * time.Second

func (s *session) onRevoked(parts []kafka.TopicPartition, lost bool) {
	positions := s.call(Revoked{parts})
	if !lost {
		s.commit(positions)
	}
}

func (s *session) commit(positions map[kafka.TopicPartition]kafka.Position) bool {
	s.commitMu.Lock()
	defer s.commitMu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
	defer cancel()
	err := s.consumer.Commit(ctx, positions)
	if err != nil {
		s.r.deps.Log.Warn("router: commit failed; it is tried again", "err", err)
		s.r.metrics.commits.WithLabelValues("failed").Inc()
		return false
	}
	s.r.metrics.commits.WithLabelValues("ok").Inc()
	return true
}

// run polls and loops until ctx ends or the session fails, and takes everything down
// in order: the poller, what is in flight, the group, the producer.
func (s *session) run(ctx context.Context) error {
	pollCtx, stopPolling := context.WithCancel(ctx)
	defer stopPolling()
	var poller sync.WaitGroup
	poller.Go(func() { s.poll(pollCtx) })
	poller.Go(func() { s.watchEnds(pollCtx) })

	err := s.loop(ctx)
	stopPolling()
	stopped := make(chan struct{})
	go func() {
		poller.Wait()
		close(stopped)
	}()
	s.serve(stopped)
	if ctx.Err() != nil {
		s.drain()
	}
	left := make(chan struct{})
	go func() {
		s.consumer.Close()
		close(left)
	}()
	s.serve(left)
	close(s.done)
	s.producer.Close()
	s.r.metrics.show(s.core)
	return err
}

// poll fetches whenever the loop gives leave. It never holds a poll's records while the loop
// is full, for that would hold up rebalances.
func (s *session) poll(ctx context.Context) {
	for {
		select {
		case s.idle <- struct{}{}:
		case <-ctx.Done():
			return
		}
		select {
		case <-s.goOn:
		case <-ctx.Done():
			return
		}
		err := s.consumer.Poll(ctx, func(batches []kafka.Batch) {
			p := polled{batches, make(chan struct{})}
			select {
			case s.polled <- p:
				<-p.taken
			case <-ctx.Done():
			}
		})
		if err != nil {
			return // ctx ended, or the session closed the consumer
		}
	}
}

// showEvery is how often metrics and status are brought up to date, and ticks are
// stepped at the least.
const showEvery = 250 * time.Millisecond

func (s *session) loop(ctx context.Context) error {
	ticker := time.NewTicker(min(showEvery, s.r.cfg.CommitEvery))
	defer ticker.Stop()
	linger := time.NewTimer(time.Hour)
	defer linger.Stop()
	var acks []Acked
	for {
		if err := s.feed(); err != nil {
			return err
		}
		linger.Stop()
		if due := s.core.NextDue(); !due.IsZero() {
			linger.Reset(due.Sub(s.r.deps.Now()))
		}
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-s.idle:
			s.resting = true
		case p := <-s.polled:
			err = s.take(p.batches)
			close(p.taken)
		case c := <-s.calls:
			err = s.answer(c)
		case <-s.acks.wake:
			acks, err = s.takeAcks(acks)
		case t := <-s.tables:
			err = s.newTable(t)
		case c := <-s.commits:
			if c.OK {
				s.lastCommit = time.Now()
			}
			err = s.step(c)
		case in := <-s.ends:
			err = s.step(in)
		case <-linger.C:
			err = s.step(Tick{})
		case <-ticker.C:
			err = s.tick()
		}
		if err != nil {
			return err
		}
	}
}

// feed gives the poller leave to poll when there is room for more, and makes room if
// it is records without a table that take it.
func (s *session) feed() error {
	if !s.resting {
		return nil
	}
	if s.core.Crowded() {
		if err := s.step(Rewind{}); err != nil {
			return err
		}
	}
	if !s.core.Full() {
		s.resting = false
		s.goOn <- struct{}{}
	}
	return nil
}

func (s *session) tick() error {
	if t := s.r.deps.Placements.Current(); t != nil {
		if err := s.step(NewTable{t}); err != nil {
			return err
		}
	}
	if err := s.step(Tick{}); err != nil {
		return err
	}
	s.r.metrics.show(s.core)
	lags, held, stalled := s.core.Lags(), s.core.Bytes(), s.stalled(time.Now())
	s.behind.Store(s.core.Full() || slices.ContainsFunc(lags, func(l Lag) bool { return l.Waiting }))
	s.r.set(func(st *Status) {
		if stalled != "" && st.Stalled == "" {
			s.r.deps.Log.Error("router: stalled; it goes on by itself when the cause is gone", "why", stalled)
		}
		st.Partitions, st.HeldBytes, st.Stalled = lags, held, stalled
	})
	return nil
}

// stalled says what has not gone through for too long.
func (s *session) stalled(now time.Time) string {
	if s.core.Idle() || s.lastAck.IsZero() {
		s.lastAck = now
	}
	if len(s.core.Uncommitted()) == 0 || s.lastCommit.IsZero() {
		s.lastCommit = now
	}
	switch {
	case now.Sub(s.lastAck) > stallAfter:
		return fmt.Sprintf("no acknowledgement by %s since %s", s.r.deps.ShardTopic, s.lastAck.Format(time.RFC3339))
	case now.Sub(s.lastCommit) > stallAfter:
		return fmt.Sprintf("no commit of intake offsets since %s", s.lastCommit.Format(time.RFC3339))
	}
	return ""
}

// take steps what a poll brought.
func (s *session) take(batches []kafka.Batch) error {
	for i := range batches {
		b := &batches[i]
		var gone *kafka.TopicGoneError
		switch {
		case errors.As(b.Err, &gone):
			return b.Err
		case b.Err != nil:
			tp := kafka.TopicPartition{Topic: b.Topic, Partition: b.Partition}
			s.r.deps.Log.Error("router: partition stopped; the others go on", "topic", b.Topic, "partition", b.Partition, "err", b.Err)
			s.r.metrics.stop(tp)
			s.stopped[fmt.Sprintf("%s[%d]", b.Topic, b.Partition)] = b.Err.Error()
			stopped := maps.Clone(s.stopped)
			s.r.set(func(st *Status) { st.Stopped = stopped })
		default:
			if err := s.step(Fetched{*b}); err != nil {
				return err
			}
		}
	}
	return nil
}

// answer steps a group's call; its commit is the caller's to do.
func (s *session) answer(c groupCall) error {
	e := s.core.Step(s.r.deps.Now(), c.in)
	positions := e.Commit
	e.Commit = nil
	if r, ok := c.in.(Revoked); ok {
		for _, tp := range r.Partitions {
			delete(s.stopped, fmt.Sprintf("%s[%d]", tp.Topic, tp.Partition))
		}
		stopped := maps.Clone(s.stopped)
		s.r.set(func(st *Status) { st.Stopped = stopped })
	}
	err := s.do(e)
	c.answer <- positions
	return err
}

func (s *session) step(in Input) error { return s.do(s.core.Step(s.r.deps.Now(), in)) }

// do carries out effects.
func (s *session) do(e *Effects) error {
	for _, p := range e.Produce {
		s.producer.Produce(context.Background(), kafka.Message{Partition: int32(p.Shard), Value: p.Value},
			func(_ int64, err error) { s.acks.add(p.Batch, err) })
	}
	if e.Seek != nil {
		s.consumer.Seek(e.Seek)
	}
	if len(e.Pause) > 0 {
		s.consumer.Pause(e.Pause...)
	}
	if len(e.Resume) > 0 {
		s.consumer.Resume(e.Resume...)
	}
	if e.Commit != nil {
		positions := e.Commit
		go func() { s.commits <- Committed{positions, s.commit(positions)} }()
	}
	s.ask()
	return e.Fatal
}
