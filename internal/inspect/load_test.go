package inspect

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/placements/planner"
)

// counted counts the objects that are read.
type counted struct {
	objstore.Store
	gets atomic.Int64
}

func (c *counted) Get(ctx context.Context, key string) ([]byte, error) {
	c.gets.Add(1)
	return c.Store.Get(ctx, key)
}

// logWriter appends to a shard's log at times of the test's choice.
type logWriter struct {
	t     *testing.T
	log   *shardlog.Log
	state *shardlog.State
	now   time.Time
	next  int64
}

func newLogWriter(t *testing.T, store objstore.Store) *logWriter {
	w := &logWriter{t: t, state: shardlog.NewState(0)}
	w.log = shardlog.OpenWith(store, 0, shardlog.Config{Now: func() time.Time { return w.now }, Logger: slog.New(slog.DiscardHandler)})
	if _, _, err := w.log.Claim(t.Context(), w.state, "test", "1"); err != nil {
		t.Fatal(err)
	}
	return w
}

// commit appends one event of each tenant, in files of the size.
func (w *logWriter) commit(at time.Time, bytes int64, table shardlog.Table, tenants ...event.TenantID) {
	w.t.Helper()
	w.now = at
	seq, n := w.state.Seq()+1, int64(len(tenants))
	a := &shardlog.Append{Epoch: w.state.Epoch(), Seq: seq, Ledger: shardlog.Ledger{Events: n}, Progress: []shardlog.Progress{{
		Source: shardlog.Source{Cluster: "c", Topic: strings.Repeat("ab", 16)}, From: w.next, Next: w.next + n, LeaderEpoch: -1, Records: n,
	}}}
	w.next += n
	for _, tenant := range tenants {
		key := fmt.Sprintf("data/%s/%d", tenant, seq)
		a.Fragments = append(a.Fragments, shardlog.Fragment{
			Key: key, Tenant: tenant, Table: table, Rows: 1, Bytes: bytes, Sum: objstore.Sum([]byte(key)), SeqMin: seq, SeqMax: seq,
		})
	}
	if table == shardlog.TableEvents {
		a.Ledger.Stored = n
	} else {
		a.Ledger.Dead = n
	}
	a.IDs = &shardlog.IDSegment{Key: fmt.Sprintf("ids/%d", seq), Bytes: 20 * n, Sum: objstore.Sum(nil), IDs: n, Buckets: []shardlog.IDBucket{{IDs: n, Length: 20 * n}}}
	if won, found, err := w.log.Append(w.t.Context(), w.state, &shardlog.Record{Kind: shardlog.KindAppend, Append: a}); err != nil || !won {
		w.t.Fatal(won, found, err)
	}
}

func TestLoad(t *testing.T) {
	store := &counted{Store: objstore.NewMemory()}
	w := newLogWriter(t, store)
	now := time.UnixMilli(1_800_000_000_000)
	ago := func(s int) time.Time { return now.Add(-time.Duration(s) * time.Second) }
	for i := range 500 {
		w.commit(ago(5000-i), 1, shardlog.TableEvents, "old")
	}
	w.commit(ago(300), 10, shardlog.TableEvents, "acme")
	w.commit(ago(200), 20, shardlog.TableEvents, "acme", "globex")
	w.commit(ago(100), 99, shardlog.TableDeadLetters, "acme")
	w.commit(ago(-5), 30, shardlog.TableEvents, "globex") // a clock that is ahead

	v := &View{Objects: store, Shards: []*shardlog.State{w.state}, logs: []*shardlog.Log{w.log}}
	store.gets.Store(0)
	got, err := v.Load(t.Context(), now, 300*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	want := []Load{{From: ago(300), Offsets: 5, Commits: map[event.TenantID][]planner.Commit{
		"acme":   {{At: ago(200), Bytes: 20}, {At: ago(300), Bytes: 10}},
		"globex": {{At: ago(-5), Bytes: 30}, {At: ago(200), Bytes: 20}},
	}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant\n%+v", got, want)
	}
	if n := store.gets.Load(); n < 4 || n > loadBatch {
		t.Errorf("%d objects were read for 5 records", n)
	}

	store.gets.Store(0)
	got, err = v.Load(t.Context(), now.Add(time.Hour), time.Minute)
	if err != nil || len(got[0].Commits) != 0 || store.gets.Load() != 0 {
		t.Errorf("an idle shard: %+v, %v, %d objects read", got, err, store.gets.Load())
	}

	// All of the log, across batches: the bound is not reached, the beginning is.
	got, err = v.Load(t.Context(), now, 2*time.Hour)
	if err != nil || len(got[0].Commits["old"]) != 500 || got[0].Offsets != 505 {
		t.Errorf("the whole log: %d commits, %d offsets, %v", len(got[0].Commits["old"]), got[0].Offsets, err)
	}
}

// TestLoadIsBounded: behind the bound nothing is read, and From says so.
func TestLoadIsBounded(t *testing.T) {
	w := newLogWriter(t, objstore.NewMemory())
	now := time.UnixMilli(1_800_000_000_000)
	for i := range maxLoadRecords + 2*loadBatch {
		w.commit(now.Add(time.Duration(i-10_000)*time.Millisecond), 1, shardlog.TableEvents, "acme")
	}
	v := &View{Shards: []*shardlog.State{w.state}, logs: []*shardlog.Log{w.log}}
	got, err := v.Load(t.Context(), now, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	commits := got[0].Commits["acme"]
	if n := len(commits); n < maxLoadRecords || n >= maxLoadRecords+loadBatch || !got[0].From.Equal(commits[n-1].At) {
		t.Errorf("%d commits, from %s", n, got[0].From)
	}
}
