package writer

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// admin administers the cluster behind the writer's back.
func (r *rig) admin() *kadm.Client {
	cl, err := kgo.NewClient(kgo.SeedBrokers(r.kafka.ListenAddrs()...))
	r.must(err)
	r.t.Cleanup(cl.Close)
	return kadm.NewClient(cl)
}

// TestUnreliableStore: any operation may fail before or after it was applied, and writes may
// land later.
func TestUnreliableStore(t *testing.T) {
	r := newRig(t, objstore.NewMemory(), 2)
	rng := rand.New(rand.NewPCG(4, 4))
	fault := objstore.NewFault(r.store)
	effects := []objstore.Effect{objstore.FailBefore, objstore.FailAfter, objstore.LandLater}
	fault.Decide = func(c objstore.Call) *objstore.Rule { // called with the fault's lock held
		if rng.IntN(4) > 0 {
			return nil
		}
		e := effects[rng.IntN(len(effects))]
		if e == objstore.LandLater && !c.Op.IsWrite() {
			e = objstore.FailBefore
		}
		err := []error{objstore.ErrUnavailable, objstore.ErrConflict, objstore.ErrInjected}[rng.IntN(3)]
		return &objstore.Rule{Effect: e, Err: err, LandAfter: 1 + rng.IntN(6)}
	}
	p := r.start(fault, quick())
	for range 5 {
		r.send(traffic(rng, 80)...)
		p.await("all is committed", r.committed)
	}
	p.dead()
	r.check()
}

// TestFault_silent_nothing: no commit goes through for a while. The writer is not ready and says why, its lag grows with what comes, it
// logs which commit fails and with what error, reads no more than it may hold, and goes on by itself.
func TestFault_silent_nothing(t *testing.T) {
	r := newRig(t, objstore.NewMemory(), 1)
	var logged lockedText
	r.logger = slog.New(slog.NewTextHandler(&logged, nil))
	var down atomic.Bool
	fault := objstore.NewFault(r.store)
	fault.Decide = func(c objstore.Call) *objstore.Rule {
		if down.Load() && c.Op.IsWrite() && strings.Contains(c.Key, "/log/") {
			return &objstore.Rule{Effect: objstore.FailBefore, Err: objstore.ErrUnavailable}
		}
		return nil
	}
	cfg := quick()
	cfg.MemoryBudget, cfg.LateAfter = 200_000, 50*time.Millisecond
	p := r.startWith(fault, cfg, func(w *Writer) { w.endWatch = 20 * time.Millisecond })
	rng := rand.New(rand.NewPCG(6, 6))
	r.send(traffic(rng, 50)...)
	p.await("the first events", r.committed)
	if text := logged.String(); strings.Contains(text, "level=WARN") {
		t.Errorf("all is well, and it says\n%s", text)
	}
	down.Store(true)
	r.send(traffic(rng, 500)...)
	lags := func(more int64) func() bool {
		return func() bool { s := p.w.Status()[0]; return p.w.Ready() != nil && s.Lag >= more }
	}
	p.await("not ready, and a lag", lags(1))
	before := p.w.Status()[0].Lag
	r.send(traffic(rng, 2500)...)
	p.await("more lag", lags(before+1))
	p.await("reading pauses", func() bool { return p.w.Status()[0].State == "paused" })
	if s := p.w.Status()[0]; s.MemoryBytes > cfg.MemoryBudget*5/4 {
		t.Errorf("%d bytes in memory, the budget is %d", s.MemoryBytes, cfg.MemoryBudget)
	}
	if err := p.w.Ready(); err == nil || !strings.Contains(err.Error(), "shard 0: a flush has waited for its commit for") {
		t.Errorf("ready: %v", err)
	}
	if text := logged.String(); !strings.Contains(text, "append not settled, trying again") || !strings.Contains(text, "shard=0") || !strings.Contains(text, "store unavailable") {
		t.Errorf("the log does not say what is wrong:\n%s", text)
	}
	down.Store(false)
	p.await("all is committed", r.committed)
	p.await("ready again", func() bool { return p.w.Ready() == nil })
	p.dead()
	r.check()
}

// lockedText takes what several goroutines write.
type lockedText struct {
	mu   sync.Mutex
	text strings.Builder // guarded by mu
}

func (l *lockedText) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func TestFault_topic_recreated(t *testing.T) {
	r := newRig(t, objstore.NewMemory(), 1)
	rng := rand.New(rand.NewPCG(8, 8))
	first := traffic(rng, 60)
	r.send(first...)
	p := r.start(r.store, quick())
	p.await("the first topic", r.committed)
	adm := r.admin()
	_, err := adm.DeleteTopic(context.Background(), topic)
	r.must(err)
	r.kafka.Topic(topic, 1, nil)
	r.send(first[:30]...)
	r.send(traffic(rng, 60)...)
	p.await("the second topic", r.committed)
	p.dead()
	r.check()
	state, err := r.log(0).Load(context.Background())
	r.must(err)
	if n := len(state.Sources()); n != 2 {
		t.Errorf("%d sources, want 2", n)
	}
}

