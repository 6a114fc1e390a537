package shard

import (
	"errors"
	"fmt"
	"slices"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/idseg"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/writer/dedup"
)

// encoded makes the commit of what was uploaded.
func (c *Core) encoded(in Encoded) {
	f := c.flight
	if f == nil || in.Flight != f.number || c.commit != nil {
		return
	}
	if in.Err != nil {
		c.stop(Stop{Reason: Corruption, Err: fmt.Errorf("flush %d: %w", f.number, in.Err)})
		return
	}
	if len(in.Files) != len(f.files) || (in.IDs == nil) != (f.ids == nil) {
		panic(fmt.Sprintf("shard: %d files of %d were encoded", len(in.Files), len(f.files)))
	}
	c.commitFlight(in.Files, in.IDs)
}

func (c *Core) commitFlight(files []EncodedFile, ids *EncodedIDs) {
	f := c.flight
	a := &shardlog.Append{
		Epoch: c.p.Epoch, Seq: f.seq, LowWater: f.lowWater,
		Progress: []shardlog.Progress{f.cut.progress}, Ledger: f.ledger, Intake: f.intake,
	}
	for i, e := range files {
		p := &f.files[i]
		if e.Rows != int64(len(p.Input.Rows)) {
			panic(fmt.Sprintf("shard: %s has %d rows of %d", p.Key, e.Rows, len(p.Input.Rows)))
		}
		a.Fragments = append(a.Fragments, shardlog.Fragment{
			Key: p.Key, Tenant: p.Input.Tenant, Table: p.Table, Bucket: p.Input.Bucket,
			Rows: e.Rows, Bytes: e.Bytes, Sum: e.Sum, Min: e.Min, Max: e.Max,
			SeqMin: f.seq, SeqMax: f.seq, Ranges: e.Ranges,
			SortKey: e.SortKey, KeyMin: e.KeyMin, KeyMax: e.KeyMax,
		})
	}
	if ids != nil {
		a.IDs = &shardlog.IDSegment{Key: f.ids.Key, Bytes: ids.Bytes, Sum: ids.Sum, IDs: int64(len(f.ids.Entries))}
		for _, b := range ids.Buckets {
			a.IDs.Buckets = append(a.IDs.Buckets, shardlog.IDBucket{Bucket: b.Bucket, IDs: b.IDs, Offset: b.Offset, Length: b.Length})
		}
	}
	c.append(&shardlog.Record{Kind: shardlog.KindAppend, Append: a})
}

func (c *Core) append(r *shardlog.Record) {
	if err := c.state.Check(r); err != nil {
		panic(fmt.Sprintf("shard: the log would refuse our own record: %v", err))
	}
	c.commit = r
	c.emit(Append{c.gen, c.state.Head(), r})
}

// appended folds the record that settled the position.
func (c *Core) appended(in Appended) {
	if c.commit == nil {
		return
	}
	if errors.Is(in.Err, shardlog.ErrNewerFormat) {
		c.stop(Stop{Reason: Newer, Err: in.Err})
		return
	}
	if errors.Is(in.Err, chain.ErrTrimmed) {
		// The position was deleted, with our record in it or not: the newest checkpoint says.
		c.reload(in.Err.Error())
		return
	}
	if in.Err != nil {
		c.stop(Stop{Reason: Corruption, Err: in.Err})
		return
	}
	if err := c.state.Apply(in.Record, in.Stored); err != nil {
		c.stop(Stop{Reason: Corruption, Err: fmt.Errorf("record %d of shard %s: %w", in.Record.Position, c.p.Shard, err)})
		return
	}
	if in.Won {
		c.won()
		return
	}
	c.foreign(&in.Record)
}

// won is the end of our own append: what it names is now part of the store.
func (c *Core) won() {
	r := c.commit
	c.commit = nil
	if r.Kind == shardlog.KindRelease {
		c.stop(Stop{Reason: Released})
		return
	}
	f := c.flight
	c.flight, c.flightBytes, c.lastCommit = nil, 0, c.now
	if f.ids != nil {
		if err := c.index.Confirm(f.ids.Entries, segmentRef(*r.Append.IDs)); err != nil {
			panic(fmt.Sprintf("shard: confirm %s: %v", f.ids.Key, err))
		}
		if below := c.state.IDsBelow(); r.Append.IDs.Buckets[0].Bucket < below {
			c.index.DropBelow(below) // of letters that came late
		}
	}
	for i := range f.files {
		c.rowPool.put(f.files[i].Input.Rows) // encoded, uploaded and committed: nobody reads them
	}
	c.feed.next, c.feed.nextEpoch = f.cut.progress.Next, f.cut.progress.LeaderEpoch
	c.counts.commit(r.Append, f, c.now)
	c.emit(CommitGroup{c.feed.source, c.feed.name, c.feed.next})
}

