package shard

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
)

// TestAnswersOfAnEarlierLoadAreIgnored gives a reloaded core, at each of its steps, an
// answer to what it asked for before the reload. All must go as without it.
func TestAnswersOfAnEarlierLoadAreIgnored(t *testing.T) {
	stale := map[string]func(w *world, gen Generation) Input{
		"nothing": func(*world, Generation) Input { return Tick{} },
		"records further on": func(w *world, gen Generation) Input {
			return Batch{Gen: gen, Source: w.source, Records: w.part().from(4, 2), End: w.part().end}
		},
		"Kafka's trouble": func(w *world, gen Generation) Input {
			return KafkaTrouble{gen, w.source, Trouble{Kind: OutOfRange, Start: 5, End: 9}}
		},
		"another inspection": func(w *world, gen Generation) Input {
			return Inspected{Gen: gen, Source: w.source, Start: 4, End: w.part().end}
		},
		"a failed upload": func(_ *world, gen Generation) Input {
			return Encoded{Gen: gen, Flight: 1, Err: objstore.ErrNotFound}
		},
		"an append": func(w *world, gen Generation) Input {
			body, err := w.store.Get(context.Background(), fmt.Sprintf("shards/0/log/%020d", 2))
			w.must(err)
			r, err := shardlog.Decode(body)
			w.must(err)
			return Appended{Gen: gen, Won: true, Record: r, Stored: body}
		},
	}
	run := func(t *testing.T, answer func(*world, Generation) Input, at int) (outcome string, steps int) {
		w := newWorld(t)
		for i := range 4 {
			w.produce(fmt.Sprintf("a: e%d@100=1", i))
		}
		wr := w.claim("W")
		w.run(wr)
		w.now = w.now.Add(w.config.FlushAge)
		w.step(wr, Tick{})
		w.run(wr) // position 2 holds the first four
		for i := range 6 {
			w.produce(fmt.Sprintf("a: f%d@100=1", i))
		}
		w.run(wr)
		gen := wr.core.Generation()
		s, err := w.log.Load(context.Background())
		w.must(err)
		wr.queue, wr.reading = nil, false
		w.step(wr, Loaded{State: s, Table: w.table})
		w.step(wr, Topic{Source: w.source, Name: "shards"})
		for resting := false; ; steps++ {
			if steps == at {
				w.step(wr, answer(w, gen))
			}
			if len(wr.queue) > 0 {
				e := wr.queue[0]
				wr.queue = wr.queue[1:]
				w.do(wr, e)
			} else if w.fetch(wr) {
				continue
			} else if resting {
				break
			} else {
				resting = true
				w.now = w.now.Add(w.config.FlushAge)
				w.step(wr, Tick{})
			}
		}
		s, err = w.log.Load(context.Background())
		w.must(err)
		src, _ := s.SourceOf(shardlog.SourceFrom(w.source))
		return fmt.Sprintf("%s\nnext %d, open %v, %+v, stopped: %v", strings.Join(w.rows(), "\n"), src.Next, src.Open, s.Totals(), wr.stopped), steps
	}
	want, steps := run(t, stale["nothing"], 0)
	if !strings.Contains(want, "next 10") || strings.Count(want, "\n") != 10 || steps < 5 {
		t.Fatalf("after %d steps:\n%s", steps, want)
	}
	for name, answer := range stale {
		t.Run(name, func(t *testing.T) {
			for at := range steps {
				if got, _ := run(t, answer, at); got != want {
					t.Errorf("before step %d:\n%s\nwant\n%s", at, got, want)
				}
			}
		})
	}
}

// TestRecordsOfAnEarlierHistoryStopTheShard: a record of an older leader epoch behind one of a
// newer is of another history. What came before it is committed, and an operator decides.
func TestRecordsOfAnEarlierHistoryStopTheShard(t *testing.T) {
	w := newWorld(t)
	for i, epoch := range []int32{3, 5, 4, 5} {
		w.part().epoch = epoch
		w.produce(fmt.Sprintf("a: e%d@100=1", i))
	}
	wr := w.claim("W")
	w.run(wr)
	if wr.stopped == nil || wr.stopped.Reason != Lost || wr.stopped.Loss.Kind != string(HistoryCut) || wr.stopped.Loss.Next != 2 {
		t.Fatalf("stopped: %+v", wr.stopped)
	}
	if got, want := w.rows(), []string{"a e0@100=1", "a e1@100=1"}; !slices.Equal(got, want) {
		t.Errorf("stored %q, want %q", got, want)
	}
	s, err := w.log.Load(context.Background())
	w.must(err)
	if src, _ := s.SourceOf(shardlog.SourceFrom(w.source)); src.Next != 2 || src.LeaderEpoch != 5 {
		t.Errorf("committed up to %d of leader epoch %d", src.Next, src.LeaderEpoch)
	}
}
