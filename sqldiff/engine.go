package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/query"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/queryset/answer"
	"github.com/togodb/togo/query/queryset/ask"
	"github.com/togodb/togo/query/scan"
)

// variant is a way in which the same answer must come.
type variant struct {
	name    string
	node    *query.Node
	options scan.Options
}

// variants are all ways to ask a store: with and without what makes it fast, by one worker and by four, over a cache on disk and without.
func variants(ctx context.Context, st stage, cache string) ([]variant, error) {
	var out []variant
	for _, workers := range []int{1, 4} {
		for _, folder := range []string{"", fmt.Sprint(cache, "-", workers)} { // a folder is one process's
			n, err := ask.Open(ctx, st.store, func(c *query.Config) { c.Workers, c.CacheDir = workers, folder })
			if err != nil {
				return nil, fmt.Errorf("%s: %w", st.name, err)
			}
			name := fmt.Sprintf("%s, %d workers, cache %v", st.name, workers, folder != "")
			out = append(out,
				variant{name, n, scan.Options{}},
				variant{name + ", no pruning", n, scan.Options{NoPruning: true}},
				variant{name + ", no dictionaries", n, scan.Options{NoDictionaries: true}},
				variant{name + ", no late reading", n, scan.Options{NoLateReading: true}},
				variant{name + ", nothing fast", n, scan.Options{NoPruning: true, NoDictionaries: true, NoLateReading: true}},
			)
		}
	}
	return out, nil
}

// ask gives an engine's answer; an error has its code before its text.
func (v variant) ask(ctx context.Context, tenant event.TenantID, p *pair) *answer.Answer {
	a, _ := ask.Ask(ctx, v.node, p.request(tenant, v.options))
	return a
}

func (p *pair) request(tenant event.TenantID, o scan.Options) query.Request {
	return query.Request{Tenant: tenant, SQL: p.T, From: p.from, To: p.to, Limit: p.limit, Options: o}
}

// lawful tells whether an error may be an answer: what a query can do wrong, and nothing that says Togo failed.
func lawful(text string) bool {
	code, _, _ := strings.Cut(text, ":")
	switch fail.Code(code) {
	case fail.Internal, fail.Unavailable, fail.Timeout, fail.Gone, fail.Cancelled, fail.TooLarge, fail.TooMany:
		return false
	}
	return true
}
