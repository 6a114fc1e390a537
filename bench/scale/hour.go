package scale

import (
	"context"
	"slices"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/writer/shard"
)

// The compactor's poll, and for how long the measured hour is followed into the next one, so that its
// last merges are among what it costs.
const (
	pollEvery = 10 * time.Second
	rest      = 7 * time.Minute
)

// hour is what an hour of a shard costs, flush by flush.
type hour struct {
	events      int64
	commits     int64
	flushed     int64 // fragments
	flushedB    int64 // their bytes
	merges      int64
	rewrittenB  int64
	atRest      int64 // fragments that are left of it
	atRestB     int64
	log         counts          // of the writer and of merges
	files       counts          // fragments and id segments
	flushFiles  counts          // of these, those of flushes
	follow      counts          // of a compactor that follows the log
	waits       []time.Duration // CPU time that commits waited for
	checkpoints []time.Duration // CPU time of each checkpoint, beside the commits
	mergeCPU    time.Duration   // picker and records
}

// buffer is a tenant's events that were not flushed yet.
type buffer struct {
	rows int64
	born time.Time
}

// flush is an hour under way.
type flush struct {
	s       *shardModel
	rule    shard.Config
	events  []member
	buffers []buffer
	last    time.Time                    // of a flush
	touched map[event.TenantID]time.Time // commit to the hour's bucket
	out     *hour
}

// run lives the next hour in steps of a second.
func (s *shardModel) run(ctx context.Context) (*hour, error) {
	members := s.world.inHour(s.hour)
	f := &flush{s: s, rule: shard.Defaults(), events: members, buffers: make([]buffer, len(members)), last: s.hour, touched: map[event.TenantID]time.Time{}, out: &hour{}}
	logBefore, err := counted(s.registry)
	if err != nil {
		return nil, err
	}
	s.checkpoints = nil
	files, merges, flushed, rewritten := s.data, s.merges, s.flushed, s.rewrites
	follower, err := s.follow(ctx)
	if err != nil {
		return nil, err
	}
	until := s.hour.Add(time.Hour)
	for s.now = s.hour.Add(time.Second); !s.now.After(until.Add(rest)); s.now = s.now.Add(time.Second) {
		if err := f.second(ctx, !s.now.After(until)); err != nil {
			return nil, err
		}
		if s.now.Sub(s.hour)%pollEvery != 0 {
			continue
		}
		if err := follower.poll(ctx); err != nil {
			return nil, err
		}
		if err := f.merge(ctx, until); err != nil {
			return nil, err
		}
	}
	logAfter, err := counted(s.registry)
	if err != nil {
		return nil, err
	}
	f.out.checkpoints = s.checkpoints
	f.out.log, f.out.files = logAfter.less(logBefore), s.data.less(files)
	f.out.merges, f.out.flushedB, f.out.rewrittenB = s.merges-merges, s.flushed-flushed, s.rewrites-rewritten
	f.out.follow, err = follower.counts(time.Hour + rest)
	s.state.Fragments("", s.hour.Unix(), s.hour.Unix()+1, func(x shardlog.Fragment) bool {
		f.out.atRest++
		f.out.atRestB += x.Bytes
		return true
	})
	s.hour, s.now = until, until.Add(rest)
	return f.out, err
}

// second lets events come (if they still do) and flushes what is due.
func (f *flush) second(ctx context.Context, coming bool) error {
	s := f.s
	for i := range f.buffers {
		b := &f.buffers[i]
		n := int64(0)
		if coming {
			n = poisson(s.r, f.events[i].share*s.perDay/86_400)
		}
		if b.rows == 0 && n > 0 {
			b.born = s.now
		}
		b.rows += n
		f.out.events += n
	}
	if !slices.ContainsFunc(f.buffers, f.due) {
		return nil
	}
	var files []shardlog.Fragment
	oldest := s.now
	for i := range f.buffers {
		b := &f.buffers[i]
		if b.rows == 0 || !f.joins(*b) {
			continue
		}
		oldest = earlier(oldest, b.born)
		files = append(files, shardlog.Fragment{
			Tenant: f.events[i].name, Bucket: s.hour.Unix(), Rows: b.rows, KeyMin: key(0), KeyMax: key(cells - 1),
			Min: event.Timestamp(b.born.UnixNano()), Max: event.Timestamp(s.now.UnixNano()),
		})
		f.touched[f.events[i].name] = s.now
		*b = buffer{}
	}
	f.last = s.now
	f.out.commits++
	f.out.flushed += int64(len(files))
	before := s.data
	wait, err := s.commit(ctx, files, oldest.Unix(), s.now.Unix()+1)
	f.out.waits = append(f.out.waits, wait)
	f.out.flushFiles = f.out.flushFiles.plus(s.data.less(before))
	return err
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func (f *flush) input(b buffer) int64 { return int64(float64(b.rows) * f.s.cfg.EventBytes) }

// due is the writer's rule: by size, by age, and by a longer age for tenants with little.
func (f *flush) due(b buffer) bool {
	if b.rows == 0 {
		return false
	}
	age, input := f.s.now.Sub(b.born), f.input(b)
	switch {
	case input >= f.rule.FlushBytes:
		return true
	case input >= f.rule.SmallTenantBytes:
		return age >= f.rule.FlushAge
	}
	return age >= f.rule.SmallTenantAge && f.s.now.Sub(f.last) >= f.rule.FlushAge
}

// joins says whether a buffer goes along with a flush that another asked for.
func (f *flush) joins(b buffer) bool {
	age, input := f.s.now.Sub(b.born), f.input(b)
	switch {
	case input >= f.rule.FlushBytes:
		return true
	case input < f.rule.SmallTenantBytes:
		return age >= f.rule.SmallTenantAge/4*3
	}
	return age >= f.rule.FlushAge/2
}

// merge is a round of the compactor.
func (f *flush) merge(ctx context.Context, until time.Time) error {
	s := f.s
	began := cpuTime()
	defer func() { f.out.mergeCPU += cpuTime() - began }()
	newest := !s.now.After(until) // then events come to the next hour's buckets
	for _, m := range f.events {
		at, ok := f.touched[m.name]
		if !ok {
			continue
		}
		n, err := s.mergeBucket(ctx, m.name, s.hour.Unix(), s.now.Sub(at), newest)
		if err != nil {
			return err
		}
		if n == 0 && !newest && s.now.Sub(at) >= s.policy.QuietAfter {
			delete(f.touched, m.name) // at rest
		}
	}
	_, err := s.mergeSegments(ctx, 0)
	return err
}
