package router

import (
	"slices"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/placements"
)

// An Input is something that happened.
type Input interface{ isInput() }

// Assigned: the consumer group gave partitions to this router.
type Assigned struct{ Partitions []kafka.Assignment }

// Revoked: partitions go to another router. The answer's Commit holds what is acknowledged.
type Revoked struct{ Partitions []kafka.TopicPartition }

// Fetched: the next records of a partition. They are the Core's, which recycles each when an envelope has copied it.
type Fetched struct{ Batch kafka.Batch }

// NewTable: a newer version of the placements is there.
type NewTable struct{ Table *placements.Table }

// Acked: a record of the shard topic is stored. TooLarge: it never will be.
type Acked struct {
	Batch    BatchID
	TooLarge bool
}

// Committed: a Commit was done, or not.
type Committed struct {
	Positions map[kafka.TopicPartition]kafka.Position
	OK        bool
}

// Ends: how far partitions go that may not be fetched for now.
type Ends struct {
	Ends map[kafka.TopicPartition]int64
}

// Tick: time passed.
type Tick struct{}

// Rewind: give back the records that wait for a newer table; they are fetched again
// when there is one. No fetch may be under way.
type Rewind struct{}

// Flush: send and commit what can be, now.
type Flush struct{}

func (Assigned) isInput()  {}
func (Revoked) isInput()   {}
func (Fetched) isInput()   {}
func (NewTable) isInput()  {}
func (Acked) isInput()     {}
func (Committed) isInput() {}
func (Ends) isInput()      {}
func (Tick) isInput()      {}
func (Rewind) isInput()    {}
func (Flush) isInput()     {}

// Effects are what the shell has to do; they are valid until the next Step.
type Effects struct {
	// Produce these records, in this order, and step Acked for each.
	Produce []Produce
	// Commit these positions, and step Committed.
	Commit map[kafka.TopicPartition]kafka.Position
	// Pause and Resume fetching of partitions that wait for a newer table.
	Pause  []kafka.TopicPartition
	Resume []kafka.TopicPartition
	// Seek has partitions read again from these positions.
	Seek map[kafka.TopicPartition]kafka.Position
	// Fatal: nothing goes on; the session ends, and what is not committed is read again.
	Fatal error
}

// Produce is a record for the shard topic. Value is the Core's until it is acked.
type Produce struct {
	Batch  BatchID
	Shard  event.ShardID
	Tenant event.TenantID
	Value  []byte
}

// Need is what a newer version of the placements must have, for some of the waiting
// records to go on.
type Need struct {
	// Horizon must lie above this time, if Wanted: the earliest that a partition waits
	// for, so that one with a time from the future holds up no other.
	Horizon event.Timestamp
	Wanted  bool
	Admit   []placements.Request
}

// CoreConfig are the Core's fixed settings.
type CoreConfig struct {
	Config
	Hasher *event.Hasher
	Limits event.Limits
	// MaxRecordBytes is the largest value that the shard topic takes.
	MaxRecordBytes int
}

// Core is the router's state. See the package comment.
type Core struct {
	cfg   CoreConfig
	table *placements.Table

	parts   map[kafka.TopicPartition]*partition
	order   []*partition // the same, in the order of their assignment
	blocked int          // partitions that wait for a newer table

	compiled map[*event.Mapping]*event.Extractor

	lanes    map[batchKey]*lane
	open     int           // batches
	due      queue[*batch] // open and sealed batches in the order of their opening
	inFlight map[BatchID]*batch
	lastID   BatchID
	spare    spares

	waitingBytes  int64 // of records that wait for a newer table
	openBytes     int64
	inFlightBytes int64

	lastCommit time.Time
	committing bool

	effects Effects
	stats   Stats

	// Memory that is used again for each record.
	view    event.RecordView
	headers []event.Header
	item    event.Item
	tenant  event.TenantID
}

// Stats count what was done since the start.
type Stats struct {
	Records      uint64 // intake records
	Events       uint64 // of them, events
	Dead         map[event.Reason]uint64
	Skipped      uint64 // offsets without a record
	IntakeBytes  uint64
	Batches      uint64 // records for the shard topic
	BatchBytes   uint64
	Acked        uint64
	Refused      uint64 // batches too large for the shard topic
	Waits        uint64 // times that a partition began to wait for a newer table
	SkippedSpans uint64
}

