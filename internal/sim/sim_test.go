package sim

import (
	"bytes"
	"flag"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

var (
	seeds = flag.Int("seeds", 200, "seeds of TestSeeds")
	from  = flag.Uint64("first", 0, "the first of them")
)

// TestSeeds runs the first seeds; `make sim` runs more.
func TestSeeds(t *testing.T) {
	var mu sync.Mutex
	var sum Tally
	kinds, answers, records := map[string]int{}, map[string]int{}, map[string]int{}
	var next atomic.Uint64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < uint64(*seeds) && !t.Failed(); i = next.Add(1) - 1 {
				res := Run(Options{Seed: *from + i})
				if res.Failure != "" {
					t.Errorf("seed %d: %s\n`make sim ARGS='-seed %d'` shows how it came to that", res.Seed, res.Failure, res.Seed)
				}
				mu.Lock()
				sum.Add(res.Tally)
				for _, f := range res.Faults {
					kinds[f.Kind]++
				}
				for class, n := range res.Answers {
					answers[class] += n
				}
				for kind, n := range res.Records {
					records[kind] += n
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	t.Logf("%+v, faults %v, records %v", sum, kinds, records)
	if *seeds < 200 {
		return
	}
	for _, kind := range []string{"refused", "answer lost", "lands late", "torn", "slow", "kill", "freeze", "clock", "down",
		"release", "rebalance", "election", "history cut", "retention", "recreated"} {
		if kinds[kind] == 0 {
			t.Errorf("the seeds had no fault of the kind %q", kind)
		}
	}
	for _, class := range []string{"404", "409", "412", "500", "503", "time-out", "reset", "no broker"} {
		if answers[class] == 0 {
			t.Errorf("no call was answered with %s", class)
		}
	}
	for _, kind := range []string{"claim", "release", "append", "gap", "expire", "erase", "merge-begin", "merge-end", "merge-abort", "trim", "phantom"} {
		if records[kind] == 0 {
			t.Errorf("no shard log had a record of the kind %q", kind)
		}
	}
	if sum.Stored == 0 || sum.Duplicates == 0 || sum.Conflicts == 0 || sum.Dead == 0 {
		t.Errorf("the seeds had nothing of some class: %+v", sum)
	}
}

// TestKeptSeeds: seeds that once found a fault.
func TestKeptSeeds(t *testing.T) {
	for seed, found := range map[uint64]string{
		1320: "a history that was cut, of which retention took all up to the committed offset: no gap could accept it",
		6228: "an intake partition stopped by a cut: its group's offset was set above what had been forwarded, as the docs had it",
		5264: "a topic cut and recreated while what was held of it was committed: the writer waited for a gap that had nothing to accept",
		715:  "a tenant erased below no time at all, by placements that were read before there was a horizon: its letters went, and nothing said so",
	} {
		if res := Run(Options{Seed: seed}); res.Failure != "" {
			t.Errorf("seed %d (%s): %s", seed, found, res.Failure)
		}
	}
}

// TestSameSeedSameRun: everything that happens follows from the seed.
func TestSameSeedSameRun(t *testing.T) {
	for seed := range uint64(40) {
		var one, two bytes.Buffer
		a, b := Run(Options{Seed: seed, Trace: &one}), Run(Options{Seed: seed, Trace: &two})
		if a.Hash == b.Hash && bytes.Equal(one.Bytes(), two.Bytes()) {
			continue
		}
		x, y := strings.Split(one.String(), "\n"), strings.Split(two.String(), "\n")
		for i := range min(len(x), len(y)) {
			if x[i] != y[i] {
				t.Fatalf("seed %d: the runs part at line %d:\n%s\n%s", seed, i, x[i], y[i])
			}
		}
		t.Fatalf("seed %d: one run has %d lines, the other %d", seed, len(x), len(y))
	}
}

// TestLossesAreSeen: an oracle that can't fail is none. Each of these is a lie about
// what was sent, or a hand in the store.
func TestLossesAreSeen(t *testing.T) {
	lies := map[string]func(w *world){
		"an event that was never sent": func(w *world) {
			w.ledger.sent = w.ledger.sent[:len(w.ledger.sent)-1]
		},
		"an event that is not stored": func(w *world) {
			s := *w.ledger.sent[0]
			s.offset += 100_000
			s.ids = [2]string{"lost", "lost"}
			w.ledger.sent = append(w.ledger.sent, &s)
		},
		"another payload": func(w *world) {
			for _, s := range w.ledger.sent {
				s.value = append(bytes.Clone(s.value), ' ')
				s.value = bytes.Replace(s.value, []byte(`"n":`), []byte(`"m":`), 1)
			}
		},
	}
	for name, lie := range lies {
		w := newWorld(Options{Seed: 3})
		w.populate()
		w.run()
		if w.failure != "" {
			t.Fatal(w.failure)
		}
		lie(w)
		w.check()
		if w.failure == "" {
			t.Errorf("%s is not seen", name)
		}
		w.end()
	}
}

// TestShrink: of a failing run a short one is left.
func TestShrink(t *testing.T) {
	opt := Options{Seed: 5, broken: "kill"}
	res := Run(opt)
	if res.Failure == "" {
		t.Fatal("a run that calls each kill a failure does not fail")
	}
	least, short := Shrink(opt, res)
	if short.Failure == "" || len(short.Faults) != 1 || short.Faults[0].Kind != "kill" || short.Tally.Sent > 2 {
		t.Fatalf("what is left: %d records, faults %v: %q", short.Tally.Sent, short.Faults, short.Failure)
	}
	if again := Run(least); again.Failure != short.Failure {
		t.Fatalf("the least run does not repeat: %q, then %q", short.Failure, again.Failure)
	}
}

// TestCrashes takes every 77th point of each way to go wrong in the standard scenario; `make crash` takes all.
func TestCrashes(t *testing.T) {
	points, res := CrashPoints()
	if res.Failure != "" || len(points) < 2000 {
		t.Fatalf("the standard scenario has %d points: %s", len(points), res.Failure)
	}
	seen := map[CrashMode]int{}
	for _, point := range points {
		seen[point.Mode]++
		if seen[point.Mode]%77 != 1+19*slices.Index(CrashModes, point.Mode) {
			continue
		}
		res := Run(CrashPlan(point))
		if res.Failure != "" || len(res.Faults) != 1 {
			t.Fatalf("%s at call %d (%v): %s", point.Mode, point.K, res.Faults, res.Failure)
		}
	}
	if len(seen) != len(CrashModes) {
		t.Errorf("not every way to go wrong was tried: %v", seen)
	}
}
