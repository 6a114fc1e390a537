package shard

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/internal/idseg"
	"github.com/togodb/togo/internal/shardlog"
)

// chaos lets several writers of one shard work at once, each answer coming when
// it likes, or never, or after its writer's death.
type chaos struct {
	*world
	rng     *rand.Rand
	alive   []*writer
	orphans []Append // appends of the dead that may still land
	claims  int
	sent    []string // lines, for copies
	merges  int
}

func newChaos(t testing.TB, seed uint64) *chaos {
	c := &chaos{world: newWorld(t), rng: rand.New(rand.NewPCG(seed, 0))}
	c.config.SmallTenantBytes = c.rng.Int64N(60)
	c.config.FlushBytes = 20 + c.rng.Int64N(200)
	c.config.DedupBytes = 200 + c.rng.Int64N(3000)
	c.config.DedupTenantBytes = c.config.DedupBytes
	c.config.MaxOpen = 1 + c.rng.IntN(8)
	c.config.MemoryBytes = 8_000 + c.rng.Int64N(60_000)
	c.config.ParkedBytes = c.config.MemoryBytes / 2
	return c
}

// send produces a line: something new, a copy, a conflict, a letter, a gap.
func (c *chaos) send() {
	tenant := string(rune('a' + c.rng.IntN(3)))
	item := func() string {
		at := []int{100, 700, 4000, 90000}[c.rng.IntN(4)] + c.rng.IntN(5)
		return fmt.Sprintf("e%d@%d=%d", c.rng.IntN(12), at, c.rng.IntN(8)/7)
	}
	line := tenant + ":"
	for range 1 + c.rng.IntN(3) {
		line += " " + item()
	}
	switch c.rng.IntN(12) {
	case 0:
		line = "control"
	case 1:
		line = fmt.Sprintf("hole %d", 1+c.rng.IntN(3))
	case 2:
		line = fmt.Sprintf("_unroutable: !malformed=%d", c.rng.IntN(100))
	case 3:
		line = fmt.Sprintf("_unroutable: ~%d", 1+c.rng.IntN(3))
	case 4:
		line = tenant + ": -@100=1"
	case 5: // the router forwards a record again
		if len(c.sent) > 0 {
			line = c.sent[c.rng.IntN(len(c.sent))]
		}
	}
	if strings.Contains(line, "=") && !strings.Contains(line, "#") {
		// Named offsets, so that a forwarded copy has the origin of the first.
		words := strings.Fields(line)
		for i := 1; i < len(words); i++ {
			words[i] = fmt.Sprintf("%s#%d", words[i], 1_000+len(c.sent)*10+i)
		}
		line = strings.Join(words, " ")
		c.sent = append(c.sent, line)
	}
	c.produce(line)
}

// act does one thing, whatever it is.
func (c *chaos) act() {
	if len(c.alive) == 0 || c.rng.IntN(60) == 0 && len(c.alive) < 3 {
		c.claims++
		wr := c.claim(fmt.Sprintf("W%d", c.claims))
		wr.batch = 1 + c.rng.IntN(6)
		c.alive = append(c.alive, wr)
		return
	}
	wr := c.alive[c.rng.IntN(len(c.alive))]
	switch k := c.rng.IntN(100); {
	case k < 20:
		c.send()
	case k < 40:
		c.fetch(wr)
	case k < 85:
		c.answer(wr)
	case k < 93:
		c.now = c.now.Add(time.Duration(c.rng.IntN(40)) * time.Second)
		c.step(wr, Tick{})
	case k < 95:
		c.kill(wr)
	case k < 96:
		c.step(wr, Release{})
	case k < 97:
		c.land()
	case k < 98:
		c.reloadAgain(wr)
	default:
		c.mergeIDs()
	}
	c.atOnce(wr)
}

// atOnce does the effects that the shell does in its own goroutine.
func (c *chaos) atOnce(wr *writer) {
	for i := 0; i < len(wr.queue); i++ {
		switch e := wr.queue[i].(type) {
		case Inspect, ReadIDs, NeedPlacements, Encode, Append, Checkpoint:
		default:
			wr.queue = slices.Delete(wr.queue, i, i+1)
			if _, ok := e.(Reload); ok {
				c.forsake(wr)
			}
			c.do(wr, e)
			i = -1 // it may have brought more
		}
	}
	if wr.stopped != nil {
		if wr.stopped.Reason != Fenced && wr.stopped.Reason != Released {
			c.t.Fatalf("%s stopped: %s: %v", wr.name, wr.stopped.Reason, wr.stopped.Err)
		}
		c.kill(wr)
	}
}

// answer carries one of the effects out that are under way, in any order.
func (c *chaos) answer(wr *writer) {
	if len(wr.queue) == 0 {
		return
	}
	i := c.rng.IntN(len(wr.queue))
	e := wr.queue[i]
	wr.queue = slices.Delete(wr.queue, i, i+1)
	c.do(wr, e)
}

// forsake keeps the appends of a writer that drops its work: they may land later.
func (c *chaos) forsake(wr *writer) {
	for _, e := range wr.queue {
		if a, ok := e.(Append); ok {
			r := *a.Record
			a.Record = &r
			c.orphans = append(c.orphans, a)
		}
	}
	wr.queue = nil
}

