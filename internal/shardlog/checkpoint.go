package shardlog

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
)

// layout decides how a day's manifests are merged.
type layout struct {
	// fanout manifests of one level become one of the next, so that an entry is
	// written again once a level, and a day has few manifests.
	fanout int
	// A day whose manifests list more than garbageFactor times what lives, and
	// garbageSlack, is written anew: what was removed does not stay for long.
	garbageFactor, garbageSlack int
	// After so many checkpoints without a change a day's manifests become one; one
	// day for each checkpoint.
	tidyAfter int
}

var defaultLayout = layout{fanout: 8, garbageFactor: 2, garbageSlack: 256, tidyAfter: 16}

// CheckpointPlan is one checkpoint on its way to the store.
type CheckpointPlan struct {
	shard   event.ShardID
	root    root
	days    []dayPlan
	intake  intakePlan
	records int   // of the state when planned
	bytes   int64 // likewise
	stored  bool  // the root in the store is ours
}

// dayPlan is the new manifest of one day.
type dayPlan struct {
	day     int64
	keep    int      // older manifests that stay
	merged  []*run   // those that the new one replaces
	entries []*entry // what the new one adds
	removed []removal
	fresh   int // of day.fresh, that were looked at
	looked  int // of day.removed, likewise
	level   int
	run     *run // the new one, once written; nil: the day is empty
}

// PlanCheckpoint collects what a checkpoint of s must write; it does no I/O, and
// the plan shares nothing with s that Apply changes. A plan before it that was
// not written is forgotten. s must not be at position 0.
func (s *State) PlanCheckpoint() *CheckpointPlan {
	if s.small.Position == 0 {
		panic("shardlog: checkpoint of an empty log")
	}
	fragments, segments := s.Counts()
	whole := s.standsAlone()
	p := &CheckpointPlan{shard: s.small.Shard, records: s.sinceRecords, bytes: s.sinceBytes}
	p.root = root{Format: rootFormat, State: s.small, Sources: s.Sources(), Fragments: fragments, Segments: segments}
	if !whole {
		p.root.Parent = s.parent
	}
	p.root.State.Owner = s.Owner()
	p.root.State.Floors = maps.Clone(s.small.Floors)
	tidied := false
	for _, num := range slices.Sorted(maps.Keys(s.days)) {
		d := s.days[num]
		d.fresh = slices.DeleteFunc(d.fresh, func(e *entry) bool { return e.dead })
		changed := len(d.fresh)+len(d.removed) > 0
		tidy := !changed && !tidied && d.quiet >= s.layout.tidyAfter && len(d.runs) > 1
		tidied = tidied || tidy
		if changed || tidy || whole {
			p.days = append(p.days, s.planDay(num, d, tidy || whole))
		}
		p.root.Days = append(p.root.Days, rootDay{Day: num, Manifests: refs(d.runs)})
	}
	s.planIntake(p, whole)
	s.planned = p
	return p
}

func refs(runs []*run) []manifestRef {
	out := make([]manifestRef, len(runs))
	for i, r := range runs {
		out[i] = r.ref
	}
	return out
}

// planDay decides which manifests the new one replaces, always the newest ones.
func (s *State) planDay(num int64, d *day, all bool) dayPlan {
	s.open(d)
	keep, level := len(d.runs), 0
	for n := 0; ; level++ {
		for n = keep; n > 0 && d.runs[n-1].ref.Level == level; n-- {
		}
		if keep-n < s.layout.fanout-1 {
			break
		}
		keep = n
	}
	listed := len(d.fresh) + len(d.removed)
	for _, r := range d.runs {
		listed += r.ref.Adds + r.ref.Removes
	}
	if all || d.count == 0 || listed > s.layout.garbageFactor*d.count+s.layout.garbageSlack {
		if keep = 0; len(d.runs) > 0 {
			level = max(level, d.runs[0].ref.Level)
		}
	}
	p := dayPlan{day: num, keep: keep, merged: slices.Clone(d.runs[keep:]), level: level, fresh: len(d.fresh), looked: len(d.removed)}
	p.entries = d.unlisted(p.merged)
	older := func(list []removal) {
		for _, m := range list {
			if !slices.Contains(p.merged, m.from) {
				p.removed = append(p.removed, m)
			}
		}
	}
	for _, r := range p.merged {
		older(r.removed)
	}
	older(d.removed)
	return p
}

// manifest is the content of the new manifest. It reads of the entries only what
// never changes, so that the state may go on.
func (p *dayPlan) manifest(shard event.ShardID) manifest {
	m := manifest{Format: Format, Shard: shard, Day: p.day}
	slices.SortFunc(p.entries, compareHomes)
	for _, e := range p.entries {
		if e.fragment != nil {
			m.Fragments = append(m.Fragments, e.full())
		} else {
			m.Segments = append(m.Segments, *e.segment)
		}
	}
	for _, r := range p.removed {
		m.Removed = append(m.Removed, r.key)
	}
	slices.Sort(m.Removed)
	return m
}

