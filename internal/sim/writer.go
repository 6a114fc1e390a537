package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/idseg"
	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/writer/shard"
)

// writerProcess is a process that writes shards.
type writerProcess struct {
	*process
	w       *world
	shards  []event.ShardID // that it owns by configuration; nil: all
	store   *client
	keeper  *keeper
	columns *fragment.Registry
	encode  lock // the registry's own lock must not be waited for within a turn
	runners []*runner
}

// runner owns one shard's core in a process.
type runner struct {
	w       *world
	p       *process
	wp      *writerProcess
	shard   event.ShardID
	log     *shardlog.Log
	main    *task
	session *session
	leaving bool // to be released
}

// session is a shard under one claim.
type session struct {
	*runner
	core     *shard.Core
	epoch    shardlog.Epoch
	load     int     // counts the loads: what belongs to an earlier one is void
	work     []*task // of this load
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
	p.start()
	p.runners = nil
	p.encode = lock{}
	p.store = &client{w, p.process}
	p.columns = fragment.NewRegistry(p.store, fragment.RegistryConfig{MaxColumns: w.plan.maxColumns, NewNonce: w.nonce, Backoff: w.backoff(p.process)})
	p.spawn("main", func() {
		p.keeper = w.newKeeper(p.process, p.store)
		for {
			p.startShards()
			w.sleep(5 * time.Second)
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
		r := &runner{w: p.w, p: p.process, wp: p, shard: id}
		r.log = shardlog.OpenWith(p.store, id, shardlog.Config{
			Now: p.clock(p.w), NewNonce: p.w.nonce, Backoff: p.w.backoff(p.process), Parallel: 1, Logger: quiet,
			CheckpointRecords: p.w.plan.checkpointEvery,
		})
		p.runners = append(p.runners, r)
		r.main = p.spawn(fmt.Sprintf("shard %s", id), r.run)
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
			if epoch, nonce, err = r.log.Claim(ctx, state, r.p.name, r.p.name); err == nil {
				r.w.note("%s claimed shard %s with epoch %d", r.p.name, r.shard, epoch)
				r.session = newSession(r, state, epoch, nonce)
				return true
			}
		}
		if errors.Is(err, shardlog.ErrCorrupt) || errors.Is(err, shardlog.ErrNewerFormat) {
			r.w.fail("%s: claim of shard %s: %v", r.p.name, r.shard, err)
			return false
		}
		r.w.sleep(time.Second)
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
			seen, rests = state.Head(), r.w.now+delay(r.w.delays, time.Second, wait)
		case r.w.now-rests >= wait:
			return
		}
		r.w.sleep(wait / 4)
	}
}

func newSession(r *runner, state *shardlog.State, epoch shardlog.Epoch, nonce string) *session {
	s := &session{runner: r, epoch: epoch}
	s.core = shard.New(shard.Params{
		Shard: r.shard, Owner: r.p.name, Epoch: epoch, Nonce: nonce, Hasher: r.w.hasher,
		DataBucketSeconds: r.w.meta.DataBucketSeconds, IDBucketSeconds: r.w.meta.IDBucketSeconds,
		CheckpointDue: r.log.CheckpointDue, Config: r.w.plan.shard,
	}, r.p.time(r.w))
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
		s.w.current.park()
	}
	return s.stopped.Reason
}

func (s *session) every(lo, hi time.Duration, f func()) {
	s.p.after(delay(s.w.delays, lo, hi), func() {
		if s.over {
			return
		}
		f()
		s.every(lo, hi, f)
	})
}

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
	for _, e := range s.core.Step(s.p.time(s.w), in) {
		s.do(e)
	}
}

// send has the loop step an input that a task has brought, a moment later. That it belongs
// to an earlier load is the core's to notice: the shell's mail may hold such answers.
func (s *session) send(in shard.Input) {
	s.p.after(delay(s.w.delays, time.Microsecond, 100*time.Millisecond), func() { s.step(in) })
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
		if t == s.w.current {
			panic("sim: a task ends itself")
		}
		t.kill()
	}
}

