package shard

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/idseg"
	"github.com/togodb/togo/internal/shardlog"
)

// flight is a flush under way: from the plan until its commit is settled.
type flight struct {
	number  uint64
	seq     uint64
	started time.Time
	cut     cutOff
	files   []FilePlan
	ids     *IDPlan // nil without identities
	ledger  shardlog.Ledger
	intake  []shardlog.Intake
	memory  int64
	oldest  time.Time // when its oldest record was accepted
	// lowWater is the number behind its uploads: all below are in it, committed or given up.
	lowWater uint64
}

// plan begins the next flush if one is due, or does what comes after the last.
func (c *Core) plan() {
	if c.state == nil || c.flight != nil || c.commit != nil {
		return
	}
	if c.feed == nil {
		if c.ending == release {
			c.handOver()
		}
		return
	}
	if taken := c.choose(); taken || c.ending != goOn || c.progressDue() {
		if c.launch() {
			return
		}
	}
	// Nothing is in flight and nothing is left to flush.
	switch c.ending {
	case release:
		c.handOver()
	case lose:
		if c.drained() {
			c.finishLoss()
		}
	case moveOver:
		if c.drained() {
			c.moveOver()
		}
	}
}

// handOver gives the shard up in good order.
func (c *Core) handOver() {
	c.append(&shardlog.Record{Kind: shardlog.KindRelease, Release: &shardlog.Release{Epoch: c.p.Epoch}})
}

// drained says that nothing that was read waits any more.
func (c *Core) drained() bool { return len(c.waiting) == 0 && len(c.backlog) == 0 }

// moveOver goes on with the topic's new incarnation.
func (c *Core) moveOver() {
	old := c.feed
	if len(old.unread) > 0 {
		c.loseNow(&Loss{Source: old.source, Kind: "topic_recreated", Ranges: old.unread, Next: old.next})
		return
	}
	c.ending, c.reading, c.feed = goOn, false, nil
	c.begin()
}

// choose marks the buffers that are flushed now.
func (c *Core) choose() bool {
	if c.ending != goOn {
		return c.takeIf(func(*buffer) bool { return true })
	}
	taken := false
	if c.due() {
		taken = c.takeIf(c.joins)
	}
	cfg := &c.p.Config
	if c.bufferBytes >= cfg.MemoryBytes/2 || c.full() {
		taken = c.takeLargest(cfg.MemoryBytes/4) || taken
	}
	if c.slots >= maxFiles/2 {
		taken = c.takeIf(func(*buffer) bool { return true }) || taken
	}
	for n := len(c.buffers)/8 + 1; c.tooManyOpen(taken); {
		if !c.takeOldest(n) {
			break // the rest is parked, and bounded too
		}
		taken = true
	}
	return taken
}

// maxOpenOffsets bounds the open offsets themselves, well below what the shard
// log takes (shardlog.MaxOpenOffsets).
const maxOpenOffsets = shardlog.MaxOpenOffsets / 2

// tooManyOpen says whether a commit of the taken buffers, if there are any, would leave
// more open than a commit may.
func (c *Core) tooManyOpen(any bool) bool {
	if len(c.feed.entries) <= c.p.Config.MaxOpen {
		return false
	}
	ranges, offsets := c.feed.open()
	if any {
		ranges, offsets = c.feed.leftOpen(isTaken)
	}
	return ranges > c.p.Config.MaxOpen || offsets > maxOpenOffsets
}

func isTaken(b *buffer) bool { return b.taken }

// small says whether a buffer may wait longer than others.
func (c *Core) small(b *buffer) bool { return b.input < c.p.Config.SmallTenantBytes }

// due says whether a buffer's size or age asks for a flush.
func (c *Core) due() bool {
	if c.now.Before(c.nextDue) {
		return false
	}
	c.nextDue = c.now.Add(c.p.Config.SmallTenantAge)
	for _, b := range c.buffers {
		c.noteDue(b)
	}
	return !c.now.Before(c.nextDue)
}

// noteDue brings nextDue forward to when the buffer, as it is now, asks for a flush. Small
// tenants ask at most once in FlushAge, so that many of them share a commit.
func (c *Core) noteDue(b *buffer) {
	cfg := &c.p.Config
	at := b.born.Add(cfg.FlushAge)
	switch {
	case b.input >= cfg.FlushBytes:
		at = c.now
	case c.small(b):
		at = b.born.Add(cfg.SmallTenantAge)
		if shared := c.lastFlush.Add(cfg.FlushAge); shared.After(at) {
			at = shared
		}
	}
	if at.Before(c.nextDue) {
		c.nextDue = at
	}
}

// progressDue says whether a commit that closes nothing but control offsets is due.
func (c *Core) progressDue() bool {
	return c.feed.control > 0 && c.now.Sub(c.lastFlush) >= c.p.Config.SmallTenantAge
}

