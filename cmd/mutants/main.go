// Command mutants shows that the proof has teeth: it breaks the protocol on
// purpose, one mistake at a time, and runs the proof until a test fails.
//
// A mutant is a patch in mutants/: a first line "# ..." that says what is broken
// and which promise that voids, and a unified diff. The tree is copied, and a mutant is
// laid over the copy for the go command alone (-overlay), so that several can be tried
// at a time and what no mutant touches stays in the build cache. The proof goes from
// cheap to dear and ends at the first failure: the tests of the packages that the patch
// touches, those of all packages of the protocol, the simulation's seeds, its crash at
// every call, the tests of the whole path.
//
// The run fails if a mutant is not caught. A patch that does not apply (each of its
// hunks must fit exactly one place) or does not compile is an error, and so is a
// proof that fails without any mutant.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	root := flag.String("root", ".", "the module's folder")
	only := flag.String("only", "*", "names of mutants, with commas between, patterns as of a shell")
	check := flag.Bool("check", false, "only see that each patch applies and compiles")
	jobs := flag.Int("jobs", max(1, runtime.NumCPU()/2), "mutants at a time")
	stages := flag.String("stages", strings.Join(stageNames, ","), "parts of the proof to run")
	withSim := flag.Bool("sim", false, "run the seeds of the simulation on every mutant, too, and show which finds it")
	seeds := flag.Int("seeds", 300, "seeds of the simulation")
	why := flag.Bool("why", false, "show what the failing test said")
	flag.Parse()
	if *jobs < 1 || *seeds < 1 {
		return errors.New("-jobs and -seeds must be at least 1")
	}
	abs, err := filepath.Abs(*root)
	if err != nil {
		return err
	}
	list, err := load(filepath.Join(abs, "mutants"), strings.Split(*only, ",")...)
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "togo-mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	copied := filepath.Join(temp, "tree")
	if err := copyTree(ctx, abs, copied); err != nil {
		return err
	}
	p := &prover{root: copied, temp: temp, seeds: *seeds, stages: map[string]bool{}}
	for _, stage := range strings.Split(*stages, ",") {
		if !slices.Contains(stageNames, stage) {
			return fmt.Errorf("-stages: %q is none of %s", stage, strings.Join(stageNames, ", "))
		}
		p.stages[stage] = true
	}
	if *check {
		return checkAll(ctx, p, list, *jobs)
	}
	return proveAll(ctx, p, list, &report{out: os.Stdout, sim: *withSim, why: *why, jobs: *jobs})
}
