package api

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/togodb/togo/internal/access"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/query"
	"github.com/togodb/togo/query/api/format"
	"github.com/togodb/togo/query/fail"
)

// query serves /v1/query.
func (h *Handler) query(out *reply, r *http.Request) error {
	tenant, err := h.tenant(r)
	if err != nil {
		return err
	}
	a, err := h.decode(out, r)
	if err != nil {
		return err
	}
	a.query.Tenant = tenant
	leave, waited, err := h.enter(r.Context(), tenant)
	if err != nil {
		return err
	}
	defer leave()
	start := time.Now()
	s, err := h.deps.Engine.Query(r.Context(), a.query, out.begin(a.format))
	h.metrics.cost(s)
	h.logSlow(tenant, a.query.SQL, time.Since(start), s, err)
	if err != nil {
		return err
	}
	stats := format.StatisticsOf(s)
	stats.Queued(waited)
	return out.end(s, stats)
}

// decode bounds the time that a body may take; behind its end, net/http has no deadline. It would stay where there is no body.
func (h *Handler) decode(out *reply, r *http.Request) (*asked, error) {
	if r.Method == http.MethodPost && r.Body != http.NoBody {
		_ = out.control.SetReadDeadline(time.Now().Add(h.cfg.SendTimeout)) // servers of tests have none
	}
	return decode(r, h.cfg.MaxBodyBytes)
}

// logSlow names queries that took long.
func (h *Handler) logSlow(tenant event.TenantID, sql string, took time.Duration, s *query.Summary, err error) {
	if took < h.cfg.SlowAfter {
		return
	}
	code := "ok"
	if err != nil {
		code = string(fail.CodeOf(err))
	}
	h.deps.Logger.Info("slow query", "tenant", tenant, "took", took, "code", code, "sql", clip(sql), "statistics", string(format.StatisticsOf(s).Line()))
}

// schema serves GET /v1/schema.
func (h *Handler) schema(out *reply, r *http.Request) error {
	tenant, err := h.tenant(r)
	if err != nil {
		return err
	}
	values, err := parseParameters(r.URL.RawQuery, []string{"table", "from", "to"})
	if err != nil {
		return err
	}
	table, ok := values["table"]
	if !ok {
		table = "events"
	}
	from, to, err := span(values)
	if err != nil {
		return err
	}
	leave, _, err := h.enter(r.Context(), tenant)
	if err != nil {
		return err
	}
	defer leave()
	s, err := h.deps.Engine.Schema(r.Context(), tenant, table, from, to)
	if err != nil {
		return err
	}
	return sendJSON(out, s)
}

// tenants serves GET /v1/tenants: those that the caller's token is for.
func (h *Handler) tenants(out *reply, r *http.Request) error {
	c, err := h.caller(r, access.Operator)
	if err != nil {
		return err
	}
	if _, err := parseParameters(r.URL.RawQuery, nil); err != nil {
		return err
	}
	all, err := h.deps.Tenants(r.Context())
	if err != nil {
		return err
	}
	answer := struct {
		Tenants []Tenant `json:"tenants"`
	}{[]Tenant{}}
	for _, t := range all {
		if c.Sees(t.Tenant) || t.Tenant == event.Unroutable {
			answer.Tenants = append(answer.Tenants, t)
		}
	}
	slices.SortFunc(answer.Tenants, func(a, b Tenant) int { return strings.Compare(string(a.Tenant), string(b.Tenant)) })
	return sendJSON(out, answer)
}
