package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/internal/sim/loop"
	"github.com/togodb/togo/internal/tenants"
	"github.com/togodb/togo/writer/shard"
)

// writerProcess is a process that writes shards.
type writerProcess struct {
	*loop.Process
	w       *world
	shards  []event.ShardID // that it owns by configuration; nil: all
	store   *client
	keeper  *keeper
	tenants *tenants.Keeper
	columns *fragment.Registry
	encode  loop.Lock // the registry's own lock must not be waited for within a turn
	runners []*runner
}

// runner owns one shard's core in a process.
type runner struct {
	w       *world
	p       *loop.Process
	wp      *writerProcess
	shard   event.ShardID
	log     *shardlog.Log
	main    *loop.Task
	session *session
	leaving bool // to be released
}

// session is a shard under one claim.
type session struct {
	*runner
	core     *shard.Core
	load     int          // counts the loads: what belongs to an earlier one is void
	work     []*loop.Task // of this load
	stopped  *shard.Stop
	over     bool
	released bool

	topic   *topic // that was heard of last
	reading bool
	paused  bool
	gen     shard.Generation
	t       *topic // that is read
	at      kafka.Position
	polling bool
}

func (w *world) startWriter(p *writerProcess) {
	p.Start()
	p.runners = nil
	p.encode = loop.Lock{}
	p.store = &client{w, p.Process}
	p.columns = fragment.NewRegistry(p.store, fragment.RegistryConfig{
		MaxColumnsOf: func(t event.TenantID) int { return p.tenants.Get(t).MaxColumns }, NewNonce: w.nonce, Backoff: w.backoff(p.Process),
	})
	p.Spawn("main", func() {
		p.keeper = w.newKeeper(p.Process, p.store)
		p.tenants = w.newSettings(p.Process, p.store)
		for {
			p.startShards()
			w.Sleep(5 * time.Second)
		}
	})
}

// startShards starts the runners of shards that have none.
func (p *writerProcess) startShards() {
	ids := p.shards
	if ids == nil {
		for s := range p.keeper.Current().Shards() {
			ids = append(ids, event.ShardID(s))
		}
	}
	for _, id := range ids {
		have := false
		for _, r := range p.runners {
			have = have || r.shard == id
		}
		if have || int(id) >= p.keeper.Current().Shards() || int(id) >= len(p.w.broker.topics[shardTopic].parts) {
			continue
		}
		r := &runner{w: p.w, p: p.Process, wp: p, shard: id}
		r.log = shardlog.OpenWith(p.store, id, shardlog.Config{
			Now: p.w.clockOf(p.Process), NewNonce: p.w.nonce, Backoff: p.w.backoff(p.Process), Parallel: 1, Logger: quiet,
			CheckpointRecords: p.w.plan.checkpointEvery,
		})
		p.runners = append(p.runners, r)
		r.main = p.Spawn(fmt.Sprintf("shard %s", id), r.run)
	}
}

// run holds the shard, as often as it is lost.
func (r *runner) run() {
	for attempt := 1; ; attempt++ {
		if !r.claim() {
			return
		}
		reason := r.session.run()
		r.session = nil
		if reason != shard.Fenced {
			return
		}
		r.mayReclaim(attempt)
	}
}

func (r *runner) claim() bool {
	ctx := context.Background()
	for {
		state, err := r.log.Load(ctx)
		if err == nil {
			var epoch shardlog.Epoch
			var nonce string
			if epoch, nonce, err = r.log.Claim(ctx, state, r.p.Name, r.p.Name); err == nil {
				r.w.Note("%s claimed shard %s with epoch %d", r.p.Name, r.shard, epoch)
				r.session = newSession(r, state, epoch, nonce)
				return true
			}
		}
		if errors.Is(err, shardlog.ErrCorrupt) || errors.Is(err, shardlog.ErrNewerFormat) {
			r.w.fail("%s: claim of shard %s: %v", r.p.Name, r.shard, err)
			return false
		}
		r.w.Sleep(time.Second)
	}
}

