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
			res.one(v.name, s, p, want, v.ask(ctx, s.tenant, p.T))
		}
		got, err := l.ask(ctx, s.tenant, p.T)
		if err != nil {
			return nil, err
		}
		res.one("while a compactor works", s, p, want, got)
	}
	return res, nil
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
	fmt.Printf("DIFFERENT %s, tenant %s, %s\n  togo:   %s\n  duckdb: %s\n  %.2000s\n", map[bool]string{true: "in order"}[p.rules.Ordered], s.tenant, how, p.T, p.D, got.Error+"\n  "+difference)
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
