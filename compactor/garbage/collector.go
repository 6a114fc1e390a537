package garbage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
)

// Judges asks the state of a shard about objects. The states must be confirmed.
type Judges interface {
	// Judge calls judge with a confirmed state of the shard, and nobody changes the state
	// meanwhile. It calls nothing if it has no state of this shard.
	Judge(ctx context.Context, shard event.ShardID, judge func(*shardlog.State)) error
}

// Config of a Collector.
type Config struct {
	Store  objstore.Store
	Judges Judges
	Grace  time.Duration        // how long an object must have been garbage before it goes
	Clock  func() time.Duration // monotonic, since any moment; nothing else decides
	// Tell, if set, hears of each object and unfinished upload that a listing finds to be garbage,
	// in the order of the listing.
	Tell func(Found)
}

// Found is an object that is garbage.
type Found struct {
	Key    string
	Bytes  int64
	Upload bool   // an unfinished upload; Bytes is 0 then
	Why    string // for people
}

// Listed counts what a listing saw. Objects = Named + MayCommit + Garbage + Unknown + Skipped.
type Listed struct {
	Objects   int64
	Named     int64
	MayCommit int64
	Garbage   int64
	Unknown   int64 // of a creator that no shard knows, or not named as Togo names objects
	Skipped   int64 // of shards without a state here

	GarbageBytes int64
	Uploads      int64 // unfinished ones that are garbage
}

// Deleted counts what was deleted. Who asks a store to delete does not learn whether another had
// asked before.
type Deleted struct {
	Objects int64
	Bytes   int64 // of them, as far as they are known
	Removed int64 // of Objects, those that a log removed
	Uploads int64 // unfinished ones that were ended
}

// Collector knows what waits for its grace, and deletes it. Any number of goroutines may tell it what
// was removed; List is for one of them at a time, and so is Delete.
type Collector struct {
	cfg Config

	mu      sync.Mutex         // guards waiting; never held over a call of the store or of Judges
	waiting map[string]waiting // by name
}

// waiting is what is known of an object or an unfinished upload that waits for its grace.
type waiting struct {
	since   time.Duration // when it was first known that nothing names it any more
	bytes   int64
	removed bool // a log said so, and no listing
	upload  *objstore.PendingUpload
}

// MaxWaiting bounds what waits for its grace, in memory; the rest is found by later listings.
const MaxWaiting = 1 << 20

// batchKeys is how many objects are judged and deleted at a time: what a store deletes
// with one request.
const batchKeys = 1000

// NewCollector knows of nothing yet.
func NewCollector(cfg Config) *Collector {
	return &Collector{cfg: cfg, waiting: map[string]waiting{}}
}

// candidate is an object or an unfinished upload on its way through a listing, or that waits.
type candidate struct {
	waiting
	key     string
	creator shardlog.Creator
	judged  bool // false: no state was there to judge it by
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

// Waiting is how much waits for its grace.
func (c *Collector) Waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.waiting)
}

// Removed tells that a log does not name the object any more, and never will again, by a
// confirmed state. Whether it is garbage is asked before it is deleted.
func (c *Collector) Removed(key string, bytes int64) {
	c.wait(key, waiting{bytes: bytes, removed: true, since: c.cfg.Clock()})
}

// wait remembers what waits, unless it is known or there are too many.
func (c *Collector) wait(name string, w waiting) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.waiting[name]; !known && len(c.waiting) < MaxWaiting {
		c.waiting[name] = w
	}
}

// forget ends a wait.
func (c *Collector) forget(o *candidate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, o.name())
}

// due are the candidates whose grace is over, in order.
func (c *Collector) due() []*candidate {
	now := c.cfg.Clock()
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []*candidate
	for name, w := range c.waiting {
		if now-w.since < c.cfg.Grace {
			continue
		}
		o := &candidate{waiting: w, key: name}
		if w.upload != nil {
			o.key = w.upload.Key
		}
		out = append(out, o)
	}
	slices.SortFunc(out, func(a, b *candidate) int { return cmp.Compare(a.name(), b.name()) })
	return out
}

// List looks at all objects whose keys begin with one of the prefixes, and at all unfinished uploads; it
// remembers what is garbage, and deletes nothing. After an error the listing is incomplete, and the counts
// tell how far it came.
func (c *Collector) List(ctx context.Context, prefixes []string) (Listed, error) {
	var l Listed
	for _, prefix := range prefixes {
		if err := c.objects(ctx, prefix, &l); err != nil {
			return l, err
		}
	}
	// Whoever may not list uploads (a permission of its own) still gets rid of objects.
	var failed []error
	for _, prefix := range Folders() {
		if err := c.uploads(ctx, prefix, &l); err != nil {
			failed = append(failed, err)
		}
	}
	return l, errors.Join(failed...)
}

// Folders are the prefixes of all objects that shard logs name.
func Folders() []string {
	return []string{shardlog.EventsFolder + "/", shardlog.LettersFolder + "/", shardlog.IDsFolder + "/"}
}

