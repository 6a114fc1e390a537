// Package inspect reads a store as an operator sees it, without taking part:
// what lies where, the rows of a tenant, and whether every promise holds on what
// is there (Verify). It writes nothing, and needs no Kafka; with the positions
// of Kafka it can say more.
//
// A View is one consistent state of each shard. Writers may go on meanwhile:
// fragments never change, so what a View names stays readable (as long as the
// compactor's grace lasts).
package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/placements"
)

// View is a store as it was when it was opened.
type View struct {
	Objects objstore.Store
	Meta    objstore.Meta
	Hasher  *event.Hasher
	Table   *placements.Table
	Shards  []*shardlog.State // by shard id

	logs   []*shardlog.Log // by shard id
	damage map[event.ShardID]error
}

// ErrNoStore: there is no Togo store under the given place.
var ErrNoStore = errors.New("no Togo store here")

// Open reads the placements and the newest state of every shard. log hears of what
// is odd but no error, such as a damaged checkpoint.
func Open(ctx context.Context, objects objstore.Store, log *slog.Logger) (*View, error) {
	v, err := OpenDamaged(ctx, objects, log)
	if err != nil {
		return nil, err
	}
	for id := range v.Shards {
		if err := v.damage[event.ShardID(id)]; err != nil {
			return nil, fmt.Errorf("shard %d: %w", id, err)
		}
	}
	return v, nil
}

// OpenDamaged is Open for Verify: a shard whose log is not as it was left is in the
// view as far as its records fold, and Verify tells what is wrong with it.
func OpenDamaged(ctx context.Context, objects objstore.Store, log *slog.Logger) (*View, error) {
	v := &View{Objects: objects, damage: map[event.ShardID]error{}}
	body, err := objects.Get(ctx, objstore.MetaKey)
	if errors.Is(err, objstore.ErrNotFound) {
		return nil, fmt.Errorf("%s: %w (it has no %s)", objstore.Name(objects), ErrNoStore, objstore.MetaKey)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", objstore.MetaKey, err)
	}
	if v.Meta, err = objstore.DecodeMeta(body); err != nil {
		return nil, err
	}
	v.Hasher = event.NewHasher(event.Seed(v.Meta.Seed))
	keeper, err := placements.NewKeeper(placements.Config{Store: objects, Hasher: v.Hasher, Logger: log})
	if err != nil {
		return nil, err
	}
	if err := keeper.Load(ctx); err != nil {
		return nil, err
	}
	v.Table = keeper.Current()
	for id := range v.Table.Shards() {
		l := shardlog.OpenWith(objects, event.ShardID(id), shardlog.Config{Logger: log})
		s, err := l.Load(ctx)
		if isFinding(err) {
			v.damage[event.ShardID(id)] = err
			s, err = prefix(ctx, l)
		}
		if err != nil {
			return nil, fmt.Errorf("shard %d: %w", id, err)
		}
		v.Shards, v.logs = append(v.Shards, s), append(v.logs, l)
	}
	return v, nil
}

// prefix is the state of a damaged log, as far as its records fold.
func prefix(ctx context.Context, l *shardlog.Log) (*shardlog.State, error) {
	s, _, err := l.Oldest(ctx)
	if isFinding(err) {
		return shardlog.NewState(l.Shard()), nil
	}
	for err == nil {
		var records []shardlog.Stored
		records, err = l.ReadAfter(ctx, s.Position(), readBatch)
		for _, r := range records {
			if s.Apply(r.Record, r.Bytes) != nil {
				return s, nil // s is as it was before
			}
		}
		if isFinding(err) || err == nil && len(records) < readBatch {
			return s, nil
		}
	}
	return nil, err
}

// readBatch bounds the records of a log that are held at a time.
const readBatch = 256

// Tenants lists every tenant that has live fragments.
func (v *View) Tenants() []event.TenantID {
	set := map[event.TenantID]bool{}
	for _, s := range v.Shards {
		for _, t := range s.Tenants() {
			set[t] = true
		}
	}
	out := make([]event.TenantID, 0, len(set))
	for t := range set {
		out = append(out, t)
	}
	slices.Sort(out)
	return out
}

// Span is a half-open range of event times.
type Span struct{ From, To event.Timestamp }

// Always is the span of all times.
var Always = Span{From: math.MinInt64, To: math.MaxInt64}

// holds says whether t lies in the span. The last time of all has none after it, so
// that Always could not name it otherwise.
func (s Span) holds(t event.Timestamp) bool {
	return t >= s.From && (t < s.To || s.To == Always.To)
}

// overlaps says whether some time of [lo, hi] lies in the span.
func (s Span) overlaps(lo, hi event.Timestamp) bool {
	return hi >= s.From && (lo < s.To || s.To == Always.To)
}

// File is a live fragment and the shard that holds it.
type File struct {
	Shard event.ShardID
	shardlog.Fragment
}

// maxBucket is after every bucket.
const maxBucket = int64(1) << 62

// Files lists a tenant's live fragments of a table that may hold rows of the span,
// in the order of bucket, shard and key.
func (v *View) Files(tenant event.TenantID, table shardlog.Table, span Span) []File {
	var out []File
	for id, s := range v.Shards {
		s.Fragments(tenant, -maxBucket, maxBucket, func(f shardlog.Fragment) bool {
			if f.Table == table && span.overlaps(f.Min, f.Max) {
				out = append(out, File{event.ShardID(id), f})
			}
			return true
		})
	}
	slices.SortFunc(out, func(a, b File) int {
		return cmp.Or(cmp.Compare(a.Bucket, b.Bucket), cmp.Compare(a.Shard, b.Shard), cmp.Compare(a.Key, b.Key))
	})
	return out
}

// ShardSum is what a tenant has in one shard.
type ShardSum struct {
	Shard       event.ShardID
	Files       int
	Rows        int64
	Bytes       int64
	Letters     int64 // rows in dead_letters
	First, Last event.Timestamp
}

// Where sums a tenant's live fragments by shard; shards without any are left out.
func (v *View) Where(tenant event.TenantID) []ShardSum {
	var out []ShardSum
	for id, s := range v.Shards {
		sum := ShardSum{Shard: event.ShardID(id)}
		s.Fragments(tenant, -maxBucket, maxBucket, func(f shardlog.Fragment) bool {
			sum.Files++
			sum.Bytes += f.Bytes
			if f.Table == shardlog.TableDeadLetters {
				sum.Letters += f.Rows
				return true
			}
			if sum.Rows == 0 || f.Min < sum.First {
				sum.First = f.Min
			}
			if sum.Rows == 0 || f.Max > sum.Last {
				sum.Last = f.Max
			}
			sum.Rows += f.Rows
			return true
		})
		if sum.Files > 0 {
			out = append(out, sum)
		}
	}
	return out
}

// Totals adds the ledgers of all shards up.
func (v *View) Totals() shardlog.Totals {
	var sum shardlog.Totals
	for _, s := range v.Shards {
		t := s.Totals()
		sum.Events += t.Events
		sum.Stored += t.Stored
		sum.Duplicate += t.Duplicate
		sum.Conflict += t.Conflict
		sum.Dead += t.Dead
		sum.Records += t.Records
		sum.Control += t.Control
		sum.Lost += t.Lost
		sum.Appends += t.Appends
	}
	return sum
}

// LastCommit is the writer's clock in a shard's newest append; zero if there is none.
func (v *View) LastCommit(shard event.ShardID) time.Time {
	ms := v.Shards[shard].LastAppendMS()
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
