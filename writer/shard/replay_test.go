package shard

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/internal/shardlog"
)

// live lets a writer do at most n things, with a long pause whenever it rests. It returns how many it
// did before nothing was left to do.
func (w *world) live(wr *writer, n int) (did int) {
	for pauses := 0; pauses < 3 && did < n; {
		switch {
		case len(wr.queue) > 0:
			e := wr.queue[0]
			wr.queue = wr.queue[1:]
			w.do(wr, e)
		case w.fetch(wr):
		default:
			pauses++
			w.now = w.now.Add(2 * time.Minute)
			w.step(wr, Tick{})
			continue
		}
		did++
	}
	return did
}

// all is more than a writer ever does here.
const all = 1 << 20

// stream puts events with copies, conflicts, letters and gaps into the topic: the same for each seed.
func (c *chaos) stream(n int) {
	for range n {
		c.send()
	}
}

// TestFault_commit_boundary_killed_after_each_step: a writer whose buffers overflow at every other
// record, read one by one, dies after each single thing that it does, among them each commit.
func TestFault_commit_boundary_killed_after_each_step(t *testing.T) {
	ended := false
	for k := 1; !ended; k++ {
		c := newChaos(t, 1)
		c.config.FlushBytes, c.config.MaxOpen, c.config.SmallTenantBytes = 12, 1000, 0
		c.stream(40)
		a := c.claim("A")
		a.batch = 1
		ended = c.live(a, k) < k
		if !ended {
			b := c.claim("B")
			b.batch = 1
			c.live(b, all)
		}
		c.compare(uint64(k))
		if t.Failed() {
			t.Fatalf("killed after step %d", k)
		}
		if ended {
			t.Logf("%d steps", k-1)
			if k < 100 {
				t.Error("too few to show anything")
			}
		}
	}
}

// TestFault_replay_other_batches: writers die between an upload and its commit; the next one reads the same offsets in
// other batches, with other buffers and thus in other flushes. The rows are the same in all runs.
func TestFault_replay_other_batches(t *testing.T) {
	outcomes := map[string]bool{}
	killed := 0
	for run := range 60 {
		c := newChaos(t, 2)
		batches := []int{1, 2, 3, 7, 1000}
		for life := range 4 {
			c.config.FlushBytes = int64(10 + (run*37+life*101)%300)
			c.config.SmallTenantBytes = int64((run * 13 * life) % 60)
			c.config.MaxOpen = 1 + (run+life)%9
			wr := c.claim(fmt.Sprint("W", life))
			wr.batch = batches[(run+life)%len(batches)]
			c.stream(15)
			c.live(wr, (run*11+life*7)%40) // some of it is committed
			c.stream(15)
			wr.hold["Append"] = true // the rest is uploaded
			c.run(wr)
			c.now = c.now.Add(2 * time.Minute)
			c.step(wr, Tick{})
			c.run(wr)
			if len(wr.held) > 0 {
				killed++
			}
		}
		c.finish()
		c.compare(uint64(run))
		outcomes[fmt.Sprint(c.rows())] = true
		if t.Failed() {
			t.Fatalf("run %d", run)
		}
	}
	t.Logf("%d writers died with an upload that was not committed", killed)
	if len(outcomes) != 1 {
		t.Errorf("%d outcomes of one stream", len(outcomes))
	}
	if killed < 150 {
		t.Errorf("only %d writers died with an upload that was not committed", killed)
	}
}

// TestFault_zombie_writer_of_100_offsets: A commits the offsets below 100, uploads 100-199 and freezes before its commit; the shard goes to
// B, which commits 100-250; A thaws, before B's commit or after it, and goes on. 251 events once, nothing of A's upload.
func TestFault_zombie_writer_of_100_offsets(t *testing.T) {
	for _, thaw := range []string{"before B has read", "before B's commit", "after B's commit", "after B's next"} {
		t.Run(thaw, func(t *testing.T) {
			w := newWorld(t)
			produce := func(from, to int) {
				for n := from; n < to; n++ {
					w.produce(fmt.Sprintf("%c: e%d@%d=%d", 'a'+rune(n%3), n, 100+n, n))
				}
			}
			rest := func(wr *writer) {
				w.now = w.now.Add(2 * time.Minute)
				w.step(wr, Tick{})
				w.run(wr)
			}
			produce(0, 100)
			a := w.claim("A")
			w.run(a)
			rest(a)
			produce(100, 200)
			a.hold["Append"] = true
			w.run(a)
			rest(a)
			if len(a.held) != 1 {
				t.Fatalf("A holds %d appends", len(a.held))
			}
			thawed := func(when string) {
				if when == thaw {
					a.hold = map[string]bool{}
					a.queue, a.held = append(a.held, a.queue...), nil
					w.run(a)
				}
			}
			b := w.claim("B")
			thawed("before B has read")
			produce(200, 251)
			b.hold["Append"] = true
			w.run(b)
			rest(b)
			thawed("before B's commit")
			b.hold = map[string]bool{}
			b.queue, b.held = append(b.held, b.queue...), nil
			w.run(b)
			thawed("after B's commit")
			rest(b)
			thawed("after B's next")
			rest(b)
			if a.stopped == nil || a.stopped.Reason != Fenced {
				t.Errorf("A goes on: %+v", a.stopped)
			}
			want := w.oracle()
			if got := w.rows(); !slices.Equal(got, want.rows) || len(got) != 251 {
				t.Errorf("%d rows, want 251, each once", len(got))
			}
			s, err := w.log.Load(t.Context())
			w.must(err)
			s.Fragments("", -1<<40, 1<<40, func(f shardlog.Fragment) bool {
				if f.SeqMin > 1 && strings.Contains(f.Key, "/0-1-") {
					t.Errorf("%s of A's second upload is visible", f.Key)
				}
				return true
			})
			if src, _ := s.SourceOf(shardlog.SourceFrom(w.source)); src.Next != 251 || len(src.Open) > 0 {
				t.Errorf("next %d, open %v", src.Next, src.Open)
			}
		})
	}
}
