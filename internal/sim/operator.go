package sim

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/togodb/togo/compactor/erase"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/internal/sim/loop"
	"github.com/togodb/togo/placements"
	"github.com/togodb/togo/writer/shard"
)

// operator is the people: they change placements, mappings and admission while events
// flow, add shards, and accept what Kafka lost.
type operator struct {
	*loop.Process
	w      *world
	r      *rand.Rand
	keeper *keeper
	store  *client
	idle   bool // nothing is changed any more

	settingsRandom *rand.Rand
}

func (w *world) startOperator() *operator {
	o := &operator{Process: w.NewProcess("operator"), w: w, r: w.random("operator"), settingsRandom: w.random("settings")}
	o.again()
	return o
}

// again starts the operator's work.
func (o *operator) again() {
	w := o.w
	o.Start()
	o.store = &client{w, o.Process}
	o.Spawn("changes", func() {
		o.keeper = w.newKeeper(o.Process, o.store)
		for {
			w.Sleep(delay(o.r, time.Second, w.plan.changeEvery))
			switch {
			case o.idle:
			case w.plan.forgets && o.r.IntN(4) == 0:
				o.forget()
			default:
				o.change()
			}
		}
	})
	o.Spawn("tenants", func() {
		k := w.newSettings(o.Process, o.store)
		for {
			w.Sleep(delay(o.settingsRandom, time.Second, w.plan.changeEvery))
			if !o.idle {
				o.changeSettings(k)
			}
		}
	})
	o.Spawn("losses", func() {
		for {
			w.Sleep(delay(o.r, 10*time.Second, 2*time.Minute))
			o.acceptShards()
			o.acceptIntake()
		}
	})
}

// change alters the placement chain; that the store is away is no matter.
func (o *operator) change() {
	w, r := o.w, o.r
	table := o.keeper.Current()
	var from *event.Timestamp
	if r.IntN(3) == 0 {
		at := table.Horizon() + event.Timestamp(delay(r, time.Second, 10*time.Minute))
		from = &at
	}
	var change placements.Change
	what := "place"
	switch k := r.IntN(10); {
	case k < 5:
		change = placements.SetTenant(event.TenantID(w.plan.tenants[r.IntN(len(w.plan.tenants))]), o.someShards(table), from)
	case k < 7:
		shards := o.someShards(table)
		change, what = placements.SetDefault(shards, 1+r.IntN(len(shards)), from), "default"
	case k < 8:
		m := event.DefaultMapping()
		m.ID[0].Field = []string{firstID, secondID}[r.IntN(2)]
		change, what = placements.SetMapping(w.plan.intakes[r.IntN(len(w.plan.intakes))], m, from), "mapping"
	case k < 9:
		what = "admission"
		rule := placements.Rule{Unknown: placements.UnknownAccept, MaxTenants: r.IntN(2 * len(w.plan.tenants))}
		if r.IntN(3) == 0 {
			rule = placements.Rule{Unknown: placements.UnknownDeny}
		}
		for _, t := range w.plan.tenants {
			if r.IntN(2) == 0 {
				rule.Allow = append(rule.Allow, event.TenantID(t))
			}
		}
		change = placements.SetRule(rule, from)
	default:
		if table.Shards() >= w.plan.maxShards {
			return
		}
		what = "more shards"
		w.broker.topics[shardTopic].grow(table.Shards() + 1)
		change = func(t *placements.Table) (placements.Record, error) {
			return placements.Record{Kind: placements.KindShards, Shards: &placements.AddShards{Shards: t.Shards() + 1}}, nil
		}
	}
	err := o.keeper.try(func() error { _, err := o.keeper.Propose(context.Background(), change); return err })
	w.Note("operator changes %s: %s", what, short(err))
}

func (o *operator) someShards(t *placements.Table) placements.Shards {
	all := o.r.Perm(t.Shards())[:1+o.r.IntN(t.Shards())]
	slices.Sort(all)
	var out placements.Shards
	for _, s := range all {
		out = append(out, event.ShardID(s))
	}
	return out
}

// forget raises a floor, as retention does, or erases a tenant, in one shard or in all.
func (o *operator) forget() {
	w, r := o.w, o.r
	table := o.keeper.Current()
	tenant := event.TenantID(w.plan.tenants[r.IntN(len(w.plan.tenants))])
	at := event.Timestamp(w.trueTime().Add(-delay(r, time.Minute, 100*time.Hour)).UnixNano())
	erases, everybody, letters, all := r.IntN(3) == 0, r.IntN(3) == 0, r.IntN(3) == 0, r.IntN(2) == 0
	only := r.IntN(table.Shards())
	if erases && all {
		o.erase(tenant)
		return
	}
	for shard := range table.Shards() {
		if !all && shard != only {
			continue
		}
		log := o.shardLog(event.ShardID(shard))
		state, err := log.Load(context.Background())
		if err == nil {
			var record shardlog.Record
			if erases { // an erasure that was cut short
				record = shardlog.Record{Kind: shardlog.KindErase, Erase: &shardlog.Erase{Tenant: tenant, Floor: table.Horizon()}}
			} else {
				record = shardlog.Record{Kind: shardlog.KindExpire, Expire: floors(tenant, at, everybody, letters)}
			}
			_, _, err = log.Append(context.Background(), state, &record)
		}
		w.Note("operator forgets %s before %s in shard %d (erase: %v, everybody: %v): %s", tenant, at, shard, erases, everybody, short(err))
	}
}

