package erase

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/placements"
)

// t0 is the time of everything here; the horizon lies three minutes ahead.
var t0 = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

var quiet = slog.New(slog.DiscardHandler)

// world is a store of six shards: acme was placed on 1 and is on 5, the default rule has
// all others on 0, dead letters go to 3, and nothing ever goes to 4.
type world struct {
	t      *testing.T
	memory *objstore.Memory
	n      int
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, memory: objstore.NewMemory()}
	w.memory.Now = func() time.Time { return t0 }
	k := w.keeper(w.memory)
	g := placements.NewGenesis(6)
	g.Default.Shards, g.DeadLetters, g.Tenants = placements.Shards{0}, placements.Shards{3}, map[event.TenantID]placements.Shards{"acme": {1}}
	_, err := k.Init(t.Context(), g)
	w.must(err)
	_, err = k.Propose(t.Context(), placements.SetTenant("acme", placements.Shards{5}, new(event.Timestamp)))
	w.must(err)
	_, err = k.Extend(t.Context(), event.Timestamp(t0.Add(-time.Hour).UnixNano()))
	w.must(err)
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) keeper(store objstore.Store) *placements.Keeper {
	k, err := placements.NewKeeper(placements.Config{Store: store, Hasher: event.NewHasher(event.Seed{1}), Now: func() time.Time { return t0 }, Logger: quiet, Backoff: chain.Backoff{Sleep: die}})
	w.must(err)
	return k
}

var errDied = errors.New("died")

// die has a process give up at the first try that does not settle.
func die(context.Context, time.Duration) error { return errDied }

func (w *world) eraser(store objstore.Store) (*Eraser, error) {
	k := w.keeper(store)
	return &Eraser{Tenant: "acme", Store: store, Placements: k, Log: shardlog.Config{Logger: quiet, Parallel: 1, Backoff: chain.Backoff{Sleep: die}}}, k.Load(w.t.Context())
}

func (w *world) state(shard event.ShardID) (*shardlog.Log, *shardlog.State) {
	w.t.Helper()
	log := shardlog.OpenWith(w.memory, shard, shardlog.Config{Logger: quiet})
	s, err := log.Load(w.t.Context())
	w.must(err)
	return log, s
}

// commit stores an event, or a letter, of a tenant as a writer does, and returns its key.
func (w *world) commit(shard event.ShardID, tenant event.TenantID, table shardlog.Table, at time.Time) string {
	w.t.Helper()
	log, s := w.state(shard)
	if s.Owner() == nil {
		_, _, err := log.Claim(w.t.Context(), s, "test", "1")
		w.must(err)
	}
	w.n++
	seq, second := s.Seq()+1, at.Unix()/3600*3600
	c := shardlog.Creator{Shard: shard, Epoch: s.Epoch(), Nonce: s.ClaimNonce(), Number: uint64(w.n)}
	key := c.FragmentKey(table, tenant, second)
	w.must(w.memory.Put(w.t.Context(), key, []byte(key)))
	ledger := shardlog.Ledger{Events: 1, Stored: 1}
	if table == shardlog.TableDeadLetters {
		ledger = shardlog.Ledger{Events: 1, Dead: 1}
	}
	next, _ := s.SourceOf(shardlog.Source{Cluster: "c", Topic: strings.Repeat("ab", 16)})
	won, _, err := log.Append(w.t.Context(), s, &shardlog.Record{Kind: shardlog.KindAppend, Append: &shardlog.Append{
		Epoch: s.Epoch(), Seq: seq, Ledger: ledger, LowWater: uint64(w.n) + 1,
		Fragments: []shardlog.Fragment{{
			Key: key, Tenant: tenant, Table: table, Bucket: second, Rows: 1, Bytes: int64(len(key)), Sum: objstore.Sum([]byte(key)),
			Min: event.Timestamp(at.UnixNano()), Max: event.Timestamp(at.UnixNano()), SeqMin: seq, SeqMax: seq,
		}},
		IDs: &shardlog.IDSegment{Key: c.SegmentKey(), Bytes: 20, Sum: objstore.Sum(nil), IDs: 1, Buckets: []shardlog.IDBucket{{Bucket: second, IDs: 1, Length: 20}}},
		Progress: []shardlog.Progress{{
			Source: shardlog.Source{Cluster: "c", Topic: strings.Repeat("ab", 16)}, From: next.Next, Next: next.Next + 1, LeaderEpoch: -1, Records: 1,
		}},
	}})
	if w.must(err); !won {
		w.t.Fatal("a race in a test")
	}
	return key
}

