package sim

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/internal/sim/loop"
	"github.com/togodb/togo/placements"
	"github.com/togodb/togo/router"
)

// routerProcess is a process that runs a router, as often as its session ends.
type routerProcess struct {
	*loop.Process
	w      *world
	keeper *keeper
	now    *routing
	served int
}

// keeper is a process's placements.Keeper; one task at a time uses it.
type keeper struct {
	*placements.Keeper
	lock loop.Lock
	w    *world
}

// newKeeper loads the placements. It follows the chain until its process ends.
func (w *world) newKeeper(p *loop.Process, store *client) *keeper {
	k := &keeper{w: w}
	k.Keeper = must(placements.NewKeeper(placements.Config{
		Store: store, Hasher: w.hasher, Now: w.clockOf(p), NewNonce: w.nonce, Backoff: w.backoff(p),
		CheckpointEvery: w.plan.checkpointEvery, Logger: quiet,
	}))
	for k.try(func() error { return k.Load(context.Background()) }) != nil {
		w.Sleep(time.Second)
	}
	p.Spawn("placements", func() {
		for {
			w.Sleep(delay(w.delays, time.Second, 10*time.Second))
			_ = k.try(func() error { return k.KeepAhead(context.Background()) })
		}
	})
	return k
}

// try runs f while nobody else of the process uses the keeper. What the keeper calls
// broken is.
func (k *keeper) try(f func() error) (err error) {
	k.lock.With(k.w.Loop, func() { err = f() })
	if errors.Is(err, placements.ErrCorrupt) || errors.Is(err, placements.ErrFormat) {
		k.w.fail("placements: %v", err)
	}
	return err
}

// atLeast is the shell's wait for a version.
func (k *keeper) atLeast(v placements.Version) *placements.Table {
	for k.Current().Version() < v {
		if k.try(func() error { _, err := k.Refresh(context.Background()); return err }) != nil {
			k.w.Sleep(time.Second)
		}
	}
	return k.Current()
}

func (w *world) startRouter(r *routerProcess) {
	r.Start()
	r.now = nil
	r.Spawn("main", func() {
		r.keeper = w.newKeeper(r.Process, &client{w, r.Process})
		for {
			r.session()
		}
	})
}

// routing is one session: a Core, and what the shell keeps beside it.
type routing struct {
	w          *world
	p          *loop.Process
	r          *routerProcess
	core       *router.Core
	producer   *producer
	generation int
	seen       time.Duration // last heartbeat
	over       bool
	main       *loop.Task
	topics     map[string]event.TopicID // that it reads, as at its start

	held     map[kafka.TopicPartition]*holding
	order    []*holding
	fetches  int // under way
	rewind   bool
	asking   bool
	askAfter time.Duration
	stopped  map[kafka.TopicPartition]error
}

// holding is a partition that the session reads.
type holding struct {
	kafka.TopicPartition
	t        *topic
	at       kafka.Position
	paused   bool
	fetching bool
	broken   bool
	gone     bool // not held any more
}

// session works until the router's own error ends it.
func (r *routerProcess) session() {
	w := r.w
	s := &routing{w: w, p: r.Process, r: r, main: w.Current(), held: map[kafka.TopicPartition]*holding{}, stopped: map[kafka.TopicPartition]error{}, topics: map[string]event.TopicID{}}
	for _, name := range w.plan.intakes {
		s.topics[name] = w.broker.topics[name].id
	}
	table := r.keeper.Current()
	t := w.broker.topics[shardTopic]
	if len(t.parts) < table.Shards() {
		w.Sleep(time.Second)
		return
	}
	s.producer = w.broker.newProducer(r.Process, t)
	s.core = router.NewCore(router.CoreConfig{
		Config: w.plan.router, Hasher: w.hasher, Limits: w.limits, MaxRecordBytes: w.plan.maxRecordBytes,
	}, table)
	r.now = s
	r.served++
	w.Note("%s session %d", r.Name, r.served)
	w.broker.group.join(s)
	s.beat()
	s.poll()
	s.tick()
	for !s.over {
		w.Current().Park()
	}
	r.now = nil
	w.broker.group.leave(s)
	w.Sleep(delay(w.delays, 100*time.Millisecond, 2*time.Second))
}

// every runs f in the session again and again, with a random time between lo and hi.
func (s *routing) every(lo, hi time.Duration, f func()) { s.w.every(s.p, lo, hi, &s.over, f) }

