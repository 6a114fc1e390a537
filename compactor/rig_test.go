package compactor

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/idseg"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/internal/tenants"
)

const (
	hour  = int64(3600)
	begin = int64(1_700_006_400) // the first bucket
)

// rig is a shard that a writer fills and compactors work on, without time.
type rig struct {
	t       *testing.T
	store   *objstore.Fault
	meta    objstore.Meta
	columns *fragment.Registry
	tenants *tenants.Keeper
	now     time.Duration
	cfg     Config
	nonces  int

	log    *shardlog.Log
	state  *shardlog.State // the writer's
	upload uint64
	sent   map[string]int // what was committed, by tenant, timestamp, id and payload

	noise    int                           // bytes of each event that do not compress; 0: none
	prepared map[*shardlog.Append][]string // what was uploaded and not yet committed, in the form of sent
}

func newRig(t *testing.T) *rig { return newRigOver(t, objstore.NewMemory()) }

func newRigOver(t *testing.T, inner objstore.Store) *rig {
	r := &rig{t: t, store: objstore.NewFault(inner), meta: objstore.Meta{DataBucketSeconds: hour, IDBucketSeconds: 600}, sent: map[string]int{}, prepared: map[*shardlog.Append][]string{}}
	r.columns = fragment.NewRegistry(r.store, fragment.RegistryConfig{MaxColumns: 100})
	var err error
	if r.tenants, err = tenants.NewKeeper(tenants.Config{Store: r.store, DataBucket: time.Hour, Logger: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}
	r.cfg = DefaultConfig()
	r.cfg.ListEvery = time.Nanosecond // each collection lists
	r.cfg.FanIn, r.cfg.Ratio, r.cfg.MaxInputs = 4, 2, 16
	r.log = shardlog.OpenWith(r.store.Inner(), 0, shardlog.Config{Logger: slog.New(slog.DiscardHandler), Backoff: r.backoff(), NewNonce: r.nonce, Parallel: 1})
	r.state = shardlog.NewState(0)
	r.claim()
	return r
}

func (r *rig) backoff() chain.Backoff {
	return chain.Backoff{Jitter: func() float64 { return 0 }, Sleep: func(ctx context.Context, d time.Duration) error {
		if r.now += d; r.store.Crashed() {
			return objstore.ErrCrashed // the process is gone, and does not try again
		}
		return ctx.Err()
	}}
}

func (r *rig) nonce() string {
	r.nonces++
	return fmt.Sprintf("%032x", r.nonces)
}

func (r *rig) compactor(name string) *Compactor { return r.compactorOver(name, r.store) }

func (r *rig) compactorOver(name string, store objstore.Store) *Compactor {
	r.t.Helper()
	c, err := New(r.cfg, Deps{
		Store: store, Meta: r.meta, Shards: func() int { return 1 }, Tenants: r.tenants, Worker: name,
		Now: func() time.Time { return time.Unix(begin+hour, 0).Add(r.now) }, Clock: func() time.Duration { return r.now },
		NewNonce: r.nonce, Backoff: r.backoff(), Parallel: 1, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

func (r *rig) claim() {
	r.t.Helper()
	if _, _, err := r.log.Claim(r.t.Context(), r.state, "w", "i"); err != nil {
		r.t.Fatal(err)
	}
	r.upload = 0
}

// commit appends n events of each tenant, and their identities, in one record.
func (r *rig) commit(bucket int64, n int, names ...event.TenantID) {
	r.t.Helper()
	r.append(r.prepare(bucket, n, names...))
}

// prepare uploads what a commit names.
func (r *rig) prepare(bucket int64, n int, names ...event.TenantID) *shardlog.Append {
	r.t.Helper()
	ctx := r.t.Context()
	if _, err := r.log.Follow(ctx, r.state); err != nil {
		r.t.Fatal(err)
	}
	seq := r.state.Seq() + 1
	hasher := event.NewHasher(event.Seed{})
	a := &shardlog.Append{Epoch: r.state.Epoch(), Seq: seq}
	var ids []idseg.Entry
	for _, tenant := range names {
		in := fragment.Input{Tenant: tenant, Kind: fragment.Events, Bucket: bucket, Seq: seq, SortKey: r.tenants.Get(tenant).SortKey, KeyColumns: r.tenants.Get(tenant).KeyColumns}
		for i := range n {
			at := event.Timestamp((bucket + int64(i*7)%hour) * 1e9)
			id := fmt.Sprintf("%d-%d", seq, i)
			payload := fmt.Sprintf(`{"service":"s%d","status":%d,"n":%d}`, i%5, 200+i%3, i)
			if r.noise > 0 {
				payload = fmt.Sprintf(`{"noise":"%x","service":"s%d"}`, noise(r.noise, seq, i), i%5)
			}
			in.Rows = append(in.Rows, fragment.Row{Timestamp: at, ID: []byte(id), IngestedAt: at, Source: &event.Source{}, Format: event.FormatJSON, Payload: []byte(payload)})
			ids = append(ids, idseg.Entry{Tenant: tenant, Bucket: int64(at) / 1e9 / 600 * 600, ID: hasher.Identity(tenant, at, []byte(id))})
			r.prepared[a] = append(r.prepared[a], fmt.Sprintf("%s %d %s %s", tenant, at, id, payload))
		}
		file, err := fragment.Encode(ctx, in, r.columns)
		if err != nil {
			r.t.Fatal(err)
		}
		key := r.creator().FragmentKey(shardlog.TableEvents, tenant, bucket)
		r.put(key, file.Body)
		a.Fragments = append(a.Fragments, shardlog.Fragment{
			Key: key, Tenant: tenant, Table: shardlog.TableEvents, Bucket: bucket, Rows: file.Rows, Bytes: int64(len(file.Body)), Sum: file.Sum,
			Min: file.Min, Max: file.Max, SeqMin: seq, SeqMax: seq, SortKey: file.SortKey, KeyMin: file.KeyMin, KeyMax: file.KeyMax,
		})
	}
	body, buckets, err := idseg.Encode(ids, idseg.DefaultConfig())
	if err != nil {
		r.t.Fatal(err)
	}
	a.IDs = &shardlog.IDSegment{Key: r.creator().SegmentKey(), Bytes: int64(len(body)), Sum: objstore.Sum(body), IDs: int64(len(ids))}
	for _, b := range buckets {
		a.IDs.Buckets = append(a.IDs.Buckets, shardlog.IDBucket(b))
	}
	r.put(a.IDs.Key, body)
	a.LowWater = r.upload
	src := shardlog.Source{Cluster: "c", Topic: strings.Repeat("ab", 16)}
	a.Progress = []shardlog.Progress{{Source: src, TopicName: "s", From: int64(seq) - 1, Next: int64(seq), LeaderEpoch: 1, Records: 1}}
	a.Ledger = shardlog.Ledger{Events: int64(len(ids)), Stored: int64(len(ids))}
	return a
}

func noise(n int, seq uint64, i int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{byte(seq), byte(i), byte(i >> 8), byte(i >> 16)})
	_, _ = r.Read(b) // never fails
	return b
}

// append commits what was prepared: no other commit came in between.
func (r *rig) append(a *shardlog.Append) {
	r.t.Helper()
	if _, err := r.log.Follow(r.t.Context(), r.state); err != nil {
		r.t.Fatal(err)
	}
	if won, _, err := r.log.Append(r.t.Context(), r.state, &shardlog.Record{Kind: shardlog.KindAppend, Append: a}); !won || err != nil {
		r.t.Fatalf("commit: won %v, %v", won, err)
	}
	for _, row := range r.prepared[a] {
		r.sent[row]++
	}
	delete(r.prepared, a)
}

func (r *rig) creator() shardlog.Creator {
	r.upload++
	return shardlog.Creator{Shard: 0, Epoch: r.state.Epoch(), Nonce: r.state.ClaimNonce(), Number: r.upload - 1}
}

func (r *rig) put(key string, body []byte) {
	r.t.Helper()
	if err := r.store.Inner().Put(r.t.Context(), key, body); err != nil {
		r.t.Fatal(err)
	}
}

// settle takes turns until there is nothing to do, now and after a rest.
func (r *rig) settle(list ...*Compactor) {
	r.t.Helper()
	for idle, turns := 0, 0; idle < 2*len(list); turns++ {
		worked, err := list[turns%len(list)].Turn(r.t.Context(), 0)
		if err != nil {
			r.t.Fatalf("turn %d: %v", turns, err)
		}
		if idle++; worked {
			idle = 0
		}
		if idle == len(list) {
			r.now += r.cfg.QuietNewestAfter
		}
		if turns > 2000 {
			r.t.Fatal("it never comes to rest")
		}
	}
}

// load is the newest state of the log.
func (r *rig) load() *shardlog.State {
	r.t.Helper()
	s, err := shardlog.OpenWith(r.store.Inner(), 0, shardlog.Config{Logger: slog.New(slog.DiscardHandler)}).Load(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

// stored reads every live fragment.
func (r *rig) stored() map[string]int {
	r.t.Helper()
	out := map[string]int{}
	for f := range allFragments(r.load()) {
		reader, err := fragment.Open(r.t.Context(), r.store.Inner(), f.Key, f.Bytes)
		if err != nil {
			r.t.Fatal(err)
		}
		var rows int64
		for e, err := range reader.Events() {
			if err != nil {
				r.t.Fatal(err)
			}
			rows++
			payload, err := e.AppendJSON(nil)
			if err != nil {
				r.t.Fatal(err)
			}
			out[fmt.Sprintf("%s %d %s %s", f.Tenant, e.Timestamp, e.ID, payload)]++
		}
		if rows != f.Rows {
			r.t.Fatalf("%s has %d rows, the log says %d", f.Key, rows, f.Rows)
		}
	}
	return out
}

// check says what is stored that was not committed, or not stored that was.
func (r *rig) check() {
	r.t.Helper()
	stored := r.stored()
	if !maps.Equal(stored, r.sent) {
		lost, extra := 0, 0
		for row, n := range r.sent {
			lost += max(0, n-stored[row])
		}
		for row, n := range stored {
			extra += max(0, n-r.sent[row])
		}
		r.t.Fatalf("%d rows committed, %d stored: %d lost, %d extra; for example %.200q and %.200q", len(r.sent), len(stored), lost, extra,
			slices.Sorted(maps.Keys(r.sent))[:1], slices.Sorted(maps.Keys(stored))[:1])
	}
}

// objects are the keys of fragments and id segments in the store.
func (r *rig) objects() []string {
	r.t.Helper()
	var out []string
	for _, folder := range []string{"data/", "ids/"} {
		for o, err := range r.store.Inner().List(r.t.Context(), folder, "") {
			if err != nil {
				r.t.Fatal(err)
			}
			out = append(out, o.Key)
		}
	}
	return out
}
