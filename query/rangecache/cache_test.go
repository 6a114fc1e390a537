package rangecache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/scan"
)

var noPause = chain.Backoff{Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }}

// rig is a store with some objects, and what they hold.
type rig struct {
	t     *testing.T
	store *objstore.Fault
	dir   string
	want  map[string][]byte
	now   atomic.Int64 // ns since 1970
}

func newRig(t *testing.T, sizes ...int) *rig {
	r := &rig{t: t, store: objstore.NewFault(objstore.NewMemory()), dir: t.TempDir(), want: map[string][]byte{}}
	r.now.Store(1_700_000_000e9)
	random := rand.New(rand.NewPCG(1, 2))
	for i, size := range sizes {
		body := make([]byte, size)
		for j := range body {
			body[j] = byte(random.Uint32())
		}
		key := fmt.Sprintf("data/acme/%d.parquet", i)
		r.want[key] = body
		if err := r.store.Inner().Put(t.Context(), key, body); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func (r *rig) open(cfg Config) *Cache {
	r.t.Helper()
	cfg.Store, cfg.Dir, cfg.Backoff, cfg.Logger = r.store, r.dir, noPause, slog.New(slog.DiscardHandler)
	cfg.Now = func() time.Time { return time.Unix(0, r.now.Load()) }
	if cfg.StoreID == "" {
		cfg.StoreID = "store"
	}
	c, err := Open(cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(c.Close)
	return c
}

func key(i int) string { return fmt.Sprintf("data/acme/%d.parquet", i) }

// get reads and compares, and returns what it cost.
func (r *rig) get(c *Cache, key string, off, n int64) *scan.Stats {
	r.t.Helper()
	count := &scan.Stats{}
	got, err := c.GetRange(r.t.Context(), key, off, n, count)
	if err != nil {
		r.t.Fatalf("%s [%d, %d): %v", key, off, off+n, err)
	}
	if !bytes.Equal(got, r.want[key][off:off+n]) {
		r.t.Fatalf("%s [%d, %d): other bytes", key, off, off+n)
	}
	return count
}

func (r *rig) cost(what string, count *scan.Stats, requests, store, cache int64) {
	r.t.Helper()
	if a, b, c := count.StoreRequests.Load(), count.StoreBytes.Load(), count.CacheBytes.Load(); a != requests || b != store || c != cache {
		r.t.Errorf("%s: %d requests, %d bytes from the store and %d from the cache; want %d, %d, %d", what, a, b, c, requests, store, cache)
	}
}

func TestOnlyWhatIsMissingIsRead(t *testing.T) {
	r := newRig(t, 1<<20)
	c := r.open(Config{})
	r.cost("first", r.get(c, key(0), 100_000, 50_000), 1, 50_000, 0)
	r.cost("again", r.get(c, key(0), 100_000, 50_000), 0, 0, 50_000)
	r.cost("a part of it", r.get(c, key(0), 120_001, 17), 0, 0, 17)
	r.cost("with more at its end", r.get(c, key(0), 140_000, 20_000), 1, 10_000, 10_000)
	r.cost("both ends", r.get(c, key(0), 90_000, 100_000), 1, 100_000, 0) // 60,000 in between are read again: one request
	r.get(c, key(0), 400_000, 100_000)
	r.cost("a wide part in between", r.get(c, key(0), 390_000, 120_000), 2, 20_000, 100_000)
	r.cost("all", r.get(c, key(0), 0, 1<<20), 3, 1<<20-220_000, 220_000)
	c.Close()
	c = r.open(Config{})
	r.cost("after a restart", r.get(c, key(0), 5, 1<<20-10), 0, 0, 1<<20-10)
	other := r.open(Config{StoreID: "other"})
	r.cost("another store", r.get(other, key(0), 5, 10), 1, 10, 0)
}

// files are those of the cache.
func (r *rig) files() (names []string, bytes int64) {
	r.t.Helper()
	err := filepath.WalkDir(r.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			info, err := d.Info()
			if err != nil {
				return err
			}
			names, bytes = append(names, path), bytes+info.Size()
		}
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return names, bytes
}

// Whatever became of the files on the disk, the bytes are the object's.
func TestTornAndForeignPartsAreNeverServed(t *testing.T) {
	r := newRig(t, 300_000, 300_000)
	c := r.open(Config{})
	r.get(c, key(0), 0, 200_000)
	r.get(c, key(1), 0, 200_000)
	c.Close()
	names, _ := r.files()
	if len(names) != 2 {
		t.Fatalf("%d files", len(names))
	}
	good := map[string][]byte{}
	for _, name := range names {
		body, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		good[name] = body
	}
	write := func(name string, body []byte) {
		t.Helper()
		if err := os.WriteFile(name, body, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	size := len(good[names[0]])
	head := size - 200_000
	damage := map[string]func(name string, body []byte){
		"empty":   func(name string, _ []byte) { write(name, nil) },
		"swapped": func(name string, _ []byte) { write(name, good[names[(map[bool]int{true: 1})[name == names[0]]]]) },
		"zeros":   func(name string, body []byte) { write(name, make([]byte, len(body))) },
		"zeros after": func(name string, body []byte) {
			write(name, append(bytes.Clone(body[:head+70_000]), make([]byte, 130_000)...))
		},
		"removed": func(name string, _ []byte) { os.Remove(name) },
		"longer":  func(name string, body []byte) { write(name, append(bytes.Clone(body), 1, 2, 3)) },
	}
	for _, at := range []int{1, 8, 11, 12, 20, head - 9, head - 1, head, head + 1, head + 65_536, size - 1} {
		damage[fmt.Sprintf("cut at %d", at)] = func(name string, body []byte) { write(name, body[:at]) }
		damage[fmt.Sprintf("a bit of %d", at)] = func(name string, body []byte) {
			body = bytes.Clone(body)
			body[at] ^= 4
			write(name, body)
		}
	}
	for _, warm := range []bool{false, true} {
		for what, do := range damage {
			r.dir = t.TempDir()
			for name, body := range good {
				name = filepath.Join(r.dir, filepath.Base(filepath.Dir(name)), filepath.Base(name))
				if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
					t.Fatal(err)
				}
				write(name, body)
			}
			c := r.open(Config{})
			if warm { // checksums are known
				r.cost("before "+what, r.get(c, key(0), 10, 5), 0, 0, 5)
				r.cost("before "+what, r.get(c, key(1), 10, 5), 0, 0, 5)
			}
			for name := range good {
				do(filepath.Join(r.dir, filepath.Base(filepath.Dir(name)), filepath.Base(name)), good[name])
			}
			if !warm {
				c.Close()
				c = r.open(Config{})
			}
			for i := range 2 {
				r.get(c, key(i), 0, 200_000)
				r.get(c, key(i), 65_000, 1000)
			}
			c.Close()
		}
	}
}

func TestRequestsAtTheSameTimeShareOneRead(t *testing.T) {
	for _, dir := range []bool{true, false} {
		r := newRig(t, 1<<20)
		if !dir {
			r.dir = ""
		}
		c := r.open(Config{})
		arrived, release := make(chan struct{}), make(chan struct{})
		r.store.Add(objstore.Rule{Op: objstore.OpGetRange, Effect: objstore.Pass, Before: func(objstore.Call) { close(arrived); <-release }})
		var wait sync.WaitGroup
		first := &scan.Stats{}
		read := func(count *scan.Stats, off, n int64) {
			got, err := c.GetRange(t.Context(), key(0), off, n, count)
			if err != nil || !bytes.Equal(got, r.want[key(0)][off:off+n]) {
				t.Errorf("[%d, %d): other bytes, or %v", off, off+n, err)
			}
		}
		wait.Go(func() { read(first, 1000, 100_000) })
		<-arrived
		others := make([]scan.Stats, 20)
		for i := range others {
			wait.Go(func() { read(&others[i], int64(1000+i), 50_000) })
		}
		close(release)
		wait.Wait()
		r.cost("the first", first, 1, 100_000, 0)
		for i := range others { // those that came late may read anew without a directory
			if n := others[i].StoreRequests.Load(); dir && n != 0 || n > 1 {
				t.Errorf("request %d read %d times", i, n)
			}
		}
		if n := r.store.Count(objstore.OpGetRange); dir && n != 1 {
			t.Errorf("%d reads of the store", n)
		}
	}
}

// The one that reads for others gives up: they read for themselves.
func TestLeaderGivesUp(t *testing.T) {
	r := newRig(t, 1<<20)
	c := r.open(Config{})
	ctx, cancel := context.WithCancel(t.Context())
	arrived := make(chan struct{})
	r.store.Add(objstore.Rule{Op: objstore.OpGetRange, Effect: objstore.Pass, Before: func(objstore.Call) { close(arrived); <-ctx.Done() }})
	var wait sync.WaitGroup
	wait.Go(func() {
		if _, err := c.GetRange(ctx, key(0), 0, 1000, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("the leader: %v", err)
		}
	})
	<-arrived
	wait.Go(func() { r.get(c, key(0), 500, 1000) })
	for { // until the second waits, or reads what the first does not
		c.mu.Lock()
		n := len(c.object(key(0)).flights) + len(c.object(key(0)).parts)
		c.mu.Unlock()
		if n >= 2 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	cancel()
	wait.Wait()
}

func TestFaultsOfTheStore(t *testing.T) {
	r := newRig(t, 100_000)
	c := r.open(Config{})
	r.store.Add(objstore.Rule{Op: objstore.OpGetRange, Effect: objstore.FailBefore, Err: objstore.ErrUnavailable, Times: 3})
	r.cost("three times 503", r.get(c, key(0), 0, 1000), 4, 1000, 0)
	r.store.Add(objstore.Rule{Op: objstore.OpGetRange, Effect: objstore.Truncate, Bytes: 400, Times: 2})
	r.cost("cut off without an error", r.get(c, key(0), 1000, 1000), 3, 1800, 0)
	r.store.Add(objstore.Rule{Op: objstore.OpGetRange, Effect: objstore.Truncate, Bytes: 400, Err: objstore.ErrInjected, Times: 2})
	r.get(c, key(0), 2000, 1000)
	r.store.Add(objstore.Rule{Op: objstore.OpGetRange, Effect: objstore.FailBefore, Times: -1})
	_, err := c.GetRange(t.Context(), key(0), 50_000, 10, nil)
	if fail.CodeOf(err) != fail.Unavailable || !errors.Is(err, objstore.ErrInjected) {
		t.Errorf("a store that is down: %v", err)
	}
	r.get(c, key(0), 0, 3000) // from the cache
	r.store.Clear()
	if _, err := c.GetRange(t.Context(), key(0), 99_000, 2000, nil); !errors.Is(err, fragment.ErrCorrupt) {
		t.Errorf("an object that is too short: %v", err)
	}
	if _, err := c.GetRange(t.Context(), key(0), 200_000, 2000, nil); !errors.Is(err, fragment.ErrCorrupt) {
		t.Errorf("a range behind the object's end: %v", err)
	}
	before := r.store.Ops()
	if _, err := c.GetRange(t.Context(), "data/none", 0, 10, nil); !errors.Is(err, objstore.ErrNotFound) || r.store.Ops() != before+1 {
		t.Errorf("no object: %v, %d requests", err, r.store.Ops()-before)
	}
}

func TestSizeLimit(t *testing.T) {
	r := newRig(t, 1<<20, 1<<20, 1<<20)
	const limit = 700_000
	c := r.open(Config{MaxBytes: limit})
	random := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		r.get(c, key(random.IntN(3)), random.Int64N(1<<20-60_000), 1+random.Int64N(60_000))
	}
	r.get(c, key(0), 0, 1<<20) // larger than a quarter of the limit: not kept
	c.Close()
	if _, bytes := r.files(); bytes > limit || bytes < limit/2 {
		t.Errorf("%d bytes on the disk, the limit is %d", bytes, limit)
	}
	c = r.open(Config{MaxBytes: limit / 4})
	c.Close()
	if _, bytes := r.files(); bytes > limit/4 || bytes == 0 {
		t.Errorf("%d bytes on the disk after a start with a limit of %d", bytes, limit/4)
	}
}

// What was read long ago goes, whether it is used or not, and after a restart too.
func TestOldPartsGo(t *testing.T) {
	for _, restart := range []bool{false, true} {
		r := newRig(t, 100_000)
		c := r.open(Config{KeepFor: time.Hour})
		r.get(c, key(0), 0, 1000)
		for range 3 {
			r.now.Add(int64(19 * time.Minute))
			r.cost("within the hour", r.get(c, key(0), 0, 1000), 0, 0, 1000)
		}
		r.now.Add(int64(4 * time.Minute))
		if restart {
			c.Close()
			c = r.open(Config{KeepFor: time.Hour})
		} else {
			c.sweep()
		}
		if names, _ := r.files(); len(names) > 0 {
			t.Errorf("restart %v: %q is there after the hour", restart, names)
		}
		r.cost("after the hour", r.get(c, key(0), 0, 1000), 1, 1000, 0)
	}
}

func TestDiskThatCannotBeWritten(t *testing.T) {
	r := newRig(t, 100_000)
	c := r.open(Config{})
	if err := os.RemoveAll(r.dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(r.dir, []byte("no directory"), 0o644); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		r.get(c, key(0), int64(i*100), 5000)
	}
	c.Close()
	for i := range 20 {
		r.get(c, key(0), int64(i*100), 5000)
	}
	if n := c.lru.Len(); n > 0 {
		t.Errorf("%d parts in a cache that cannot be written", n)
	}
}