// NewCore returns a Core that routes by the table.
func NewCore(cfg CoreConfig, table *placements.Table) *Core {
	return &Core{
		cfg:      cfg,
		table:    table,
		parts:    map[kafka.TopicPartition]*partition{},
		compiled: map[*event.Mapping]*event.Extractor{},
		lanes:    map[batchKey]*lane{},
		inFlight: map[BatchID]*batch{},
		stats:    Stats{Dead: map[event.Reason]uint64{}},
	}
}

// Step takes one input and returns what to do. now never falls.
func (c *Core) Step(now time.Time, in Input) *Effects {
	e := &c.effects
	clear(e.Produce) // let go of the values
	*e = Effects{Produce: e.Produce[:0], Pause: e.Pause[:0], Resume: e.Resume[:0]}
	switch in := in.(type) {
	case Assigned:
		c.assign(in.Partitions)
	case Revoked:
		c.revoke(in.Partitions)
	case Fetched:
		c.fetched(now, &in.Batch)
	case NewTable:
		if in.Table.Version() > c.table.Version() {
			c.table = in.Table
			c.routeWaiting(now)
		}
	case Acked:
		c.acked(now, in)
	case Committed:
		c.committed(in)
	case Ends:
		for tp, end := range in.Ends {
			if p := c.parts[tp]; p != nil {
				p.end = max(p.end, end)
			}
		}
	case Tick:
		c.commitDue(now)
	case Rewind:
		c.rewind()
	case Flush:
		c.sealAll()
		c.lastCommit = time.Time{}
		c.commitDue(now)
	}
	c.sealDue(now)
	return e
}

// Full reports that nothing more should be polled.
func (c *Core) Full() bool { return c.Bytes() >= c.cfg.MaxBytes }

// Bytes are those of events read and not acknowledged.
func (c *Core) Bytes() int64 { return c.waitingBytes + c.openBytes + c.inFlightBytes }

// Crowded reports that records which wait for a newer table keep others from being
// polled: a Rewind is due.
func (c *Core) Crowded() bool { return c.waitingBytes > 0 && c.Full() }

// Idle reports that nothing is on its way to the shard topic.
func (c *Core) Idle() bool { return c.open == 0 && len(c.inFlight) == 0 }

// Stats is what was done; the map is the Core's own.
func (c *Core) Stats() *Stats { return &c.stats }

// NextDue is when Step must be called at the latest; zero: no batch is open.
func (c *Core) NextDue() time.Time {
	for c.due.len() > 0 {
		if b := c.due.front(); b.builder != nil {
			return b.opened.Add(c.cfg.Linger)
		}
		c.due.pop()
	}
	return time.Time{}
}

// Need returns what waiting records wait for.
func (c *Core) Need() (Need, bool) {
	if c.blocked == 0 {
		return Need{}, false
	}
	var n Need
	for _, p := range c.order {
		if p.wait == nil {
			continue
		}
		if p.wait.tenant != "" {
			r := placements.Request{Tenant: p.wait.tenant, KafkaTS: p.wait.time}
			if !slices.Contains(n.Admit, r) {
				n.Admit = append(n.Admit, r)
			}
			continue
		}
		if !n.Wanted || p.wait.time < n.Horizon {
			n.Horizon, n.Wanted = p.wait.time, true
		}
	}
	return n, true
}

// Lag is how a partition stands.
type Lag struct {
	kafka.TopicPartition
	Next      int64 // to be read
	Committed int64
	End       int64 // of what could be read at the last fetch, or look
	// Waiting: its next record waits for a table with this horizon or tenant.
	Waiting bool
	For     event.Timestamp
}

// Lags are how all partitions stand.
func (c *Core) Lags() []Lag {
	lags := make([]Lag, 0, len(c.order))
	for _, p := range c.order {
		l := Lag{TopicPartition: p.TopicPartition, Next: p.next, Committed: p.committed.Offset, End: max(p.end, p.next)}
		if p.wait != nil {
			l.Waiting, l.For = true, p.wait.time
		}
		lags = append(lags, l)
	}
	return lags
}