// unlisted are the live entries that no manifest has but the merged ones.
func (d *day) unlisted(merged []*run) []*entry {
	if len(merged) == 0 {
		return slices.Clone(d.fresh)
	}
	return slices.DeleteFunc(d.entries(), func(e *entry) bool {
		return e.run != nil && !slices.Contains(merged, e.run)
	})
}

// WriteCheckpoint does the I/O of a plan; its state may go on meanwhile. After
// an error there is no checkpoint, or perhaps there is; both do no harm.
func (l *Log) WriteCheckpoint(ctx context.Context, p *CheckpointPlan) error {
	err := l.writeCheckpoint(ctx, p)
	result := "written"
	if err != nil {
		result = "failed"
		err = fmt.Errorf("checkpoint of shard %s at %d: %w", l.shard, uint64(p.root.State.Position), err)
	} else if !p.stored {
		result = "exists"
	}
	l.cfg.Metrics.checkpoints.WithLabelValues(result).Inc()
	return err
}

func (l *Log) writeCheckpoint(ctx context.Context, p *CheckpointPlan) error {
	at := p.root.State.Position
	if err := l.writeDays(ctx, at, p); err != nil {
		return err
	}
	if err := l.writeIntake(ctx, at, p); err != nil {
		return err
	}
	body, err := encodeRoot(&p.root)
	if err != nil {
		return err
	}
	return l.putRoot(ctx, p, body)
}

// writeDays writes the new manifests, and names them in the root.
func (l *Log) writeDays(ctx context.Context, at chain.Position, p *CheckpointPlan) error {
	err := l.each(len(p.days), func(i int) error {
		d := &p.days[i]
		if len(d.entries)+len(d.removed) == 0 {
			return nil
		}
		ref, err := l.putManifest(ctx, at, dayName(d.day), d.manifest(p.shard))
		ref.Level, ref.Adds, ref.Removes = d.level, len(d.entries), len(d.removed)
		ref.Plain = !slices.ContainsFunc(d.entries, func(e *entry) bool { return !e.plain(d.day) })
		d.run = &run{day: d.day, ref: ref, removed: d.removed}
		return err
	})
	if err != nil {
		return err
	}
	for i := range p.days {
		d := &p.days[i]
		at, _ := slices.BinarySearchFunc(p.root.Days, d.day, func(r rootDay, day int64) int { return int(r.Day - day) })
		manifests := p.root.Days[at].Manifests[:d.keep:d.keep]
		if d.run != nil {
			manifests = append(manifests, d.run.ref)
		}
		p.root.Days[at].Manifests = manifests
	}
	p.root.Days = slices.DeleteFunc(p.root.Days, func(r rootDay) bool { return len(r.Manifests) == 0 })
	return nil
}

// CheckpointWritten tells s that WriteCheckpoint wrote its newest plan, so that the next
// one builds on it.
func (s *State) CheckpointWritten(p *CheckpointPlan) {
	if s.planned != p {
		panic("shardlog: a plan of another state, or an older one")
	}
	s.planned = nil
	s.sinceRecords -= p.records
	s.sinceBytes -= p.bytes
	if !p.stored {
		return // what we wrote, no root names
	}
	s.parent = p.root.State.Position
	planned := map[int64]bool{}
	for i := range p.days {
		planned[p.days[i].day] = true
		s.dayWritten(&p.days[i])
	}
	for num, d := range s.days {
		if !planned[num] {
			d.quiet++
		}
		if d.count == 0 && len(d.runs)+len(d.removed) == 0 {
			delete(s.days, num)
		}
	}
	s.archive = p.root.objects()
	s.settling.Reset()
}

// dayWritten moves the planned entries to the new manifest. What was removed
// after the plan, the next one takes out of it.
func (s *State) dayWritten(p *dayPlan) {
	d := s.days[p.day]
	since := slices.Clone(d.removed[p.looked:])
	for i := range since {
		if slices.Contains(p.merged, since[i].from) {
			since[i].from = p.run
		}
	}
	for _, e := range p.entries {
		if e.run == nil && e.dead {
			since = append(since, removal{e.key(), p.run})
		}
		e.run = p.run
	}
	d.removed, d.fresh, d.quiet = since, slices.Clone(d.fresh[p.fresh:]), 0
	d.runs = d.runs[:p.keep:p.keep]
	if p.run != nil {
		d.runs = append(d.runs, p.run)
	}
}

// Checkpoint writes a checkpoint of s, which must hold no unresolved append.
func (l *Log) Checkpoint(ctx context.Context, s *State) error {
	p := s.PlanCheckpoint()
	if err := l.WriteCheckpoint(ctx, p); err != nil {
		return err
	}
	s.CheckpointWritten(p)
	return nil
}

// CheckpointDue says whether so much was folded since the last checkpoint that
// the owner should write one.
func (l *Log) CheckpointDue(s *State) bool {
	return s.sinceRecords >= l.cfg.CheckpointRecords || s.sinceRecords > 0 && s.sinceBytes >= l.cfg.CheckpointBytes
}
