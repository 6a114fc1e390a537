package compactor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/objstore/s3store"
	"github.com/togodb/togo/internal/objstore/s3test"
	"github.com/togodb/togo/internal/shardlog"
)

// TestFault_leftovers_with_compaction: what crashed processes left is neither read nor listed at a start and by
// merges, and a collection takes it away without an operator.
func TestFault_leftovers_with_compaction(t *testing.T) {
	const leftovers = 10_000
	requests := map[int]int{} // of start and merges, by leftovers
	for _, n := range []int{0, leftovers} {
		r := newRig(t)
		dead := shardlog.Creator{Shard: 0, Epoch: r.state.Epoch(), Nonce: r.state.ClaimNonce()}
		r.claim()
		for i := range n {
			dead.Number = uint64(i)
			key := dead.FragmentKey(shardlog.TableEvents, "acme", begin)
			switch i % 3 {
			case 1:
				key = dead.SegmentKey()
			case 2: // of a merge that was never begun in this log: its record did not land
				key = shardlog.Creator{Shard: 0, Job: 2, Nonce: strings.Repeat("d", 32), Number: uint64(i)}.FragmentKey(shardlog.TableEvents, "acme", begin)
			}
			r.put(key, nil)
		}
		for range 5 {
			r.commit(begin, 3, "acme", "globex")
		}
		before := r.store.Ops()
		c := r.compactor("a")
		r.settle(c)
		requests[n] = r.store.Ops() - before
		r.now += r.cfg.QueryGrace
		for range 2 {
			if _, err := c.Collect(t.Context()); err != nil {
				t.Fatal(err)
			}
			r.now += r.cfg.QueryGrace
		}
		fragments, segments := r.load().Counts()
		if left := len(r.objects()); left != fragments+segments {
			t.Errorf("%d leftovers: %d objects stay, %d are named", n, left, fragments+segments)
		}
		r.check()
	}
	if requests[leftovers] != requests[0] {
		t.Errorf("%d requests with leftovers, %d without", requests[leftovers], requests[0])
	}
}

