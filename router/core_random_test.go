package router

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/placements"
)

// world is one intake partition as Kafka holds it, and what became of its offsets.
type world struct {
	records   []*kafka.Record // by offset; nil: none there
	held      bool
	fetched   int64
	committed int64
	covered   []bool // offsets that are in an acknowledged record of the shard topic
}

// TestCoreNeverCommitsWhatIsNotStored plays random histories of three partitions:
// fetches of any size, acknowledgements in any order, refusals for size, rebalances
// with and without a lost commit, late tables, restarts. Whatever happens, each
// offset below the committed one is stored, and in the end all are, each record by the same
// identity and in the same shard as ever.
func TestCoreNeverCommitsWhatIsNotStored(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { playHistory(t, seed) })
	}
}

type identity struct {
	shard  event.ShardID
	tenant event.TenantID
	id     string
	time   event.Timestamp
	reason event.Reason
}

type player struct {
	*harness
	rng    *rand.Rand
	worlds []*world
	byItem map[event.Origin]identity
	taken  int // of harness.sent
	items  map[BatchID][]sent
}

func playHistory(t *testing.T, seed uint64) {
	p := &player{rng: rand.New(rand.NewPCG(seed, 1)), byItem: map[event.Origin]identity{}}
	p.harness = newHarness(t, func(c *CoreConfig) {
		c.BatchEvents = 1 + p.rng.Int64N(8)
		c.BatchBytes = 2048
		c.MaxRecordBytes = 4096
	}, func(g *placements.Genesis) { g.Admission.MaxTenants = 2 })
	for range 3 {
		p.worlds = append(p.worlds, p.makeWorld(80))
	}
	p.items = map[BatchID][]sent{}
	for range 600 {
		p.act()
		p.check()
	}
	p.finish()
}

func (p *player) makeWorld(n int) *world {
	w := &world{covered: make([]bool, n), committed: 0}
	for i := range n {
		var r *kafka.Record
		switch p.rng.IntN(10) {
		case 0: // compacted, or aborted
		case 1:
			r = record(int64(i), "")
			r = kafka.AsControl(r)
		case 2:
			r = record(int64(i), "{broken")
		case 3:
			r = record(int64(i), fmt.Sprintf(`{"timestamp":%q}`, start.Add(time.Duration(p.rng.IntN(12))*time.Minute).Format(time.RFC3339)))
		case 4:
			r = record(int64(i), fmt.Sprintf(`{"event_id":"big%d","x":"%0*d"}`, i, 1000+p.rng.IntN(6000), 7))
		default:
			r = record(int64(i), fmt.Sprintf(`{"event_id":"e%d"}`, i))
		}
		if r != nil && p.rng.IntN(2) == 0 {
			r = of(r, fmt.Sprintf("tenant%d", p.rng.IntN(4)))
		}
		w.records = append(w.records, r)
	}
	w.records[n-1] = record(int64(n-1), `{"event_id":"last"}`)
	return w
}

func (p *player) act() {
	i := int32(p.rng.IntN(len(p.worlds)))
	w := p.worlds[i]
	switch p.rng.IntN(12) {
	case 0:
		if !w.held {
			w.held, w.fetched = true, w.committed
			p.assign(i, w.committed)
		}
	case 1:
		if w.held && p.rng.IntN(3) == 0 {
			w.held = false
			p.step(Revoked{[]kafka.TopicPartition{tp(i)}})
			if p.rng.IntN(2) == 0 { // else the commit is lost
				p.apply()
			}
		}
	case 2, 3, 4:
		p.fetchSome(i, w)
	case 5, 6, 7:
		p.ackOne()
	case 8:
		p.now = p.now.Add(time.Duration(p.rng.IntN(1200)) * time.Millisecond)
		p.step(Tick{})
		if p.commit != nil {
			ok := p.rng.IntN(4) > 0
			if ok {
				p.apply()
			}
			p.step(Committed{p.commit, ok})
		}
	case 9, 10:
		p.satisfy()
	case 11:
		p.step(Rewind{})
		p.seek()
		if p.rng.IntN(20) == 0 { // a crash: all that the Core knew is gone
			p.out = nil
			p.core = NewCore(p.core.cfg, p.keeper.Current())
			p.items, p.taken = map[BatchID][]sent{}, len(p.sent)
			for _, w := range p.worlds {
				w.held = false
			}
		}
	}
}