func (s *session) spawn(name string, f func()) { s.work = append(s.work, s.p.spawn(name, f)) }

// reload ends all work and reads the log anew.
func (s *session) reload(why string) {
	s.w.note("%s shard %s loads again: %s", s.p.name, s.shard, why)
	s.p.after(0, func() {
		if s.over {
			return
		}
		s.endWork()
		load := s.load
		s.spawn("load", func() {
			for {
				state, err := s.log.Load(context.Background())
				if err == nil {
					s.p.after(0, func() {
						if load == s.load {
							s.loaded(state)
						}
					})
					return
				}
				s.broken(err)
				s.w.sleep(time.Second)
			}
		})
	})
}

// broken makes the run fail if an error says that the store is not as it was left.
func (s *session) broken(err error) {
	if errors.Is(err, shardlog.ErrCorrupt) || errors.Is(err, shardlog.ErrNewerFormat) {
		s.w.fail("%s: shard %s: %v", s.p.name, s.shard, err)
	}
}

// stop is the core's own end of its work.
func (s *session) stop(st shard.Stop) {
	s.stopped = &st
	s.w.note("%s shard %s stops: %s: %v", s.p.name, s.shard, st.Reason, st.Err)
	switch st.Reason {
	case shard.Fenced, shard.Released:
		s.over = true
		s.p.after(0, s.main.resume)
	case shard.Lost:
	default:
		s.w.fail("%s: shard %s stopped: %s: %v", s.p.name, s.shard, st.Reason, st.Err)
	}
	s.reading = false
	s.load++
	work := s.work
	s.work = nil
	s.p.after(0, func() {
		for _, t := range work {
			t.kill()
		}
	})
}

