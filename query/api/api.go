// Package api serves queries over HTTP:
//
//	POST /v1/query    SQL as the body, or a JSON object
//	GET  /v1/query    the same by parameters
//	GET  /v1/schema   the columns of a tenant's table
//	GET  /v1/tenants  the tenants, for operators
//
// What it promises:
//
//  1. The tenant comes from the header X-Scope-OrgID and the token alone. Whatever else names one (parameter, body,
//     text) is refused or means nothing. A tenant that the token may not see and one that is not there are answered alike.
//  2. An answer with status 200 that ends is whole. One that failed after its status was sent is broken off: the
//     transfer does not end as HTTP has it, and JSON and NDJSON say why.
//  3. An error is JSON, {"error": {"code", "message", "position"}}, and says nothing of hosts, objects or other tenants. The log
//     has the cause, under an id that the message names.
//  4. Bounded: bodies by MaxBodyBytes, queries by the queue's bounds, a client that does not read by SendTimeout.
//  5. A query ends when its client leaves, wherever it is: in the queue, while it runs, while it is sent.
package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/togodb/togo/internal/access"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/query"
	"github.com/togodb/togo/query/api/queue"
)

// Config are the settings.
type Config struct {
	MaxBodyBytes     int64         `yaml:"max_body_bytes" doc:"Of a request's body; a larger one is refused with 413."`
	Concurrent       int           `yaml:"max_concurrent" doc:"Queries that run at one time; each has query.sure_memory for itself."`
	TenantConcurrent int           `yaml:"tenant_concurrent" doc:"Of these, queries of one tenant."`
	TenantQueue      int           `yaml:"tenant_queue" doc:"Queries of one tenant that may wait for their turn; one more is refused with 429."`
	Queue            int           `yaml:"queue" doc:"Queries that may wait, of all tenants; one more is refused with 429."`
	QueueWait        time.Duration `yaml:"queue_wait" doc:"How long a query waits for its turn before it is refused with 429."`
	SendTimeout      time.Duration `yaml:"send_timeout" doc:"A client that takes nothing of its answer for so long is left."`
	SlowAfter        time.Duration `yaml:"slow_after" doc:"Queries that took longer are logged, with their text."`
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config {
	return Config{
		MaxBodyBytes: 1 << 20, Concurrent: 8, TenantConcurrent: 4, TenantQueue: 32, Queue: 256,
		QueueWait: 10 * time.Second, SendTimeout: 30 * time.Second, SlowAfter: 10 * time.Second,
	}
}

// Validate reports every mistake.
func (c Config) Validate() error {
	var errs []error
	for _, n := range []struct {
		name  string
		value int64
	}{
		{"max_body_bytes", c.MaxBodyBytes}, {"max_concurrent", int64(c.Concurrent)}, {"tenant_concurrent", int64(c.TenantConcurrent)},
		{"tenant_queue", int64(c.TenantQueue)}, {"queue", int64(c.Queue)}, {"queue_wait", int64(c.QueueWait)},
		{"send_timeout", int64(c.SendTimeout)}, {"slow_after", int64(c.SlowAfter)},
	} {
		if n.value < 1 {
			errs = append(errs, fmt.Errorf("%s: %d is not positive", n.name, n.value))
		}
	}
	return errors.Join(errs...)
}

// Tenant is one of GET /v1/tenants.
type Tenant struct {
	Tenant  event.TenantID `json:"tenant"`
	Files   int            `json:"files"`
	Rows    int64          `json:"rows"`    // events
	Letters int64          `json:"letters"` // dead letters
	Bytes   int64          `json:"bytes"`
	First   string         `json:"first,omitempty"` // event times
	Last    string         `json:"last,omitempty"`
}

// Deps are what a Handler works with.
type Deps struct {
	Engine     query.Answerer
	Tenants    func(context.Context) ([]Tenant, error) // all that have data
	Tokens     access.Tokens
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Handler serves the interface.
type Handler struct {
	cfg     Config
	deps    Deps
	queue   *queue.Queue
	metrics *metrics
}

// New makes a handler.
func New(cfg Config, deps Deps) (*Handler, error) {
	if err := errors.Join(cfg.Validate(), deps.Tokens.Validate()); err != nil {
		return nil, fmt.Errorf("query: configuration: %w", err)
	}
	q := queue.New(queue.Config{
		Concurrent: cfg.Concurrent, TenantConcurrent: cfg.TenantConcurrent,
		Waiting: cfg.TenantQueue, AllWaiting: cfg.Queue, Wait: cfg.QueueWait,
	})
	return &Handler{cfg: cfg, deps: deps, queue: q, metrics: newMetrics(deps.Registerer, q.Len)}, nil
}

// Register adds the routes.
func (h *Handler) Register(mux *http.ServeMux) {
	mux.Handle("/v1/query", h.route("query", h.query, http.MethodGet, http.MethodPost))
	mux.Handle("/v1/schema", h.route("schema", h.schema, http.MethodGet))
	mux.Handle("/v1/tenants", h.route("tenants", h.tenants, http.MethodGet))
}

// Status is what /status shows.
type Status struct {
	Running int `json:"running"`
	Waiting int `json:"waiting"`
}

// Status tells how many queries run and wait.
func (h *Handler) Status() Status {
	running, waiting := h.queue.Len()
	return Status{running, waiting}
}
