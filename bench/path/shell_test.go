package path

import (
	"context"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/idseg"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/writer/shard"
)

// shell is one shard's core with a shell that does everything at once, in the
// goroutine that steps it: what its shell in package writer does but for
// waiting and trying again.
type shell struct {
	*world
	core    *shard.Core
	log     *shardlog.Log
	columns *fragment.Registry
	source  event.Source
	offset  int64 // of the next record
	ended   bool
	waited  int // records that waited for identities to be read
	work    []shard.Effect
	now     time.Time
}

func (w *world) newShell(id event.ShardID, now time.Time) *shell {
	wr := &shell{world: w, log: w.log(id), now: now,
		columns: fragment.NewRegistry(w.store, fragment.RegistryConfig{}),
		source:  event.Source{Cluster: "bench", Topic: event.TopicID{2}, Partition: int32(id)}}
	ctx := context.Background()
	state, err := wr.log.Load(ctx)
	w.must(err)
	epoch, nonce, err := wr.log.Claim(ctx, state, "bench", "bench")
	w.must(err)
	wr.core = shard.New(shard.Params{
		Shard: id, Owner: "bench", Epoch: epoch, Nonce: nonce, Hasher: w.hasher,
		DataBucketSeconds: w.meta.DataBucketSeconds, IDBucketSeconds: w.meta.IDBucketSeconds,
		CheckpointDue: wr.log.CheckpointDue, Config: shard.Defaults(),
	}, now)
	wr.step(shard.Loaded{State: state, Table: w.keeper.Current()})
	wr.step(shard.Topic{Source: wr.source, Name: "shards"})
	return wr
}

// take hands the core envelopes, as one fetch.
func (w *shell) take(now time.Time, envelopes [][]byte) {
	w.now = now
	b := shard.Batch{Gen: w.core.Generation(), Source: w.source, Records: make([]shard.Record, len(envelopes))}
	for i, v := range envelopes {
		b.Records[i] = shard.Record{Offset: w.offset, Value: v}
		w.offset++
	}
	b.End = w.offset
	w.step(b)
}

// end commits what is left.
func (w *shell) end() {
	w.step(shard.Release{})
	if !w.ended {
		w.b.Fatal("the writer's core did not release its shard")
	}
}

func (w *shell) step(in shard.Input) {
	w.work = append(w.work, w.core.Step(w.now, in)...)
	for len(w.work) > 0 {
		e := w.work[0]
		w.work = w.work[1:]
		if answer := w.do(e); answer != nil {
			w.work = append(w.work, w.core.Step(w.now, answer)...)
		}
	}
}

func (w *shell) do(e shard.Effect) shard.Input {
	ctx := context.Background()
	switch e := e.(type) {
	case shard.Inspect:
		return shard.Inspected{Gen: e.Gen, Source: e.Source, End: w.offset}
	case shard.ReadIDs:
		w.waited++
		data, err := w.store.GetRange(ctx, e.Load.Key, e.Load.Offset, e.Load.Length)
		return shard.IDsRead{Gen: e.Gen, Load: e.Load, Data: data, Err: err}
	case shard.Encode:
		return w.encode(ctx, e)
	case shard.Append:
		won, found, stored, err := w.log.Settle(ctx, e.Head, e.Record)
		return shard.Appended{Gen: e.Gen, Won: won, Record: found, Stored: stored, Err: err}
	case shard.Checkpoint:
		return shard.Checkpointed{Gen: e.Gen, Plan: e.Plan, Err: w.log.WriteCheckpoint(ctx, e.Plan)}
	case shard.Stop:
		w.ended = e.Reason == shard.Released
		if !w.ended {
			w.b.Fatalf("the writer's core stopped: %s: %v", e.Reason, e.Err)
		}
	case shard.NeedPlacements, shard.Reload:
		w.b.Fatalf("unexpected effect %+v", e)
	}
	return nil
}

func (w *shell) encode(ctx context.Context, e shard.Encode) shard.Encoded {
	in := shard.Encoded{Gen: e.Gen, Flight: e.Flight, Files: make([]shard.EncodedFile, len(e.Files))}
	for i := range e.Files {
		f, err := fragment.Encode(ctx, e.Files[i].Input, w.columns)
		w.must(err)
		w.must(w.store.Put(ctx, e.Files[i].Key, f.Body))
		in.Files[i] = shard.EncodedFileOf(f)
	}
	if e.IDs != nil {
		body, buckets, err := idseg.Encode(e.IDs.Entries, idseg.DefaultConfig())
		w.must(err)
		w.must(w.store.Put(ctx, e.IDs.Key, body))
		in.IDs = &shard.EncodedIDs{Bytes: int64(len(body)), Sum: objstore.Sum(body), Buckets: buckets}
	}
	return in
}