// erase is what `togo tenants erase` does.
func (o *operator) erase(tenant event.TenantID) {
	e := &erase.Eraser{Tenant: tenant, Store: o.store, Placements: o.keeper.Keeper, Log: o.logConfig()}
	var shards []erase.Shard
	err := o.keeper.try(func() (err error) { shards, err = e.Erase(context.Background()); return err })
	o.w.Note("operator erases %s in %d shards: %s", tenant, len(shards), short(err))
	if errors.Is(err, shardlog.ErrCorrupt) || errors.Is(err, shardlog.ErrRefused) {
		o.w.fail("erasure of %s: %v", tenant, err)
	}
	for _, s := range shards {
		if s.Fragments > 0 || s.Floor == nil {
			o.w.fail("shard %s after the erasure of %s: %+v", s.Shard, tenant, s)
		}
	}
}

// floors is the record that raises them; ids go with the floors of all.
func floors(tenant event.TenantID, at event.Timestamp, everybody, letters bool) *shardlog.Expire {
	if everybody {
		tenant = ""
	}
	x := &shardlog.Expire{Floors: []shardlog.Floor{{Tenant: tenant, Table: shardlog.TableEvents, Floor: at}}}
	if letters {
		x.Floors = append(x.Floors, shardlog.Floor{Tenant: tenant, Table: shardlog.TableDeadLetters, Floor: at})
	}
	if everybody && letters {
		below := int64(at) / int64(10*time.Minute) * 600
		x.IDsBelow = &below
	}
	return x
}

func (o *operator) shardLog(id event.ShardID) *shardlog.Log {
	return shardlog.OpenWith(o.store, id, o.logConfig())
}

func (o *operator) logConfig() shardlog.Config {
	return shardlog.Config{
		Now: o.w.clockOf(o.Process), NewNonce: o.w.nonce, Backoff: o.w.backoff(o.Process), Parallel: 1, Logger: quiet,
	}
}

// acceptShards appends a gap for each shard that stopped because Kafka lost something.
func (o *operator) acceptShards() {
	for _, p := range o.w.writers {
		for _, r := range p.runners {
			s := r.session
			if !p.Up() || s == nil || s.stopped == nil || s.stopped.Reason != shard.Lost {
				continue
			}
			source := s.stopped.Loss.Source
			log := o.shardLog(r.shard)
			state, err := log.Load(context.Background())
			if err == nil {
				err = log.AcceptGap(context.Background(), state, func(state *shardlog.State) (*shardlog.Gap, error) {
					return o.gap(state, source)
				})
			}
			o.w.Note("operator accepts the loss of shard %s: %s", r.shard, short(err))
		}
	}
}

// gap is what `togo gap` makes of a source.
func (o *operator) gap(state *shardlog.State, source event.Source) (*shardlog.Gap, error) {
	src, _ := state.SourceOf(shardlog.SourceFrom(source))
	t := o.w.broker.topics[shardTopic]
	if t.id != source.Topic {
		return state.Accept(src, shardlog.Kept{}, -1, "lost by Kafka", "operator"), nil
	}
	part := t.parts[source.Partition]
	has := shardlog.Kept{Current: true, Start: part.start, End: part.end}
	if err := has.Ask(src, func(epoch int32) (int64, error) { return part.epochEnd(epoch), nil }); err != nil {
		return nil, err
	}
	there := has.There()
	for offset := there.From; offset < there.Next; offset++ {
		i, ok := slices.BinarySearchFunc(part.records, offset, func(r *record, o int64) int { return cmp.Compare(r.offset, o) })
		if !ok || part.records[i].control {
			has.Gone = shardlog.AddRanges(has.Gone, shardlog.RangeSet{{From: offset, Next: offset + 1}})
		}
	}
	return state.Accept(src, has, -1, "lost by Kafka", "operator"), nil
}

// acceptIntake sets the group's offset for partitions that a router has stopped.
func (o *operator) acceptIntake() {
	for _, p := range o.w.routers {
		s := p.now
		if !p.Up() || s == nil || s.over {
			continue
		}
		for _, h := range slices.Clone(s.order) {
			err := s.stopped[h.TopicPartition]
			if err == nil {
				continue
			}
			t := o.w.broker.topics[h.Topic]
			to := o.groupOffset(t, h.TopicPartition, err)
			o.w.Note("operator sets the group to %d on %s[%d]", to, h.Topic, h.Partition)
			o.w.broker.group.committed[h.TopicPartition] = committed{kafka.Position{Offset: to, LeaderEpoch: -1}, t.id}
			s.revoke([]kafka.TopicPartition{h.TopicPartition}, true)
			o.w.broker.group.rebalance()
		}
	}
}

// groupOffset is where an operator has a stopped partition go on: where its history was cut,
// but not behind what the group has committed of it, since what was read beyond that may not
// have been forwarded. What can't be told apart is read again from the start.
func (o *operator) groupOffset(t *topic, tp kafka.TopicPartition, err error) int64 {
	part := t.parts[tp.Partition]
	c, ok := o.w.broker.group.committed[tp]
	var cut *kafka.HistoryCutError
	if !ok || c.topic != t.id || !errors.As(err, &cut) || cut.EpochEnd < 0 {
		return part.start
	}
	return max(part.start, min(cut.EpochEnd, c.Offset))
}
