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

	logs []*shardlog.Log // by shard id
}

// ErrNoStore: there is no Togo store under the given place.
var ErrNoStore = errors.New("no Togo store here")

// Open reads the placements and the newest state of every shard. log hears of what
// is odd but no error, such as a damaged checkpoint.
func Open(ctx context.Context, objects objstore.Store, log *slog.Logger) (*View, error) {
	v := &View{Objects: objects}
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
		if err != nil {
			return nil, fmt.Errorf("shard %d: %w", id, err)
		}
		v.Shards, v.logs = append(v.Shards, s), append(v.logs, l)
	}
	return v, nil
}

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

// Span is a half-open range of event times; zero values stand for no bound.
type Span struct{ From, To event.Timestamp }

// holds says whether t lies in the span.
func (s Span) holds(t event.Timestamp) bool {
	return t >= s.From && (s.To == 0 || t < s.To)
}

// overlaps says whether some time of [lo, hi] lies in the span.
func (s Span) overlaps(lo, hi event.Timestamp) bool {
	return hi >= s.From && (s.To == 0 || lo < s.To)
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

// lastRecords is how far LastCommit looks back; claims and merges between commits
// are few.
const lastRecords = 32

// LastCommit is the writer's clock in a shard's newest append; zero if there is none
// among its last records.
func (v *View) LastCommit(ctx context.Context, shard event.ShardID) (time.Time, error) {
	head := v.Shards[shard].Position()
	records, err := v.logs[shard].ReadAfter(ctx, max(head, lastRecords)-lastRecords, lastRecords)
	if err != nil {
		return time.Time{}, fmt.Errorf("shard %s: %w", shard, err)
	}
	for _, r := range slices.Backward(records) {
		if r.Record.Kind == shardlog.KindAppend {
			return time.UnixMilli(r.Record.TimeMS), nil
		}
	}
	return time.Time{}, nil
}
