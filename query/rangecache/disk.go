package rangecache

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/togodb/togo/internal/objstore"
)

const (
	// maxQueued and maxQueuedBytes bound what waits to be written, in memory. What comes beyond that is not kept.
	maxQueued      = 1024
	maxQueuedBytes = 64 << 20
	// sweepEvery is how often old parts are looked for; touchEvery how seldom the use of a part is noted in its file's time.
	sweepEvery = time.Minute
	touchEvery = 10 * time.Minute

	// temporaryBegin and temporaryEnd are those of the name of a file that is being written.
	temporaryBegin, temporaryEnd = "togo-", ".part"
)

// object is the entry of a key; it is made if there is none. The caller holds mu.
func (c *Cache) object(key string) *object {
	name := objstore.Sum([]byte(c.cfg.StoreID + "\x00" + key))
	o := c.objects[name]
	if o == nil {
		o = &object{name: name}
		c.objects[name] = o
	}
	if o.key == "" { // else it is the same, and others read it
		o.key = key
	}
	return o
}

// read gives [from, to) of a kept part, or nil: then the part is dropped.
func (c *Cache) read(o *object, p *part, from, to int64) []byte {
	c.mu.Lock()
	data, sums, head := p.data, p.sums, p.head
	c.mu.Unlock()
	if data != nil {
		return data[from-p.from : to-p.from : to-p.from]
	}
	data, err := c.readFile(o, p, sums, head, from, to)
	if err != nil {
		c.drop(p)
		if !errors.Is(err, fs.ErrNotExist) {
			c.metrics.damaged.Inc()
			c.cfg.Logger.Warn("a part of a file in the cache is of no use", "key", o.key, "from", p.from, "to", p.to, "error", err)
		}
		return nil
	}
	return data
}

func (c *Cache) readFile(o *object, p *part, sums []uint64, head, from, to int64) ([]byte, error) {
	f, err := os.Open(p.file(c.cfg.Dir))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if sums == nil {
		fresh := &part{object: o, from: p.from, to: p.to}
		if err := fresh.readHead(f, c.cfg.StoreID, o.key); err != nil {
			return nil, err
		}
		sums, head = fresh.sums, fresh.head
		c.mu.Lock()
		p.sums, p.head = sums, head
		c.mu.Unlock()
	}
	return readBlocks(f, p, sums, head, from, to)
}

// touch makes a part the most recently used. The caller holds mu.
func (c *Cache) touch(p *part) {
	if p.place == nil {
		return
	}
	c.lru.MoveToBack(p.place)
	if now := c.cfg.Now(); p.data == nil && now.Sub(p.used) > touchEvery {
		p.used = now
		_ = os.Chtimes(p.file(c.cfg.Dir), time.Time{}, now) // after a restart it counts as less used, at worst
	}
}

// landed takes a flight out, and keeps what it brought.
func (c *Cache) landed(o *object, f *flight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o.flights = slices.DeleteFunc(o.flights, func(one *flight) bool { return one == f })
	n := f.to - f.from
	if f.err != nil || c.cfg.Dir == "" || c.closed || n > c.cfg.MaxBytes/4 || c.queued+n > maxQueuedBytes || len(c.writes) == cap(c.writes) {
		if f.err == nil && c.cfg.Dir != "" {
			c.metrics.skipped.Inc()
		}
		c.forget(o)
		return
	}
	for _, old := range slices.Clone(o.parts) { // read again, to save a request
		if old.from < f.to && f.from < old.to {
			c.remove(old)
		}
	}
	now := c.cfg.Now().Truncate(time.Millisecond)
	p := &part{object: o, from: f.from, to: f.to, data: f.data, stored: now, used: now}
	p.size = headSize(identity(c.cfg.StoreID, o.key), n) + n
	c.insert(p)
	c.queued += n
	c.writes <- p // has room: mu is held by whoever puts something in
}

// insert enters a part. The caller holds mu.
func (c *Cache) insert(p *part) {
	c.objects[p.object.name] = p.object
	p.object.parts = append(p.object.parts, p)
	p.place = c.lru.PushBack(p)
	c.bytes += p.size
	c.measure()
}

// measure brings the gauges up.
func (c *Cache) measure() {
	c.metrics.kept.Set(float64(c.bytes))
	c.metrics.parts.Set(float64(c.lru.Len()))
}

// drop takes a part out.
func (c *Cache) drop(p *part) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(p)
}

