package compactor

import (
	"slices"
	"testing"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
)

// listings counts the requests that list what the logs may name, from now on.
func (r *rig) listings() func() int {
	n := 0
	count := func(objstore.Call) { n++ }
	for _, prefix := range []string{"data/**", "letters/**", "ids/**"} {
		r.store.Add(objstore.Rule{Op: objstore.OpList, Key: prefix, Effect: objstore.Pass, Before: count, Times: 1 << 30})
	}
	return func() int { return n }
}

// named wants the store to hold what the log names, and nothing else.
func (r *rig) named() {
	r.t.Helper()
	s := r.load()
	fragments, segments := s.Counts()
	objects := r.objects()
	if len(objects) != fragments+segments || slices.ContainsFunc(objects, func(key string) bool { return !s.Names(key) }) {
		r.t.Fatalf("%d objects, %d are named", len(objects), fragments+segments)
	}
}

// collect collects without faults.
func (r *rig) collect(c *Compactor) Collected {
	r.t.Helper()
	out, err := c.Collect(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}

// TestRemovedIsNotListed: what merges replaced, what fell below a floor and what was erased goes after its grace,
// without a listing.
func TestRemovedIsNotListed(t *testing.T) {
	r := newRig(t)
	r.cfg.ListEvery = 0
	c, listed := r.compactor("a"), r.listings()
	for _, bucket := range []int64{begin - 40*24*hour, begin} {
		for range 6 {
			r.commit(bucket, 5, "acme", "globex")
		}
	}
	r.settle(c)
	for _, removing := range []*shardlog.Record{
		nil, // the merges
		{Kind: shardlog.KindErase, Erase: &shardlog.Erase{Tenant: "acme", Floor: event.Timestamp((begin + hour) * 1e9)}},
		{Kind: shardlog.KindExpire, Expire: &shardlog.Expire{Floors: []shardlog.Floor{
			{Table: shardlog.TableEvents, Floor: event.Timestamp((begin - 24*hour) * 1e9)}, {Table: shardlog.TableDeadLetters, Floor: event.Timestamp((begin - 24*hour) * 1e9)},
		}, IDsBelow: new(int64)}},
	} {
		if removing != nil {
			if removing.Expire != nil {
				*removing.Expire.IDsBelow = begin - 24*hour
			}
			if _, err := r.log.Follow(t.Context(), r.state); err != nil {
				t.Fatal(err)
			}
			if won, _, err := r.log.Append(t.Context(), r.state, removing); !won || err != nil {
				t.Fatalf("%s: %t, %v", removing.Kind, won, err)
			}
		}
		before := len(r.objects())
		if d := r.collect(c).Deleted; d.Objects != 0 || len(r.objects()) != before {
			t.Fatalf("%+v within the grace", d)
		}
		r.now += r.cfg.QueryGrace
		if d := r.collect(c).Deleted; d.Objects == 0 || d.Removed != d.Objects || d.Bytes == 0 {
			t.Fatalf("%+v after the grace", d)
		}
		r.named()
	}
	if n := listed(); n > 0 {
		t.Errorf("%d listings", n)
	}
}

// TestRemovedBeforeAStart: what merges replaced before a process began is found in the log's records, those that a checkpoint
// holds too, and goes after a grace of its own.
func TestRemovedBeforeAStart(t *testing.T) {
	for _, trimmed := range []bool{false, true} {
		r := newRig(t)
		r.cfg.ListEvery = 0
		if r.cfg.KeepRecords = 1000; trimmed {
			r.cfg.KeepRecords = 12
		}
		listed := r.listings()
		for range 3 {
			r.commit(begin, 2, "acme")
			r.checkpoint()
		}
		for range 6 {
			r.commit(begin, 5, "acme", "globex")
		}
		dead := r.compactor("dead")
		r.settle(dead)
		r.checkpoint()
		r.commit(begin+hour, 1, "acme")
		r.checkpoint()
		if trimmed { // some of the records go, none that a merge left
			for range 2 {
				r.commit(begin+hour, 1, "acme")
				r.checkpoint()
			}
			r.collect(dead)
			if oldest, base, err := r.log.Oldest(t.Context()); err != nil || base == 0 || oldest.Position() == 0 {
				t.Fatalf("no record was deleted: %v", err)
			}
		}
		r.now += 10 * r.cfg.QueryGrace
		c := r.compactor("next")
		if d := r.collect(c).Deleted; d.Objects != 0 {
			t.Fatalf("%+v before the grace of the one that began", d)
		}
		r.now += r.cfg.QueryGrace
		if d := r.collect(c).Deleted; d.Objects == 0 || d.Removed != d.Objects {
			t.Fatalf("%+v after it", d)
		}
		r.named()
		r.check()
		if n := listed(); n > 0 {
			t.Errorf("%d listings", n)
		}
		if d := r.collect(c).Deleted; d.Objects != 0 {
			t.Errorf("deleted again: %+v", d)
		}
	}
}

// TestErasedBeforeAStart: what was erased before a process began goes, though it lists nothing else.
func TestErasedBeforeAStart(t *testing.T) {
	r := newRig(t)
	r.cfg.ListEvery = 0
	for range 6 {
		r.commit(begin, 5, "acme", "globex")
	}
	erased := &shardlog.Record{Kind: shardlog.KindErase, Erase: &shardlog.Erase{Tenant: "acme", Floor: event.Timestamp((begin + hour) * 1e9)}}
	if won, _, err := r.log.Append(t.Context(), r.state, erased); !won || err != nil {
		t.Fatalf("%t, %v", won, err)
	}
	r.checkpoint()
	c, listed := r.compactor("a"), r.listings()
	for _, want := range []int64{0, 6} {
		if d := r.collect(c).Deleted; d.Objects != want {
			t.Fatalf("%+v, and not %d objects", d, want)
		}
		r.now += r.cfg.QueryGrace
	}
	r.named()
	if n := listed(); n != 2 {
		t.Errorf("%d listings, and not two of a tenant", n)
	}
}

// TestRemovedWhileTheStateIsLost: between two loads of the state nothing is missed.
func TestRemovedWhileTheStateIsLost(t *testing.T) {
	r := newRig(t)
	r.cfg.ListEvery = 0
	c := r.compactor("a")
	r.collect(c)
	for range 6 {
		r.commit(begin, 5, "acme")
	}
	c.of(0).state = nil // as after an append without an answer
	r.settle(r.compactor("b"))
	r.checkpoint()
	for range 2 {
		r.collect(c)
		r.now += r.cfg.QueryGrace
	}
	r.named()
}

// TestOutputsOfALateMerge: what a merge uploaded that was given up meanwhile goes without a listing.
func TestOutputsOfALateMerge(t *testing.T) {
	r := newRig(t)
	r.cfg.ListEvery = 0
	for range 6 {
		r.commit(begin, 5, "acme")
	}
	paused, other := r.compactor("paused"), r.compactor("other")
	uploads := 0
	r.store.Add(objstore.Rule{Op: objstore.OpPut, Key: "data/**", Effect: objstore.Pass, After: func(objstore.Call) { uploads++ }})
	r.store.Add(objstore.Rule{Op: objstore.OpPutIfAbsent, Key: "shards/0/log/*", Skip: 1, Times: 1, Effect: objstore.Pass, Before: func(objstore.Call) {
		for range 2 {
			if _, err := other.Turn(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
			r.now += r.cfg.JobTimeout
		}
	}})
	for range 2 { // the merges of fragments come first, or second
		if _, err := paused.Turn(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
	}
	if st := paused.Status()[0]; st.Aborted == 0 || uploads == 0 {
		t.Fatalf("%+v, %d uploads", st, uploads)
	}
	r.settle(paused, other)
	for range 2 {
		r.collect(paused)
		r.collect(other)
		r.now += r.cfg.QueryGrace
	}
	r.named()
	r.check()
}

// orphan puts an object of a claim that is over.
func (r *rig) orphan(tenant event.TenantID) {
	r.t.Helper()
	dead := shardlog.Creator{Shard: 0, Epoch: r.state.Epoch(), Nonce: r.state.ClaimNonce(), Number: 1 << 20}
	r.put(dead.FragmentKey(shardlog.TableEvents, tenant, begin), []byte("orphan"))
	r.claim()
}

// TestListingIsShared: processes with the same shards list the store once a day together. A share that was begun by one that
// died is taken up the next day, one that failed at the next look.
func TestListingIsShared(t *testing.T) {
	mem := objstore.NewMemory()
	date := time.Unix(begin, 0)
	mem.Now = func() time.Time { return date }
	r := newRigOver(t, mem)
	r.cfg.ListEvery = 24 * time.Hour
	r.commit(begin, 5, "acme")
	r.orphan("acme")
	a, b := r.compactor("a"), r.compactor("b")
	expect := func(what string, c *Compactor, want int64) {
		t.Helper()
		if got := r.collect(c).Objects; got != want {
			t.Fatalf("%s: %d objects listed, not %d", what, got, want)
		}
	}
	expect("the first", a, 3)
	expect("the second", b, 0)
	r.now += r.cfg.QueryGrace
	date = date.Add(24*time.Hour - 2*time.Second)
	expect("within the day", b, 0)
	expect("within the day", a, 0) // and deletes what it found
	r.named()
	date = date.Add(2 * time.Second)
	expect("a day later", b, 2)
	expect("a day later", a, 0)

	// One dies in its share.
	r.orphan("acme")
	date = date.Add(24 * time.Hour)
	r.store.Add(objstore.Rule{Op: objstore.OpList, Key: "data/**", Effect: objstore.CrashBefore})
	if _, err := a.Collect(t.Context()); err == nil {
		t.Fatal("it did not die")
	}
	r.store.Clear()
	r.store.Restart()
	expect("the day of the death", b, 0)
	date = date.Add(24 * time.Hour)
	expect("the day after", b, 3)
	// The store fails in another.
	date = date.Add(24 * time.Hour)
	r.store.Add(objstore.Rule{Op: objstore.OpList, Key: "data/**", Times: 1, Effect: objstore.FailBefore, Err: objstore.ErrUnavailable})
	if _, err := b.Collect(t.Context()); err == nil {
		t.Fatal("it did not fail")
	}
	expect("after the failure", b, 3)
	r.now += r.cfg.QueryGrace
	r.collect(b)
	r.named()

	// Whose log cannot be read is not listed, and is due.
	date = date.Add(24 * time.Hour)
	r.store.Add(objstore.Rule{Op: objstore.OpGet, Key: "shards/0/log/*", Times: 1, Effect: objstore.FailBefore, Err: objstore.ErrUnavailable})
	if out, err := a.Collect(t.Context()); err == nil || out.Objects != 0 {
		t.Fatalf("%+v, %v", out, err)
	}
	expect("when the log can be read again", a, 2)

	// A note that nobody can read, or of a time to come.
	for _, note := range []string{"soon", date.Add(time.Hour).UTC().Format(time.RFC3339)} {
		if err := r.store.Put(t.Context(), listedKey(0), []byte(note)); err != nil {
			t.Fatal(err)
		}
		expect(note, a, 2)
		expect(note, b, 0)
	}
}

// TestShareOfAShard: a process lists what its shards may have, and no more than that where the store holds much else.
func TestShareOfAShard(t *testing.T) {
	r := newRig(t)
	r.cfg.ListEvery = time.Nanosecond
	r.cfg.Shards = []event.ShardID{0}
	c := r.compactor("a")
	c.d.Shards = func() int { return 1000 }
	r.collect(c) // so that it hears of the erasure itself
	for range 20 {
		r.commit(begin, 1, "acme", "globex")
	}
	r.orphan("acme")
	erased := &shardlog.Record{Kind: shardlog.KindErase, Erase: &shardlog.Erase{Tenant: "globex", Floor: event.Timestamp((begin + hour) * 1e9)}}
	if won, _, err := r.log.Append(t.Context(), r.state, erased); !won || err != nil {
		t.Fatalf("%t, %v", won, err)
	}
	r.orphan("globex")
	foreign := shardlog.Creator{Shard: 7, Epoch: 1, Nonce: r.nonce()}
	for _, key := range []string{foreign.FragmentKey(shardlog.TableEvents, "acme", begin), foreign.FragmentKey(shardlog.TableEvents, "umbrella", begin), foreign.SegmentKey()} {
		r.put(key, []byte("foreign"))
	}
	listed := r.listings()
	got := r.collect(c)
	// 20 fragments and segments, the erased ones, two orphans, and the other shard's of a tenant that both have.
	if want := int64(20 + 20 + 20 + 2 + 1); got.Objects != want || got.Skipped != 1 || got.Garbage != 22 {
		t.Errorf("%+v, want %d objects", got, want)
	}
	if n := listed(); n != 5 {
		t.Errorf("%d listings of two tenants and the ids of a shard", n)
	}
	r.now += r.cfg.QueryGrace
	if d := r.collect(c).Deleted; d.Objects != 22 {
		t.Errorf("%+v", d)
	}
}