// mayReclaim waits until the log of the new owner rests, or the shard was released.
func (r *runner) mayReclaim(attempt int) {
	wait := r.w.plan.reclaimAfter << min(attempt-1, 4)
	var seen shardlog.Head
	var rests time.Duration
	for {
		state, err := r.log.Load(context.Background())
		switch {
		case err != nil:
		case state.Owner() == nil:
			return
		case state.Head() != seen:
			seen, rests = state.Head(), r.w.Now()+delay(r.w.delays, time.Second, wait)
		case r.w.Now()-rests >= wait:
			return
		}
		r.w.Sleep(wait / 4)
	}
}

func newSession(r *runner, state *shardlog.State, epoch shardlog.Epoch, nonce string) *session {
	s := &session{runner: r}
	s.core = shard.New(shard.Params{
		Shard: r.shard, Owner: r.p.Name, Epoch: epoch, Nonce: nonce, Hasher: r.w.hasher,
		DataBucketSeconds: r.w.meta.DataBucketSeconds, IDBucketSeconds: r.w.meta.IDBucketSeconds,
		CheckpointDue: r.log.CheckpointDue, Config: r.w.plan.shard,
	}, r.w.timeOf(r.p))
	s.loaded(state)
	return s
}

// run works until the shard is fenced or released.
func (s *session) run() shard.StopReason {
	s.every(250*time.Millisecond, time.Second, func() {
		s.hear()
		s.step(shard.Tick{})
		if s.leaving && !s.released && s.stopped == nil {
			s.released = true
			s.step(shard.Release{})
		}
	})
	s.every(20*time.Millisecond, time.Second, s.poll)
	s.every(5*time.Second, 6*time.Second, s.watchLoss)
	for !s.over {
		s.w.Current().Park()
	}
	return s.stopped.Reason
}

func (s *session) every(lo, hi time.Duration, f func()) { s.w.every(s.p, lo, hi, &s.over, f) }

// hear tells the core which incarnation of the topic there is.
func (s *session) hear() {
	t := s.w.broker.topics[shardTopic]
	if t == s.topic {
		return
	}
	s.topic = t
	if s.stopped != nil && s.stopped.Reason == shard.Lost {
		s.reload("another topic")
		return
	}
	s.step(shard.Topic{Source: t.source(int32(s.shard)), Name: t.name})
}

// step gives the core an input, unless the session has ended.
func (s *session) step(in shard.Input) {
	if s.over {
		return
	}
	for _, e := range s.core.Step(s.w.timeOf(s.p), in) {
		s.do(e)
	}
}

// send has the loop step an input that a task has brought, a moment later. That it belongs
// to an earlier load is the core's to notice: the shell's mail may hold such answers.
func (s *session) send(in shard.Input) {
	s.p.After(delay(s.w.delays, time.Microsecond, 100*time.Millisecond), func() { s.step(in) })
}

func (s *session) loaded(state *shardlog.State) {
	s.stopped = nil
	s.step(shard.Loaded{State: state, Table: s.wp.keeper.Current()})
	if s.topic != nil {
		s.step(shard.Topic{Source: s.topic.source(int32(s.shard)), Name: s.topic.name})
	}
}

// endWork ends all tasks of the load.
func (s *session) endWork() {
	s.load++
	s.reading = false
	work := s.work
	s.work = nil
	for _, t := range work {
		if t == s.w.Current() {
			panic("sim: a task ends itself")
		}
		t.Kill()
	}
}

func (s *session) spawn(name string, f func()) {
	s.work = slices.DeleteFunc(s.work, (*loop.Task).Done)
	s.work = append(s.work, s.p.Spawn(name, f))
}

// reload ends all work and reads the log anew.
func (s *session) reload(why string) {
	s.w.Note("%s shard %s loads again: %s", s.p.Name, s.shard, why)
	s.p.After(0, func() {
		if s.over {
			return
		}
		s.endWork()
		load := s.load
		s.spawn("load", func() {
			for {
				state, err := s.log.Load(context.Background())
				if err == nil {
					s.p.After(0, func() {
						if load == s.load {
							s.loaded(state)
						}
					})
					return
				}
				s.broken(err)
				s.w.Sleep(time.Second)
			}
		})
	})
}

