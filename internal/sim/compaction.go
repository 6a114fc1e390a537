package sim

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/togodb/togo/compactor"
	"github.com/togodb/togo/compactor/retain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/idseg"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/internal/sim/loop"
	"github.com/togodb/togo/placements"
)

// compactionPlan is what the seed decides of compaction.
type compactionPlan struct {
	processes   int // that share all shards
	config      compactor.Config
	targetBytes int64
	collect     time.Duration // between collections of garbage
}

// drawCompaction makes merges small and frequent.
func drawCompaction(r *rand.Rand) compactionPlan {
	c := compactor.DefaultConfig()
	c.FanIn, c.Ratio, c.Overlap, c.Levels, c.MaxInputs = 2+r.IntN(3), 2, 1+r.Int64N(3), 1+r.IntN(3), 4+r.IntN(8)
	c.QuietAfter = delay(r, 2*time.Second, time.Minute)
	c.QuietNewestAfter = c.QuietAfter * time.Duration(1+r.IntN(3))
	c.SegmentBytes = 2_000 + r.Int64N(200_000)
	c.Poll = delay(r, 200*time.Millisecond, 10*time.Second)
	c.JobTimeout = delay(r, 30*time.Second, 5*time.Minute)
	c.ExpireEvery = delay(r, 5*time.Second, 2*time.Minute)
	c.QueryGrace = delay(r, time.Second, 3*time.Minute)
	c.ListEvery = delay(r, 5*time.Second, 10*time.Minute)
	c.KeepRecords = r.IntN(2) * r.IntN(20)
	c.ReadTries = 1 + r.IntN(3)
	p := compactionPlan{processes: r.IntN(3), config: c, targetBytes: 4_000 + r.Int64N(60_000), collect: delay(r, 5*time.Second, 2*time.Minute)}
	p.config.MaxJobBytes = p.targetBytes * (4 + r.Int64N(40))
	return p
}

// compactorProcess is a process that compacts shards, raises floors and collects garbage.
// Its work is one task: the real shell has more of them, but each waits for the others
// wherever they meet.
type compactorProcess struct {
	*loop.Process
	w        *world
	c        *compactor.Compactor
	restless time.Duration // when it last did something
}

func (w *world) startCompactor(p *compactorProcess) {
	p.Start()
	store := &client{w, p.Process}
	p.Spawn("main", func() {
		keeper := w.newKeeper(p.Process, store)
		settings := w.newSettings(p.Process, store)
		p.c = must(compactor.New(w.plan.compaction.config, compactor.Deps{
			Store: store, Meta: w.meta, Tenants: settings, Worker: p.Name,
			Shards: func() int { return keeper.Current().Shards() },
			MayHold: func(id event.ShardID) func(event.TenantID) (bool, bool) {
				return retain.Holders(keeper.Current(), id, w.clockOf(p.Process)())
			},
			Now: w.clockOf(p.Process), Clock: w.Now, NewNonce: w.nonce, Backoff: w.backoff(p.Process), Parallel: 1, Logger: quiet,
			Placements: keeper.Keeper,
		}))
		p.restless = w.Now()
		for next := w.Now(); ; {
			if w.Now() >= next {
				next = w.Now() + w.plan.compaction.collect
				p.collect()
			}
			if !p.turns() {
				w.Sleep(delay(w.delays, w.plan.compaction.config.Poll/4, w.plan.compaction.config.Poll))
			}
		}
	})
}

// turns takes a step of each shard's work.
func (p *compactorProcess) turns() (worked bool) {
	for _, id := range p.c.Shards() {
		did, err := p.c.Turn(context.Background(), id)
		p.broken(err)
		if err != nil {
			p.w.Note("%s shard %s: %s", p.Name, id, short(err))
		}
		if did || err != nil {
			p.restless = p.w.Now()
		}
		worked = worked || did && err == nil
	}
	return worked
}

func (p *compactorProcess) collect() {
	report, err := p.c.Collect(context.Background())
	p.broken(err)
	if report.Unknown > 0 {
		p.w.fail("%s: a collection found %d objects whose creators no shard log knows", p.Name, report.Unknown)
	}
	if report.Garbage > 0 || report.Deleted.Objects > 0 {
		p.restless = p.w.Now()
	}
	p.w.Note("%s collected %d, listed %d: %s", p.Name, report.Deleted.Objects, report.Objects, short(err))
}

// broken makes the run fail if an error says that the store is not as it was left, or that the compactor
// appends what nobody may.
func (p *compactorProcess) broken(err error) {
	for _, broken := range []error{shardlog.ErrCorrupt, shardlog.ErrNewerFormat, shardlog.ErrRefused, placements.ErrCorrupt, fragment.ErrCorrupt, fragment.ErrMergeDiffers, idseg.ErrCorrupt, idseg.ErrTwice} {
		if errors.Is(err, broken) {
			p.w.fail("%s: %v", p.Name, err)
		}
	}
}
