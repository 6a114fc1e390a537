package writer

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/writer/shard"
)

// session is a shard under one claim.
type session struct {
	*runner
	hard  context.Context
	state *shardlog.State // of the claim, until the core has it
	core  *shard.Core
	base  shard.Counts // of earlier claims

	// The goroutines of one load; they end before the next.
	work     sync.WaitGroup
	ctx      context.Context
	cancel   context.CancelFunc
	released bool // Release was handed to the core
	stopped  *shard.Stop
}

func newSession(r *runner, hard context.Context, state *shardlog.State, epoch shardlog.Epoch, nonce string) *session {
	s := &session{runner: r, hard: hard, state: state, base: r.snapshot().counts}
	s.core = shard.New(shard.Params{
		Shard: r.shard, Owner: r.w.d.Owner, Epoch: epoch, Nonce: nonce, Hasher: r.w.hasher,
		DataBucketSeconds: r.w.d.Meta.DataBucketSeconds, IDBucketSeconds: r.w.d.Meta.IDBucketSeconds,
		CheckpointDue: r.store.CheckpointDue, Config: r.cfg,
	}, r.w.d.Now())
	return s
}

// The pauses of a session.
const (
	maxTick = 250 * time.Millisecond // between ticks; a flush is late by as much
	minTick = 10 * time.Millisecond
)

// run works until the shard is fenced or released, or hard ends.
func (s *session) run() shard.StopReason {
	defer s.endWork()
	s.mu.Lock()
	s.mail, s.batches, s.again = nil, 0, nil
	s.snap.sessions++
	s.mu.Unlock()
	s.loaded(s.state)
	s.state = nil
	tick := time.NewTicker(max(minTick, min(maxTick, s.cfg.FlushAge/10)))
	defer tick.Stop()
	watch := time.NewTicker(s.w.lossWatch)
	defer watch.Stop()
	for {
		select {
		case <-s.hard.Done():
			return ""
		case <-s.wake:
		case <-tick.C:
			s.step(shard.Tick{})
		case <-watch.C:
			s.watch()
		}
		s.readMail()
		s.publish()
		if st := s.stopped; st != nil && s.over(st) {
			return st.Reason
		}
	}
}

