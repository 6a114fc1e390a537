package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/idseg"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/placements"
	"github.com/togodb/togo/writer"
	"github.com/togodb/togo/writer/shard"
)

// world is a store with placements of one shard, whose clock stands at the events' times.
type world struct {
	store  objstore.Store
	meta   objstore.Meta
	hasher *event.Hasher
	keeper *placements.Keeper
}

// mapping finds the tenant in the event, as DuckDB does.
func mapping() event.Mapping {
	m := event.DefaultMapping()
	m.Tenant = []event.Rule{{Field: "tenant"}}
	return m
}

func newWorld(ctx context.Context, store objstore.Store) (*world, error) {
	clock := func() time.Time { return begin.Add(time.Hour) }
	w := &world{store: store, meta: objstore.NewMeta(objstore.MetaDefaults{}, begin)}
	w.meta.Seed = objstore.Seed{7}
	w.hasher = event.NewHasher(event.Seed(w.meta.Seed))
	var err error
	w.keeper, err = placements.NewKeeper(placements.Config{Store: store, Hasher: w.hasher, Now: clock, Logger: quiet()})
	if err != nil {
		return nil, err
	}
	genesis := placements.NewGenesis(1)
	genesis.Mappings[""] = mapping()
	if _, err = w.keeper.Init(ctx, genesis); err != nil {
		return nil, err
	}
	_, err = w.keeper.Extend(ctx, event.Timestamp(clock().UnixNano()))
	return w, err
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func (w *world) limits() event.Limits {
	return event.Limits{MinTime: event.Timestamp(w.meta.MinTime.UnixNano()), MaxFuture: w.meta.MaxFuture}
}

// shell is the core of one shard's writer with a shell that does everything at once, in the goroutine that steps it: what package
// writer does but for Kafka, waiting and trying again.
type shell struct {
	*world
	ctx     context.Context
	core    *shard.Core
	log     *shardlog.Log
	columns *fragment.Registry
	source  event.Source
	offset  int64 // of the next record
	ended   bool
	work    []shard.Effect
	now     time.Time
}

func (w *world) newShell(ctx context.Context, now time.Time) (*shell, error) {
	wr := &shell{world: w, ctx: ctx, log: shardlog.OpenWith(w.store, 0, shardlog.Config{Logger: quiet()}), now: now,
		columns: fragment.NewRegistry(w.store, fragment.RegistryConfig{}),
		source:  event.Source{Cluster: "compare", Topic: event.TopicID{2}}}
	state, err := wr.log.Load(ctx)
	if err != nil {
		return nil, err
	}
	epoch, nonce, err := wr.log.Claim(ctx, state, "compare", "compare")
	if err != nil {
		return nil, err
	}
	wr.core = shard.New(shard.Params{
		Shard: 0, Owner: "compare", Epoch: epoch, Nonce: nonce, Hasher: w.hasher,
		DataBucketSeconds: w.meta.DataBucketSeconds, IDBucketSeconds: w.meta.IDBucketSeconds,
		CheckpointDue: wr.log.CheckpointDue, Config: config(),
	}, now)
	if err := wr.step(shard.Loaded{State: state, Table: w.keeper.Current()}); err != nil {
		return nil, err
	}
	return wr, wr.step(shard.Topic{Source: wr.source, Name: "shards"})
}

// config is what the writer has for its only shard by default.
func config() shard.Config {
	c, w := shard.Defaults(), writer.DefaultConfig()
	c.MemoryBytes, c.DedupBytes = w.MemoryBudget*3/4, w.DedupBudget
	return c
}

// take hands the core envelopes, as one fetch.
func (w *shell) take(now time.Time, envelopes [][]byte) error {
	w.now = now
	b := shard.Batch{Gen: w.core.Generation(), Source: w.source, Records: make([]shard.Record, len(envelopes))}
	for i, v := range envelopes {
		b.Records[i] = shard.Record{Offset: w.offset, Value: v}
		w.offset++
	}
	b.End = w.offset
	return w.step(b)
}

// end commits what is left.
func (w *shell) end() error {
	if err := w.step(shard.Release{}); err != nil {
		return err
	}
	if !w.ended {
		return fmt.Errorf("the writer's core did not release its shard")
	}
	return nil
}

// stored is what the shard's log says.
func (w *shell) stored() (shardlog.Totals, error) {
	state, err := w.log.Load(w.ctx)
	if err != nil {
		return shardlog.Totals{}, err
	}
	return state.Totals(), nil
}

func (w *shell) step(in shard.Input) error {
	w.work = append(w.work, w.core.Step(w.now, in)...)
	for len(w.work) > 0 {
		e := w.work[0]
		w.work = w.work[1:]
		answer, err := w.do(e)
		if err != nil {
			return err
		}
		if answer != nil {
			w.work = append(w.work, w.core.Step(w.now, answer)...)
		}
	}
	return nil
}

func (w *shell) do(e shard.Effect) (shard.Input, error) {
	switch e := e.(type) {
	case shard.Inspect:
		return shard.Inspected{Gen: e.Gen, Source: e.Source, End: w.offset}, nil
	case shard.ReadIDs:
		data, err := w.store.GetRange(w.ctx, e.Load.Key, e.Load.Offset, e.Load.Length)
		return shard.IDsRead{Gen: e.Gen, Load: e.Load, Data: data, Err: err}, nil
	case shard.Encode:
		return w.encode(e)
	case shard.Append:
		won, found, stored, err := w.log.Settle(w.ctx, e.Head, e.Record)
		return shard.Appended{Gen: e.Gen, Won: won, Record: found, Stored: stored, Err: err}, nil
	case shard.Checkpoint:
		return shard.Checkpointed{Gen: e.Gen, Plan: e.Plan, Err: w.log.WriteCheckpoint(w.ctx, e.Plan)}, nil
	case shard.Stop:
		if w.ended = e.Reason == shard.Released; !w.ended {
			return nil, fmt.Errorf("the writer's core stopped: %s: %w", e.Reason, e.Err)
		}
	case shard.NeedPlacements, shard.Reload:
		return nil, fmt.Errorf("the writer's core wants what it needs not want here: %+v", e)
	}
	return nil, nil
}

func (w *shell) encode(e shard.Encode) (shard.Input, error) {
	in := shard.Encoded{Gen: e.Gen, Flight: e.Flight, Files: make([]shard.EncodedFile, len(e.Files))}
	for i := range e.Files {
		f, err := fragment.Encode(w.ctx, e.Files[i].Input, w.columns)
		if err != nil {
			return nil, err
		}
		if err := w.store.Put(w.ctx, e.Files[i].Key, f.Body); err != nil {
			return nil, err
		}
		in.Files[i] = shard.EncodedFileOf(f)
	}
	if e.IDs != nil {
		body, buckets, err := idseg.Encode(e.IDs.Entries, idseg.DefaultConfig())
		if err != nil {
			return nil, err
		}
		if err := w.store.Put(w.ctx, e.IDs.Key, body); err != nil {
			return nil, err
		}
		in.IDs = &shard.EncodedIDs{Bytes: int64(len(body)), Sum: objstore.Sum(body), Buckets: buckets}
	}
	return in, nil
}
