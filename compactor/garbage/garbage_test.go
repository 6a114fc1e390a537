package garbage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
)

const (
	shard  = event.ShardID(3)
	bucket = int64(1_700_006_400)
)

// world is a shard with its log, in memory.
type world struct {
	t     *testing.T
	store *objstore.Fault
	log   *shardlog.Log
	state *shardlog.State
	now   time.Duration
	told  []Found

	judging func() // if set, called before a state is given
}

func newWorld(t *testing.T) *world {
	store := objstore.NewFault(objstore.NewMemory())
	return &world{
		t: t, store: store, state: shardlog.NewState(shard),
		log: shardlog.OpenWith(store, shard, shardlog.Config{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}),
	}
}

// Judge makes the world the collector's source of states.
func (w *world) Judge(_ context.Context, s event.ShardID, judge func(*shardlog.State)) error {
	if w.judging != nil {
		w.judging()
	}
	if s == shard {
		judge(w.state)
	}
	return nil
}

func (w *world) collector(grace time.Duration) *Collector {
	return NewCollector(Config{
		Store: w.store, Judges: w, Grace: grace, Clock: func() time.Duration { return w.now },
		Tell: func(f Found) { w.told = append(w.told, f) },
	})
}

// pass lists everything, and deletes what is due.
func pass(ctx context.Context, c *Collector) (Listed, Deleted, error) {
	l, listing := c.List(ctx, Folders())
	d, err := c.Delete(ctx)
	return l, d, errors.Join(listing, err)
}

func (w *world) append(r *shardlog.Record) *shardlog.Record {
	w.t.Helper()
	if won, _, err := w.log.Append(w.t.Context(), w.state, r); !won || err != nil {
		w.t.Fatalf("%s: won %v, %v", r.Kind, won, err)
	}
	return r
}

func (w *world) claim() {
	w.t.Helper()
	if _, _, err := w.log.Claim(w.t.Context(), w.state, "a", "i"); err != nil {
		w.t.Fatal(err)
	}
}

// claimed is the key of the n-th upload of the current claim.
func (w *world) claimed(n uint64) string {
	c := shardlog.Creator{Shard: shard, Epoch: w.state.Epoch(), Nonce: w.state.ClaimNonce(), Number: n}
	return c.FragmentKey(shardlog.TableEvents, "acme", bucket)
}

func (w *world) put(keys ...string) {
	w.t.Helper()
	for _, key := range keys {
		if err := w.store.Put(w.t.Context(), key, []byte(key)); err != nil {
			w.t.Fatal(err)
		}
	}
}

func fragmentOf(key string, seq uint64) shardlog.Fragment {
	return shardlog.Fragment{
		Key: key, Tenant: "acme", Table: shardlog.TableEvents, Bucket: bucket, Rows: 1, Bytes: int64(len(key)), Sum: objstore.Sum([]byte(key)),
		Min: event.Timestamp(bucket * 1e9), Max: event.Timestamp(bucket * 1e9), SeqMin: seq, SeqMax: seq,
	}
}

// commit appends one row in the object under key, and its id.
func (w *world) commit(key string, lowWater uint64) {
	w.t.Helper()
	seq := w.state.Seq() + 1
	src := shardlog.Source{Cluster: "c", Topic: strings.Repeat("ab", 16)}
	next := int64(seq)
	ids := strings.Replace(key, "data/acme/"+time.Unix(bucket, 0).UTC().Format("2006-01-02T15")+"/3-", "ids/3/", 1)
	ids = strings.TrimSuffix(ids, ".parquet") + "0.ids"
	w.put(ids)
	w.append(&shardlog.Record{Kind: shardlog.KindAppend, Append: &shardlog.Append{
		Epoch: w.state.Epoch(), Seq: seq, LowWater: lowWater, Fragments: []shardlog.Fragment{fragmentOf(key, seq)},
		IDs:      &shardlog.IDSegment{Key: ids, Bytes: 10, Sum: objstore.Sum([]byte(ids)), IDs: 1, Buckets: []shardlog.IDBucket{{Bucket: bucket, IDs: 1, Length: 10}}},
		Progress: []shardlog.Progress{{Source: src, TopicName: "s", From: next - 1, Next: next, LeaderEpoch: 1, Records: 1}},
		Ledger:   shardlog.Ledger{Events: 1, Stored: 1},
	}})
}

