package api

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/query"
)

// watched tells when queries begin and end.
type watched struct {
	query.Answerer
	began, ended chan time.Time
}

func (w watched) Query(ctx context.Context, r query.Request, out query.Sink) (*query.Summary, error) {
	w.began <- time.Now()
	defer func() { w.ended <- time.Now() }()
	return w.Answerer.Query(ctx, r, out)
}

// TestQueriesEndSoonAfterTheirClient: wherever the engine is. Each takes a minute or so if it is left alone. The aim is 100 ms, and the
// log of the test says how long it took; some seconds allow for a busy machine.
func TestQueriesEndSoonAfterTheirClient(t *testing.T) {
	w := watched{began: make(chan time.Time, 9), ended: make(chan time.Time, 9)}
	w.Answerer = realNode(t, 100_000, nil)
	s := serverOf(t, w, nil)
	const slow = `levenshtein(repeat(text, 60), repeat(id, 60))`
	for name, sql := range map[string]string{
		"an expression": `select max(` + slow + `) from events`,
		"a filter":      `select count(*) from events where ` + slow + ` < 0`,
		"regexps":       `select count(*) from events where regexp_matches(repeat(text, 5000), '(m|i|n|e|[0-9]| )*x$')`,
		"groups":        `select ` + slow + `, count(*) from events group by 1`,
		"sorting":       `select id from events order by ` + slow + `, id`,
		"rows":          `select ` + slow + ` from events`,
	} {
		ctx, leave := context.WithCancel(t.Context())
		r, _ := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/v1/query?format=csv", strings.NewReader(sql))
		r.Header.Set("X-Scope-OrgID", "shop")
		done := make(chan struct{})
		go func() {
			defer close(done)
			if resp, err := s.Client().Do(r); err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		}()
		<-w.began
		select { // some work is done
		case <-time.After(100 * time.Millisecond):
		case <-w.ended:
			t.Fatalf("%s: ended before its client left", name)
		}
		left := time.Now()
		leave()
		took := (<-w.ended).Sub(left)
		<-done
		t.Logf("%-14s %s", name, took.Round(time.Millisecond))
		if took > 10*time.Second {
			t.Errorf("%s: went on for %s", name, took)
		}
	}
}
