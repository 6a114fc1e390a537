package shard

import (
	"sort"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/shardlog"
)

// entry is a record that was read and is not closed by a commit.
type entry struct {
	offset int64
	buffer *buffer // nil while parked
}

// feed is the source that is read: one incarnation of the shard's partition.
type feed struct {
	source event.Source
	name   string // of the topic, for people
	fresh  bool   // the log knows nothing of it: it is read from its start

	next      int64 // of the last commit
	nextEpoch int32 // leader epoch of the record before next; -1: unknown

	read      int64 // offset that is expected next
	readEpoch int32 // leader epoch of the record before max(read, next)

	// unread are the offsets that were open at the last load and have not come
	// again; all are in [read, next).
	unread shardlog.RangeSet
	// entries are ascending by offset; all are below read.
	entries []entry
	runs    int   // of offsets in entries that follow each other
	control int64 // offsets in [next, read) that held no record

	logStart, end int64 // of the log, as last heard
}

// newFeed is the feed of a source as the log's state has it.
func newFeed(s *shardlog.State, src event.Source, name string) *feed {
	st, ok := s.SourceOf(shardlog.SourceFrom(src))
	f := &feed{source: src, name: name, nextEpoch: -1, readEpoch: -1, fresh: !ok}
	if ok {
		f.next, f.nextEpoch, f.readEpoch = st.Next, st.LeaderEpoch, st.LeaderEpoch
		f.unread = st.Open
	}
	f.read = f.next
	if len(f.unread) > 0 {
		f.read = f.unread[0].From
	}
	return f
}

// missing are the uncommitted offsets below start: records that are gone.
func (f *feed) missing(start int64) shardlog.RangeSet {
	gone := shardlog.IntersectRanges(f.unread, []shardlog.Range{{From: 0, Next: max(start, 0)}})
	if from := max(f.read, f.next); from < start {
		gone = shardlog.AddRanges(gone, []shardlog.Range{{From: from, Next: start}})
	}
	return gone
}

// arrival is what a record's offset means.
type arrival uint8

const (
	take   arrival = iota // judge it
	ignore                // a commit closed it before, or it was read already
	gone                  // an open offset before it has no record
	cut                   // it belongs to another history
)

// arrive moves read behind the record, whose judgement is the caller's if the
// answer is take (and who then adds the entry, unless it is control).
func (f *feed) arrive(r *Record) arrival {
	if r.Offset < f.read {
		return ignore
	}
	if r.Offset < f.next && f.nextEpoch >= 0 && r.LeaderEpoch > f.nextEpoch {
		return cut
	}
	if r.Offset >= f.next && r.LeaderEpoch >= 0 && r.LeaderEpoch < f.readEpoch {
		return cut
	}
	if len(f.unread) > 0 && f.unread[0].From < r.Offset {
		return gone
	}
	wanted := r.Offset >= f.next || len(f.unread) > 0 && f.unread[0].From == r.Offset
	if wanted && r.Offset < f.next && r.Control {
		return gone // what was a record is none now
	}
	if !wanted {
		f.read = r.Offset + 1
		return ignore
	}
	if r.Offset < f.next {
		f.unread = shardlog.SubtractRanges(f.unread, []shardlog.Range{{From: r.Offset, Next: r.Offset + 1}})
	} else {
		f.control += r.Offset - max(f.read, f.next)
		if r.Control {
			f.control++
		}
		f.readEpoch = max(f.readEpoch, r.LeaderEpoch)
	}
	f.read = r.Offset + 1
	return take
}

// skipAhead moves read to next when all open offsets have come again, and says
// whether it moved: what lies between is closed.
func (f *feed) skipAhead() bool {
	if len(f.unread) > 0 || f.read >= f.next {
		return false
	}
	f.read = f.next
	return true
}

// assign gives the entry at offset to a buffer.
func (f *feed) assign(offset int64, b *buffer) {
	i := sort.Search(len(f.entries), func(i int) bool { return f.entries[i].offset >= offset })
	f.entries[i].buffer = b
}

// add notes a record that was read.
func (f *feed) add(offset int64) {
	if n := len(f.entries); n == 0 || f.entries[n-1].offset+1 != offset {
		f.runs++
	}
	f.entries = append(f.entries, entry{offset: offset})
}

// keep leaves the entries that a flush does not close.
func (f *feed) keep(rest []entry) {
	f.entries, f.runs, f.control = rest, 0, 0
	for i := range rest {
		if i == 0 || rest[i-1].offset+1 != rest[i].offset {
			f.runs++
		}
	}
}

// open counts the offsets that no flush has closed, and the ranges of them.
func (f *feed) open() (ranges, offsets int) {
	return len(f.unread) + f.runs, int(shardlog.CountRanges(f.unread)) + len(f.entries)
}

// leftOpen counts the offsets, and the ranges of them, that a flush of the
// buffers for which taken holds would leave open.
func (f *feed) leftOpen(taken func(*buffer) bool) (ranges, offsets int) {
	ranges, offsets = len(f.unread), int(shardlog.CountRanges(f.unread))
	last := int64(-2)
	for _, e := range f.entries {
		if e.buffer != nil && taken(e.buffer) {
			continue
		}
		if offsets++; e.offset != last+1 {
			ranges++
		}
		last = e.offset
	}
	return ranges, offsets
}

// cutOff is what a flush closes, and what it leaves.
type cutOff struct {
	progress shardlog.Progress
	rest     []entry
}

// cutOff plans the progress of a commit that closes the entries of the taken buffers.
// It changes nothing: the feed moves on with commit.
func (f *feed) cutOff(taken func(*buffer) bool) cutOff {
	p := shardlog.Progress{
		Source: shardlog.SourceFrom(f.source), TopicName: f.name,
		From: f.next, Next: max(f.next, f.read), LeaderEpoch: f.readEpoch,
		Control: f.control,
	}
	var rest []entry
	for _, e := range f.entries {
		closes := e.buffer != nil && taken(e.buffer)
		if closes {
			p.Records++
		} else {
			rest = append(rest, e)
		}
		switch {
		case closes && e.offset < f.next:
			p.Closed = appendOffset(p.Closed, e.offset)
		case !closes && e.offset >= f.next:
			p.Opened = appendOffset(p.Opened, e.offset)
		}
	}
	return cutOff{p, rest}
}

func appendOffset(set shardlog.RangeSet, offset int64) shardlog.RangeSet {
	if n := len(set); n > 0 && set[n-1].Next == offset {
		set[n-1].Next++
		return set
	}
	return append(set, shardlog.Range{From: offset, Next: offset + 1})
}

// something says whether a commit would close an offset.
func (p cutOff) something() bool { return p.progress.Records > 0 || p.progress.Control > 0 }

// oldestOpen is the first offset that no commit has closed.
func (f *feed) oldestOpen() int64 {
	oldest := max(f.read, f.next)
	if len(f.unread) > 0 {
		oldest = min(oldest, f.unread[0].From)
	}
	if len(f.entries) > 0 {
		oldest = min(oldest, f.entries[0].offset)
	}
	return oldest
}

// wants says whether a record at offset, if it is the next, is to be judged.
func (f *feed) wants(offset int64) bool {
	if offset < f.read {
		return false
	}
	return offset >= f.next || len(f.unread) > 0 && f.unread[0].From == offset
}