func (w *world) begin(inputs ...string) (job string, output func(n uint64) string) {
	w.t.Helper()
	r := w.append(&shardlog.Record{Kind: shardlog.KindMergeBegin, MergeBegin: &shardlog.MergeBegin{Worker: "w", Inputs: inputs}})
	at := w.state.Position()
	return r.Nonce, func(n uint64) string {
		return shardlog.Creator{Shard: shard, Job: at, Nonce: r.Nonce, Number: n}.FragmentKey(shardlog.TableEvents, "acme", bucket)
	}
}

func (w *world) end(job string, outputs []string, inputs ...string) {
	w.t.Helper()
	r := &shardlog.Record{Kind: shardlog.KindMergeEnd, MergeEnd: &shardlog.MergeEnd{Job: job, Inputs: inputs}}
	for _, key := range outputs {
		f := fragmentOf(key, 1)
		f.Rows, f.SeqMax = int64(len(inputs)), uint64(len(inputs))
		r.MergeEnd.Fragments = append(r.MergeEnd.Fragments, f)
	}
	w.append(r)
}

func (w *world) verdict(key string) Verdict {
	w.t.Helper()
	c, err := shardlog.CreatorOf(key)
	if err != nil {
		w.t.Fatal(err)
	}
	v, why := Judge(w.state, key, c)
	if why == "" {
		w.t.Errorf("%s is %s without a reason", key, v)
	}
	return v
}

func (w *world) expect(want Verdict, keys ...string) {
	w.t.Helper()
	for _, key := range keys {
		if got := w.verdict(key); got != want {
			w.t.Errorf("%s is %s, want %s", key, got, want)
		}
	}
}

func TestClaims(t *testing.T) {
	w := newWorld(t)
	next := shardlog.Creator{Shard: shard, Epoch: 1, Nonce: strings.Repeat("0", 32)}.SegmentKey()
	w.expect(MayCommit, next) // not claimed yet
	w.claim()
	w.expect(Unknown, next) // epoch 1 has another nonce
	first := w.claimed(0)
	w.expect(MayCommit, first, w.claimed(1))
	w.commit(first, 0)
	w.expect(Named, first)
	w.expect(MayCommit, w.claimed(1))
	w.commit(w.claimed(3), 3)
	w.expect(Garbage, w.claimed(1), w.claimed(2)) // below the low-water mark
	w.expect(MayCommit, w.claimed(4))
	left := w.claimed(4)
	w.claim()
	w.expect(Garbage, left)
	w.expect(Named, first)
	w.expect(MayCommit, w.claimed(0))
	left = w.claimed(0)
	if err := w.log.Release(t.Context(), w.state, w.state.Epoch()); err != nil {
		t.Fatal(err)
	}
	w.expect(Garbage, left)
	w.expect(MayCommit, shardlog.Creator{Shard: shard, Epoch: w.state.Epoch() + 1, Nonce: strings.Repeat("0", 32)}.SegmentKey())
}

func TestMerges(t *testing.T) {
	w := newWorld(t)
	w.claim()
	a, b, c := w.claimed(0), w.claimed(1), w.claimed(2)
	for i, key := range []string{a, b, c} {
		w.commit(key, uint64(i))
	}
	job, out := w.begin(a, b)
	w.expect(Named, a, b)
	w.expect(MayCommit, out(0), out(9))
	_, other := w.begin(a, c)
	w.expect(MayCommit, other(0))
	w.end(job, []string{out(0)}, a, b)
	w.expect(Named, out(0), c)
	w.expect(Garbage, out(1))         // of a job that has ended
	w.expect(MayCommit, other(0))     // still open, although it can't end any more
	w.expect(Garbage, a)              // removed, and below the low-water mark
	w.expect(MayCommit, w.claimed(3)) // of the living owner
	w.append(&shardlog.Record{Kind: shardlog.KindMergeAbort, MergeAbort: &shardlog.MergeAbort{Job: w.state.Jobs()[0].Nonce}})
	w.expect(Garbage, other(0))
	later := shardlog.Creator{Shard: shard, Job: w.state.Position() + 1, Nonce: strings.Repeat("0", 32)}
	w.expect(MayCommit, later.SegmentKey())
	w.append(&shardlog.Record{Kind: shardlog.KindQuarantine, Quarantine: &shardlog.Quarantine{Key: c, Reason: "bits"}})
	w.expect(Named, c)
}

