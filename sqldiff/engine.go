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
	engine  *query.Engine
	options scan.Options
}

// variants are all ways to ask a store: with and without what makes it fast, by one worker and by four, over a cache on disk and without.
func variants(ctx context.Context, st stage, cache string) ([]variant, error) {
	var out []variant
	for _, c := range []ask.Config{{Workers: 1}, {Workers: 4}, {Workers: 1, Cache: cache}, {Workers: 4, Cache: cache}} {
		if c.Cache != "" {
			c.Cache += fmt.Sprint("-", c.Workers) // a folder is one process's
		}
		e, _, err := ask.Open(ctx, st.store, c)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", st.name, err)
		}
		name := fmt.Sprintf("%s, %d workers, cache %v", st.name, c.Workers, c.Cache != "")
		out = append(out,
			variant{name, e, scan.Options{}},
			variant{name + ", no pruning", e, scan.Options{NoPruning: true}},
			variant{name + ", no dictionaries", e, scan.Options{NoDictionaries: true}},
			variant{name + ", no late reading", e, scan.Options{NoLateReading: true}},
			variant{name + ", nothing fast", e, scan.Options{NoPruning: true, NoDictionaries: true, NoLateReading: true}},
		)
	}
	return out, nil
}

// ask gives an engine's answer; an error has its code before its text.
func (v variant) ask(ctx context.Context, tenant event.TenantID, text string) *answer.Answer {
	a, _ := ask.Ask(ctx, v.engine, query.Request{Tenant: tenant, SQL: text, Options: v.options})
	return a
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