// foreign decides what another's record at our position means for ours.
func (c *Core) foreign(r *shardlog.Record) {
	c.counts.LostRaces++
	switch r.Kind {
	case shardlog.KindClaim, shardlog.KindRelease:
		c.fenced(c.state)
	case shardlog.KindMergeBegin, shardlog.KindMergeAbort, shardlog.KindQuarantine:
		c.again()
	case shardlog.KindMergeEnd:
		c.merged(r.MergeEnd)
	case shardlog.KindExpire:
		c.expired(r)
	case shardlog.KindAppend:
		// An earlier try of our own, given up at a reload, has landed after all: it
		// closed offsets that are held again here.
		c.reload("an earlier append of this claim landed late")
	default: // erase, gap, rewrite: verdicts or progress may differ now
		c.reload(fmt.Sprintf("record %d is a %s", r.Position, r.Kind))
	}
}

// again tries the same append at the next position: nothing that it rests on changed.
func (c *Core) again() {
	r := c.commit
	c.append(&shardlog.Record{Kind: r.Kind, Append: r.Append, Release: r.Release})
}

// expired goes on under raised floors. What is held could as well have been judged
// after the record as long as no event that was found new lies below its floor: new
// stays new, letters may lie below theirs, and of the identities those go that the log has
// dropped. Else everything is judged anew.
func (c *Core) expired(r *shardlog.Record) {
	if c.holdsBelowFloor() {
		c.reload(fmt.Sprintf("record %d is an %s, and raises a floor above what is held", r.Position, r.Kind))
		return
	}
	c.index.DropBelow(c.state.IDsBelow())
	c.again()
}

// holdsBelowFloor says whether an event that was found new, and is in no commit yet, lies
// below its tenant's floor.
func (c *Core) holdsBelowFloor() bool {
	if a := c.commit.Append; a != nil {
		for _, f := range a.Fragments {
			if floor, _ := c.state.Floor(f.Tenant, shardlog.TableEvents); f.Table == shardlog.TableEvents && f.Min < floor {
				return true
			}
		}
	}
	for _, b := range c.buffers {
		floor, _ := c.state.Floor(b.tenant, shardlog.TableEvents)
		for s, rows := range b.rows {
			if s.table != shardlog.TableEvents || s.bucket > int64(floor)/1e9 {
				continue
			}
			if slices.ContainsFunc(*rows, func(row fragment.Row) bool { return row.Timestamp < floor }) {
				return true
			}
		}
	}
	for _, t := range c.waiting {
		floor, _ := c.state.Floor(t.id, shardlog.TableEvents)
		for _, p := range t.parked {
			for i, v := range p.verdicts {
				if v.outcome == stored && p.env.Items[i].Timestamp < floor {
					return true
				}
			}
		}
	}
	return false
}

// merged tells the index which id segments took the place of which.
func (c *Core) merged(m *shardlog.MergeEnd) {
	if len(m.IDs) > 0 {
		var refs []dedup.SegmentRef
		for _, seg := range m.IDs {
			refs = append(refs, c.liveRef(seg))
		}
		if err := c.index.Replace(m.Inputs, refs); err != nil {
			c.stop(Stop{Reason: Corruption, Err: fmt.Errorf("merge %s: %w", m.Job, err)})
			return
		}
	}
	c.again()
}

// liveRef is a segment as the index knows it: without the buckets that the log has dropped.
func (c *Core) liveRef(seg shardlog.IDSegment) dedup.SegmentRef {
	ref := segmentRef(seg)
	ref.Buckets = slices.DeleteFunc(ref.Buckets, func(b idseg.Bucket) bool { return b.Bucket < c.state.IDsBelow() })
	return ref
}

func segmentRef(seg shardlog.IDSegment) dedup.SegmentRef {
	ref := dedup.SegmentRef{Key: seg.Key, Bytes: seg.Bytes}
	for _, b := range seg.Buckets {
		ref.Buckets = append(ref.Buckets, idseg.Bucket{Bucket: b.Bucket, IDs: b.IDs, Offset: b.Offset, Length: b.Length})
	}
	return ref
}
