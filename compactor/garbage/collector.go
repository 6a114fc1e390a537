package garbage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
)

// Judges asks the state of a shard about objects. The states must be confirmed.
type Judges interface {
	// Judge calls judge with a confirmed state of the shard, and nobody changes the state
	// meanwhile. It returns false, and calls nothing, if it has no state of this shard.
	Judge(ctx context.Context, shard event.ShardID, judge func(*shardlog.State)) (bool, error)
}

// Config of a Collector.
type Config struct {
	Store  objstore.Store
	Judges Judges
	Grace  time.Duration        // how long an object must have been garbage before it goes
	Clock  func() time.Duration // monotonic, since any moment; nothing else decides
	// Tell, if set, hears of each object and unfinished upload that is garbage, in the order
	// of the listing, before anything is deleted.
	Tell func(Found)
}

// Found is an object that is garbage.
type Found struct {
	Key    string
	Bytes  int64
	Upload bool          // an unfinished upload; Bytes is 0 then
	Why    string        // for people
	Left   time.Duration // of the grace
}

// Report counts what a pass saw. Objects = Named + MayCommit + Garbage + Unknown + Skipped.
type Report struct {
	Objects   int64 // listed
	Named     int64
	MayCommit int64
	Garbage   int64 // Deleted among them
	Unknown   int64 // of a creator that no shard knows, or not named as Togo names objects
	Skipped   int64 // of shards without a state here

	GarbageBytes int64
	Deleted      int64
	DeletedBytes int64
	Uploads      int64 // unfinished ones that are garbage
	Abandoned    int64 // of them, those that were ended
}

// Collector finds garbage and remembers since when. It is for one goroutine.
type Collector struct {
	cfg   Config
	since map[string]time.Duration // by key: when it was first seen as garbage
}

// maxWaiting bounds the garbage that waits for its grace, in memory; the rest is found by
// later passes.
const maxWaiting = 1 << 20

// batchKeys is how many objects are judged and deleted at a time: what a store deletes
// with one request.
const batchKeys = 1000

// NewCollector remembers nothing yet: all garbage is new to it.
func NewCollector(cfg Config) *Collector {
	return &Collector{cfg: cfg, since: map[string]time.Duration{}}
}

// Pass lists the store once, and deletes what has been garbage for the grace, unless dry.
// After an error the pass is incomplete, and the report tells how far it came. Objects
// that the store did not delete are in the error and are tried by the next pass.
func (c *Collector) Pass(ctx context.Context, dry bool) (Report, error) {
	p := &pass{c: c, dry: dry, waiting: make(map[string]time.Duration, len(c.since))}
	err := p.run(ctx)
	if err != nil {
		// What was not seen again may still be there.
		for key, at := range c.since {
			if len(p.waiting) >= maxWaiting {
				break
			}
			if _, seen := p.waiting[key]; !seen && !p.gone[key] {
				p.waiting[key] = at
			}
		}
	}
	c.since = p.waiting
	return p.report, err
}

type pass struct {
	c       *Collector
	dry     bool
	now     time.Duration // read after the last judgement: what is garbage by then was so at this time at the latest
	report  Report
	waiting map[string]time.Duration
	gone    map[string]bool
	failed  []error
}

func (p *pass) run(ctx context.Context) error {
	p.gone = map[string]bool{}
	for _, folder := range []string{shardlog.EventsFolder, shardlog.LettersFolder, shardlog.IDsFolder} {
		if err := p.objects(ctx, folder+"/"); err != nil {
			return err
		}
		// Whoever may not list uploads (a permission of its own) still gets rid of objects.
		if err := p.uploads(ctx, folder+"/"); err != nil {
			p.failed = append(p.failed, err)
		}
	}
	return errors.Join(p.failed...)
}

