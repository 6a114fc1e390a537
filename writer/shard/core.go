package shard

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/togodb/togo/internal/event"
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

	intakes       []event.Source
	intakeNumbers map[event.Source]int32

	bufferBytes, parkedBytes, flightBytes int64
	parkedCount                           int
	paused                                bool
	checkpointing                         bool

	missingKey string // of the id segment whose loss began the last reload

	lastFlush  time.Time // when the last flight was planned
	lastCommit time.Time
	since      time.Time // when the core was made, or last made progress towards reading
	stopped    *Stop
	frozen     Status // as of the stop
	counts     Counts

	scratch []byte
	judging judgement
}

// New returns the core of a shard that was just claimed. It waits for Loaded and Topic.
func New(p Params, now time.Time) *Core {
	if err := p.Config.Validate(); err != nil {
		panic(fmt.Sprintf("shard: invalid configuration: %v", err))
	}
	return &Core{p: p, since: now}
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
		if c.ending == goOn {
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
	cfg := dedup.DefaultConfig()
	cfg.BudgetBytes, cfg.TenantQuotaBytes = c.p.Config.DedupBytes, c.p.Config.DedupTenantBytes
	cfg.BucketSeconds = c.p.IDBucketSeconds
	c.index = dedup.New(cfg)
	c.state.Segments(func(seg shardlog.IDSegment) bool {
		if err := c.index.AddSegment(segmentRef(seg)); err != nil {
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
	c.intakes, c.intakeNumbers = nil, map[event.Source]int32{}
	c.bufferBytes, c.parkedBytes, c.flightBytes, c.parkedCount = 0, 0, 0, 0
	c.paused, c.checkpointing = false, false
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

// topicIs begins the reading of the topic, or ends that of its forerunner.
func (c *Core) topicIs(t Topic) {
	if c.state == nil {
		return
	}
	c.topic = &t
	switch {
	case c.feed == nil:
		c.begin()
	case c.feed.source != t.Source && c.ending == goOn:
		c.ending = moveOver
	}
}

// begin looks at the topic's log before anything is read of it.
func (c *Core) begin() {
	// What was open in an earlier incarnation of the topic can't be read again.
	for _, s := range c.state.Sources() {
		if s.Source != shardlog.SourceFrom(c.topic.Source) && len(s.Open) > 0 {
			src, err := s.Source.Event()
			if err != nil {
				c.stop(Stop{Reason: Corruption, Err: err})
				return
			}
			c.loseNow(&Loss{Source: src, Kind: "topic_recreated", Ranges: s.Open, Next: s.Next})
			return
		}
	}
	c.feed = newFeed(c.state, c.topic.Source, c.topic.Name)
	at := c.feed.next
	if c.feed.fresh {
		at = -1
	}
	c.emit(Inspect{c.gen, c.feed.source, at, c.feed.nextEpoch})
}

// inspected begins the reading, if the log still has what is needed.
func (c *Core) inspected(in Inspected) {
	f := c.feed
	if f == nil || in.Source != f.source || c.reading {
		return
	}
	f.logStart, f.end = in.Start, in.End
	switch {
	case f.fresh && in.Trouble == nil:
		f.next, f.read = in.Start, in.Start
		c.readFrom()
	case in.Trouble != nil:
		c.trouble(*in.Trouble)
	case len(f.missing(in.Start)) > 0:
		c.trouble(Trouble{Kind: OutOfRange, Start: in.Start, End: in.End})
	case in.End < f.next:
		c.trouble(Trouble{Kind: OutOfRange, Start: in.Start, End: in.End})
	default:
		c.readFrom()
	}
}

func (c *Core) readFrom() {
	f := c.feed
	epoch := f.nextEpoch
	if f.read < f.next {
		epoch = -1 // that of an earlier record is not known
	}
	c.reading, c.paused = true, false
	c.emit(ReadFrom{c.gen, f.source, f.read, epoch})
}

// trouble ends the reading: what is held is committed, then the shard stops.
func (c *Core) trouble(t Trouble) {
	f := c.feed
	l := &Loss{Source: f.source, Kind: string(t.Kind), Next: f.next, Start: t.Start, End: t.End, EpochEnd: t.EpochEnd}
	if t.Kind == OutOfRange {
		f.logStart, f.end = t.Start, t.End
	}
	c.beginLoss(l)
}

func (c *Core) beginLoss(l *Loss) {
	if c.loss != nil {
		return
	}
	c.loss = l
	if c.ending != release {
		c.ending = lose
	}
}

// finishLoss is the stop after the last flush.
func (c *Core) finishLoss() {
	l, f := c.loss, c.feed
	l.Next = f.next
	switch TroubleKind(l.Kind) {
	case OutOfRange:
		l.Ranges = f.missing(l.Start)
		if l.End < f.next { // the log was cut
			l.Ranges = shardlog.AddRanges(l.Ranges, above(f.unread, l.End))
		}
	case HistoryCut:
		l.Ranges = above(f.unread, max(l.EpochEnd, 0))
	}
	c.loseNow(l)
}

// above are the offsets of set that are not below from.
func above(set shardlog.RangeSet, from int64) shardlog.RangeSet {
	return shardlog.SubtractRanges(set, []shardlog.Range{{From: 0, Next: max(from, 0)}})
}

func (c *Core) loseNow(l *Loss) { c.stop(Stop{Reason: Lost, Err: l, Loss: l}) }

// batch queues records; drain takes them.
func (c *Core) batch(b Batch) {
	f := c.feed
	if f == nil || b.Source != f.source || c.ending != goOn {
		return
	}
	f.logStart, f.end = max(f.logStart, b.LogStart), max(f.end, b.End)
	c.backlog = append(c.backlog, b)
}

// full says that no more may be taken in before something has left.
func (c *Core) full() bool {
	return c.memory() >= c.p.Config.MemoryBytes || c.parkedBytes >= c.p.Config.ParkedBytes || c.parkedCount >= maxParked
}

// maxParked bounds the parked records, each of which may be an open range of its
// own that no flush can close (shardlog.MaxOpenRanges bounds them all).
const maxParked = 16_384

func (c *Core) memory() int64 { return c.bufferBytes + c.parkedBytes + c.flightBytes }

// drain takes records of the backlog until it is empty or must wait.
func (c *Core) drain() {
	for len(c.backlog) > 0 && c.wanted == 0 {
		b := &c.backlog[0]
		for len(b.Records) > 0 {
			if c.full() {
				return
			}
			if !c.take(&b.Records[0], b.LogStart) {
				return
			}
			b.Records = b.Records[1:]
		}
		c.backlog[0] = Batch{}
		c.backlog = c.backlog[1:]
	}
	if len(c.backlog) == 0 {
		c.backlog = nil
	}
}

// seekAhead goes on at next when all open offsets have come again.
func (c *Core) seekAhead() {
	if c.state != nil && c.reading && len(c.backlog) == 0 && c.ending == goOn && c.feed.skipAhead() {
		c.readFrom()
	}
}

// take handles the next record; false means that it must wait, or that the
// shard stopped.
func (c *Core) take(r *Record, logStart int64) bool {
	f := c.feed
	judged := !r.Control && f.wants(r.Offset)
	if judged && !c.decode(r) {
		return false
	}
	expected := max(f.read, f.next)
	if r.Offset > expected && logStart > expected {
		c.backlog = nil
		c.beginLoss(&Loss{Source: f.source, Kind: string(OutOfRange), Start: logStart, End: f.end})
		return false
	}
	switch f.arrive(r) {
	case gone:
		c.backlog = nil
		c.beginLoss(&Loss{Source: f.source, Kind: "record_gone", Start: f.logStart, End: f.end,
			Ranges: shardlog.SubtractRanges(f.unread, []shardlog.Range{{From: r.Offset, Next: 1<<63 - 1}})})
		return false
	case cut:
		c.backlog = nil
		c.beginLoss(&Loss{Source: f.source, Kind: string(HistoryCut), Start: f.logStart, End: f.end, EpochEnd: r.Offset})
		return false
	case ignore:
		return true
	}
	if r.Control {
		c.counts.Control++
		return true
	}
	c.counts.Records++
	c.counts.Items += int64(len(c.judging.env.Items))
	f.entries = append(f.entries, entry{offset: r.Offset})
	c.admit(r)
	return true
}

// decode reads the envelope and checks its routing; false: wait, or stopped.
func (c *Core) decode(r *Record) bool {
	j := &c.judging
	j.reset()
	at := func(err error) error { return fmt.Errorf("%s at offset %d: %w", c.feed.source, r.Offset, err) }
	switch err := event.DecodeEnvelope(r.Value, &j.env); {
	case errors.Is(err, event.ErrNewerFormat):
		c.stop(Stop{Reason: Newer, Err: at(err)})
		return false
	case err != nil: // the router wrote it: no dead letter
		c.stop(Stop{Reason: Corruption, Err: at(err)})
		return false
	}
	if v := placements.Version(j.env.PlacementVersion); v > c.table.Version() {
		c.wanted = v
		c.emit(NeedPlacements{v})
		return false
	}
	if err := c.checkRouting(&j.env); err != nil {
		c.stop(Stop{Reason: Corruption, Err: at(err)})
		return false
	}
	return true
}

// checkRouting computes each item's shard again.
func (c *Core) checkRouting(env *event.Envelope) error {
	for i := range env.Items {
		it := &env.Items[i]
		shard, ok := event.ShardID(0), true
		if it.Kind == event.KindEvent {
			shard, ok = c.table.Shard(env.Tenant, it.Timestamp, c.p.Hasher.Routing(it.ID))
		} else {
			shard = c.table.DeadShard(it.Origin.Source)
		}
		if !ok || shard != c.p.Shard {
			return fmt.Errorf("item %d of tenant %s at %s, routed by placement version %d, belongs to shard %s (below the horizon: %v) by version %d",
				i, env.Tenant, it.Timestamp, env.PlacementVersion, shard, ok, c.table.Version())
		}
	}
	return nil
}

// admit judges the decoded record, or parks it.
func (c *Core) admit(r *Record) {
	j := &c.judging
	t := c.tenants[j.env.Tenant]
	if t == nil {
		t = &tenant{id: event.TenantID(strings.Clone(string(j.env.Tenant)))}
		c.tenants[t.id] = t
	}
	if len(t.parked) == 0 && c.judge(j) {
		c.settle(t, j, r.Offset, false)
		return
	}
	p := &parked{offset: r.Offset, bytes: int64(len(r.Value)) + int64(len(j.env.Items))*rowBytes + bufferBytes}
	p.verdicts, p.reason = slices.Clone(j.verdicts), j.reason
	// The record's memory belongs to the fetched batch; parked, it has its own.
	if err := event.DecodeEnvelope(slices.Clone(r.Value), &p.env); err != nil {
		panic(fmt.Sprintf("shard: decoded once, but not twice: %v", err))
	}
	c.prefetch(&p.judgement)
	c.parkedBytes += p.bytes
	c.parkedCount++
	c.counts.Parked++
	if t.parked = append(t.parked, p); len(t.parked) == 1 {
		c.waiting = append(c.waiting, t)
	}
}

// settle puts a judged record into its tenant's buffer.
func (c *Core) settle(t *tenant, j *judgement, offset int64, owned bool) {
	b := t.buffer
	if b == nil {
		b = newBuffer(t.id, c.now)
		t.buffer = b
		c.buffers = append(c.buffers, b)
		c.bufferBytes += b.memory
	}
	before := b.memory
	c.accept(j, b, owned)
	c.feed.assign(offset, b)
	c.bufferBytes += b.memory - before
}

// unpark goes on with the records that waited.
func (c *Core) unpark() {
	still := c.waiting[:0]
	for _, t := range c.waiting {
		n := 0
		for ; n < len(t.parked) && c.judge(&t.parked[n].judgement); n++ {
			p := t.parked[n]
			c.parkedBytes -= p.bytes
			c.parkedCount--
			c.settle(t, &p.judgement, p.offset, true)
			// Its rows point into its bytes.
			t.buffer.memory += p.bytes - bufferBytes
			c.bufferBytes += p.bytes - bufferBytes
			t.parked[n] = nil
		}
		if t.parked = t.parked[n:]; len(t.parked) > 0 {
			still = append(still, t)
		} else {
			t.parked = nil
		}
	}
	c.waiting = still
}

// idsRead brings identities to the index.
func (c *Core) idsRead(in IDsRead) {
	err := c.index.Loaded(in.Load, in.Data, in.Err)
	switch {
	case err == nil:
	case errors.Is(err, dedup.ErrCatchUp):
		// A merge took the segment away; the log says what came instead. If the log
		// still names it after a reload, it is lost.
		if c.missingKey == in.Load.Key {
			c.stop(Stop{Reason: Corruption, Err: fmt.Errorf("id segment %s is named by the shard log and is not in the store: %w", in.Load.Key, err)})
			return
		}
		c.missingKey = in.Load.Key
		c.reload("id segment " + in.Load.Key + " is gone")
	default:
		c.stop(Stop{Reason: Corruption, Err: fmt.Errorf("id segment %s: %w", in.Load.Key, err)})
	}
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
		c.memory() < cfg.MemoryBytes/4*3 && c.parkedBytes <= cfg.ParkedBytes/4*3 && c.parkedCount < maxParked:
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
