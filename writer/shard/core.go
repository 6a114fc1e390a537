package shard

import (
	"fmt"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/idseg"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/placements"
	"github.com/togodb/togo/writer/dedup"
)

// Params are what a core is made of, beside its log's state.
type Params struct {
	Shard             event.ShardID
	Owner             string // for people
	Epoch             shardlog.Epoch
	Nonce             string // of the claim; part of the keys of what is uploaded under it
	Hasher            *event.Hasher
	DataBucketSeconds int64
	IDBucketSeconds   int64
	// CheckpointDue says whether the log has grown enough since the last checkpoint.
	CheckpointDue func(*shardlog.State) bool
	Config        Config
}

// ending is what comes after a last flush of all that is held.
type ending uint8

const (
	goOn     ending = iota
	release         // hand the shard over
	lose            // stop: Kafka lost something
	moveOver        // the topic was recreated: go on with the new one
)

// tenant is what the core holds of one tenant.
type tenant struct {
	id     event.TenantID
	buffer *buffer   // nil if nothing was accepted since the last flush
	parked []*parked // in offset order; while there are any, later records wait, too
}

// parked is a record that waits, for identities or behind one that does.
type parked struct {
	judgement
	offset int64
	bytes  int64
}

// Core is the writer's state for one shard under one claim. It is not safe for
// concurrent use.
type Core struct {
	p       Params
	gen     Generation
	uploads uint64 // number of the next upload under this claim; never goes back
	flights uint64 // number of the last flight; never goes back

	now time.Time
	out []Effect

	// What follows is dropped by a reload.
	state   *shardlog.State // nil: not loaded, or stopped
	table   *placements.Table
	index   *dedup.Index
	topic   *Topic // the newest that was heard of
	feed    *feed  // nil until the topic is known
	reading bool   // Kafka was asked for records
	backlog []Batch
	wanted  placements.Version // of the table that the backlog waits for; 0: none
	tenants map[event.TenantID]*tenant
	buffers []*buffer // of all tenants, oldest first
	waiting []*tenant // with parked records
	flight  *flight
	commit  *shardlog.Record // the append under way
	ending  ending
	loss    *Loss

	intakes       []*intakeSource
	lastIntake    int32 // number of the one that was asked for last
	intakeNumbers map[event.Source]int32

	bufferBytes, parkedBytes, flightBytes int64
	parkedCount, parkedItems              int
	slots                                 int // files that the buffers will become
	paused                                bool
	checkpointing                         bool

	missingKey string // of the id segment whose loss began the last reload

	lastFlush  time.Time // when the last flight was planned
	nextDue    time.Time // no buffer asks for a flush before; it may come without one that does
	lastCommit time.Time
	since      time.Time // when the core was made, or last made progress towards reading
	stopped    *Stop
	frozen     Status // as of the stop
	counts     Counts

	rowPool pool[fragment.Row]
	idPool  pool[idseg.Entry]
	scratch []byte
	judging judgement
}

// New returns the core of a shard that was just claimed. It waits for Loaded and Topic.
func New(p Params, now time.Time) *Core {
	if err := p.Config.Validate(); err != nil {
		panic(fmt.Sprintf("shard: invalid configuration: %v", err))
	}
	c := &Core{p: p, since: now}
	// Within the slack that a memory budget has anyway.
	c.rowPool.limit, c.idPool.limit = p.Config.MemoryBytes/10, p.Config.MemoryBytes/40
	return c
}

// Generation is the current load's.
func (c *Core) Generation() Generation { return c.gen }

// Step takes one input at a time and says what to do. The effects are to be
// done in their order.
func (c *Core) Step(now time.Time, in Input) []Effect {
	c.now, c.out = now, nil
	switch in := in.(type) {
	case Loaded:
		c.loaded(in)
	case Topic:
		c.topicIs(in)
	case Placements:
		c.placements(in.Table)
	case Release:
		if c.ending == goOn || c.ending == moveOver {
			c.ending = release
			c.backlog = nil
		}
	case Tick:
	default:
		c.answer(in)
	}
	c.proceed()
	return c.out
}

// answer takes what belongs to one load, and ignores what an earlier one asked for.
func (c *Core) answer(in Input) {
	var gen Generation
	switch in := in.(type) {
	case Inspected:
		gen = in.Gen
	case KafkaTrouble:
		gen = in.Gen
	case Batch:
		gen = in.Gen
	case IDsRead:
		gen = in.Gen
	case Encoded:
		gen = in.Gen
	case Appended:
		gen = in.Gen
	case Checkpointed:
		gen = in.Gen
	default:
		panic(fmt.Sprintf("shard: unknown input %T", in))
	}
	if gen != c.gen || c.state == nil {
		return
	}
	switch in := in.(type) {
	case Inspected:
		c.inspected(in)
	case KafkaTrouble:
		if c.feed != nil && in.Source == c.feed.source {
			c.trouble(in.Trouble)
		}
	case Batch:
		c.batch(in)
	case IDsRead:
		c.idsRead(in)
	case Encoded:
		c.encoded(in)
	case Appended:
		c.appended(in)
	case Checkpointed:
		c.checkpointing = false
		if in.Err == nil {
			c.state.CheckpointWritten(in.Plan)
		}
	}
}