func (c *chaos) kill(wr *writer) {
	c.forsake(wr)
	c.alive = slices.DeleteFunc(c.alive, func(o *writer) bool { return o == wr })
}

func (c *chaos) reloadAgain(wr *writer) {
	c.forsake(wr)
	wr.reading = false
	c.reload(wr)
}

// land lets an append of a dead writer arrive.
func (c *chaos) land() {
	if len(c.orphans) == 0 {
		return
	}
	i := c.rng.IntN(len(c.orphans))
	a := c.orphans[i]
	c.orphans = slices.Delete(c.orphans, i, i+1)
	if _, _, _, err := c.log.Settle(context.Background(), a.Head, a.Record); err != nil {
		c.t.Fatal(err)
	}
}

// mergeIDs is a compactor that merges some id segments and collects the inputs at once.
func (c *chaos) mergeIDs() {
	ctx := context.Background()
	s, err := c.log.Load(ctx)
	c.must(err)
	var inputs []idseg.MergeInput
	s.Segments(func(seg shardlog.IDSegment) bool {
		inputs = append(inputs, idseg.MergeInput{Key: seg.Key, Bytes: seg.Bytes, Buckets: segmentRef(seg).Buckets})
		return true
	})
	if len(inputs) < 2 {
		return
	}
	c.rng.Shuffle(len(inputs), func(i, j int) { inputs[i], inputs[j] = inputs[j], inputs[i] })
	inputs = inputs[:2+c.rng.IntN(len(inputs)-1)]
	var keys []string
	for _, in := range inputs {
		keys = append(keys, in.Key)
	}
	begin := &shardlog.Record{Kind: shardlog.KindMergeBegin, MergeBegin: &shardlog.MergeBegin{Worker: "c", Inputs: keys}}
	c.foreign(begin)
	spec := idseg.MergeSpec{Below: s.IDsBelow(), TargetBytes: []int64{1, 1 << 30}[c.rng.IntN(2)]}
	var bodies []*bytes.Buffer
	merged, err := idseg.Merge(ctx, c.store, inputs, spec, func(int) (io.Writer, error) {
		bodies = append(bodies, new(bytes.Buffer))
		return bodies[len(bodies)-1], nil
	})
	c.must(err)
	end := &shardlog.MergeEnd{Job: begin.Nonce, Inputs: keys}
	for i, m := range merged.Segments {
		c.merges++
		seg := shardlog.IDSegment{Key: fmt.Sprintf("ids/0/merged-%d.ids", c.merges), Bytes: m.Bytes, Sum: m.Sum, IDs: m.IDs}
		c.must(c.store.PutIfAbsent(ctx, seg.Key, bodies[i].Bytes()))
		for _, b := range m.Buckets {
			seg.Buckets = append(seg.Buckets, shardlog.IDBucket{Bucket: b.Bucket, IDs: b.IDs, Offset: b.Offset, Length: b.Length})
		}
		end.IDs = append(end.IDs, seg)
	}
	c.foreign(&shardlog.Record{Kind: shardlog.KindMergeEnd, MergeEnd: end})
	c.must(c.store.Delete(ctx, keys...))
}

// finish lets one more writer do what is left.
func (c *chaos) finish() {
	wr := c.claim("last")
	c.run(wr)
	for range 3 {
		c.now = c.now.Add(2 * time.Minute)
		c.step(wr, Tick{})
		c.run(wr)
	}
	if wr.stopped != nil {
		c.t.Fatalf("the last writer stopped: %v", wr.stopped.Err)
	}
}

// TestAnySchedule compares the outcome of random schedules with what the records
// say by themselves: whatever the batches, the interleaving and the deaths, the same rows.
func TestAnySchedule(t *testing.T) {
	seeds := uint64(60)
	if n, err := strconv.ParseUint(os.Getenv("TOGO_SEEDS"), 10, 64); err == nil {
		seeds = n // a longer search
	}
	for seed := range seeds {
		c := newChaos(t, seed)
		for range 400 {
			c.act()
		}
		c.finish()
		c.compare(seed)
		if t.Failed() {
			return
		}
	}
}

func (c *chaos) compare(seed uint64) {
	want := c.oracle()
	if got := c.rows(); !slices.Equal(got, want.rows) {
		count := map[string]int{}
		for _, row := range got {
			count[row]++
		}
		for _, row := range want.rows {
			if count[row]--; count[row] == 0 {
				delete(count, row)
			}
		}
		c.t.Errorf("seed %d: rows too many, or too few: %v\n%s", seed, count, c.out.String())
		return
	}
	s, err := c.log.Load(context.Background())
	c.must(err)
	got := s.Totals()
	src, _ := s.SourceOf(shardlog.SourceFrom(c.source))
	if src.Next != want.next || len(src.Open) > 0 || got.Records != want.records || got.Events != want.events ||
		got.Records+got.Control != want.next {
		c.t.Errorf("seed %d: next %d, open %v, %+v; want next %d, %d records, %d events", seed, src.Next, src.Open, got, want.next, want.records, want.events)
	}
	if got.Stored != int64(want.stored) || got.Dead != int64(want.dead) || got.Conflict != int64(want.conflict) {
		c.t.Errorf("seed %d: %+v, want %d stored, %d dead, %d conflicts", seed, got, want.stored, want.dead, want.conflict)
	}
}
