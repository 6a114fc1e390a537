package shard

import (
	"github.com/togodb/togo/internal/shardlog"
)

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
	if c.topic.Source != f.source {
		// Recreated meanwhile: what matters of the old one is what is open, and no gap could
		// accept that offsets are gone which are committed.
		c.loss = nil
		c.moveOver()
		return
	}
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