// fill stores something of acme where it was placed and where its letters went, and of another everywhere.
func (w *world) fill() {
	for shard := range event.ShardID(4) {
		w.commit(shard, "other", shardlog.TableEvents, t0)
	}
	w.commit(1, "acme", shardlog.TableEvents, t0.Add(-time.Hour))
	w.commit(1, "acme", shardlog.TableEvents, t0)
	w.commit(2, "acme", shardlog.TableDeadLetters, t0)
}

// live counts a tenant's live fragments in all shards.
func (w *world) live(tenant event.TenantID) (n int) {
	for shard := range event.ShardID(6) {
		_, s := w.state(shard)
		s.Fragments(tenant, math.MinInt64, math.MaxInt64, func(shardlog.Fragment) bool { n++; return true })
	}
	return n
}

// checkErased: nothing of acme is live, every shard that it may have been in keeps its copies out,
// and nobody else lost anything.
func (w *world) checkErased(what string) {
	w.t.Helper()
	horizon := w.keeper(w.memory)
	w.must(horizon.Load(w.t.Context()))
	for shard, want := range []bool{false, true, true, true, false, true} {
		_, s := w.state(event.ShardID(shard))
		floor, erased := s.Erased("acme")
		if erased != want || erased && floor != horizon.Current().Horizon() {
			w.t.Errorf("%s: shard %d: erased %v below %s", what, shard, erased, floor)
		}
	}
	if acme, other := w.live("acme"), w.live("other"); acme != 0 || other != 4 {
		w.t.Errorf("%s: %d of acme and %d of another are live", what, acme, other)
	}
}