// end ends the session: what is not committed is read again by the next one.
func (s *routing) end(why error) {
	if s.over {
		return
	}
	s.w.Note("%s session ends: %v", s.p.Name, why)
	s.over = true
	s.p.After(0, s.main.Resume)
}

// beat tells the group that the member lives; one that was expelled hears of it here.
func (s *routing) beat() {
	s.every(2*time.Second, 3*time.Second, func() {
		g := s.w.broker.group
		if g.holds(s) {
			s.seen = s.w.Now()
			return
		}
		s.revoke(s.partitions(), true)
		g.join(s)
	})
}

func (s *routing) partitions() []kafka.TopicPartition {
	parts := make([]kafka.TopicPartition, len(s.order))
	for i, h := range s.order {
		parts[i] = h.TopicPartition
	}
	return parts
}

// assigned takes what a rebalance gave.
func (s *routing) assigned(generation int, parts []kafka.TopicPartition) {
	var lost []kafka.TopicPartition
	for _, h := range s.order {
		if !slices.Contains(parts, h.TopicPartition) {
			lost = append(lost, h.TopicPartition)
		}
	}
	s.revoke(lost, false)
	s.generation = generation
	for _, tp := range parts {
		if s.held[tp] == nil {
			s.begin(tp)
		}
	}
}

func (s *routing) revoke(parts []kafka.TopicPartition, lost bool) {
	if len(parts) == 0 {
		return
	}
	for _, tp := range parts {
		if h := s.held[tp]; h != nil {
			h.gone = true
			delete(s.held, tp)
			s.order = slices.DeleteFunc(s.order, func(o *holding) bool { return o == h })
		}
		delete(s.stopped, tp)
	}
	e := s.core.Step(s.w.timeOf(s.p), router.Revoked{Partitions: parts})
	positions := e.Commit
	e.Commit = nil
	s.do(e)
	if generation := s.generation; !lost && len(positions) > 0 {
		s.p.Spawn("commit", func() { s.commit(generation, positions) })
	}
}

// begin asks the group where to read a partition from, and begins.
func (s *routing) begin(tp kafka.TopicPartition) {
	h := &holding{TopicPartition: tp}
	s.held[tp] = h
	s.order = append(s.order, h)
	s.p.Spawn("begin", func() {
		for {
			var a kafka.Assignment
			var begin error
			err := s.w.call(s.p, "kafka", "offsets", false, refusedKafka, func() error {
				a, h.t, begin = s.w.broker.group.begin(tp)
				return nil
			})
			if s.over || h.gone {
				return
			}
			if err != nil {
				s.w.Sleep(time.Second)
				continue
			}
			if h.t.id != s.topics[tp.Topic] {
				begin = &kafka.TopicGoneError{Topic: tp.Topic, ID: s.topics[tp.Topic], Recreated: h.t.id}
			}
			if begin != nil {
				s.stop(h, begin)
				return
			}
			h.at = a.Start
			s.step(router.Assigned{Partitions: []kafka.Assignment{a}})
			return
		}
	})
}

// stop leaves a partition alone until an operator has set the group's offset.
func (s *routing) stop(h *holding, err error) {
	var gone *kafka.TopicGoneError
	if errors.As(err, &gone) {
		s.end(err)
		return
	}
	h.broken = true
	s.stopped[h.TopicPartition] = err
	s.w.Note("%s stops %v: %v", s.p.Name, h.TopicPartition, err)
}

// poll fetches for all partitions that may be read.
func (s *routing) poll() {
	s.every(10*time.Millisecond, 500*time.Millisecond, func() {
		if s.core.Crowded() {
			s.rewind = true
		}
		if s.rewind {
			if s.fetches > 0 {
				return
			}
			s.rewind = false
			s.step(router.Rewind{})
		}
		if s.core.Full() {
			return
		}
		for _, h := range slices.Clone(s.order) {
			if h.t != nil && !h.paused && !h.fetching && !h.broken && !s.over {
				s.fetch(h)
			}
		}
	})
}