// over says whether a stop ends the session; the others wait for an operator.
func (s *session) over(st *shard.Stop) bool {
	if st.Reason == shard.Fenced || st.Reason == shard.Released {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopping
}

// readMail hands the core what has come.
func (s *session) readMail() {
	s.mu.Lock()
	mail, again, stopping := s.mail, s.again, s.stopping
	s.mail, s.again = nil, nil
	s.mu.Unlock()
	if again != nil && (s.stopped == nil || s.stopped.Reason == shard.Lost) {
		s.log.Warn("loading again", "reason", again)
		s.load()
	}
	for _, in := range mail {
		if b, ok := in.(shard.Batch); ok {
			s.step(b)
			s.mu.Lock()
			s.batches--
			drained := s.batches == 0
			s.mu.Unlock()
			if drained {
				s.w.reading.drained(int32(s.shard))
			}
			continue
		}
		if _, ok := in.(shard.Topic); ok && s.stopped != nil && s.stopped.Reason == shard.Lost {
			s.load() // what is lost depends on which topic there is
			continue
		}
		s.step(in)
	}
	if stopping && !s.released && s.stopped == nil {
		s.released = true
		s.step(shard.Release{})
	}
}

func (s *session) step(in shard.Input) {
	for _, e := range s.core.Step(s.w.d.Now(), in) {
		s.do(e)
	}
}

// loaded gives the core a state of the log and the topic.
func (s *session) loaded(state *shardlog.State) {
	s.ctx, s.cancel = context.WithCancel(s.hard)
	s.stopped = nil
	s.step(shard.Loaded{State: state, Table: s.w.d.Placements.Current()})
	s.mu.Lock()
	topic := s.topic
	s.mu.Unlock()
	if topic != nil {
		s.step(*topic)
	}
}

// endWork ends all goroutines of the load.
func (s *session) endWork() {
	s.w.reading.end(int32(s.shard))
	s.cancel()
	s.work.Wait()
}

// load ends all work and reads the log anew.
func (s *session) load() {
	s.endWork()
	for attempt := 1; s.hard.Err() == nil; attempt++ {
		state, err := s.store.Load(s.hard)
		if err == nil {
			s.loaded(state)
			return
		}
		if errors.Is(err, shardlog.ErrCorrupt) || errors.Is(err, shardlog.ErrNewerFormat) {
			s.stop(shard.Stop{Reason: shard.Corruption, Err: err})
			return
		}
		s.log.Warn("can't read the shard log", "attempt", attempt, "error", err)
		sleep(s.hard, s.w.backoff.Pause(attempt))
	}
}

func (s *session) stop(st shard.Stop) {
	s.stopped = &st
	switch st.Reason {
	case shard.Released:
		s.log.Info("released")
	case shard.Fenced:
		s.log.Warn("fenced: all that was held of the shard is dropped", "error", st.Err)
	default:
		s.log.Error("the shard stopped", "reason", string(st.Reason), "error", st.Err)
	}
	s.endWork()
}

// watch looks for news in the log of a shard that lost records in Kafka.
func (s *session) watch() {
	if s.stopped == nil || s.stopped.Reason != shard.Lost {
		return
	}
	state, err := s.store.Load(s.hard)
	if err != nil {
		s.log.Warn("can't read the shard log", "error", err)
		return
	}
	if state.Position() != s.core.Status(s.w.d.Now()).Position {
		s.loaded(state)
	}
}

// publish shows others how the shard stands.
func (s *session) publish() {
	now := s.w.d.Now()
	snap := snapshot{status: s.core.Status(now), counts: s.base, ready: s.core.Ready(now)}
	if st := s.stopped; st != nil && snap.status.State != string(st.Reason) {
		snap.status.State, snap.status.Reason, snap.ready = string(st.Reason), st.Err.Error(), st.Err
	}
	snap.counts.Add(s.core.Counts())
	s.mu.Lock()
	snap.sessions = s.snap.sessions
	s.snap = snap
	s.mu.Unlock()
	s.shown()
}

// do carries an effect out, or starts what does.
func (s *session) do(e shard.Effect) {
	ctx := s.ctx
	switch e := e.(type) {
	case shard.Inspect:
		s.work.Go(func() { s.inspect(ctx, e) })
	case shard.ReadFrom:
		s.log.Info("reading", "source", e.Source, "offset", e.Offset)
		s.w.reading.readFrom(e)
	case shard.Pause:
		s.w.reading.pause(int32(s.shard), true)
	case shard.Resume:
		s.w.reading.pause(int32(s.shard), false)
	case shard.ReadIDs:
		s.work.Go(func() { s.readIDs(ctx, e) })
	case shard.NeedPlacements:
		s.work.Go(func() {
			if t, err := s.w.d.Placements.AtLeast(ctx, e.Version); err == nil {
				s.send(shard.Placements{Table: t})
			} else if ctx.Err() == nil {
				s.log.Error("can't read the placements", "version", e.Version, "error", err)
			}
		})
	case shard.Encode:
		s.work.Go(func() { s.encode(ctx, e) })
	case shard.Append:
		s.work.Go(func() { s.append(ctx, e) })
	case shard.Checkpoint:
		s.work.Go(func() { s.checkpoint(ctx, e) })
	case shard.CommitGroup:
		s.w.group.set(e)
	case shard.Reload:
		s.log.Warn("loading again", "reason", e.Why)
		s.load()
	case shard.Stop:
		s.stop(e)
	}
}

// retry tries f until it succeeds or ctx ends.
func (s *session) retry(ctx context.Context, what string, f func() error) error {
	for attempt := 1; ; attempt++ {
		err := f()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.log.Warn("failed, trying again", "what", what, "attempt", attempt, "error", err)
		sleep(ctx, s.w.backoff.Pause(attempt))
	}
}

func (s *session) append(ctx context.Context, e shard.Append) {
	won, found, stored, err := s.store.Settle(ctx, e.Head, e.Record)
	if err != nil && ctx.Err() != nil {
		return // the position is open; all that was held is dropped
	}
	if err == nil {
		s.log.Debug("appended", "kind", string(e.Record.Kind), "position", uint64(found.Position), "won", won)
	}
	s.send(shard.Appended{Gen: e.Gen, Won: won, Record: found, Stored: stored, Err: err})
}

func (s *session) checkpoint(ctx context.Context, e shard.Checkpoint) {
	err := s.store.WriteCheckpoint(ctx, e.Plan)
	if err != nil {
		s.log.Warn("checkpoint failed", "error", err)
		sleep(ctx, s.w.backoff.Pause(checkpointRest))
	}
	s.send(shard.Checkpointed{Gen: e.Gen, Plan: e.Plan, Err: err})
}

// checkpointRest is the attempt whose pause a failed checkpoint takes: nothing waits for it.
const checkpointRest = 10

func (s *session) readIDs(ctx context.Context, e shard.ReadIDs) {
	select {
	case s.reads <- struct{}{}:
	case <-ctx.Done():
		return
	}
	defer func() { <-s.reads }()
	l := e.Load
	var data []byte
	var missing error
	err := s.retry(ctx, "read of identities", func() (err error) {
		data, err = s.w.d.Store.GetRange(ctx, l.Key, l.Offset, l.Length)
		if errors.Is(err, objstore.ErrNotFound) {
			missing, err = err, nil
		}
		return err
	})
	if err == nil {
		s.send(shard.IDsRead{Gen: e.Gen, Load: l, Data: data, Err: missing})
	}
}
