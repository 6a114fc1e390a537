package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// report says what is shown, and where.
type report struct {
	out      io.Writer
	sim, why bool
	jobs     int

	mu sync.Mutex
}

// result is what became of one mutant.
type result struct {
	catch
	sim     string // what the simulation alone found
	err     error
	seconds float64
}

// checkAll sees that each patch applies and compiles.
func checkAll(ctx context.Context, p *prover, list []mutant, jobs int) error {
	errs := make([]error, len(list))
	each(len(list), jobs, func(i int) {
		goflags, err := p.overlay(&list[i])
		if err == nil {
			err = p.compiles(ctx, &list[i], goflags)
		}
		errs[i] = err
	})
	err := errors.Join(errs...)
	failed := 0
	for _, e := range errs {
		if e != nil {
			failed++
		}
	}
	fmt.Printf("RESULT mutants=%d applied=%d\n", len(list), len(list)-failed)
	return err
}

// each does n things, some at a time.
func each(n, jobs int, do func(i int)) {
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(n, jobs) {
		wg.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// proveAll runs the proof on each mutant, and prints a line as soon as it is known.
func proveAll(ctx context.Context, p *prover, list []mutant, r *report) error {
	begin := time.Now()
	if err := p.baseline(ctx); err != nil {
		return err
	}
	fmt.Fprintf(r.out, "the proof holds without a mutant (%.0f s)\n\n", time.Since(begin).Seconds())
	r.line("mutant", "caught by", "sim", "s")
	results := make([]result, len(list))
	each(len(list), r.jobs, func(i int) {
		if ctx.Err() != nil {
			return
		}
		results[i] = p.one(ctx, &list[i], r.sim)
		r.show(&list[i], &results[i])
	})
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	caught, bySim := 0, 0
	var errs []error
	for i := range results {
		if results[i].by != "" {
			caught++
		}
		if results[i].sim != "" && results[i].sim != "-" {
			bySim++
		}
		errs = append(errs, results[i].err)
	}
	err := errors.Join(errs...)
	if err == nil && caught < len(list) {
		err = fmt.Errorf("%d of %d mutants are not caught: the proof lacks a test", len(list)-caught, len(list))
	}
	bySimText := ""
	if r.sim {
		bySimText = fmt.Sprintf(" sim=%d", bySim)
	}
	fmt.Fprintf(r.out, "RESULT mutants=%d caught=%d%s seconds=%.0f\n", len(list), caught, bySimText, time.Since(begin).Seconds())
	return err
}

// one proves one mutant.
func (p *prover) one(ctx context.Context, m *mutant, sim bool) (r result) {
	begin := time.Now()
	defer func() { r.seconds = time.Since(begin).Seconds() }()
	goflags, err := p.overlay(m)
	if err == nil {
		err = p.compiles(ctx, m, goflags)
	}
	if err == nil {
		r.catch, err = p.prove(ctx, m, goflags)
	}
	if err == nil && sim {
		var c catch
		c, err = p.simulate(ctx, m.name, goflags, p.seeded())
		r.sim = cmp.Or(strings.TrimPrefix(c.by, "sim "), "-")
	}
	if err != nil {
		r.err = fmt.Errorf("%s: %w", m.name, err)
	}
	return r
}

func (r *report) show(m *mutant, res *result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	by := cmp.Or(res.by, "NOT CAUGHT")
	if res.err != nil {
		by = "ERROR"
	}
	r.line(m.name, by, res.sim, fmt.Sprintf("%.0f", res.seconds))
	if r.why {
		fmt.Fprintf(r.out, "    %s\n    -> %s\n", m.about, res.why)
	}
}

func (r *report) line(name, by, sim, seconds string) {
	if r.sim {
		fmt.Fprintf(r.out, "%-34s %4s  %-16s %s\n", name, seconds, sim, by)
		return
	}
	fmt.Fprintf(r.out, "%-34s %4s  %s\n", name, seconds, by)
}