// proceed does what the last input made possible.
func (c *Core) proceed() {
	if c.state == nil {
		return
	}
	c.unpark()
	c.drain()
	c.seekAhead()
	c.plan()
	if c.state == nil { // a step above stopped the shard
		return
	}
	for _, l := range c.index.Loads() {
		c.emit(ReadIDs{c.gen, l})
	}
	c.checkpoint()
	c.pace()
}

func (c *Core) emit(e Effect) { c.out = append(c.out, e) }

// loaded begins from a state of the log.
func (c *Core) loaded(in Loaded) {
	if c.stopped != nil && c.stopped.Reason != Lost {
		return
	}
	c.reset()
	c.gen++
	c.stopped = nil
	c.table = in.Table
	c.lastFlush = c.now
	if c.since = c.now; in.State.Epoch() != c.p.Epoch || in.State.Owner() == nil {
		c.fenced(in.State)
		return
	}
	c.state = in.State
	c.state.Own(c.p.Nonce)
	cfg := dedup.DefaultConfig()
	cfg.BudgetBytes, cfg.TenantQuotaBytes = c.p.Config.DedupBytes, c.p.Config.DedupTenantBytes
	cfg.BucketSeconds = c.p.IDBucketSeconds
	c.index = dedup.New(cfg)
	c.state.Segments(func(seg shardlog.IDSegment) bool {
		if err := c.index.AddSegment(c.liveRef(seg)); err != nil {
			c.stop(Stop{Reason: Corruption, Err: fmt.Errorf("id segment %s: %w", seg.Key, err)})
			return false
		}
		return true
	})
}

// reset drops all that was built on the state.
func (c *Core) reset() {
	c.state, c.index, c.feed, c.topic, c.reading = nil, nil, nil, nil, false
	c.backlog, c.wanted, c.flight, c.commit, c.loss = nil, 0, nil, nil, nil
	c.tenants, c.buffers, c.waiting = map[event.TenantID]*tenant{}, nil, nil
	c.intakes, c.intakeNumbers, c.lastIntake = nil, map[event.Source]int32{}, 0
	c.bufferBytes, c.parkedBytes, c.flightBytes, c.parkedCount, c.parkedItems, c.slots = 0, 0, 0, 0, 0, 0
	c.paused, c.checkpointing, c.nextDue = false, false, time.Time{}
	c.judging = judgement{}
	if c.ending != release {
		c.ending = goOn
	}
}

// stop ends the work; what is in memory goes, as the log has all that counts.
func (c *Core) stop(s Stop) {
	c.frozen = c.Status(c.now)
	c.reset()
	c.gen++
	c.stopped = &s
	c.emit(s)
}

func (c *Core) fenced(by *shardlog.State) {
	err := fmt.Errorf("shard %s: epoch %d was fenced by epoch %d", c.p.Shard, c.p.Epoch, by.Epoch())
	if o := by.Owner(); o != nil {
		err = fmt.Errorf("%w of %s (%s)", err, o.Owner, o.Incarnation)
	}
	c.stop(Stop{Reason: Fenced, Err: err})
}

// reload drops everything and asks for the log to be read again.
func (c *Core) reload(why string) {
	c.emit(Reload{c.gen, why})
	c.counts.Reloads++
	c.reset()
	c.gen++
}

func (c *Core) placements(t *placements.Table) {
	if c.state == nil || t.Version() <= c.table.Version() {
		return
	}
	c.table = t
	if c.wanted != 0 && t.Version() >= c.wanted {
		c.wanted = 0
	}
}

// pace holds reading back while there is too much in memory or nothing can be
// taken, and lets it go on when a quarter is free again.
func (c *Core) pace() {
	cfg := &c.p.Config
	switch {
	case !c.reading:
	case !c.paused && (c.full() || c.wanted != 0 || c.ending != goOn):
		c.paused = true
		c.emit(Pause{})
	case c.paused && c.wanted == 0 && c.ending == goOn && len(c.backlog) == 0 &&
		c.memory() < cfg.MemoryBytes/4*3 && c.parkedBytes <= cfg.ParkedBytes/4*3 && c.parkedCount < maxParked &&
		c.slots+c.parkedItems < maxFiles/4*3:
		c.paused = false
		c.emit(Resume{})
	}
}

func (c *Core) checkpoint() {
	if !c.checkpointing && c.p.CheckpointDue != nil && c.p.CheckpointDue(c.state) {
		c.checkpointing = true
		c.emit(Checkpoint{c.gen, c.state.PlanCheckpoint()})
	}
}
