package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/togodb/togo/query/queryset/answer"
)

// result counts what came of a run.
type result struct {
	queries, answers, different, refused int
	meant                                map[string]int
	printed                              int
	shown                                map[string]int
}

// compareAll asks both engines n queries. Each query is asked of Togo in several variants, chosen by chance.
func compareAll(ctx context.Context, w *world, d *duck, sides []*tenantSide, n int, dir string) (*result, error) {
	var all []variant
	for i, st := range w.stages {
		list, err := variants(ctx, st, filepath.Join(dir, fmt.Sprint("cache-", i)))
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	l := &live{}
	res := &result{meant: map[string]int{}, shown: map[string]int{}}
	r := rand.New(rand.NewPCG(*seed, 9))
	for i := range n {
		s := sides[pickSide(i)]
		if err := d.use(s.tenant); err != nil {
			return nil, err
		}
		p := s.gen.query()
		if *constants {
			p = s.gen.constants()
		}
		want := d.query(p.D, p.kinds)
		res.queries++
		if want.Error != "" {
			res.refused++
		}
		for range *each {
			v := all[r.IntN(len(all))]
			res.one(v.name, s, p, want, v.ask(ctx, s.tenant, &p))
		}
		if i%20 == 0 && want.Error == "" {
			res.explained(ctx, all[r.IntN(len(all))], s, &p, i%40 == 0)
		}
		if !*working {
			continue
		}
		got, err := l.ask(ctx, s.tenant, &p)
		if err != nil {
			return nil, err
		}
		res.one("while a compactor works", s, p, want, got)
	}
	return res, nil
}

// explained asks for the plan of a query that has an answer: it has one too.
func (res *result) explained(ctx context.Context, v variant, s *tenantSide, p *pair, analyze bool) {
	of := *p
	if of.T = "EXPLAIN " + p.T; analyze {
		of.T = "EXPLAIN ANALYZE " + p.T
	}
	got := v.ask(ctx, s.tenant, &of)
	if got.Error == "" && len(got.Rows) > 0 || ofValue.MatchString(got.Error) {
		return
	}
	res.different++
	fmt.Printf("DIFFERENT no plan, tenant %s, %s\n  %s\n  %s\n", s.tenant, v.name, of.T, got.Error)
}

func (res *result) one(how string, s *tenantSide, p pair, want, got *answer.Answer) {
	res.answers++
	difference := answer.Difference(want, got, p.rules)
	if got.Error != "" && !lawful(got.Error) {
		difference = "failed: " + got.Error
	}
	if difference == "" {
		return
	}
	if name := isMeant(&p, want, got); name != "" {
		res.meant[name]++
		return
	}
	res.different++
	// One of each sort is shown: an error's text without what is quoted in it, or the place.
	key := difference
	if got.Error != "" {
		key = withoutQuoted(got.Error)
	} else if want.Error != "" {
		key = withoutQuoted(want.Error)
	} else {
		key = "rows"
	}
	if res.shown[key]++; res.shown[key] > *examples || *hide != "" && regexp.MustCompile(*hide).MatchString(key) {
		return
	}
	if res.printed++; res.printed > *show {
		return
	}
	fmt.Printf("DIFFERENT %s%s, tenant %s, %s\n  togo:   %s\n  duckdb: %s\n  %.2000s\n", map[bool]string{true: "in order"}[p.rules.Ordered], p.bounds(), s.tenant, how, p.T, p.D, got.Error+"\n  "+difference)
}

// bounds are what a request says beside its text.
func (p *pair) bounds() string {
	s := ""
	if p.from != nil {
		s += fmt.Sprintf(" from %d", *p.from)
	}
	if p.to != nil {
		s += fmt.Sprintf(" to %d", *p.to)
	}
	if p.limit > 0 {
		s += fmt.Sprintf(" limit %d", p.limit)
	}
	return s
}

func withoutQuoted(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	for _, q := range []string{`"`, "'"} {
		parts := strings.Split(s, q)
		for i := 1; i < len(parts); i += 2 {
			parts[i] = ""
		}
		s = strings.Join(parts, "")
	}
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, s)
}
