package api

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/togodb/togo/internal/access"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/query/api/format"
	"github.com/togodb/togo/query/api/queue"
	"github.com/togodb/togo/query/fail"
)

// statuses of the codes; all that are not here are mistakes of the query: 400.
var statuses = map[fail.Code]int{
	fail.Unauthorized: http.StatusUnauthorized,
	fail.NotFound:     http.StatusNotFound,
	fail.Gone:         http.StatusGone,
	fail.TooLarge:     http.StatusRequestEntityTooLarge,
	fail.TooMany:      http.StatusTooManyRequests,
	fail.Unavailable:  http.StatusServiceUnavailable,
	fail.Timeout:      http.StatusGatewayTimeout,
	fail.Cancelled:    499, // nobody sees it
	fail.Internal:     http.StatusInternalServerError,
}

// statusOf is the HTTP status of a code.
func statusOf(code fail.Code) int {
	if s, ok := statuses[code]; ok {
		return s
	}
	return http.StatusBadRequest
}

// route is a handler of one path: it answers errors, counts, and keeps a panic to its request.
func (h *Handler) route(name string, serve func(*reply, *http.Request) error, methods ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		out := &reply{w: w, control: http.NewResponseController(w), timeout: h.cfg.SendTimeout, old: !r.ProtoAtLeast(1, 1)}
		header := w.Header()
		header.Set("Cache-Control", "no-store")
		header.Set("X-Content-Type-Options", "nosniff")
		err := h.guard(out, r, serve, methods)
		code := "ok"
		if err != nil {
			e := h.shown(r, err)
			code = string(e.Code)
			defer h.fail(out, e) // it may end the goroutine
		}
		h.metrics.requests.WithLabelValues(name, code).Inc()
		h.metrics.seconds.WithLabelValues(name).Observe(time.Since(start).Seconds())
	})
}

// errMethod is answered with 405.
var errMethod = fail.New(fail.Request, "the method is not allowed here")

func (h *Handler) guard(out *reply, r *http.Request, serve func(*reply, *http.Request) error, methods []string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &fail.Error{Code: fail.Internal, Err: fmt.Errorf("panic: %v\n%s", p, debug.Stack())}
		}
	}()
	for _, m := range methods {
		if r.Method == m {
			return serve(out, r)
		}
	}
	out.w.Header().Set("Allow", strings.Join(methods, ", "))
	return errMethod
}

// shown is what the client gets of an error. What is not meant for it goes into the log.
func (h *Handler) shown(r *http.Request, err error) *fail.Error {
	var e *fail.Error
	switch {
	case errors.As(err, &e) && e.Code != fail.Internal:
		if e.Err != nil && e.Code != fail.Cancelled {
			h.deps.Logger.Warn("query", "code", e.Code, "error", e.Message, "cause", e.Err)
		}
		return e
	case r.Context().Err() != nil:
		return errLeft
	case errors.Is(err, context.DeadlineExceeded):
		return fail.New(fail.Timeout, "the query took too long")
	}
	id := rand.Text()[:10]
	cause := err
	if e != nil && e.Err != nil {
		cause = e.Err
	}
	h.deps.Logger.Error("query", "id", id, "error", err.Error(), "cause", cause)
	return fail.New(fail.Internal, "something is wrong here; the log of the server has it under %s", id)
}

// fail answers with an error; if a part of an answer is sent already, it breaks off.
func (h *Handler) fail(out *reply, e *fail.Error) {
	if out.sent {
		if out.writer != nil {
			_ = out.writer.Fail(e) // the client may have left
			_ = out.flush()
		}
		panic(http.ErrAbortHandler)
	}
	header := out.w.Header()
	status := statusOf(e.Code)
	switch {
	case e == errMethod:
		status = http.StatusMethodNotAllowed
	case status == http.StatusUnauthorized:
		header.Set("WWW-Authenticate", `Bearer realm="togo"`)
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable:
		header.Set("Retry-After", "1")
	}
	out.small(status, format.ErrorBody(e))
}

// caller finds out who asks, and whether it may.
func (h *Handler) caller(r *http.Request, role access.Role) (access.Caller, error) {
	c, err := h.deps.Tokens.Caller(r)
	switch {
	case err != nil:
		return c, fail.New(fail.Unauthorized, "%v", err)
	case !c.May(role):
		return c, fail.New(fail.Unauthorized, "the token has not the role %s", role)
	}
	return c, nil
}

// tenant finds out whose rows are asked for.
func (h *Handler) tenant(r *http.Request) (event.TenantID, error) {
	c, err := h.caller(r, access.Query)
	if err != nil {
		return "", err
	}
	tenant, err := c.Tenant(r)
	switch {
	case errors.Is(err, access.ErrTenant):
		return "", fail.New(fail.NotFound, "the token may not see such a tenant")
	case err == nil && tenant == "":
		err = access.ErrUnnamed
	}
	if err != nil {
		return "", fail.New(fail.Request, "%v", err)
	}
	return tenant, nil
}

// enter waits for the tenant's turn.
func (h *Handler) enter(ctx context.Context, tenant event.TenantID) (leave func(), waited time.Duration, err error) {
	start := time.Now()
	leave, err = h.queue.Enter(ctx, tenant)
	waited = time.Since(start)
	h.metrics.queued.Observe(waited.Seconds())
	switch {
	case err == nil:
		return leave, waited, nil
	case ctx.Err() != nil:
		return nil, waited, errLeft
	case errors.Is(err, queue.ErrFull):
		err = fail.New(fail.TooMany, "%d queries of this tenant run and %d wait (query.tenant_concurrent, query.tenant_queue); try again later", h.cfg.TenantConcurrent, h.cfg.TenantQueue)
	case errors.Is(err, queue.ErrAllFull), errors.Is(err, queue.ErrWaited):
		err = fail.New(fail.TooMany, "%v; try again later", err)
	}
	return nil, waited, err
}

// sendJSON answers with a small document.
func sendJSON(out *reply, v any) error {
	body, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	out.small(http.StatusOK, append(body, '\n'))
	return nil
}

// small answers with JSON whose length is known.
func (r *reply) small(status int, body []byte) {
	header := r.w.Header()
	header.Set("Content-Type", format.JSON.ContentType())
	header.Set("Content-Length", strconv.Itoa(len(body)))
	r.deadline()
	r.w.WriteHeader(status)
	_, _ = r.w.Write(body) // the client may have left
}