func (c *Collector) objects(ctx context.Context, prefix string, l *Listed) error {
	batch := make([]*candidate, 0, batchKeys)
	for o, err := range c.cfg.Store.List(ctx, prefix, "") {
		if err != nil {
			return fmt.Errorf("list %s: %w", prefix, err)
		}
		if batch = append(batch, &candidate{key: o.Key, waiting: waiting{bytes: o.Size}}); len(batch) == batchKeys {
			if err := c.take(ctx, batch, l); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	return c.take(ctx, batch, l)
}

func (c *Collector) uploads(ctx context.Context, prefix string, l *Listed) error {
	var batch []*candidate
	for u, err := range objstore.PendingUploads(ctx, c.cfg.Store, prefix) {
		if err != nil {
			return fmt.Errorf("list unfinished uploads of %s: %w", prefix, err)
		}
		batch = append(batch, &candidate{key: u.Key, waiting: waiting{upload: &u}})
	}
	return c.take(ctx, batch, l)
}

// take judges what was listed, and remembers what is garbage of it.
func (c *Collector) take(ctx context.Context, batch []*candidate, l *Listed) error {
	if err := c.judge(ctx, batch); err != nil {
		return err
	}
	// A listing may take longer than the grace: what left its log meanwhile has been garbage since now.
	now := c.cfg.Clock()
	for _, o := range batch {
		if l.count(o); o.verdict != Garbage {
			continue
		}
		o.since = now
		c.wait(o.name(), o.waiting)
		if c.cfg.Tell != nil {
			c.cfg.Tell(Found{Key: o.key, Bytes: o.bytes, Upload: o.upload != nil, Why: o.why})
		}
	}
	return nil
}

func (l *Listed) count(o *candidate) {
	if o.upload != nil {
		if o.verdict == Garbage {
			l.Uploads++
		}
		return
	}
	l.Objects++
	switch {
	case !o.judged:
		l.Skipped++
	case o.verdict == Named:
		l.Named++
	case o.verdict == MayCommit:
		l.MayCommit++
	case o.verdict == Unknown:
		l.Unknown++
	case o.verdict == Garbage:
		l.Garbage++
		l.GarbageBytes += o.bytes
	}
}

// judge asks each shard's state once for the whole batch.
func (c *Collector) judge(ctx context.Context, batch []*candidate) error {
	shards := map[event.ShardID][]*candidate{}
	for _, o := range batch {
		creator, err := shardlog.CreatorOf(o.key)
		if err != nil {
			o.judged, o.verdict, o.why = true, Unknown, err.Error()
			continue
		}
		o.creator = creator
		shards[creator.Shard] = append(shards[creator.Shard], o)
	}
	for _, shard := range slices.Sorted(maps.Keys(shards)) {
		list := shards[shard]
		err := c.cfg.Judges.Judge(ctx, shard, func(s *shardlog.State) {
			for _, o := range list {
				o.verdict, o.why = Judge(s, o.key, o.creator)
				o.judged = true
			}
		})
		if err != nil {
			return fmt.Errorf("judge objects of shard %s: %w", shard, err)
		}
	}
	return nil
}

// Delete deletes what has waited for its grace and is garbage. What the store did not delete is in the
// error, and is tried by the next call.
func (c *Collector) Delete(ctx context.Context) (Deleted, error) {
	var d Deleted
	var failed []error
	for batch := range slices.Chunk(c.due(), batchKeys) {
		if err := c.judge(ctx, batch); err != nil {
			return d, errors.Join(append(failed, err)...)
		}
		for _, o := range batch {
			// Who may still commit an object may give it up yet; of what else is no garbage nothing is to be awaited.
			if o.judged && (o.verdict == Named || o.verdict == Unknown) {
				c.forget(o)
			}
		}
		if err := c.delete(ctx, batch, &d); err != nil {
			failed = append(failed, err)
		}
	}
	return d, errors.Join(failed...)
}

// delete deletes the garbage of a batch that was judged.
func (c *Collector) delete(ctx context.Context, batch []*candidate, d *Deleted) error {
	var failed []error
	var keys []string
	var objects []*candidate
	for _, o := range batch {
		if o.verdict != Garbage {
			continue
		}
		if o.upload == nil {
			keys, objects = append(keys, o.key), append(objects, o)
			continue
		}
		if err := objstore.AbandonUpload(ctx, c.cfg.Store, *o.upload); err != nil {
			failed = append(failed, fmt.Errorf("end the unfinished upload of %s: %w", o.key, err))
			continue
		}
		d.Uploads++
		c.forget(o)
	}
	if len(keys) == 0 {
		return errors.Join(failed...)
	}
	err := c.cfg.Store.Delete(ctx, keys...)
	left := objstore.LeftOf(err, keys)
	for _, o := range objects {
		if left[o.key] != nil {
			continue
		}
		d.Objects++
		d.Bytes += o.bytes
		if o.removed {
			d.Removed++
		}
		c.forget(o)
	}
	if err != nil {
		failed = append(failed, fmt.Errorf("delete garbage: %w", err))
	}
	return errors.Join(failed...)
}
