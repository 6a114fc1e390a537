package snapshot

import (
	"fmt"
	"log/slog"
	"testing"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/query/queryset"
)

// BenchmarkAt asks for a tenant with 24,000 files in one shard (100 days, ten an hour), of all and of an hour, and for what was seen
// before. The log is polled each time; what a store costs is not in it, it is memory.
func BenchmarkAt(b *testing.B) {
	store := objstore.NewMemory()
	set, err := queryset.New(b.Context(), store, queryset.Config{Shards: 1})
	if err != nil {
		b.Fatal(err)
	}
	f, err := New(Config{Store: store, Meta: set.Meta, Placements: set.Placements, MaxAge: 1, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	s := f.shard(0)
	if err := s.follow(b.Context()); err != nil {
		b.Fatal(err)
	}
	l := shardlog.OpenWith(store, 0, shardlog.Config{})
	next := int64(0)
	commit := func(files int) {
		a := &shardlog.Append{Epoch: s.state.Epoch(), Seq: s.state.Seq() + 1, Ledger: shardlog.Ledger{Events: int64(files), Stored: int64(files)}}
		ids := &shardlog.IDSegment{Key: fmt.Sprintf("ids/0/%d.ids", next), Bytes: 10, Sum: objstore.Sum(nil), IDs: int64(files), Buckets: []shardlog.IDBucket{{IDs: int64(files), Length: 10}}}
		for i := range files {
			bucket := queryset.Begin.Unix() - (next+int64(i))/10*3600
			a.Fragments = append(a.Fragments, shardlog.Fragment{
				Key: fmt.Sprintf("data/acme/%d/0-%d.parquet", bucket, next+int64(i)), Tenant: "acme", Table: shardlog.TableEvents, Bucket: bucket, Rows: 1, Bytes: 100, Sum: objstore.Sum(nil),
				Min: event.Timestamp(bucket * 1e9), Max: event.Timestamp(bucket*1e9 + 3599e9), SeqMin: a.Seq, SeqMax: a.Seq,
				Ranges: []shardlog.ColumnRange{{Column: "service", Min: "api", Max: "web"}, {Column: "status", Min: "200", Max: "503"}},
			})
		}
		a.IDs = ids
		a.Progress = []shardlog.Progress{{Source: shardlog.Source{Cluster: "c", Topic: fmt.Sprintf("%032x", 7)}, TopicName: "t", From: next, Next: next + int64(files), LeaderEpoch: 1, Records: int64(files)}}
		next += int64(files)
		if won, _, err := l.Append(b.Context(), s.state, &shardlog.Record{Kind: shardlog.KindAppend, Append: a}); err != nil || !won {
			b.Fatal(won, err)
		}
	}
	for range 24 {
		commit(1000)
	}
	ask := func(want *Vector) *Snapshot {
		snap, err := f.At(b.Context(), "acme", fragment.Events, want)
		if err != nil || snap.Considered < 24_000 {
			b.Fatal(err)
		}
		return snap
	}
	first := ask(nil)
	b.Run("nothing-new", func(b *testing.B) {
		for b.Loop() {
			ask(nil)
		}
	})
	b.Run("range-of-an-hour", func(b *testing.B) {
		from := event.Timestamp(queryset.Begin.UnixNano() - 50*86400e9)
		for b.Loop() {
			if n := len(ask(nil).Fragments(from, from+3600e9)); n == 0 {
				b.Fatal(n)
			}
		}
	})
	b.Run("past", func(b *testing.B) {
		for b.Loop() {
			ask(&first.Vector)
		}
	})
}
