package garbage

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
)

// multipart is a store with uploads that nobody finishes.
type multipart struct {
	objstore.Store
	pending []objstore.PendingUpload
	refuse  string // the key of one that cannot be ended
	closed  error  // of every listing
}

func (m *multipart) CreateUpload(ctx context.Context, key string) (objstore.Upload, error) {
	return objstore.Create(ctx, m.Store, key)
}

func (m *multipart) Uploads(_ context.Context, prefix string) iter.Seq2[objstore.PendingUpload, error] {
	return func(yield func(objstore.PendingUpload, error) bool) {
		if m.closed != nil {
			yield(objstore.PendingUpload{}, m.closed)
			return
		}
		for _, u := range slices.Clone(m.pending) {
			if strings.HasPrefix(u.Key, prefix) && !yield(u, nil) {
				return
			}
		}
	}
}

func (m *multipart) AbandonUpload(_ context.Context, u objstore.PendingUpload) error {
	if u.Key == m.refuse {
		return objstore.ErrUnavailable
	}
	m.pending = slices.DeleteFunc(m.pending, func(p objstore.PendingUpload) bool { return p == u })
	return nil
}

// TestUnfinishedUploads are ended by the rule of objects, each by itself: those of dead creators when
// the grace is over, whatever is under the same key. A living writer's and an open merge's stay.
func TestUnfinishedUploads(t *testing.T) {
	w := newWorld(t)
	m := &multipart{Store: w.store}
	w.claim()
	dead, first, second := w.claimed(7), w.claimed(1), w.claimed(2)
	w.commit(first, 0)
	w.commit(second, 0)
	w.claim()
	job, output := w.begin(first, second)
	for i, key := range []string{
		dead, dead, w.claimed(3), output(0), "data/acme/strange",
		shardlog.Creator{Shard: shard + 1, Epoch: 1, Nonce: strings.Repeat("1", 32)}.SegmentKey(),
	} {
		m.pending = append(m.pending, objstore.PendingUpload{Key: key, ID: string(rune('a' + i)), Begun: time.Unix(0, 0)})
	}
	c := NewCollector(Config{Store: m, Judges: w, Grace: time.Minute, Clock: func() time.Duration { return w.now }})
	expect := func(what string, ended int64, left string) {
		t.Helper()
		_, d, err := pass(t.Context(), c)
		ids := ""
		for _, u := range m.pending {
			ids += u.ID
		}
		if refused := m.refuse != ""; d.Uploads != ended || ids != left || refused != errors.Is(err, objstore.ErrUnavailable) {
			t.Fatalf("%s: %d ended, %q are left; want %d and %q; %v", what, d.Uploads, ids, ended, left, err)
		}
		w.now += time.Minute
	}
	expect("within the grace", 0, "abcdef")
	m.refuse = dead
	expect("refused", 0, "abcdef")
	m.refuse = ""
	expect("after the grace", 2, "cdef")
	expect("again", 0, "cdef")
	w.append(&shardlog.Record{Kind: shardlog.KindMergeAbort, MergeAbort: &shardlog.MergeAbort{Job: job}})
	expect("the merge is given up", 0, "cdef")
	expect("a grace later", 1, "cef")
}

// TestUploadsThatCannotBeListed keep no object.
func TestUploadsThatCannotBeListed(t *testing.T) {
	w := newWorld(t)
	w.claim()
	event, letter := w.claimed(1), shardlog.Creator{Shard: shard, Epoch: w.state.Epoch(), Nonce: w.state.ClaimNonce()}.FragmentKey(shardlog.TableDeadLetters, "acme", bucket)
	w.put(event, letter)
	w.claim()
	denied := errors.New("access denied")
	c := NewCollector(Config{Store: &multipart{Store: w.store, closed: denied}, Judges: w, Clock: func() time.Duration { return w.now }})
	if _, d, err := pass(t.Context(), c); !errors.Is(err, denied) || d.Objects != 2 {
		t.Fatalf("%+v, %v", d, err)
	}
}