// TestFault_log_growth_with_compaction: thousands of commits, merged, collected and trimmed on the way: what the log
// holds, and what a start reads of it, does not grow with them.
func TestFault_log_growth_with_compaction(t *testing.T) {
	r := newRig(t)
	r.cfg.KeepRecords = 50
	c := r.compactor("a")
	held, start := map[int]int{}, map[int]int{}
	for n := 1; n <= 1600; n++ {
		r.commit(begin+int64(n/400)*hour, 1, "acme")
		if n%32 == 0 {
			if err := r.log.Checkpoint(t.Context(), r.state); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := c.Turn(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		if n%100 == 0 {
			r.now += r.cfg.QueryGrace
			if _, err := c.Collect(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if n == 400 || n == 1600 {
			for o, err := range r.store.Inner().List(t.Context(), "", "") {
				if err != nil {
					t.Fatal(err)
				}
				if o.Key != "" {
					held[n]++
				}
			}
			before := r.store.Ops()
			if _, err := shardlog.OpenWith(r.store, 0, shardlog.Config{Parallel: 1}).Load(t.Context()); err != nil {
				t.Fatal(err)
			}
			start[n] = r.store.Ops() - before
		}
	}
	t.Logf("after 400 commits %d objects, a start takes %d requests; after 1600 %d and %d", held[400], start[400], held[1600], start[1600])
	if held[1600] > held[400]*3/2 || start[1600] > start[400]*3/2 {
		t.Error("they grow with the commits")
	}
	r.settle(c)
	r.check()
}

// TestFault_orphans_multipart: uploads that nobody finishes are ended at an S3 server, those of dead claims and merges
// alone.
func TestFault_orphans_multipart(t *testing.T) { t.Run("s3", orphansMultipart) }

func orphansMultipart(t *testing.T) {
	s3 := s3test.Start(t).Store(t)
	r := newRigOver(t, s3)
	for range 4 {
		r.commit(begin, 3, "acme")
	}
	dead := shardlog.Creator{Shard: 0, Epoch: r.state.Epoch(), Nonce: r.state.ClaimNonce(), Number: 77}
	r.claim()
	c := r.compactorOver("a", s3)
	r.settle(c)
	lives := shardlog.Creator{Shard: 0, Epoch: r.state.Epoch(), Nonce: r.state.ClaimNonce(), Number: 99}
	s := r.load()
	over := shardlog.Creator{Shard: 0, Job: s.Position() - 1, Nonce: strings.Repeat("e", 32)} // a merge that is not open
	begun := map[string]objstore.Upload{}
	for i, key := range []string{
		dead.FragmentKey(shardlog.TableEvents, "acme", begin), dead.SegmentKey(), over.FragmentKey(shardlog.TableDeadLetters, "acme", begin),
		lives.FragmentKey(shardlog.TableEvents, "acme", begin), lives.SegmentKey(),
	} {
		u, err := objstore.Create(t.Context(), s3, key)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := u.Write(make([]byte, 9<<20)); err != nil {
			t.Fatal(err)
		}
		if i >= 3 {
			begun[key] = u
		}
	}
	for range 2 {
		if _, err := c.Collect(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.now += r.cfg.QueryGrace
	}
	var left []string
	for u, err := range objstore.PendingUploads(t.Context(), s3, "") {
		if err != nil {
			t.Fatal(err)
		}
		left = append(left, u.Key)
	}
	want := []string{lives.FragmentKey(shardlog.TableEvents, "acme", begin), lives.SegmentKey()}
	slices.Sort(left)
	if slices.Sort(want); !slices.Equal(left, want) {
		t.Fatalf("unfinished uploads %q, want %q", left, want)
	}
	for key, u := range begun {
		if err := u.Finish(t.Context()); err != nil {
			t.Fatalf("an upload that may be committed: %s: %v", key, err)
		}
	}
	r.check()
}

// TestLargeOutputs: an output of several parts, over an S3 server, and a merge that dies in the middle of one.
func TestLargeOutputs(t *testing.T) {
	s3 := s3test.Start(t).Store(t)
	r := newRigOver(t, s3)
	r.noise = 700
	for range 4 {
		r.commit(begin, 9000, "acme")
	}
	c := r.compactorOver("a", s3)
	r.settle(c)
	s := r.load()
	for f := range allFragments(s) {
		if f.Bytes < 20<<20 {
			t.Errorf("%s has %d bytes, no more than a few parts", f.Key, f.Bytes)
		}
		body, err := s3.Get(t.Context(), f.Key)
		if err != nil || objstore.Sum(body) != f.Sum {
			t.Errorf("%s: %v, or another sum than its record's", f.Key, err)
		}
	}
	if fragments, segments := s.Counts(); fragments != 1 || segments != 1 {
		t.Errorf("%d fragments, %d id segments", fragments, segments)
	}
	r.check()

	for range 4 {
		r.commit(begin, 9000, "acme")
	}
	ctx, cancel := context.WithCancel(t.Context())
	dying := &dying{Store: s3, after: 12 << 20, die: cancel}
	if _, err := r.compactorOver("dies", dying).Turn(ctx, 0); !errors.Is(err, context.Canceled) {
		t.Fatalf("it did not die: %v", err)
	}
	left := 0
	for range objstore.PendingUploads(t.Context(), s3, "") {
		left++
	}
	if left != 1 {
		t.Errorf("it left %d unfinished uploads", left)
	}
	r.check()
	r.now += r.cfg.JobTimeout
	r.settle(c)
	r.now += r.cfg.JobTimeout
	r.settle(c)
	for range 2 {
		if _, err := c.Collect(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.now += r.cfg.QueryGrace
	}
	for u, err := range objstore.PendingUploads(t.Context(), s3, "") {
		t.Errorf("left: %+v, %v", u, err)
	}
	fragments, segments := r.load().Counts()
	if n := len(r.objects()); n != fragments+segments {
		t.Errorf("%d objects, %d are named", n, fragments+segments)
	}
	r.check()
}

// dying ends a context when so many bytes of an upload were written.
type dying struct {
	*s3store.Store
	after int
	die   func()
}

func (d *dying) CreateUpload(ctx context.Context, key string) (objstore.Upload, error) {
	u, err := d.Store.CreateUpload(ctx, key)
	return &dyingUpload{u, d}, err
}

type dyingUpload struct {
	objstore.Upload
	d *dying
}

func (u *dyingUpload) Write(b []byte) (int, error) {
	if u.d.after -= len(b); u.d.after < 0 {
		u.d.die()
	}
	return u.Upload.Write(b)
}
