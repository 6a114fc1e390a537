package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/togodb/togo/internal/e2e/oracle"
)

// shown are the queries that people see.
var shown = []struct{ tenant, text string }{
	{"shop", `SELECT method, count(*) AS requests, count(*) FILTER (WHERE status >= 500) AS errors FROM events GROUP BY method ORDER BY requests DESC`},
	{"edge", `SELECT "http.response.status_code" AS status, count(*) AS n, quantile_cont("http.response.bytes", 0.99) AS p99_bytes FROM events WHERE body ILIKE '%mozilla%' GROUP BY 1 ORDER BY n DESC LIMIT 5`},
	{"github", `SELECT timestamp, "actor.login", type FROM events WHERE type LIKE 'Pull%' ORDER BY timestamp DESC LIMIT 3`},
}

// ask sends a query and gives its rows, the names of the columns first.
func (d *demo) ask(ctx context.Context, tenant, text string) ([][]string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+d.httpAddr+"/v1/query?sql="+url.QueryEscape(text), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("X-Scope-OrgID", tenant)
	req.Header.Set("Accept", "text/csv")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(resp.Body)
		return nil, fmt.Errorf("query %q of tenant %s: %s: %s", text, tenant, resp.Status, body)
	}
	return csv.NewReader(resp.Body).ReadAll()
}

// answers are what SQL says of each tenant's events; a merge must change none of it.
func (d *demo) answers(ctx context.Context, tenants []string) (map[string]string, error) {
	out := map[string]string{}
	for _, t := range tenants {
		rows, err := d.ask(ctx, t, "SELECT count(*), count(DISTINCT id), min(id), max(id), min(timestamp), max(timestamp), max(_event::VARCHAR) FROM events")
		if err != nil {
			return nil, err
		}
		out[t] = fmt.Sprint(rows[1:])
	}
	return out, nil
}

// miscounted are the tenants of which SQL counts other events than were read from the files.
func (d *demo) miscounted(ctx context.Context, stored oracle.Stored, tenants []string) (wrong []string, err error) {
	want := map[string]int{}
	for k, rows := range stored {
		want[k.Tenant] += len(rows)
	}
	for _, t := range tenants {
		rows, err := d.ask(ctx, t, "SELECT count(*) FROM events")
		if err != nil {
			return nil, err
		}
		if n, err := strconv.Atoi(rows[1][0]); err != nil || n != want[t] {
			wrong = append(wrong, fmt.Sprintf("tenant %s: SQL counts %s events, %d are stored", t, rows[1][0], want[t]))
		}
	}
	return wrong, nil
}

// changed are the tenants whose answers differ.
func changed(before, after map[string]string) (wrong []string) {
	for t, text := range before {
		if after[t] != text {
			wrong = append(wrong, fmt.Sprintf("tenant %s: before compaction SQL answered %s, after it %s", t, text, after[t]))
		}
	}
	return wrong
}
