package measure

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/togodb/togo/bench/result"
)

// question is one of the twelve queries of bench/queries; a test holds the texts against those there.
type question struct{ name, sql string }

const schema = "schema" // stands for GET /v1/schema

// needle is a trace that only probes have.
const needle = "00000000000000000000000000000000"

var questions = []question{
	{"count by service", `SELECT service, count(*) FROM events GROUP BY service`},
	{"errors per minute", `SELECT date_trunc('minute', timestamp) AS minute, count(*) FROM events WHERE status >= 500 GROUP BY minute`},
	{"p99 by service", `SELECT service, quantile_cont("http.duration_ms", 0.99) FROM events GROUP BY service`},
	{"top hosts by distinct users", `SELECT host, count(DISTINCT "user.id") AS users FROM events GROUP BY host ORDER BY users DESC, host LIMIT 10`},
	{"needle by trace id", `SELECT timestamp, service, message FROM events WHERE trace_id = '` + needle + `'`},
	{"ILIKE in message", `SELECT count(*) FROM events WHERE message ILIKE '%timeout%'`},
	{"last 100 rows", `SELECT timestamp, service, level, message FROM events ORDER BY timestamp DESC LIMIT 100`},
	{"filter on a rare value", `SELECT timestamp, host, message FROM events WHERE level = 'fatal'`},
	{"high-cardinality group-by", `SELECT "user.id", count(*) AS n FROM events GROUP BY "user.id" ORDER BY n DESC, "user.id" LIMIT 10`},
	{"three numeric columns", `SELECT sum("http.bytes"), avg("http.duration_ms"), max(retries) FROM events`},
	{"schema", schema},
	{"count of everything", `SELECT count(*), min(timestamp), max(timestamp) FROM events`},
}

// interrogation asks the twelve queries, one after the other, for one tenant.
type interrogation struct {
	client *asker
	tenant string
	pause  time.Duration // between two queries
	ready  func() bool   // the tenant has events; before, it has no columns

	mu     sync.Mutex
	took   [][]time.Duration // of each question
	failed []int
	why    error // the last failure
}

func (q *interrogation) run(ctx context.Context) {
	q.took, q.failed = make([][]time.Duration, len(questions)), make([]int, len(questions))
	for ctx.Err() == nil && !q.ready() {
		time.Sleep(askEvery)
	}
	for n := 0; ctx.Err() == nil; n++ {
		i := n % len(questions)
		began := time.Now()
		var err error
		if questions[i].sql == schema {
			_, err = q.client.do(ctx, http.MethodGet, "/v1/schema", q.tenant, "")
		} else {
			_, err = q.client.query(ctx, q.tenant, questions[i].sql, time.Time{})
		}
		took := time.Since(began)
		if ctx.Err() != nil {
			return
		}
		q.mu.Lock()
		if err != nil {
			q.failed[i]++
			q.why = err
		} else {
			q.took[i] = append(q.took[i], took)
		}
		q.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(q.pause):
		}
	}
}

func (q *interrogation) results() (out []result.Query) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range q.took {
		r := result.Query{Name: questions[i].name, Runs: len(q.took[i]), Failed: q.failed[i]}
		if took := q.took[i]; len(took) > 0 {
			slices.Sort(took)
			r.P50S, r.P99S, r.MaxS = quantile(took, 0.5).Seconds(), quantile(took, 0.99).Seconds(), took[len(took)-1].Seconds()
		}
		if r.Runs+r.Failed > 0 {
			out = append(out, r)
		}
	}
	return out
}
