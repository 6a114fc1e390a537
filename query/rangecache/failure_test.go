package rangecache

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/query/fail"
)

// What the store did not give to the one that reads for others, after all his tries, they do not ask for again one after the
// other: a store that is down would be asked without end, and they would wait for as long.
func TestAFailureIsShared(t *testing.T) {
	for _, effect := range []func(){func() {}, func() { panic("a bug") }} {
		r := newRig(t, 1<<20)
		c := r.open(Config{Tries: 3})
		arrived, release := make(chan struct{}), make(chan struct{})
		var once sync.Once
		r.store.Add(objstore.Rule{Op: objstore.OpGetRange, Effect: objstore.FailBefore, Err: objstore.ErrUnavailable, Times: -1, Before: func(objstore.Call) {
			once.Do(func() { close(arrived); <-release })
			effect()
		}})
		var wait sync.WaitGroup
		ask := func() {
			if _, err := c.GetRange(t.Context(), key(0), 0, 1000, nil); fail.CodeOf(err) != fail.Unavailable && fail.CodeOf(err) != fail.Internal {
				t.Errorf("%v", err)
			}
		}
		wait.Go(ask)
		<-arrived
		var asked atomic.Int64
		for range 20 {
			wait.Go(func() { asked.Add(1); ask() })
		}
		for asked.Load() < 20 {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(20 * time.Millisecond) // who has not joined by then may read for himself
		close(release)
		wait.Wait()
		if n := r.store.Count(objstore.OpGetRange); n > 15 {
			t.Errorf("the store was asked %d times", n)
		}
		r.store.Clear()
		r.get(c, key(0), 0, 1000)
	}
}

// Only what the cache has written itself is deleted from its directory.
func TestOtherFilesAreLeftAlone(t *testing.T) {
	r := newRig(t, 1000)
	c := r.open(Config{})
	r.get(c, key(0), 0, 1000)
	c.Close()
	for _, name := range []string{"film.mkv.part", "ab/x.part", "notes"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(r.dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte("mine"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	half := filepath.Join(r.dir, "ab", temporaryBegin+"123"+temporaryEnd)
	if err := os.WriteFile(half, []byte("of a process that died"), 0o644); err != nil {
		t.Fatal(err)
	}
	r.open(Config{})
	for _, name := range []string{"film.mkv.part", "ab/x.part", "notes"} {
		if _, err := os.Stat(filepath.Join(r.dir, name)); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(half); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that was half written: %v", err)
	}
}