// stored are the keys in the store that are no part of the log.
func (w *world) stored() []string {
	w.t.Helper()
	var out []string
	for _, folder := range []string{"data/", "letters/", "ids/"} {
		for o, err := range w.store.List(w.t.Context(), folder, "") {
			if err != nil {
				w.t.Fatal(err)
			}
			out = append(out, o.Key)
		}
	}
	return out
}

func TestPass(t *testing.T) {
	w := newWorld(t)
	w.claim()
	orphan, live, given := w.claimed(7), w.claimed(9), w.claimed(8)
	w.put(orphan)
	w.claim()
	live, given = w.claimed(5), w.claimed(2)
	may := w.claimed(6)
	foreign := shardlog.Creator{Shard: shard + 1, Epoch: 1, Nonce: strings.Repeat("1", 32)}.FragmentKey(shardlog.TableEvents, "acme", bucket)
	stray := "data/acme/notes.txt"
	w.put(live, given, may, foreign, stray)
	w.commit(live, 3)
	before := w.stored()

	c := w.collector(time.Minute)
	l, d, err := pass(t.Context(), c)
	want := Listed{Objects: 7, Named: 2, MayCommit: 1, Garbage: 2, Unknown: 1, Skipped: 1, GarbageBytes: int64(len(orphan) + len(given))}
	if err != nil || l != want || d != (Deleted{}) || c.Waiting() != 2 {
		t.Fatalf("first pass: %+v, %+v, %d wait, %v; want %+v", l, d, c.Waiting(), err, want)
	}
	w.now += time.Minute - 1
	if _, d, err = pass(t.Context(), c); err != nil || d != (Deleted{}) {
		t.Fatalf("within the grace: %+v, %v", d, err)
	}
	w.now++
	if _, d, err := pass(t.Context(), w.collector(time.Minute)); err != nil || d != (Deleted{}) {
		t.Fatalf("a collector that has just begun: %+v, %v", d, err)
	}
	if !slices.Equal(w.stored(), before) {
		t.Fatal("something was deleted within the grace")
	}
	// One of the two is refused: the other goes, and the next call tries again, without a listing.
	w.store.Add(objstore.Rule{Op: objstore.OpDelete, Key: orphan, Times: 1, Effect: objstore.FailBefore, Err: objstore.ErrUnavailable})
	d, err = c.Delete(t.Context())
	if !errors.Is(err, objstore.ErrUnavailable) || d.Objects != 1 || d.Bytes != int64(len(given)) {
		t.Fatalf("one refused: %+v, %v", d, err)
	}
	if d, err = c.Delete(t.Context()); err != nil || d.Objects != 1 || c.Waiting() != 0 {
		t.Fatalf("after it: %+v, %v", d, err)
	}
	left := slices.DeleteFunc(before, func(key string) bool { return key == orphan || key == given })
	if !slices.Equal(w.stored(), left) {
		t.Fatalf("left: %q, want %q", w.stored(), left)
	}
	for _, f := range w.told {
		if f.Key != orphan && f.Key != given || f.Why == "" {
			t.Errorf("told of %+v", f)
		}
	}
}

// TestSlowListing: what becomes garbage while a pass lists the store has been garbage since then,
// not since the pass began.
func TestSlowListing(t *testing.T) {
	w := newWorld(t)
	w.claim()
	removed := w.claimed(1)
	w.put(removed)
	w.commit(removed, 2)
	c := w.collector(time.Minute)
	w.judging = func() {
		w.judging = nil
		w.now += time.Hour
		w.append(&shardlog.Record{Kind: shardlog.KindErase, Erase: &shardlog.Erase{Tenant: "acme", Floor: event.Timestamp((bucket + 3600) * 1e9)}})
	}
	for range 2 {
		if l, d, err := pass(t.Context(), c); err != nil || l.Garbage != 1 || d.Objects != 0 {
			t.Fatalf("%+v, %+v, %v", l, d, err)
		}
	}
	w.now += time.Minute
	if d, err := c.Delete(t.Context()); err != nil || d.Objects != 1 {
		t.Fatalf("after the grace: %+v, %v", d, err)
	}
}

