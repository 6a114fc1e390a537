package measure

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/togodb/togo/bench/result"
	"github.com/togodb/togo/internal/kafka"
)

// prober sends events now and then, and asks until a query sees them.
type prober struct {
	client *asker
	sends  func(ctx context.Context, tenant string, value []byte) error
	now    func() time.Time
	run    string // in the ids, so that two runs on one store do not meet
	tenant string
	every  time.Duration
	limit  time.Duration // as promised

	mu     sync.Mutex
	sent   int64
	bytes  int64
	open   []probe
	seen   []time.Duration // of all that were seen
	recent []time.Duration // since the last sample
	failed int             // questions that were not answered
	why    error           // the last one's
}

type probe struct {
	id    string
	acked time.Time
}

// askEvery is how often it is asked; freshness is known to that.
const askEvery = 200 * time.Millisecond

// produces returns a function that sends one event and waits for its acknowledgement.
func produces(p *kafka.Producer) func(context.Context, string, []byte) error {
	return func(ctx context.Context, tenant string, value []byte) error {
		done := make(chan error, 1)
		p.Produce(context.WithoutCancel(ctx), kafka.Message{Value: value, Headers: []kafka.Header{{Key: TenantHeader, Value: []byte(tenant)}}},
			func(_ int64, err error) { done <- err })
		return <-done
	}
}

// send sends probes until ctx ends.
func (p *prober) send(ctx context.Context) error {
	tick := time.NewTicker(p.every)
	defer tick.Stop()
	for n := 0; ctx.Err() == nil; n++ {
		id := fmt.Sprintf("probe-%s-%s-%d", p.run, p.tenant, n)
		value := fmt.Appendf(nil, `{"timestamp":"%s","event_id":"%s","service":"probe","level":"info","status":200,"host":"probe","retries":0,`+
			`"http":{"bytes":0,"duration_ms":0.5},"user":{"id":0},"trace_id":"`+needle+`","message":"is it there?"}`,
			p.now().UTC().Format("2006-01-02T15:04:05.000000Z"), id)
		if err := p.sends(ctx, p.tenant, value); err != nil {
			return fmt.Errorf("probe: %w", err)
		}
		p.mu.Lock()
		p.sent++
		p.bytes += int64(len(value))
		p.open = append(p.open, probe{id, p.now()})
		p.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	return nil
}

// ask looks for probes until ctx ends.
func (p *prober) ask(ctx context.Context) {
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		p.look(ctx)
	}
}

// look asks once for all probes that are open.
func (p *prober) look(ctx context.Context) {
	p.mu.Lock()
	open := slices.Clone(p.open)
	p.mu.Unlock()
	if len(open) == 0 {
		return
	}
	ids := make([]string, len(open))
	for i, o := range open {
		ids[i] = "'" + o.id + "'"
	}
	from := open[0].acked.Add(-time.Minute)
	rows, err := p.client.query(ctx, p.tenant, "SELECT id FROM events WHERE id IN ("+strings.Join(ids, ", ")+")", from)
	at := p.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		if ctx.Err() == nil {
			p.failed++
			p.why = err
		}
		return
	}
	for _, row := range rows {
		id, _ := row["id"].(string)
		for _, o := range open {
			if o.id == id {
				p.seen = append(p.seen, at.Sub(o.acked))
				p.recent = append(p.recent, at.Sub(o.acked))
			}
		}
		p.open = slices.DeleteFunc(p.open, func(o probe) bool { return o.id == id })
	}
}

// news are the probes seen since the last call, fastest first.
func (p *prober) news() []time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.recent
	p.recent = nil
	slices.Sort(out)
	return out
}

// any says whether a probe was seen yet.
func (p *prober) any() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.seen) > 0
}

func (p *prober) count() (events, size int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sent, p.bytes
}

// freshness is of all probes that had the time they are promised before end.
func (p *prober) freshness(end time.Time) *result.Freshness {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := &result.Freshness{LimitS: p.limit.Seconds()}
	for _, o := range p.open {
		if end.Sub(o.acked) > p.limit {
			f.Missed++
		}
	}
	f.Probes = len(p.seen) + f.Missed
	if f.Probes == 0 {
		return nil
	}
	slices.Sort(p.seen)
	if len(p.seen) > 0 {
		f.P50S, f.P99S, f.MaxS = quantile(p.seen, 0.5).Seconds(), quantile(p.seen, 0.99).Seconds(), p.seen[len(p.seen)-1].Seconds()
	}
	return f
}

// quantile of a sorted list that is not empty: the least value that so many are not above.
func quantile(sorted []time.Duration, q float64) time.Duration {
	at := int(q*float64(len(sorted)) + 0.999999)
	return sorted[min(max(at, 1), len(sorted))-1]
}

// asker asks the query role.
type asker struct {
	addr  string
	token string
}

// query is the rows of an answer. With a from, only events from then on.
func (a *asker) query(ctx context.Context, tenant, sql string, from time.Time) ([]map[string]any, error) {
	v := url.Values{"format": {"ndjson"}}
	if !from.IsZero() {
		v.Set("from", from.UTC().Format(time.RFC3339Nano))
	}
	body, err := a.do(ctx, http.MethodPost, "/v1/query?"+v.Encode(), tenant, sql)
	if err != nil {
		return nil, err
	}
	var rows []map[string]any
	for line := range bytes.Lines(body) {
		var row map[string]any
		if err := json.Unmarshal(line, &row); err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func (a *asker) do(ctx context.Context, method, path, tenant, body string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+a.addr+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set(TenantHeader, tenant)
	req.Header.Set("Content-Type", "application/sql")
	if a.token != "" {
		req.Header.Set("Authorization", "Bearer "+a.token)
	}
	return answer(req)
}
