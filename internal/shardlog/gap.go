package shardlog

import "math"

// Kept is what Kafka still has of a source that a shard has read.
type Kept struct {
	Current    bool  // false: the topic is gone, or is another one
	Start, End int64 // of the log
	History    int64 // up to here the log is what was read; 0 if it does not know the epoch it was read in
	// Epoch is the leader epoch of what lies above History, by which the writer can find it
	// again; -1: none is known.
	Epoch int32
	Gone  RangeSet // open offsets within the log and its history that hold no record
}

// Ask fills in History and Epoch for a source as a shard has it. epochEnd says where a leader
// epoch, or the last one before it that the log knows, ended; -1: it knows none.
func (k *Kept) Ask(src SourceState, epochEnd func(epoch int32) (int64, error)) error {
	k.History, k.Epoch = src.Next, -1
	if src.LeaderEpoch < 0 {
		return nil
	}
	end, err := epochEnd(src.LeaderEpoch)
	if err != nil {
		return err
	}
	k.History = min(src.Next, max(end, 0))
	newer, err := epochEnd(src.LeaderEpoch + 1)
	if err != nil {
		return err
	}
	if end >= 0 && newer >= max(k.History, k.Start) { // else the count of epochs went back with the history
		k.Epoch = src.LeaderEpoch + 1
	}
	return nil
}

// There is the part of the log that is what was read: open offsets in it must hold records.
func (k *Kept) There() Range {
	return Range{From: k.Start, Next: max(k.Start, min(k.History, k.End))}
}

// Accept makes the gap by which an operator accepts all of a source that is not in
// Kafka: below its log's start, from its end or from the end of the history that was
// read on, open offsets without a record, or everything where the topic is gone. epoch is
// the leader epoch from which reading goes on; -1 lets it follow from what Kafka has.
func (s *State) Accept(src SourceState, has Kept, epoch int32, reason, operator string) *Gap {
	if !has.Current {
		return s.GapTo(src.Source, RangeSet{{From: 0, Next: math.MaxInt64}}, src.Next, src.LeaderEpoch, reason, operator)
	}
	end := min(has.End, max(has.History, has.Start))
	gone := RangeSet{{From: 0, Next: has.Start}, {From: end, Next: math.MaxInt64}}
	if has.Start == 0 {
		gone = gone[1:]
	}
	next := min(max(src.Next, has.Start), end)
	switch {
	case epoch >= 0:
	case has.History < src.Next:
		epoch = has.Epoch
	case next == src.Next:
		epoch = src.LeaderEpoch // that history goes on: another one is noticed
	}
	return s.GapTo(src.Source, AddRanges(gone, has.Gone), next, epoch, reason, operator)
}

// GapTo makes the gap of a source that goes on at next: it accepts the loss of
// gone, as far as it is open, and of whatever else the new next leaves behind.
func (s *State) GapTo(src Source, gone RangeSet, next int64, leaderEpoch int32, reason, operator string) *Gap {
	cur := s.sources[src]
	lost := IntersectRanges(cur.Open, gone)
	if next > cur.Next {
		lost = AddRanges(lost, RangeSet{{cur.Next, next}})
	}
	lost = AddRanges(lost, IntersectRanges(cur.Open, RangeSet{{next, math.MaxInt64}}))
	return &Gap{Source: src, Lost: lost, Next: next, LeaderEpoch: leaderEpoch, Reason: reason, Operator: operator}
}
