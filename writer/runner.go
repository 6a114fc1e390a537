package writer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/writer/shard"
)

// runner owns one shard's core and all work that is done for it.
type runner struct {
	w     *Writer
	shard event.ShardID
	cfg   shard.Config
	store *shardlog.Log
	log   *slog.Logger
	reads chan struct{} // a token for each read of identities at a time
	lags  func(context.Context, *shardlog.State) bool

	mu       sync.Mutex // guards what follows
	mail     []shard.Input
	batches  int          // in mail
	topic    *shard.Topic // the newest that was heard of
	again    error        // why everything is to be loaded again; nil: it is not
	stopping bool
	snap     snapshot
	wake     chan struct{} // one token: there is something to look at
}

// snapshot is what others see of a runner.
type snapshot struct {
	status   shard.Status
	counts   shard.Counts // of this and earlier claims
	ready    error
	sessions int64
}

func newRunner(w *Writer, id event.ShardID, shards int) *runner {
	r := &runner{
		w: w, shard: id, cfg: w.cfg.forShard(shards),
		store: shardlog.OpenWith(w.d.Store, id, shardlog.Config{
			Logger: w.log, Metrics: w.logMetrics, CheckpointRecords: w.cfg.CheckpointEvery, Now: w.d.Now,
		}),
		log:   w.log.With("shard", id),
		reads: make(chan struct{}, w.cfg.ReadConcurrency),
		wake:  make(chan struct{}, 1),
	}
	r.lags = r.lagsInKafka
	r.say("claiming", nil)
	return r
}

// poke makes the runner look.
func (r *runner) poke() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func (r *runner) send(in shard.Input) {
	r.mu.Lock()
	r.mail = append(r.mail, in)
	r.mu.Unlock()
	r.poke()
}

// sendBatch returns how many batches wait now.
func (r *runner) sendBatch(b shard.Batch) int {
	r.mu.Lock()
	r.mail = append(r.mail, b)
	r.batches++
	n := r.batches
	r.mu.Unlock()
	r.poke()
	return n
}

func (r *runner) topicIs(t shard.Topic) {
	r.mu.Lock()
	r.topic = &t
	r.mail = append(r.mail, t)
	r.mu.Unlock()
	r.poke()
}

// restart has everything loaded again: the reading has lost its place.
func (r *runner) restart(why error) {
	r.mu.Lock()
	r.again = why
	r.mu.Unlock()
	r.poke()
}

// release asks for the end in good order.
func (r *runner) release() {
	r.mu.Lock()
	r.stopping = true
	r.mu.Unlock()
	r.poke()
}

func (r *runner) snapshot() snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.snap
}

// shown says that there is a new snapshot.
func (r *runner) shown() {
	if r.w.published != nil {
		r.w.published()
	}
}

// say sets the status of a runner without a core.
func (r *runner) say(state string, err error) {
	r.mu.Lock()
	defer r.shown()
	defer r.mu.Unlock()
	r.snap.status = shard.Status{Shard: r.shard, State: state, Owner: r.w.d.Owner}
	r.snap.ready = fmt.Errorf("shard %s: %s", r.shard, state)
	if err != nil {
		r.snap.status.Reason = err.Error()
		r.snap.ready = fmt.Errorf("shard %s: %s: %w", r.shard, state, err)
	}
}

// run holds the shard until stop or hard ends, as often as it is lost.
func (r *runner) run(stop, hard context.Context) {
	for attempt := 1; stop.Err() == nil; attempt++ {
		r.say("claiming", nil)
		s, err := r.claim(stop, hard)
		if err != nil {
			return // only at the end, or because the log is corrupt, as the status says
		}
		begin := time.Now()
		reason := s.run()
		if time.Since(begin) > r.w.cfg.ReclaimAfter<<min(attempt, maxReclaimDoublings) {
			attempt = 1 // it was no quarrel
		}
		if reason != shard.Fenced || !r.mayReclaim(stop, attempt) {
			return
		}
	}
}

// claim takes the shard; an error means that it never will.
func (r *runner) claim(stop, hard context.Context) (*session, error) {
	for attempt := 1; ; attempt++ {
		state, err := r.store.Load(stop)
		var epoch shardlog.Epoch
		var nonce string
		if err == nil {
			epoch, nonce, err = r.store.Claim(stop, state, r.w.d.Owner, r.w.incarnation)
		}
		if err == nil {
			r.log.Info("claimed", "epoch", epoch, "position", uint64(state.Position()))
			return newSession(r, hard, state, epoch, nonce), nil
		}
		if stop.Err() != nil {
			return nil, err
		}
		final := errors.Is(err, shardlog.ErrCorrupt) || errors.Is(err, shardlog.ErrNewerFormat)
		r.log.Error("can't claim the shard", "attempt", attempt, "final", final, "error", err)
		r.say("claiming", err)
		if final {
			r.say(string(shard.Corruption), err)
			<-stop.Done()
			return nil, err
		}
		sleep(stop, r.w.backoff.Pause(attempt))
	}
}

// maxReclaimDoublings keeps the longest wait for a reclaim at about a thousand times the
// first.
const maxReclaimDoublings = 10

// mayReclaim waits until the shard may be claimed again: it was released, or it
// lags and its owner's log rests. Claims that follow each other wait longer and longer, so that two
// processes with the same configuration do not take it from each other all the time.
//
// The log is looked at several times while it rests: if looks were as far apart as the
// wait, a dead owner would be noticed after up to twice as long.
func (r *runner) mayReclaim(stop context.Context, attempt int) bool {
	wait := r.w.cfg.ReclaimAfter << min(attempt-1, maxReclaimDoublings)
	look := min(wait/8, maxReclaimLook)
	var state *shardlog.State
	var seen shardlog.Head
	var rests time.Time // when the head was first seen, and a while that differs between processes
	for stop.Err() == nil {
		var err error
		if state == nil {
			state, err = r.store.Load(stop)
		} else {
			_, err = r.store.Follow(stop, state)
		}
		switch {
		case err != nil:
			r.log.Warn("can't read the shard log", "error", err)
			state = nil
		case state.Owner() == nil:
			return true
		case state.Head() != seen:
			seen, rests = state.Head(), time.Now().Add(rand.N(wait/4+1))
			r.say(string(shard.Fenced), fmt.Errorf("owned by %s (epoch %d)", state.Owner().Owner, state.Epoch()))
		case time.Since(rests) >= wait && r.lags(stop, state):
			return true
		}
		sleep(stop, look+rand.N(look+1))
	}
	return false
}

// maxReclaimLook bounds the time between two looks at a log whose owner may be
// dead: each costs one request.
const maxReclaimLook = 5 * time.Second

// lagsInKafka says whether the shard's partition holds what its log has not.
func (r *runner) lagsInKafka(ctx context.Context, state *shardlog.State) bool {
	r.mu.Lock()
	topic := r.topic
	r.mu.Unlock()
	if topic == nil {
		return false
	}
	ranges, err := r.w.d.Kafka.Offsets(ctx, topic.Name)
	if err != nil {
		return false
	}
	src, _ := state.SourceOf(shardlog.SourceFrom(topic.Source))
	return ranges[int32(r.shard)].End > src.Next || len(src.Open) > 0
}