// TestFault_offset_out_of_range: the shard stops with the number of lost offsets, and
// goes on when an operator has accepted it.
func TestFault_offset_out_of_range(t *testing.T) {
	r := newRig(t, objstore.NewMemory(), 1)
	rng := rand.New(rand.NewPCG(7, 7))
	r.send(traffic(rng, 60)...)
	p := r.start(r.store, quick())
	p.await("the first events", r.committed)
	p.ended()
	before := r.sent[0]
	ctx := context.Background()
	for range 5 {
		r.kafka.Values(topic, 0, "gone")
	}
	upTo := kadm.Offsets{}
	upTo.Add(kadm.Offset{Topic: topic, Partition: 0, At: before + 5})
	_, err := r.admin().DeleteRecords(ctx, upTo)
	r.must(err)
	r.send(traffic(rng, 40)...)

	p = r.start(r.store, quick())
	p.await("the shard stops", func() bool {
		s := p.w.Status()
		return len(s) == 1 && s[0].State == "lost"
	})
	s := p.w.Status()[0]
	if s.LostOffsets != 5 || !strings.Contains(s.Reason, "5 uncommitted offsets are lost") {
		t.Errorf("lost %d: %s", s.LostOffsets, s.Reason)
	}
	p.dead()

	state, err := r.log(0).Load(ctx)
	r.must(err)
	r.must(r.log(0).AcceptGap(ctx, state, func(st *shardlog.State) (*shardlog.Gap, error) {
		return &shardlog.Gap{Source: shardlog.SourceFrom(r.source()), Lost: s.LostRanges, Next: before + 5,
			LeaderEpoch: 0, Reason: "test", Operator: "me"}, nil
	}))
	p = r.start(r.store, quick())
	p.await("the rest", r.committed)
	p.dead()
	r.check()
}

func (r *rig) source() event.Source {
	info, err := r.client.Topic(context.Background(), topic)
	r.must(err)
	return r.client.Source(info, 0)
}

// TestFault_offset_out_of_range_accepted_while_running: no restart is needed.
func TestFault_offset_out_of_range_accepted_while_running(t *testing.T) {
	r := newRig(t, objstore.NewMemory(), 1)
	rng := rand.New(rand.NewPCG(7, 7))
	r.send(traffic(rng, 60)...)
	p := r.start(r.store, quick())
	p.await("the first events", r.committed)
	p.ended()
	ctx := context.Background()
	next := r.sent[0]
	r.kafka.Values(topic, 0, "gone")
	upTo := kadm.Offsets{}
	upTo.Add(kadm.Offset{Topic: topic, Partition: 0, At: next + 1})
	_, err := r.admin().DeleteRecords(ctx, upTo)
	r.must(err)
	r.send(traffic(rng, 40)...)
	p = r.startWith(r.store, quick(), func(w *Writer) { w.lossWatch = 5 * time.Millisecond })
	p.await("the shard stops", func() bool { s := p.w.Status(); return len(s) == 1 && s[0].State == "lost" })
	state, err := r.log(0).Load(ctx)
	r.must(err)
	r.must(r.log(0).AcceptGap(ctx, state, func(st *shardlog.State) (*shardlog.Gap, error) {
		return &shardlog.Gap{Source: shardlog.SourceFrom(r.source()), Lost: []shardlog.Range{{From: next, Next: next + 1}}, Next: next + 1,
			LeaderEpoch: 0, Reason: "test", Operator: "me"}, nil
	}))
	p.await("the rest", r.committed)
	p.ended()
	r.check()
}

// TestFault_history_cut: records that were committed went in an unclean election, and
// others have their offsets. The shard stops before it reads on behind them, and takes the others when
// an operator has accepted it.
func TestFault_history_cut(t *testing.T) {
	r := newRig(t, objstore.NewMemory(), 1)
	rng := rand.New(rand.NewPCG(8, 8))
	r.send(traffic(rng, 60)...)
	p := r.start(r.store, quick())
	p.await("the first events", r.committed)
	p.ended()
	// Three more records were read, copies all of them, before the election.
	ctx := context.Background()
	next := r.sent[0]
	state, err := r.log(0).Load(ctx)
	r.must(err)
	epoch, _, err := r.log(0).Claim(ctx, state, "before the election", "1")
	r.must(err)
	won, _, err := r.log(0).Append(ctx, state, &shardlog.Record{Kind: shardlog.KindAppend, Append: &shardlog.Append{
		Epoch: epoch, Seq: state.Seq() + 1, Ledger: shardlog.Ledger{Events: 3, Duplicate: 3},
		Progress: []shardlog.Progress{{Source: shardlog.SourceFrom(r.source()), TopicName: topic, From: next, Next: next + 3, Records: 3}},
	}})
	r.must(err)
	if !won {
		t.Fatal("somebody else writes the log")
	}
	r.kafka.ShufflePartitionLeaders() // leader epoch 1
	for r.sent[0] < next+5 {
		r.send(traffic(rng, 1)...)
	}

	p = r.start(r.store, quick())
	p.await("the shard stops", func() bool { s := p.w.Status(); return len(s) == 1 && s[0].State == "lost" })
	if s := p.w.Status()[0]; s.LostOffsets != 0 || !strings.Contains(s.Reason, "history_cut") {
		t.Errorf("lost %d: %s", s.LostOffsets, s.Reason)
	}
	p.dead()
	state, err = r.log(0).Load(ctx)
	r.must(err)
	r.must(r.log(0).AcceptGap(ctx, state, func(st *shardlog.State) (*shardlog.Gap, error) {
		return &shardlog.Gap{Source: shardlog.SourceFrom(r.source()), Next: next, LeaderEpoch: 1, Reason: "test", Operator: "me"}, nil
	}))
	p = r.start(r.store, quick())
	p.await("the other records", func() bool {
		state, err := r.log(0).Load(ctx)
		r.must(err)
		src, _ := state.SourceOf(shardlog.SourceFrom(r.source()))
		return src.Next == next+5 && len(src.Open) == 0
	})
	p.ended()
	if got := r.rows(); len(got) != len(r.want) {
		t.Errorf("%d rows, %d were sent", len(got), len(r.want))
	}
}