// TestRemoved: what a log has removed goes after its grace, without a listing. What is named, or may still be, stays,
// whatever the collector was told.
func TestRemoved(t *testing.T) {
	w := newWorld(t)
	c := w.collector(time.Minute)
	w.state.OnRemoved(c.Removed)
	w.claim()
	a, b, live, aside := w.claimed(1), w.claimed(2), w.claimed(3), w.claimed(4)
	for i, key := range []string{a, b, live, aside} {
		w.put(key)
		w.commit(key, uint64(i)+2)
	}
	may := w.claimed(9)
	w.put(may)
	w.append(&shardlog.Record{Kind: shardlog.KindQuarantine, Quarantine: &shardlog.Quarantine{Key: aside, Reason: "bits"}})
	job, out := w.begin(a, b)
	w.put(out(0))
	w.end(job, []string{out(0)}, a, b)
	if c.Waiting() != 2 {
		t.Fatalf("%d wait for their grace, and not the two inputs", c.Waiting())
	}
	for _, key := range []string{live, aside, may, out(0), "data/acme/notes.txt", a} {
		c.Removed(key, 1)
	}
	w.store.Add(objstore.Rule{Op: objstore.OpList, Effect: objstore.FailBefore, Err: errors.New("listed"), Times: 1 << 30})
	w.now += time.Minute - 1
	if d, err := c.Delete(t.Context()); err != nil || d != (Deleted{}) {
		t.Fatalf("within the grace: %+v, %v", d, err)
	}
	w.now++
	d, err := c.Delete(t.Context())
	if want := (Deleted{Objects: 2, Bytes: int64(len(a) + len(b)), Removed: 2}); err != nil || d != want {
		t.Fatalf("%+v, %v; want %+v", d, err, want)
	}
	if c.Waiting() != 1 {
		t.Errorf("%d wait, and not only what its writer may give up yet", c.Waiting())
	}
	w.store.Clear()
	for _, key := range []string{live, aside, may, out(0)} {
		if !slices.Contains(w.stored(), key) {
			t.Errorf("%s is gone", key)
		}
	}
	// All that is left of the tenant's, set aside or not.
	w.append(&shardlog.Record{Kind: shardlog.KindErase, Erase: &shardlog.Erase{Tenant: "acme", Floor: event.Timestamp((bucket + 3600) * 1e9)}})
	below := bucket + 3600
	w.append(&shardlog.Record{Kind: shardlog.KindExpire, Expire: &shardlog.Expire{IDsBelow: &below, Floors: []shardlog.Floor{
		{Table: shardlog.TableEvents, Floor: event.Timestamp(below * 1e9)}, {Table: shardlog.TableDeadLetters, Floor: event.Timestamp(below * 1e9)},
	}}})
	w.claim()
	w.now += time.Minute
	if d, err := c.Delete(t.Context()); err != nil || d.Objects != 8 {
		t.Errorf("an erasure and the end of the ids: %+v, %v", d, err)
	}
	if left := w.stored(); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// TestListFails: what a listing that was cut off did not see has not lost its place.
func TestListFails(t *testing.T) {
	w := newWorld(t)
	w.claim()
	orphan := w.claimed(1)
	w.put(orphan)
	w.claim()
	c := w.collector(time.Minute)
	if _, _, err := pass(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	w.now += time.Minute
	w.store.Add(objstore.Rule{Op: objstore.OpList, Key: "data/", Times: 1, Effect: objstore.FailBefore, Err: objstore.ErrUnavailable})
	if _, d, err := pass(t.Context(), c); !errors.Is(err, objstore.ErrUnavailable) || d.Objects != 1 {
		t.Fatalf("%+v, %v", d, err)
	}
}

// TestManyObjects: passes work in batches.
func TestManyObjects(t *testing.T) {
	w := newWorld(t)
	w.claim()
	for n := range uint64(2*batchKeys + 10) {
		w.put(w.claimed(n))
	}
	w.claim()
	c := w.collector(0)
	l, d, err := pass(t.Context(), c)
	if want := int64(2*batchKeys + 10); err != nil || d.Objects != want || l.Objects != want {
		t.Fatalf("%+v, %+v, %v", l, d, err)
	}
	if left := w.stored(); len(left) > 0 {
		t.Fatal(fmt.Sprint(len(left), " objects left"))
	}
}