// broken makes the run fail if an error says that the store is not as it was left.
func (s *session) broken(err error) {
	if errors.Is(err, shardlog.ErrCorrupt) || errors.Is(err, shardlog.ErrNewerFormat) {
		s.w.fail("%s: shard %s: %v", s.p.Name, s.shard, err)
	}
}

// stop is the core's own end of its work.
func (s *session) stop(st shard.Stop) {
	s.stopped = &st
	s.w.Note("%s shard %s stops: %s: %v", s.p.Name, s.shard, st.Reason, st.Err)
	switch st.Reason {
	case shard.Fenced, shard.Released:
		s.over = true
		s.p.After(0, s.main.Resume)
	case shard.Lost:
	default:
		s.w.fail("%s: shard %s stopped: %s: %v", s.p.Name, s.shard, st.Reason, st.Err)
	}
	s.reading = false
	s.load++
	work := s.work
	s.work = nil
	s.p.After(0, func() {
		for _, t := range work {
			t.Kill()
		}
	})
}

// watchLoss looks for the record by which an operator accepts a loss.
func (s *session) watchLoss() {
	if s.stopped == nil || s.stopped.Reason != shard.Lost || slices.ContainsFunc(s.work, func(t *loop.Task) bool { return !t.Done() }) {
		return
	}
	position := s.core.Status(s.w.timeOf(s.p)).Position
	load := s.load
	s.spawn("watch", func() {
		state, err := s.log.Load(context.Background())
		if err == nil && state.Position() != position {
			s.p.After(0, func() {
				if load == s.load {
					s.load++
					s.loaded(state)
				}
			})
		}
	})
}

// do carries an effect out, or starts what does.
func (s *session) do(e shard.Effect) {
	ctx := context.Background()
	switch e := e.(type) {
	case shard.Inspect:
		s.spawn("inspect", func() { s.inspect(e) })
	case shard.ReadFrom:
		s.reading, s.paused, s.gen = true, false, e.Gen
		s.at = kafka.Position{Offset: e.Offset, LeaderEpoch: e.LeaderEpoch}
		s.t = s.topic
		s.w.Note("%s shard %s reads from %d", s.p.Name, s.shard, e.Offset)
	case shard.Pause:
		s.paused = true
	case shard.Resume:
		s.paused = false
	case shard.ReadIDs:
		s.spawn("ids", func() { s.readIDs(e) })
	case shard.NeedPlacements:
		s.spawn("placements", func() { s.send(shard.Placements{Table: s.wp.keeper.atLeast(e.Version)}) })
	case shard.Encode:
		s.spawn("encode", func() { s.encode(e) })
	case shard.Append:
		s.lose()
		s.spawn("append", func() {
			won, found, stored, err := s.log.Settle(ctx, e.Head, e.Record)
			s.send(shard.Appended{Gen: e.Gen, Won: won, Record: found, Stored: stored, Err: err})
		})
	case shard.Checkpoint:
		s.spawn("checkpoint", func() {
			err := s.log.WriteCheckpoint(ctx, e.Plan)
			if err != nil {
				s.w.Sleep(5 * time.Second)
			}
			s.send(shard.Checkpointed{Gen: e.Gen, Plan: e.Plan, Err: err})
		})
	case shard.CommitGroup:
	case shard.Reload:
		s.reload(e.Why)
	case shard.Stop:
		s.stop(e)
	default:
		panic(fmt.Sprintf("sim: unknown effect %T", e))
	}
}

// lose has the reading lose its place now and then while an append is under way: the log is
// loaded again, and whether the append stands may show only later.
func (s *session) lose() {
	f := s.w.faults.stream(s.p.Name + "/reading")
	f.n++
	draw, d := f.r.IntN(10), delay(f.r, 10*time.Millisecond, timeout)
	if draw > 0 || s.w.plan.faultRate == 0 || !f.strike("place lost", "of %s, shard %s, during an append, after %s", s.p.Name, s.shard, d.Round(time.Millisecond)) {
		return
	}
	load := s.load
	s.p.After(d, func() {
		if !s.over && s.load == load && s.stopped == nil {
			s.reload("the reading has lost its place")
		}
	})
}
