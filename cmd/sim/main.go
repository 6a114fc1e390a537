// Command sim runs the seeded simulation of the whole system (package internal/sim):
//
//	sim -seeds 1000           runs the seeds [0, 1000), or from -first on
//	sim -seed 17 -trace       runs one seed, and prints all that happens
//	sim -crash                crashes the standard scenario at every call
//
// A failing seed is printed with its faults and shrunk to the least that still fails. The
// last line is RESULT; the exit status is 1 if anything failed.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/togodb/togo/internal/sim"
)

func main() {
	seeds := flag.Int("seeds", 300, "how many seeds to run")
	first := flag.Uint64("first", 0, "the first seed")
	seed := flag.Int64("seed", -1, "run this seed only")
	trace := flag.Bool("trace", false, "with -seed: print all that happens")
	crash := flag.Bool("crash", false, "crash the standard scenario before and after every call, lose every answer, have every write land late")
	jobs := flag.Int("jobs", runtime.GOMAXPROCS(0), "runs at the same time")
	flag.Parse()
	ok := false
	switch {
	case *crash:
		ok = crashEverywhere(*jobs)
	case *seed >= 0:
		ok = one(uint64(*seed), *trace)
	default:
		ok = many(*first, *seeds, *jobs)
	}
	if !ok {
		os.Exit(1)
	}
}

func one(seed uint64, trace bool) bool {
	opt := sim.Options{Seed: seed}
	if trace {
		opt.Trace = os.Stdout
	}
	res := sim.Run(opt)
	fmt.Printf("seed %d: %d steps, %s simulated, %d faults, history %016x: %+v\n", seed, res.Steps, res.Took.Round(time.Second), len(res.Faults), res.Hash, res.Tally)
	failed := 0
	if res.Failure != "" {
		failed = 1
		report(opt, res)
	}
	fmt.Printf("RESULT seeds=1 failed=%d\n", failed)
	return failed == 0
}

// many runs seeds, some at a time.
func many(first uint64, seeds, jobs int) bool {
	begin := time.Now()
	var mu sync.Mutex
	var sum sim.Tally
	var steps int64
	faults, answers := map[string]int{}, map[string]int{}
	failed, done := 0, 0
	each(seeds, jobs, func(i int) {
		opt := sim.Options{Seed: first + uint64(i)}
		res := sim.Run(opt)
		mu.Lock()
		defer mu.Unlock()
		done++
		steps += res.Steps
		sum.Add(res.Tally)
		for _, f := range res.Faults {
			faults[f.Kind]++
		}
		for class, n := range res.Answers {
			answers[class] += n
		}
		if res.Failure != "" {
			failed++
			report(opt, res)
		}
		if done%1000 == 0 && done < seeds {
			fmt.Printf("%d seeds, %d failed, %s\n", done, failed, time.Since(begin).Round(time.Second))
		}
	})
	fmt.Printf("%d steps in %s\nfaults: %v\nanswers: %v\n", steps, time.Since(begin).Round(time.Second), faults, answers)
	fmt.Printf("sent %d: stored %d, duplicates %d, conflicts %d, dead %d, below floors %d, lost by Kafka %d\n", sum.Sent, sum.Stored, sum.Duplicates, sum.Conflicts, sum.Dead, sum.Forgotten, sum.Lost)
	fmt.Printf("RESULT seeds=%d failed=%d\n", seeds, failed)
	return failed == 0
}

// each calls f for every i in [0, n), some at a time.
func each(n, jobs int, f func(i int)) {
	next := make(chan int)
	var wg sync.WaitGroup
	for range jobs {
		wg.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// lastLines is how much of the history before a failure is printed.
const lastLines = 40

// report prints a failing run, and the least of it that still fails.
func report(opt sim.Options, res sim.Result) {
	fmt.Printf("FAIL seed=%d after %d records and %d faults: %s\n", opt.Seed, res.Tally.Sent, len(res.Faults), res.Failure)
	opt, res = sim.Shrink(opt, res)
	fmt.Printf("  least that fails: the first %d records with these %d faults: %s\n", res.Tally.Sent, len(res.Faults), res.Failure)
	for _, f := range res.Faults {
		fmt.Printf("  fault %s\n", f)
	}
	var history bytes.Buffer
	opt.Trace = &history
	sim.Run(opt)
	lines := bytes.Split(bytes.TrimSpace(history.Bytes()), []byte("\n"))
	for _, line := range lines[max(0, len(lines)-lastLines):] {
		fmt.Printf("  | %.300s\n", line)
	}
}

// crashEverywhere counts the calls of the standard scenario, and has each go wrong in
// every way.
func crashEverywhere(jobs int) bool {
	begin := time.Now()
	points, res := sim.CrashPoints()
	if res.Failure != "" {
		fmt.Printf("FAIL without a crash: %s\nRESULT points=0 failed=1\n", res.Failure)
		return false
	}
	var mu sync.Mutex
	failed := 0
	each(len(points), jobs, func(i int) {
		res := sim.Run(sim.CrashPlan(points[i]))
		if res.Failure == "" && len(res.Faults) == 1 {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		failed++
		fmt.Printf("FAIL %s at call %d (%v): %s\n", points[i].Mode, points[i].K, res.Faults, res.Failure)
	})
	by := map[string]int{}
	for _, c := range res.Calls {
		by[c.By]++
	}
	fmt.Printf("calls by process: %v\n", by)
	fmt.Printf("%d calls of store and Kafka, each gone wrong in every way it can, in %s\n", len(res.Calls), time.Since(begin).Round(time.Second))
	fmt.Printf("RESULT points=%d failed=%d\n", len(points), failed)
	return failed == 0
}