// seek is the consumer going back.
func (p *player) seek() {
	for part, pos := range p.seeks {
		p.worlds[part.Partition].fetched = pos.Offset
	}
}

// apply is Kafka taking the commit.
func (p *player) apply() {
	for part, pos := range p.commit {
		w := p.worlds[part.Partition]
		w.committed = max(w.committed, pos.Offset)
	}
}

func (p *player) fetchSome(i int32, w *world) {
	if !w.held {
		return
	}
	var records []*kafka.Record
	for n := p.rng.IntN(12); w.fetched < int64(len(w.records)) && len(records) <= n; w.fetched++ {
		if r := w.records[w.fetched]; r != nil {
			again := *r
			records = append(records, &again)
		}
	}
	if len(records) > 0 {
		p.fetch(i, records...)
	}
}

func (p *player) ackOne() {
	if len(p.out) == 0 {
		return
	}
	p.collect()
	at := p.rng.IntN(len(p.out))
	out := p.out[at]
	p.out = append(p.out[:at:at], p.out[at+1:]...)
	if len(out.Value) > 600 && p.rng.IntN(3) == 0 {
		p.step(Acked{Batch: out.Batch, TooLarge: true})
		return
	}
	for _, it := range p.items[out.Batch] {
		p.store(it)
	}
	p.step(Acked{Batch: out.Batch})
}

func (p *player) collect() {
	for _, it := range p.sent[p.taken:] {
		p.items[it.batch] = append(p.items[it.batch], it)
	}
	p.taken = len(p.sent)
}

// store is the shard topic holding an item.
func (p *player) store(it sent) {
	w := p.worlds[it.Origin.Partition]
	if it.Kind == event.KindSkipped {
		for o := it.Origin.Offset; o < it.SkipTo; o++ {
			if r := w.records[o]; r != nil && !kafka.IsControl(r) {
				p.t.Fatalf("offset %d was skipped, and is a record", o)
			}
			w.covered[o] = true
		}
		return
	}
	w.covered[it.Origin.Offset] = true
	id := identity{it.shard, it.tenant, string(it.ID), it.Timestamp, it.Reason}
	if it.Reason == event.ReasonTooLarge {
		return // which records are too large depends on the topic
	}
	if first, ok := p.byItem[it.Origin]; ok && first != id {
		p.t.Fatalf("offset %d was %+v, and is %+v", it.Origin.Offset, first, id)
	}
	p.byItem[it.Origin] = id
}

func (p *player) satisfy() {
	need, ok := p.core.Need()
	if !ok {
		return
	}
	table := p.keeper.Current()
	var err error
	if len(need.Admit) > 0 {
		table, err = p.keeper.Admit(p.t.Context(), need.Admit...)
	}
	if err == nil && need.Wanted {
		table, err = p.keeper.Extend(p.t.Context(), need.Horizon)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	p.step(NewTable{table})
}

func (p *player) check() {
	for i, w := range p.worlds {
		for o := range w.committed {
			if !w.covered[o] {
				p.t.Fatalf("partition %d: committed %d, offset %d is not stored", i, w.committed, o)
			}
		}
	}
}

// finish lets everything go well, and expects the end.
func (p *player) finish() {
	for range 400 {
		for i, w := range p.worlds {
			if !w.held {
				w.held, w.fetched = true, w.committed
				p.assign(int32(i), w.committed)
			}
			p.fetchSome(int32(i), w)
		}
		p.satisfy()
		p.now = p.now.Add(2 * time.Second)
		p.step(Tick{})
		p.apply()
		if p.commit != nil {
			p.step(Committed{p.commit, true})
		}
		for len(p.out) > 0 {
			p.ackOne()
		}
		p.check()
	}
	for i, w := range p.worlds {
		if w.committed != int64(len(w.records)) {
			p.t.Fatalf("partition %d: committed %d of %d", i, w.committed, len(w.records))
		}
	}
	if !p.core.Idle() || p.core.Bytes() != 0 {
		p.t.Fatalf("idle %v, %d bytes", p.core.Idle(), p.core.Bytes())
	}
}
