package measure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestFreshness: three probes, of which one is seen after 2 s, one after 5 s, and one never.
func TestFreshness(t *testing.T) {
	visible := map[string]bool{}
	broken := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get(TenantHeader) != "acme" || r.URL.Query().Get("format") != "ndjson" || r.URL.Query().Get("from") == "" {
			t.Errorf("%s %s", r.URL, r.Header)
		}
		if broken {
			http.Error(w, "too busy", http.StatusServiceUnavailable)
			return
		}
		for id := range visible {
			if strings.Contains(string(body), "'"+id+"'") {
				fmt.Fprintf(w, "{\"id\":%q}\n", id)
			}
		}
	}))
	defer server.Close()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	sent := 0
	p := &prober{
		client: &asker{addr: strings.TrimPrefix(server.URL, "http://")}, now: func() time.Time { return now },
		run: "x", tenant: "acme", every: time.Millisecond, limit: 6 * time.Second,
	}
	ctx, cancel := context.WithCancel(t.Context())
	p.sends = func(context.Context, string, []byte) error {
		if sent++; sent == 3 {
			cancel()
		}
		return nil
	}
	if err := p.send(ctx); err != nil {
		t.Fatal(err)
	}
	now = now.Add(2 * time.Second)
	visible["probe-x-acme-1"] = true
	p.look(t.Context())
	p.look(t.Context()) // not counted again
	now = now.Add(3 * time.Second)
	broken = true
	p.look(t.Context())
	broken = false
	visible["probe-x-acme-0"] = true
	p.look(t.Context())
	if news := p.news(); len(news) != 2 || news[0] != 2*time.Second || news[1] != 5*time.Second || len(p.news()) != 0 {
		t.Errorf("news: %v", news)
	}
	if p.failed != 1 || p.why == nil {
		t.Errorf("%d questions failed: %v", p.failed, p.why)
	}
	f := p.freshness(now)
	if f.Probes != 2 || f.Missed != 0 || f.P50S != 2 || f.MaxS != 5 || f.LimitS != 6 {
		t.Errorf("%+v", f) // the third still has time
	}
	if f := p.freshness(now.Add(2 * time.Second)); f.Probes != 3 || f.Missed != 1 {
		t.Errorf("%+v", f)
	}
	if n, size := p.count(); n != 3 || size < 300 {
		t.Errorf("%d probes, %d bytes", n, size)
	}
	p.sends = func(context.Context, string, []byte) error { return errors.New("no broker") }
	if err := p.send(t.Context()); err == nil || !strings.Contains(err.Error(), "no broker") {
		t.Error(err)
	}
}
