package main

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/togodb/togo/query"
	"github.com/togodb/togo/query/queryset/answer"
	"github.com/togodb/togo/query/queryset/ask"
)

// mayFail tells queries that meet an error in some rows, which they may or may not look at.
var mayFail = regexp.MustCompile(`[^_]CAST\([^)]*[a-z"].* AS (DOUBLE|BIGINT|JSON)\)|acos|asin|atanh|acosh|ln\(|log|sqrt|make_|[^_]strptime|time_bucket\(\(|json_|gamma|from_|un(hex|base)|decode|chr|to_`)

// recordAll writes queries with DuckDB's answers, as answer.Recorded lines: of all shapes and tenants, those with a short answer that Togo
// gives too.
func recordAll(ctx context.Context, w *world, d *duck, sides []*tenantSide, n int, path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	z := gzip.NewWriter(f)
	e := json.NewEncoder(z)
	e.SetEscapeHTML(false)
	node, err := ask.Open(ctx, w.Store, nil)
	if err != nil {
		return err
	}
	defer node.Close()
	differ := 0
	for i := 0; n > 0; i++ {
		s := sides[pickSide(i)]
		if err := d.use(s.tenant); err != nil {
			return err
		}
		p := s.gen.query()
		if p.from != nil || p.to != nil || p.limit > 0 || strings.Contains(p.T, " FROM ") && mayFail.MatchString(p.T) {
			continue
		}
		a := d.query(p.D, p.kinds)
		r := answer.Recorded{Tenant: string(s.tenant), SQL: p.T, Rules: p.rules, Answer: *a}
		if b, err := json.Marshal(r); err != nil || len(b) > 1500 || len(a.Rows) == 0 && i%4 > 0 || a.Error != "" || isMeant(&p, a, &answer.Answer{Error: "out_of_range"}) != "" {
			continue
		}
		got, _ := ask.Ask(ctx, node, query.Request{Tenant: s.tenant, SQL: p.T})
		if answer.Difference(a, got, p.rules) != "" {
			differ++
			continue
		}
		if err := e.Encode(r); err != nil {
			return err
		}
		n--
	}
	if err := z.Close(); err != nil {
		return err
	}
	fmt.Printf("%d differ, and are not recorded\n", differ)
	return f.Close()
}