func TestErase(t *testing.T) {
	w := newWorld(t)
	w.fill()
	e, err := w.eraser(w.memory)
	w.must(err)
	shards, err := e.Look(t.Context())
	w.must(err)
	var got []string
	for _, s := range shards {
		got = append(got, fmt.Sprintf("%s: %s, %d fragments, %d rows, erased %v", s.Shard, s.Why, s.Fragments, s.Rows, s.Floor != nil))
	}
	want := []string{
		"0: , 0 fragments, 0 rows, erased false", "1: placed there, 2 fragments, 2 rows, erased false", "2: has something of it, 1 fragments, 1 rows, erased false",
		"3: dead letters go there, 0 fragments, 0 rows, erased false", "4: , 0 fragments, 0 rows, erased false",
		"5: placed there, 0 fragments, 0 rows, erased false",
	}
	if !slices.Equal(got, want) {
		t.Errorf("look:\n got %q\nwant %q", got, want)
	}
	shards, err = e.Erase(t.Context())
	w.must(err)
	if len(shards) != 4 || shards[0].Fragments != 0 || shards[0].Floor == nil {
		t.Errorf("%+v", shards)
	}
	w.checkErased("first")
	// Once more in the same minute adds nothing; later, a floor of then.
	_, before := w.state(1)
	_, err = e.Erase(t.Context())
	w.must(err)
	if _, after := w.state(1); after.Position() != before.Position() {
		t.Errorf("the same again: position %d after %d", after.Position(), before.Position())
	}
	w.commit(1, "acme", shardlog.TableDeadLetters, t0) // but for the letters of late copies
	_, err = e.Erase(t.Context())
	w.must(err)
	w.checkErased("again")
	k := w.keeper(w.memory)
	w.must(k.Load(t.Context()))
	_, err = k.Extend(t.Context(), k.Current().Horizon())
	w.must(err)
	_, err = e.Erase(t.Context())
	w.must(err)
	w.checkErased("later")
	for _, bad := range []event.TenantID{"", event.Unroutable, "a/b"} {
		e.Tenant = bad
		if _, err := e.Erase(t.Context()); !errors.Is(err, event.ErrBadTenant) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestNewEventsMeanwhile: an event above the horizon that was read first is no reason to fail,
// and is erased as well.
func TestNewEventsMeanwhile(t *testing.T) {
	w := newWorld(t)
	w.fill()
	commits := 0
	fault := objstore.NewFault(w.memory, objstore.Rule{Op: objstore.OpPutIfAbsent, Key: "shards/1/log/**", Times: 3, Effect: objstore.Pass, Before: func(objstore.Call) {
		commits++
		k := w.keeper(w.memory)
		w.must(k.Load(t.Context()))
		at := k.Current().Horizon()
		_, err := k.Extend(t.Context(), at)
		w.must(err)
		w.commit(1, "acme", shardlog.TableEvents, time.Unix(0, int64(at)))
	}})
	e, err := w.eraser(fault)
	w.must(err)
	_, err = e.Erase(t.Context())
	w.must(err)
	if commits != 3 {
		t.Errorf("%d commits came first", commits)
	}
	if n := w.live("acme"); n != 0 {
		t.Errorf("%d of acme are live", n)
	}
}

// TestCrashAtEveryOperation: an erasure that died anywhere, its last write applied or not, is
// done again from the beginning.
func TestCrashAtEveryOperation(t *testing.T) {
	full := newWorld(t)
	full.fill()
	runs := 0
	for k, crashed := 1, true; crashed; k++ {
		crashed = false
		for _, applied := range []bool{false, true} {
			w := &world{t: t, memory: full.memory.Clone(), n: full.n}
			w.memory.Now = full.memory.Now
			fault := objstore.NewFault(w.memory)
			fault.CrashAt(k, applied)
			if e, err := w.eraser(fault); err == nil {
				_, _ = e.Erase(t.Context())
			}
			crashed = crashed || fault.Crashed()
			e, err := w.eraser(w.memory)
			w.must(err)
			_, err = e.Erase(t.Context())
			w.must(err)
			w.checkErased(fmt.Sprintf("died at operation %d (applied %v)", k, applied))
			runs++
		}
	}
	if runs < 30 {
		t.Errorf("only %d runs", runs)
	}
}

// TestWhatIsLeft counts what a collector has still to delete, and what is no part of it.
func TestWhatIsLeft(t *testing.T) {
	w := newWorld(t)
	w.fill()
	e, err := w.eraser(w.memory)
	w.must(err)
	left := func() Left {
		t.Helper()
		l, err := e.Left(t.Context())
		w.must(err)
		l.GarbageBytes = 0
		return l
	}
	if got := left(); got != (Left{Live: 3}) || !got.Gone() {
		t.Errorf("before: %+v", got)
	}
	_, err = e.Erase(t.Context())
	w.must(err)
	if got := left(); got != (Left{Garbage: 3}) || got.Gone() {
		t.Errorf("erased: %+v", got)
	}
	w.commit(2, "acme", shardlog.TableDeadLetters, t0) // a copy that came late
	_, s := w.state(1)
	upload := shardlog.Creator{Shard: 1, Epoch: s.Epoch(), Nonce: s.ClaimNonce(), Number: 1000}
	w.must(w.memory.Put(t.Context(), upload.FragmentKey(shardlog.TableEvents, "acme", 0), []byte("x")))
	w.must(w.memory.Put(t.Context(), "data/acme/what.txt", []byte("x")))
	w.must(w.memory.Put(t.Context(), "data/acme2/what.txt", []byte("x"))) // another's
	if got := left(); got != (Left{Live: 1, UnderWay: 1, Garbage: 4}) || got.Gone() {
		t.Errorf("and more: %+v", got)
	}
	for o, err := range w.memory.List(t.Context(), "data/acme/", "") {
		w.must(err)
		w.must(w.memory.Delete(t.Context(), o.Key))
	}
	if got := left(); got != (Left{Live: 1, Garbage: 1}) {
		t.Errorf("events are deleted: %+v", got)
	}
	_, s = w.state(2)
	for o, err := range w.memory.List(t.Context(), "letters/acme/", "") {
		w.must(err)
		if _, live := s.Fragment(o.Key); !live {
			w.must(w.memory.Delete(t.Context(), o.Key))
		}
	}
	if got := left(); got != (Left{Live: 1}) || !got.Gone() {
		t.Errorf("all is deleted: %+v", got)
	}
}