// joins says whether a buffer goes along with a flush that another asked for:
// those that would ask soon, so that they share its commit, and those
// without rows, which cost no object.
func (c *Core) joins(b *buffer) bool {
	cfg := &c.p.Config
	age := c.now.Sub(b.born)
	switch {
	case len(b.rows) == 0 || b.input >= cfg.FlushBytes:
		return true
	case c.small(b):
		return age >= cfg.SmallTenantAge/4*3
	}
	return age >= cfg.FlushAge/2
}

func (c *Core) takeIf(f func(*buffer) bool) bool {
	any := false
	for _, b := range c.buffers {
		if !b.taken && f(b) {
			b.taken, any = true, true
		}
	}
	return any
}

// takeLargest takes buffers, the largest first, until at most rest bytes are left.
func (c *Core) takeLargest(rest int64) bool {
	left := c.bufferBytes
	bySize := make([]*buffer, 0, len(c.buffers))
	for _, b := range c.buffers {
		if b.taken {
			left -= b.memory
		} else {
			bySize = append(bySize, b)
		}
	}
	slices.SortStableFunc(bySize, func(a, b *buffer) int { return cmp.Compare(b.memory, a.memory) })
	any := false
	for _, b := range bySize {
		if left <= rest {
			break
		}
		b.taken, any = true, true
		left -= b.memory
	}
	return any
}

// takeOldest takes the n oldest buffers that are left.
func (c *Core) takeOldest(n int) bool {
	any := false
	for _, b := range c.buffers {
		if n == 0 {
			break
		}
		if !b.taken {
			b.taken, any = true, true
			n--
		}
	}
	return any
}

// launch makes a flight of the taken buffers; false if it would move nothing.
func (c *Core) launch() bool {
	cut := c.feed.cutOff(isTaken)
	if !cut.something() {
		return false
	}
	c.flights++
	f := &flight{number: c.flights, seq: c.state.Seq() + 1, started: c.now, oldest: c.now, cut: cut}
	intake := shardlog.NewIntake()
	var ids []idseg.Entry
	if n := c.takenIDs(); n > 0 {
		ids = make([]idseg.Entry, 0, n)
	}
	rest := c.buffers[:0]
	for _, b := range c.buffers {
		if !b.taken {
			rest = append(rest, b)
			continue
		}
		c.board(f, b, intake)
		ids = append(ids, b.ids...)
		c.idPool.put(b.ids)
	}
	clear(c.buffers[len(rest):])
	c.buffers = rest
	if len(ids) > 0 {
		f.ids = &IDPlan{Key: c.upload().SegmentKey(), Entries: ids}
	}
	f.lowWater = c.uploads
	f.intake = intake.ToIntake()
	c.feed.keep(cut.rest)
	c.flight, c.lastFlush, c.flightBytes = f, c.now, f.memory
	c.bufferBytes -= f.memory
	if len(f.files) == 0 && f.ids == nil {
		c.commitFlight(nil, nil)
		return true
	}
	c.emit(Encode{c.gen, f.number, f.files, f.ids})
	return true
}

// takenIDs counts the identities of the taken buffers.
func (c *Core) takenIDs() (n int) {
	for _, b := range c.buffers {
		if b.taken {
			n += len(b.ids)
		}
	}
	return n
}

// board takes a buffer into the flight.
func (c *Core) board(f *flight, b *buffer, intake *shardlog.IntakeSet) {
	f.memory += b.memory
	c.slots -= len(b.rows)
	if b.born.Before(f.oldest) {
		f.oldest = b.born
	}
	f.ledger.Events += b.ledger.Events
	f.ledger.Stored += b.ledger.Stored
	f.ledger.Duplicate += b.ledger.Duplicate
	f.ledger.Conflict += b.ledger.Conflict
	f.ledger.Dead += b.ledger.Dead
	for _, s := range b.spans {
		intake.AddRange(c.intakes[s.source].log, s.from, s.next)
	}
	slots := make([]slot, 0, len(b.rows))
	for s := range b.rows {
		slots = append(slots, s)
	}
	slices.SortFunc(slots, func(x, y slot) int {
		return cmp.Or(strings.Compare(string(x.table), string(y.table)), cmp.Compare(x.bucket, y.bucket))
	})
	for _, s := range slots {
		f.files = append(f.files, c.filePlan(f, b.tenant, s, *b.rows[s]))
	}
	t := c.tenants[b.tenant]
	if t.buffer = nil; len(t.parked) == 0 {
		delete(c.tenants, b.tenant)
	}
}

func (c *Core) filePlan(f *flight, tenant event.TenantID, s slot, rows []fragment.Row) FilePlan {
	kind := fragment.Events
	if s.table == shardlog.TableDeadLetters {
		kind = fragment.DeadLetters
	}
	return FilePlan{
		Key:   c.upload().FragmentKey(s.table, tenant, s.bucket),
		Table: s.table,
		Input: fragment.Input{Tenant: tenant, Kind: kind, Bucket: s.bucket, Seq: f.seq, Rows: rows},
	}
}

// upload gives out the next upload of this claim.
func (c *Core) upload() shardlog.Creator {
	n := c.uploads
	c.uploads++
	return shardlog.Creator{Shard: c.p.Shard, Epoch: c.p.Epoch, Nonce: c.p.Nonce, Number: n}
}
