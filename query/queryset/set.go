// Package queryset makes stores that hold known events, for tests of queries: the files,
// identities, shard logs, column lists and placements are written by the code that writers use, without
// Kafka and without time. The same calls give the same bytes.
package queryset

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/idseg"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/internal/tenants"
	"github.com/togodb/togo/placements"
)

// Config of a Set.
type Config struct {
	Shards int // of the store; 0 is 1
	// Spread is how many shards each tenant has; 0 is 1.
	Spread     int
	MaxColumns int // of a tenant; 0 is the default
	// Horizon is above every event that will come; zero is the beginning of 2026.
	Horizon time.Time
}

// Row is one event, or a dead letter if it has a Reason.
type Row struct {
	Tenant    event.TenantID
	Timestamp event.Timestamp
	ID        string
	Payload   string
	Reason    event.Reason
	Detail    string
}

// Set is a store and what its one writer knows. It is for one goroutine.
type Set struct {
	Store      objstore.Store
	Meta       objstore.Meta
	Hasher     *event.Hasher
	Placements *placements.Keeper
	Tenants    *tenants.Keeper
	Columns    *fragment.Registry

	nonces uint64
	shards []*shard
	offset int64 // of the next intake record
}

type shard struct {
	log     *shardlog.Log
	state   *shardlog.State
	uploads uint64
}

// Begin is a time before all events of this package's generators, the start of a data bucket.
var Begin = time.Date(2025, 6, 30, 22, 0, 0, 0, time.UTC)

var quiet = slog.New(slog.DiscardHandler)