func (p *pass) objects(ctx context.Context, prefix string) error {
	batch := make([]candidate, 0, batchKeys)
	for o, err := range p.c.cfg.Store.List(ctx, prefix, "") {
		if err != nil {
			return fmt.Errorf("list %s: %w", prefix, err)
		}
		if batch = append(batch, candidate{key: o.Key, bytes: o.Size}); len(batch) == batchKeys {
			if err := p.take(ctx, batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	return p.take(ctx, batch)
}

// uploads ends the unfinished uploads that are garbage.
func (p *pass) uploads(ctx context.Context, prefix string) error {
	var batch []candidate
	for u, err := range objstore.PendingUploads(ctx, p.c.cfg.Store, prefix) {
		if err != nil {
			return fmt.Errorf("list unfinished uploads of %s: %w", prefix, err)
		}
		batch = append(batch, candidate{key: u.Key, upload: &u})
	}
	if err := p.judge(ctx, batch); err != nil {
		return err
	}
	for i := range batch {
		o := &batch[i]
		if o.verdict != Garbage || !p.due(o) || p.dry {
			continue
		}
		if err := objstore.AbandonUpload(ctx, p.c.cfg.Store, *o.upload); err != nil {
			p.failed = append(p.failed, fmt.Errorf("end the unfinished upload of %s: %w", o.key, err))
			continue
		}
		p.report.Abandoned++
		p.gone[o.name()] = true
		delete(p.waiting, o.name())
	}
	return nil
}

// candidate is an object or an unfinished upload on its way through a pass.
type candidate struct {
	key     string
	bytes   int64
	upload  *objstore.PendingUpload
	creator shardlog.Creator
	verdict Verdict
	why     string
}

// name tells objects and uploads apart; no key of ours holds a space.
func (o *candidate) name() string {
	if o.upload == nil {
		return o.key
	}
	return o.key + " " + o.upload.ID
}

// take judges a batch and deletes what is due of it.
func (p *pass) take(ctx context.Context, batch []candidate) error {
	if err := p.judge(ctx, batch); err != nil {
		return err
	}
	var due []string
	bytes := map[string]int64{}
	for i := range batch {
		o := &batch[i]
		if o.verdict != Garbage || !p.due(o) {
			continue
		}
		due = append(due, o.key)
		bytes[o.key] = o.bytes
	}
	if len(due) == 0 || p.dry {
		return nil
	}
	if err := p.c.cfg.Store.Delete(ctx, due...); err != nil {
		for key := range objstore.LeftOf(err, due) {
			delete(bytes, key)
		}
		p.failed = append(p.failed, fmt.Errorf("delete garbage: %w", err))
	}
	for key, n := range bytes {
		p.report.Deleted++
		p.report.DeletedBytes += n
		p.gone[key] = true
		delete(p.waiting, key)
	}
	return nil
}

// judge asks each shard's state once for the whole batch.
func (p *pass) judge(ctx context.Context, batch []candidate) error {
	shards := map[event.ShardID][]*candidate{}
	for i := range batch {
		o := &batch[i]
		creator, err := shardlog.CreatorOf(o.key)
		if err != nil {
			o.why = err.Error()
			p.count(o)
			continue
		}
		o.creator = creator
		shards[creator.Shard] = append(shards[creator.Shard], o)
	}
	for _, shard := range slices.Sorted(maps.Keys(shards)) {
		list := shards[shard]
		ok, err := p.c.cfg.Judges.Judge(ctx, shard, func(s *shardlog.State) {
			for _, o := range list {
				o.verdict, o.why = Judge(s, o.key, o.creator)
			}
		})
		if err != nil {
			return fmt.Errorf("judge objects of shard %s: %w", shard, err)
		}
		if !ok {
			for _, o := range list {
				if o.upload == nil {
					p.report.Objects++
					p.report.Skipped++
				}
			}
			continue
		}
		for _, o := range list {
			p.count(o)
		}
	}
	// A listing may take longer than the grace: what was removed meanwhile has been garbage since now.
	p.now = p.c.cfg.Clock()
	return nil
}

func (p *pass) count(o *candidate) {
	if o.upload != nil {
		if o.verdict == Garbage {
			p.report.Uploads++
		}
		return
	}
	p.report.Objects++
	switch o.verdict {
	case Named:
		p.report.Named++
	case MayCommit:
		p.report.MayCommit++
	case Unknown:
		p.report.Unknown++
	case Garbage:
		p.report.Garbage++
		p.report.GarbageBytes += o.bytes
	}
}

// due says whether garbage has waited for its grace, and remembers that it waits.
func (p *pass) due(o *candidate) bool {
	name := o.name()
	since, known := p.c.since[name]
	if !known {
		since = p.now
	}
	left := p.c.cfg.Grace - (p.now - since)
	if p.c.cfg.Tell != nil {
		p.c.cfg.Tell(Found{Key: o.key, Bytes: o.bytes, Upload: o.upload != nil, Why: o.why, Left: max(left, 0)})
	}
	if left > 0 || p.dry {
		if known || len(p.waiting) < maxWaiting {
			p.waiting[name] = since
		}
		return false
	}
	return true
}