// remove takes a part out and deletes its file. The caller holds mu.
func (c *Cache) remove(p *part) {
	if p.place == nil {
		return
	}
	c.lru.Remove(p.place)
	p.place = nil
	c.bytes -= p.size
	o := p.object
	o.parts = slices.DeleteFunc(o.parts, func(one *part) bool { return one == p })
	c.forget(o)
	if p.data == nil { // else the writer sees that it is out
		_ = os.Remove(p.file(c.cfg.Dir))
	}
	c.measure()
}

// forget drops the entry of an object of which nothing is kept. The caller holds mu.
func (c *Cache) forget(o *object) {
	if len(o.parts)+len(o.flights) == 0 && c.objects[o.name] == o {
		delete(c.objects, o.name)
	}
}

// write puts parts on the disk and drops old ones, until Close.
func (c *Cache) write() {
	defer close(c.stopped)
	sweep := time.NewTicker(sweepEvery)
	defer sweep.Stop()
	for {
		select {
		case p, ok := <-c.writes:
			if !ok {
				return
			}
			c.store(p)
			c.evict()
		case <-sweep.C:
			c.sweep()
		}
	}
}

// store writes one part, or drops it.
func (c *Cache) store(p *part) {
	c.mu.Lock()
	data, gone := p.data, p.place == nil
	c.mu.Unlock()
	var err error
	var sums []uint64
	var head []byte
	if !gone {
		head, sums = appendHead(nil, identity(c.cfg.StoreID, p.object.key), p.from, data)
		err = c.writeFile(p, head, data)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queued -= p.to - p.from
	switch {
	case gone:
	case err != nil:
		c.remove(p)
		c.metrics.failed.Inc()
		if now := c.cfg.Now(); now.Sub(c.warned) > time.Minute {
			c.warned = now
			c.cfg.Logger.Warn("the cache can't be written", "dir", c.cfg.Dir, "error", err)
		}
	default:
		p.data, p.sums, p.head = nil, sums, int64(len(head))
		if p.place == nil { // dropped meanwhile
			_ = os.Remove(p.file(c.cfg.Dir))
		}
	}
}

func (c *Cache) writeFile(p *part, head, data []byte) (err error) {
	name := p.file(c.cfg.Dir)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), temporaryBegin+"*"+temporaryEnd)
	if err != nil {
		return err
	}
	_, err = f.Write(head)
	if err == nil {
		_, err = f.Write(data)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// evict drops the least recently used parts above the bound.
func (c *Cache) evict() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.bytes > c.cfg.MaxBytes {
		c.remove(c.lru.Front().Value.(*part))
		c.metrics.evicted.Inc()
	}
}

// sweep drops parts that were read too long ago.
func (c *Cache) sweep() {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.cfg.Now().Add(-c.cfg.KeepFor)
	for e := c.lru.Front(); e != nil; {
		p := e.Value.(*part)
		if e = e.Next(); p.stored.Before(old) {
			c.remove(p)
		}
	}
}

// scanDir enters the parts that are there, in the order of their last use.
func (c *Cache) scanDir() error {
	if err := os.MkdirAll(c.cfg.Dir, 0o755); err != nil {
		return err
	}
	var found []*part
	err := filepath.WalkDir(c.cfg.Dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // another process drops parts, too
		}
		if err != nil || d.IsDir() {
			return err
		}
		if name := d.Name(); strings.HasPrefix(name, temporaryBegin) && strings.HasSuffix(name, temporaryEnd) {
			_ = os.Remove(path) // of a process that died; one that lives does without this part
			return nil
		}
		p, ok := parseName(d.Name())
		if !ok || p.file(c.cfg.Dir) != path {
			return nil
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			p.size, p.used = info.Size(), info.ModTime()
			found = append(found, p)
		}
		return err
	})
	if err != nil {
		return err
	}
	slices.SortFunc(found, func(a, b *part) int { return a.used.Compare(b.used) })
	for _, p := range found {
		if known := c.objects[p.object.name]; known != nil {
			p.object = known
		}
		c.insert(p)
	}
	c.evict()
	c.sweep()
	return nil
}

// parseName reads the name of a part's file.
func parseName(name string) (*part, bool) {
	fields := strings.Split(name, "-")
	if len(fields) != 4 || len(fields[0]) != 32 {
		return nil, false
	}
	from, err1 := strconv.ParseInt(fields[1], 10, 64)
	n, err2 := strconv.ParseInt(fields[2], 10, 64)
	stored, err3 := strconv.ParseInt(fields[3], 10, 64)
	if err3 != nil || err1 != nil || err2 != nil || from < 0 || n <= 0 || from+n < from {
		return nil, false
	}
	p := &part{object: &object{name: fields[0]}, from: from, to: from + n, stored: time.UnixMilli(stored)}
	return p, p.name() == name
}
