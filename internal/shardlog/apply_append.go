package shardlog

import (
	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

// checkAppend: the commit is the owner's, its progress goes on where the last
// one ended, it names new objects, and its ledger adds up.
func (s *State) checkAppend(r *Record) (func(), error) {
	a := r.Append
	if err := s.checkEpoch(r.Kind, a.Epoch); err != nil {
		return nil, err
	}
	if a.Seq != s.small.Seq+1 {
		return nil, refuse("append %d after append %d", a.Seq, s.small.Seq)
	}
	if a.LowWater < s.small.LowWater {
		return nil, refuse("the low-water mark falls from %d to %d", s.small.LowWater, a.LowWater)
	}
	sources, records, control, err := s.checkProgress(a.Progress)
	if err != nil {
		return nil, err
	}
	if err := s.checkAdded(a); err != nil {
		return nil, err
	}
	if err := a.checkLedger(records); err != nil {
		return nil, err
	}
	bitmaps, err := a.checkIntake()
	if err != nil {
		return nil, err
	}
	return func() {
		for _, src := range sources {
			s.sources[src.Source] = src
		}
		for _, f := range a.Fragments {
			s.addFragment(f)
		}
		if a.IDs != nil {
			s.addSegment(*a.IDs)
		}
		for i, bm := range bitmaps {
			s.fresh.of(a.Intake[i].Source).Or(bm)
		}
		s.small.Seq, s.small.LowWater, s.small.LastAppendMS = a.Seq, a.LowWater, r.TimeMS
		s.small.Totals.add(a.Ledger, records, control)
	}, nil
}

func (t *Totals) add(l Ledger, records, control int64) {
	t.Events += l.Events
	t.Stored += l.Stored
	t.Duplicate += l.Duplicate
	t.Conflict += l.Conflict
	t.Dead += l.Dead
	t.Records += records
	t.Control += control
	t.Appends++
}

// checkProgress returns the sources as they will stand.
func (s *State) checkProgress(progress []Progress) (next []SourceState, records, control int64, err error) {
	seen := make(map[Source]bool, len(progress))
	for i := range progress {
		p := &progress[i]
		if seen[p.Source] {
			return nil, 0, 0, refuse("source %s twice", p.Source)
		}
		seen[p.Source] = true
		src, err := s.checkSource(p)
		if err != nil {
			return nil, 0, 0, err
		}
		next = append(next, src)
		records += p.Records
		control += p.Control
	}
	return next, records, control, nil
}

// checkSource returns one source as it will stand.
func (s *State) checkSource(p *Progress) (SourceState, error) {
	cur, known := s.sources[p.Source]
	switch {
	case !isHex(p.Source.Topic, 32) || p.Source.Partition < 0 || p.LeaderEpoch < -1:
		return cur, refuse("source %s, leader epoch %d", p.Source, p.LeaderEpoch)
	case known && p.From > cur.Next:
		return cur, refuse("gap in progress: %s goes on from %d, but offset %d is next", p.Source, p.From, cur.Next)
	case known && p.From < cur.Next:
		return cur, refuse("overlap in progress: %s goes on from %d, but offset %d is next", p.Source, p.From, cur.Next)
	case p.From < 0 || p.Next < p.From:
		return cur, refuse("progress of %s from %d to %d", p.Source, p.From, p.Next)
	case !IsRangeSet(p.Opened) || !IsRangeSet(p.Closed):
		return cur, refuse("%s opens or closes what is no set of offsets", p.Source)
	}
	if n := len(p.Opened); n > 0 && (p.Opened[0].From < p.From || p.Opened[n-1].Next > p.Next) {
		return cur, refuse("%s opens offsets outside [%d, %d)", p.Source, p.From, p.Next)
	}
	if !CoversRanges(cur.Open, p.Closed) {
		return cur, refuse("%s closes offsets that are not open: %v", p.Source, SubtractRanges(p.Closed, cur.Open))
	}
	closed := p.Next - p.From - CountRanges(p.Opened) + CountRanges(p.Closed)
	if p.Records < 0 || p.Control < 0 || p.Records > maxCount || p.Control > maxCount || closed != p.Records+p.Control {
		return cur, refuse("ledger of %s: %d offsets closed, but %d records and %d control offsets", p.Source, closed, p.Records, p.Control)
	}
	open := AddRanges(SubtractRanges(cur.Open, p.Closed), p.Opened)
	if len(open) > MaxOpenRanges || CountRanges(open) > MaxOpenOffsets {
		return cur, refuse("%s with %d open offsets in %d ranges", p.Source, CountRanges(open), len(open))
	}
	if len(open) == 0 {
		open = nil
	}
	return SourceState{Source: p.Source, TopicName: p.TopicName, Next: p.Next, LeaderEpoch: p.LeaderEpoch, Open: open}, nil
}

// checkAdded: the named objects are new, and lie above their floors.
func (s *State) checkAdded(a *Append) error {
	fresh := make(map[string]bool, len(a.Fragments)+1)
	for i := range a.Fragments {
		f := &a.Fragments[i]
		if err := s.checkNewKey(f.Key, fresh); err != nil {
			return err
		}
		if err := checkFragment(f); err != nil {
			return err
		}
		if f.SeqMin != a.Seq || f.SeqMax != a.Seq {
			return refuse("fragment %q of appends %d to %d in append %d", f.Key, f.SeqMin, f.SeqMax, a.Seq)
		}
		if f.Level != 0 {
			return refuse("fragment %q of level %d in an append", f.Key, f.Level)
		}
		// Letters may come late: below their floor they go with the next expire.
		if floor, _ := s.Floor(f.Tenant, f.Table); f.Table == TableEvents && f.Min < floor {
			return refuse("fragment %q from %s lies below the floor of %q, %s", f.Key, f.Min, f.Tenant, floor)
		}
	}
	if a.IDs == nil {
		return nil
	}
	if err := s.checkNewKey(a.IDs.Key, fresh); err != nil {
		return err
	}
	return checkSegment(a.IDs)
}

// checkNewKey: no live, quarantined or other new object has the key.
func (s *State) checkNewKey(key string, fresh map[string]bool) error {
	if s.find(key) != nil || fresh[key] || s.isQuarantined(key) {
		return refuse("object %q is there already", key)
	}
	fresh[key] = true
	return nil
}

// checkLedger: every event ended in exactly one way, and what was stored is
// there.
func (a *Append) checkLedger(records int64) error {
	l := a.Ledger
	for _, n := range []int64{l.Events, l.Stored, l.Duplicate, l.Conflict, l.Dead} {
		if n < 0 || n > maxCount {
			return refuse("ledger with a count of %d", n)
		}
	}
	var rows, letters, ids int64
	for i := range a.Fragments {
		if a.Fragments[i].Table == TableEvents {
			rows += a.Fragments[i].Rows
		} else {
			letters += a.Fragments[i].Rows
		}
	}
	if a.IDs != nil {
		ids = a.IDs.IDs
	}
	switch {
	case l.Events != l.Stored+l.Duplicate+l.Conflict+l.Dead:
		return refuse("ledger: %d events, but %d stored + %d duplicate + %d conflict + %d dead", l.Events, l.Stored, l.Duplicate, l.Conflict, l.Dead)
	case l.Stored != rows:
		return refuse("ledger: %d events stored, but %d rows", l.Stored, rows)
	case l.Conflict+l.Dead != letters:
		return refuse("ledger: %d conflicts and %d dead, but %d letters", l.Conflict, l.Dead, letters)
	case ids != l.Stored+letters:
		return refuse("ledger: %d rows and %d letters, but %d ids", l.Stored, letters, ids)
	case records == 0 && l.Events > 0:
		return refuse("ledger: %d events of no record", l.Events)
	}
	return nil
}

// checkIntake returns the bitmaps of the intake offsets.
func (a *Append) checkIntake() ([]*roaring64.Bitmap, error) {
	seen := make(map[Source]bool, len(a.Intake))
	var out []*roaring64.Bitmap
	for _, in := range a.Intake {
		if seen[in.Source] || !isHex(in.Source.Topic, 32) || in.Source.Partition < 0 {
			return nil, refuse("intake of %s, twice or no source", in.Source)
		}
		seen[in.Source] = true
		bm, err := readBitmap(in.Bitmap)
		if err != nil {
			return nil, refuse("intake of %s: %v", in.Source, err)
		}
		out = append(out, bm)
	}
	return out, nil
}