func (s *routing) fetch(h *holding) {
	h.fetching = true
	s.fetches++
	s.p.Spawn("fetch", func() {
		var got fetched
		at := h.at
		err := s.w.call(s.p, "kafka", "fetch", false, refusedKafka, func() error {
			got = s.w.broker.fetch(h.t, h.Partition, at, s.w.plan.fetchRecords)
			return nil
		})
		h.fetching = false
		s.fetches--
		switch {
		case err != nil || s.over || h.gone || h.at != at:
		case got.err != nil:
			s.stop(h, got.err)
		case len(got.records) > 0:
			last := got.records[len(got.records)-1]
			h.at = kafka.Position{Offset: got.next, LeaderEpoch: last.epoch}
			s.step(router.Fetched{Batch: kafka.Batch{
				Topic: h.Topic, Source: h.t.source(h.Partition), Partition: h.Partition, Records: kafkaRecords(h, got.records),
				Next: got.next, End: got.end, HighWatermark: got.highWatermark, LogStart: got.start,
			}})
		}
	})
}

func kafkaRecords(h *holding, records []*record) []*kafka.Record {
	out := make([]*kafka.Record, len(records))
	for i, r := range records {
		out[i] = &kafka.Record{
			Topic: h.Topic, Partition: h.Partition, Offset: r.offset, LeaderEpoch: r.epoch,
			Timestamp: r.at, Key: r.key, Value: r.value, Headers: r.headers,
		}
		if r.control {
			kafka.AsControl(out[i])
		}
	}
	return out
}

func (s *routing) tick() {
	s.every(200*time.Millisecond, 300*time.Millisecond, func() {
		s.step(router.NewTable{Table: s.r.keeper.Current()})
		s.step(router.Tick{})
	})
}

func (s *routing) step(in router.Input) {
	if !s.over {
		s.do(s.core.Step(s.w.timeOf(s.p), in))
	}
}

// do carries out effects, as the shell does.
func (s *routing) do(e *router.Effects) {
	if e.Fatal != nil {
		s.w.fail("%s: %v", s.p.Name, e.Fatal)
	}
	for _, p := range e.Produce {
		id := p.Batch
		// The core uses its memory again after the acknowledgement; the broker keeps.
		s.producer.send(int32(p.Shard), slices.Clone(p.Value), func(err error) { s.acked(id, err) })
	}
	for tp, pos := range e.Seek {
		if h := s.held[tp]; h != nil {
			h.at = pos
		}
	}
	for _, tp := range e.Pause {
		if h := s.held[tp]; h != nil {
			h.paused = true
		}
	}
	for _, tp := range e.Resume {
		if h := s.held[tp]; h != nil {
			h.paused = false
		}
	}
	if e.Commit != nil {
		positions := e.Commit
		generation := s.generation
		s.p.Spawn("commit", func() { s.step(router.Committed{Positions: positions, OK: s.commit(generation, positions)}) })
	}
	if due := s.core.NextDue(); !due.IsZero() {
		s.p.After(due.Sub(s.w.timeOf(s.p)), func() { s.step(router.Tick{}) })
	}
	s.ask()
}

func (s *routing) acked(id router.BatchID, err error) {
	if err != nil {
		s.end(err)
		return
	}
	// By the loop, so that no core is stepped from within another step.
	s.p.After(0, func() { s.step(router.Acked{Batch: id}) })
}

func (s *routing) commit(generation int, positions map[kafka.TopicPartition]kafka.Position) bool {
	err := s.w.call(s.p, "kafka", "commit", true, refusedKafka, func() error {
		return s.w.broker.group.commit(s, generation, positions, s.topics)
	})
	return err == nil
}

// ask has a newer table made or found, if records wait for one.
func (s *routing) ask() {
	if s.asking || s.over || s.w.Now() < s.askAfter {
		return
	}
	need, ok := s.core.Need()
	if !ok {
		return
	}
	s.asking = true
	s.p.Spawn("ask", func() {
		ctx := context.Background()
		k := s.r.keeper
		var table *placements.Table
		err := k.try(func() (err error) {
			if len(need.Admit) > 0 {
				if table, err = k.Admit(ctx, need.Admit...); err != nil {
					return err
				}
			}
			if need.Wanted {
				var newer *placements.Table
				if newer, err = k.Extend(ctx, need.Horizon); err == nil {
					table = newer
				}
			}
			return err
		})
		s.asking = false
		if err != nil {
			s.askAfter = s.w.Now() + 500*time.Millisecond
		}
		if table != nil {
			s.step(router.NewTable{Table: table})
		}
	})
}