// watchLoss looks for the record by which an operator accepts a loss.
func (s *session) watchLoss() {
	if s.stopped == nil || s.stopped.Reason != shard.Lost || len(s.work) > 0 {
		return
	}
	position := s.core.Status(s.p.time(s.w)).Position
	load := s.load
	s.spawn("watch", func() {
		state, err := s.log.Load(context.Background())
		if err == nil && state.Position() != position {
			s.p.after(0, func() {
				if load == s.load {
					s.load++
					s.loaded(state)
				}
			})
		}
		s.work = nil
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
		s.w.note("%s shard %s reads from %d", s.p.name, s.shard, e.Offset)
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
				s.w.sleep(5 * time.Second)
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
	f := s.w.faults.stream(s.p.name + "/reading")
	f.n++
	draw, d := f.r.IntN(10), delay(f.r, 10*time.Millisecond, timeout)
	if draw > 0 || s.w.plan.faultRate == 0 || !f.strike("place lost", "of %s, shard %s, during an append, after %s", s.p.name, s.shard, d.Round(time.Millisecond)) {
		return
	}
	load := s.load
	s.p.after(d, func() {
		if !s.over && s.load == load && s.stopped == nil {
			s.reload("the reading has lost its place")
		}
	})
}

// inspect asks Kafka whether a position can be trusted.
func (s *session) inspect(e shard.Inspect) {
	for {
		in := shard.Inspected{Gen: e.Gen, Source: e.Source}
		same := false
		err := s.w.call(s.p, "kafka", "inspect", false, refusedKafka, func() error {
			t := s.w.broker.topics[shardTopic]
			if same = t.id == e.Source.Topic; !same {
				return nil
			}
			part := t.parts[e.Source.Partition]
			in.Start, in.End = part.start, part.end
			if e.Offset >= 0 {
				in.Trouble = troubleOf(t.check(e.Source.Partition, kafka.Position{Offset: e.Offset, LeaderEpoch: e.LeaderEpoch}), part)
			}
			return nil
		})
		if err == nil && same {
			s.send(in)
			return
		}
		s.w.sleep(time.Second)
	}
}

func troubleOf(err error, p *part) *shard.Trouble {
	var oor *kafka.OutOfRangeError
	var cut *kafka.HistoryCutError
	switch {
	case errors.As(err, &oor):
		return &shard.Trouble{Kind: shard.OutOfRange, Start: oor.Start, End: oor.End}
	case errors.As(err, &cut):
		return &shard.Trouble{Kind: shard.HistoryCut, EpochEnd: cut.EpochEnd, Start: p.start, End: p.end}
	}
	return nil
}

// poll brings the next records of the shard topic.
func (s *session) poll() {
	if !s.reading || s.paused || s.polling {
		return
	}
	s.polling = true
	gen, t, at := s.gen, s.t, s.at
	s.p.spawn("fetch", func() {
		var got fetched
		err := s.w.call(s.p, "kafka", "fetch", false, refusedKafka, func() error {
			got = s.w.broker.fetch(t, int32(s.shard), at, s.w.plan.fetchRecords)
			return nil
		})
		s.polling = false
		if err != nil {
			return
		}
		s.p.after(0, func() { s.fetched(gen, t, at, got) })
	})
}

func (s *session) fetched(gen shard.Generation, t *topic, at kafka.Position, got fetched) {
	if s.over || !s.reading || s.gen != gen || s.t != t || s.at != at {
		return // it was asked for by a reading that has ended
	}
	source := t.source(int32(s.shard))
	var gone *kafka.TopicGoneError
	switch {
	case errors.As(got.err, &gone):
		s.reading = false
		s.hear()
	case got.err != nil:
		s.reading = false
		s.step(shard.KafkaTrouble{Gen: gen, Source: source, Trouble: *troubleOf(got.err, t.parts[s.shard])})
	case len(got.records) > 0:
		in := shard.Batch{Gen: gen, Source: source, LogStart: got.start, End: got.end}
		for _, r := range got.records {
			in.Records = append(in.Records, shard.Record{Offset: r.offset, LeaderEpoch: r.epoch, Control: r.control, Value: r.value})
		}
		last := got.records[len(got.records)-1]
		s.at = kafka.Position{Offset: got.next, LeaderEpoch: last.epoch}
		s.step(in)
	}
}

func (s *session) readIDs(e shard.ReadIDs) {
	for {
		data, err := s.wp.store.GetRange(context.Background(), e.Load.Key, e.Load.Offset, e.Load.Length)
		if err == nil || errors.Is(err, objstore.ErrNotFound) {
			s.send(shard.IDsRead{Gen: e.Gen, Load: e.Load, Data: data, Err: err})
			return
		}
		s.w.sleep(time.Second)
	}
}

// encode makes the objects of a flight and uploads them.
func (s *session) encode(e shard.Encode) {
	in := shard.Encoded{Gen: e.Gen, Flight: e.Flight, Files: make([]shard.EncodedFile, len(e.Files))}
	for i := range e.Files {
		p := &e.Files[i]
		var f *fragment.File
		for f == nil {
			var err error
			s.wp.encode.with(s.w.loop, func() { f, err = fragment.Encode(context.Background(), p.Input, s.wp.columns) })
			if err != nil {
				s.w.sleep(time.Second)
			}
		}
		s.upload(p.Key, f.Body)
		out := shard.EncodedFile{Rows: f.Rows, Bytes: int64(len(f.Body)), Sum: f.Sum, Min: f.Min, Max: f.Max}
		for _, r := range f.Ranges {
			out.Ranges = append(out.Ranges, shardlog.ColumnRange{Column: r.Column, Min: r.Min, Max: r.Max, Nulls: r.Nulls})
		}
		in.Files[i] = out
	}
	if e.IDs != nil {
		body, buckets, err := idseg.Encode(e.IDs.Entries, idseg.DefaultConfig())
		if err != nil {
			s.w.fail("%s: shard %s: id segment: %v", s.p.name, s.shard, err)
		}
		s.upload(e.IDs.Key, body)
		in.IDs = &shard.EncodedIDs{Bytes: int64(len(body)), Sum: objstore.Sum(body), Buckets: buckets}
	}
	s.send(in)
}

func (s *session) upload(key string, body []byte) {
	for s.wp.store.Put(context.Background(), key, body) != nil {
		s.w.sleep(time.Second)
	}
}
