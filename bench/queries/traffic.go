package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/query/queryset"
)

// traffic makes events as web services log them: 23 attributes of all kinds, with the skew that such values have, beside time and id.
type traffic struct {
	r       *rand.Rand
	tenants []event.TenantID // the first is the large one
	total   int
	made    int
	traces  []trace // of each tenant, under way
	room    []byte
}

type trace struct {
	id   string
	left int
}

const (
	day         = 24 * 3600 * 1e9 // nanoseconds: the time that all events spread over
	largeShare  = 5               // one of so many events is the large tenant's
	tenantCount = 200             // of a store of some size
)

func newTraffic(total int) *traffic {
	t := &traffic{r: rand.New(rand.NewPCG(1, 2)), total: total}
	for i := range tenants(total) {
		t.tenants = append(t.tenants, event.TenantID(fmt.Sprintf("tenant-%03d", i)))
	}
	t.traces = make([]trace, len(t.tenants))
	return t
}

// tenants of a store with so many events.
func tenants(events int) int { return max(2, min(tenantCount, events/1000)) }

// at is the time of the next event, in nanoseconds: times rise evenly over the day.
func (t *traffic) at() int64 {
	return queryset.Begin.UnixNano() + int64(float64(t.made)*(day/float64(t.total)))/1000*1000
}

// next is the next event.
func (t *traffic) next() queryset.Row {
	at := t.at()
	t.made++
	tenant := 0
	if t.r.IntN(largeShare) > 0 {
		tenant = 1 + t.r.IntN(len(t.tenants)-1)
	}
	id := fmt.Sprintf("%016x%016x", uint64(t.made)*0x9e3779b97f4a7c15, t.r.Uint64())
	return queryset.Row{Tenant: t.tenants[tenant], Timestamp: event.Timestamp(at), ID: id, Payload: t.payload(tenant)}
}

var (
	services  = []string{"frontend", "api-gateway", "checkout", "cart", "search", "payment", "catalog", "auth", "shipping", "email", "ads", "recommend", "inventory", "pricing", "fraud", "billing", "geo", "media", "chat", "export"}
	routes    = []string{"/api/v1/items/:id", "/api/v1/cart", "/api/v1/checkout", "/api/v2/search", "/login", "/api/v1/users/:id", "/health", "/api/v1/orders/:id", "/static/:file"}
	countries = []string{"DE", "US", "FR", "JP", "BR", "IN", "GB", "PL", "SE", "KE"}
	failures  = []string{"timeout", "refused", "reset", "overload"}
)

// skewed picks low indexes more often.
func (t *traffic) skewed(n int) int {
	u := t.r.Float64()
	return int(u * u * float64(n))
}

func (t *traffic) payload(tenant int) string {
	r := t.r
	status, level, failure := 200, "info", ""
	switch p := r.IntN(1000); {
	case p < 15:
		status, level, failure = []int{500, 502, 503, 504}[r.IntN(4)], "error", failures[r.IntN(len(failures))]
	case p < 60:
		status, level = []int{400, 401, 403, 404, 404, 404, 429}[r.IntN(7)], "warn"
	case p < 150:
		status = []int{201, 204, 301, 304}[r.IntN(4)]
	case p == 999 && r.IntN(100) == 0:
		level = "fatal" // one event of 100,000
	}
	route := routes[t.skewed(len(routes))]
	user := t.skewed(300_000)
	took := math.Exp(r.NormFloat64()*0.9 + 2.5)
	host := t.skewed(200)
	trace := &t.traces[tenant]
	if trace.left == 0 {
		trace.id, trace.left = fmt.Sprintf("%016x%016x", r.Uint64(), r.Uint64()), 1+r.IntN(8)
	}
	trace.left--

	b := t.room[:0]
	text := func(key, value string) {
		b = append(append(append(append(b, `,"`...), key...), `":"`...), value...)
		b = append(b, '"')
	}
	number := func(key string, value int) {
		b = strconv.AppendInt(append(append(append(b, `,"`...), key...), `":`...), int64(value), 10)
	}
	b = append(b, `{"service":"`...)
	b = append(b, services[t.skewed(len(services))]...)
	b = append(b, '"')
	number("status", status)
	text("level", level)
	text("host", "host-"+strconv.Itoa(host))
	text("region", []string{"eu-west-1", "eu-west-2", "us-east-1"}[host%3])
	text("env", "prod")
	text("version", "1."+strconv.Itoa(r.IntN(4))+"."+strconv.Itoa(r.IntN(9)))
	b = append(b, `,"http":{"method":"`...)
	b = append(b, []string{"GET", "GET", "GET", "POST", "PUT"}[r.IntN(5)]...)
	b = append(b, '"')
	text("path", route+"?page="+strconv.Itoa(r.IntN(100_000)))
	text("route", route)
	number("bytes", int(r.ExpFloat64()*20_000))
	b = strconv.AppendFloat(append(b, `,"duration_ms":`...), took, 'f', 3, 64)
	b = append(b, `},"user":{"id":`...)
	b = strconv.AppendInt(b, int64(user), 10)
	text("plan", []string{"free", "free", "free", "pro", "team"}[user%5])
	text("country", countries[user%len(countries)])
	b = append(b, '}')
	text("trace_id", trace.id)
	text("span_id", fmt.Sprintf("%016x", r.Uint64()))
	b = strconv.AppendBool(append(b, `,"cached":`...), r.IntN(3) == 0)
	number("retries", max(0, r.IntN(12)-9))
	text("queue", "q"+strconv.Itoa(r.IntN(16)))
	text("pod", "web-"+strconv.FormatInt(int64(host*31%4096), 16)+"-"+strconv.Itoa(r.IntN(3)))
	if failure != "" {
		text("error.kind", failure)
	}
	text("message", t.message(route, user, host, took, failure))
	b = append(b, '}')
	t.room = b
	return string(b)
}

func (t *traffic) message(route string, user, host int, took float64, failure string) string {
	switch {
	case failure == "timeout":
		return fmt.Sprintf("Timeout after %d ms: upstream host-%d did not answer to %s", 1000+t.r.IntN(9000), t.r.IntN(200), route)
	case failure != "":
		return fmt.Sprintf("request of user %d to %s failed: connection %s by host-%d", user, route, failure, t.r.IntN(200))
	case t.r.IntN(20) == 0:
		return fmt.Sprintf("cache miss for key items:%d:%d, loaded from the database", user, t.r.IntN(1_000_000))
	}
	return fmt.Sprintf("request %d to %s finished in %.1f ms for user %d on host-%d", t.r.IntN(1_000_000_000), route, took, user, host)
}
