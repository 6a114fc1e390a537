package main

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"os"

	"github.com/togodb/togo/query/queryset/answer"
)

// recordAll writes queries with DuckDB's answers, as answer.Recorded lines: of those that are short, and of each shape and tenant.
func recordAll(_ context.Context, d *duck, sides []*tenantSide, n int, path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := gzip.NewWriter(f)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for i := 0; n > 0; i++ {
		s := sides[pickSide(i)]
		if err := d.use(s.tenant); err != nil {
			return err
		}
		p := s.gen.query()
		a := d.query(p.D, p.kinds)
		r := answer.Recorded{Tenant: string(s.tenant), SQL: p.T, Rules: p.rules, Answer: *a}
		if b, err := json.Marshal(r); err != nil || len(b) > 1500 || len(a.Rows) == 0 && i%4 > 0 || a.Error != "" || isMeant(a, &answer.Answer{Error: "out_of_range"}) != "" {
			continue
		}
		if err := e.Encode(r); err != nil {
			return err
		}
		n--
	}
	if err := w.Close(); err != nil {
		return err
	}
	return f.Close()
}