// New makes an empty store's first records.
func New(ctx context.Context, store objstore.Store, cfg Config) (*Set, error) {
	cfg.Shards, cfg.Spread = max(1, cfg.Shards), max(1, cfg.Spread)
	if cfg.Horizon.IsZero() {
		cfg.Horizon = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	s := &Set{Store: store, Meta: objstore.NewMeta(objstore.MetaDefaults{}, Begin)}
	s.Meta.Seed, s.Meta.ID = objstore.Seed{1}, s.nonce()
	s.Hasher = event.NewHasher(event.Seed(s.Meta.Seed))
	s.Columns = fragment.NewRegistry(store, fragment.RegistryConfig{MaxColumns: cfg.MaxColumns, NewNonce: s.nonce})
	if err := store.PutIfAbsent(ctx, objstore.MetaKey, objstore.EncodeMeta(s.Meta)); err != nil {
		return nil, err
	}
	var err error
	s.Tenants, err = tenants.NewKeeper(tenants.Config{Store: store, DataBucket: time.Duration(s.Meta.DataBucketSeconds) * time.Second, Logger: quiet, NewNonce: s.nonce})
	if err != nil {
		return nil, err
	}
	if s.Placements, err = placements.NewKeeper(placements.Config{Store: store, Hasher: s.Hasher, Logger: quiet, NewNonce: s.nonce}); err != nil {
		return nil, err
	}
	genesis := placements.NewGenesis(cfg.Shards)
	genesis.Default.Spread = cfg.Spread
	if _, err := s.Placements.Init(ctx, genesis); err != nil {
		return nil, err
	}
	if _, err := s.Placements.Extend(ctx, event.Timestamp(cfg.Horizon.UnixNano())); err != nil {
		return nil, err
	}
	for id := range cfg.Shards {
		sh := &shard{
			log:   shardlog.OpenWith(store, event.ShardID(id), shardlog.Config{Logger: quiet, NewNonce: s.nonce, Now: func() time.Time { return Begin }, Parallel: 1}),
			state: shardlog.NewState(event.ShardID(id)),
		}
		if _, _, err := sh.log.Claim(ctx, sh.state, "queryset", "1"); err != nil {
			return nil, err
		}
		s.shards = append(s.shards, sh)
	}
	return s, nil
}

func (s *Set) nonce() string {
	var b [16]byte
	s.nonces++
	binary.BigEndian.PutUint64(b[8:], s.nonces)
	return hex.EncodeToString(b[:])
}

// Commit stores rows, each where its tenant, time and id belong, in one append for each shard that gets some. Who commits the same row
// twice has it twice: nothing is deduplicated here.
func (s *Set) Commit(ctx context.Context, rows ...Row) error {
	byShard := map[event.ShardID][]Row{}
	table := s.Placements.Current()
	for _, r := range rows {
		id, ok := table.Shard(r.Tenant, r.Timestamp, s.Hasher.Routing([]byte(r.ID)))
		if !ok {
			return fmt.Errorf("queryset: %s lies at or above the horizon", r.Timestamp)
		}
		byShard[id] = append(byShard[id], r)
	}
	for _, id := range slices.Sorted(maps.Keys(byShard)) {
		if err := s.commit(ctx, s.shards[id], byShard[id]); err != nil {
			return fmt.Errorf("queryset: shard %s: %w", id, err)
		}
	}
	return nil
}

// part is what one fragment holds.
type part struct {
	tenant event.TenantID
	kind   fragment.Kind
	bucket int64
}

func (s *Set) commit(ctx context.Context, sh *shard, rows []Row) error {
	if _, err := sh.log.Follow(ctx, sh.state); err != nil { // a compactor may have been here
		return err
	}
	seq := sh.state.Seq() + 1
	a := &shardlog.Append{Epoch: sh.state.Epoch(), Seq: seq}
	source := event.Source{Cluster: "c", Topic: event.TopicID{1}}
	var order []part
	parts := map[part][]fragment.Row{}
	var ids []idseg.Entry
	intake := shardlog.NewIntake()
	for _, r := range rows {
		row := fragment.Row{
			Timestamp: r.Timestamp, ID: []byte(r.ID), IngestedAt: event.Timestamp(Begin.UnixNano()) + event.Timestamp(s.offset)*1000, Format: event.FormatJSON,
			Payload: []byte(r.Payload), Source: &source, Offset: s.offset,
		}
		s.offset++
		p := part{r.Tenant, fragment.Events, bucketOf(r.Timestamp, s.Meta.DataBucketSeconds)}
		if r.Reason != "" {
			p.kind = fragment.DeadLetters
			row.Letter = &fragment.Letter{Reason: r.Reason, Detail: r.Detail}
			a.Ledger.Dead++
		} else {
			a.Ledger.Stored++
		}
		if parts[p] == nil {
			order = append(order, p)
		}
		parts[p] = append(parts[p], row)
		ids = append(ids, idseg.Entry{
			Tenant: r.Tenant, Bucket: bucketOf(r.Timestamp, s.Meta.IDBucketSeconds),
			ID: s.Hasher.Identity(r.Tenant, r.Timestamp, row.ID), Payload: s.Hasher.Payload(row.Payload),
		})
		intake.Add(shardlog.SourceFrom(source), row.Offset)
	}
	a.Ledger.Events = int64(len(rows))
	for _, p := range order {
		f, err := s.fragment(ctx, sh, p, seq, parts[p])
		if err != nil {
			return err
		}
		a.Fragments = append(a.Fragments, f)
	}
	body, buckets, err := idseg.Encode(ids, idseg.DefaultConfig())
	if err != nil {
		return err
	}
	a.IDs = &shardlog.IDSegment{Key: sh.creator().SegmentKey(), Bytes: int64(len(body)), Sum: objstore.Sum(body), IDs: int64(len(ids))}
	for _, b := range buckets {
		a.IDs.Buckets = append(a.IDs.Buckets, shardlog.IDBucket(b))
	}
	if err := s.Store.Put(ctx, a.IDs.Key, body); err != nil {
		return err
	}
	a.LowWater, a.Intake = sh.uploads, intake.ToIntake()
	from := int64(seq) - 1
	a.Progress = []shardlog.Progress{{
		Source:    shardlog.SourceFrom(event.Source{Cluster: "c", Topic: event.TopicID{2}, Partition: int32(sh.log.Shard())}),
		TopicName: "shards", From: from, Next: from + 1, LeaderEpoch: 1, Records: 1,
	}}
	won, _, err := sh.log.Append(ctx, sh.state, &shardlog.Record{Kind: shardlog.KindAppend, Append: a})
	if err == nil && !won {
		err = fmt.Errorf("another process wrote position %d", sh.state.Position())
	}
	return err
}

// fragment encodes and uploads the rows of a part.
func (s *Set) fragment(ctx context.Context, sh *shard, p part, seq uint64, rows []fragment.Row) (shardlog.Fragment, error) {
	set := s.Tenants.Get(p.tenant)
	f, err := fragment.Encode(ctx, fragment.Input{
		Tenant: p.tenant, Kind: p.kind, Bucket: p.bucket, Seq: seq, Rows: rows, SortKey: set.SortKey, KeyColumns: set.KeyColumns,
	}, s.Columns)
	if err != nil {
		return shardlog.Fragment{}, err
	}
	out := shardlog.Fragment{
		Tenant: p.tenant, Table: shardlog.TableEvents, Bucket: p.bucket, Rows: f.Rows, Bytes: int64(len(f.Body)), Sum: f.Sum,
		Min: f.Min, Max: f.Max, SeqMin: seq, SeqMax: seq, SortKey: f.SortKey, KeyMin: f.KeyMin, KeyMax: f.KeyMax,
	}
	if p.kind == fragment.DeadLetters {
		out.Table = shardlog.TableDeadLetters
	}
	for _, r := range f.Ranges {
		out.Ranges = append(out.Ranges, shardlog.ColumnRange(r))
	}
	out.Key = sh.creator().FragmentKey(out.Table, p.tenant, p.bucket)
	return out, s.Store.Put(ctx, out.Key, f.Body)
}

func (sh *shard) creator() shardlog.Creator {
	sh.uploads++
	return shardlog.Creator{Shard: sh.log.Shard(), Epoch: sh.state.Epoch(), Nonce: sh.state.ClaimNonce(), Number: sh.uploads - 1}
}

// Live are the fragments of a tenant's table that the shard logs name now.
func (s *Set) Live(ctx context.Context, tenant event.TenantID, table shardlog.Table) ([]shardlog.Fragment, error) {
	var out []shardlog.Fragment
	for _, sh := range s.shards {
		state, err := sh.log.Load(ctx)
		if err != nil {
			return nil, err
		}
		state.Fragments(tenant, -1<<62, 1<<62, func(f shardlog.Fragment) bool {
			if f.Table == table {
				out = append(out, f)
			}
			return true
		})
	}
	return out, nil
}

// Checkpoint writes a checkpoint of each shard, as writers do now and then.
func (s *Set) Checkpoint(ctx context.Context) error {
	for _, sh := range s.shards {
		if _, err := sh.log.Follow(ctx, sh.state); err != nil {
			return err
		}
		if err := sh.log.Checkpoint(ctx, sh.state); err != nil {
			return fmt.Errorf("queryset: shard %s: %w", sh.log.Shard(), err)
		}
	}
	return nil
}

// Expire raises a tenant's floor of events in all shards.
func (s *Set) Expire(ctx context.Context, tenant event.TenantID, floor event.Timestamp) error {
	for _, sh := range s.shards {
		if _, err := sh.log.Follow(ctx, sh.state); err != nil {
			return err
		}
		r := &shardlog.Record{Kind: shardlog.KindExpire, Expire: &shardlog.Expire{Floors: []shardlog.Floor{{Tenant: tenant, Table: shardlog.TableEvents, Floor: floor}}}}
		if won, _, err := sh.log.Append(ctx, sh.state, r); err != nil || !won {
			return fmt.Errorf("queryset: expire: won %v: %w", won, err)
		}
	}
	return nil
}

func bucketOf(t event.Timestamp, seconds int64) int64 {
	at := int64(t) / 1e9
	if int64(t)%1e9 < 0 {
		at--
	}
	return at - ((at%seconds)+seconds)%seconds
}
