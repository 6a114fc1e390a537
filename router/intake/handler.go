// Package intake takes events over HTTP and writes them to an intake topic:
// POST /v1/ingest with NDJSON, one event a line, for the tenant of the header
// X-Scope-OrgID.
//
// Invariants:
//
//  1. 200 means that every line of the body is in Kafka, acknowledged by all in-sync
//     replicas. Any other answer to a readable body says line by line which
//     are not, so that these alone can be sent again.
//  2. A line is written as it came; whether it is an event is decided later, by the
//     same rules as for every other producer. So a line without an id of its own gets
//     one from its position, and sending it again makes another event.
//  3. Memory is bounded: by the body limit for a request, and by the number of bodies
//     that are worked on at one time for all; beyond it the answer is 503.
package intake

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/togodb/togo/internal/access"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/kafka"
)

// Config are the settings of the HTTP intake.
type Config struct {
	MaxBodyBytes  int64         `yaml:"max_body_bytes" doc:"Of a request's body, unpacked; a larger one is refused with 413."`
	MaxLineBytes  int64         `yaml:"max_line_bytes" doc:"Of one line; 0: what the topic takes."`
	MaxConcurrent int           `yaml:"max_concurrent" doc:"Requests worked on at one time; beyond it the answer is 503."`
	Timeout       time.Duration `yaml:"timeout" doc:"How long a request waits for Kafka's acknowledgements."`
	Tokens        access.Tokens `yaml:"-"`
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config {
	return Config{MaxBodyBytes: 16 << 20, MaxConcurrent: 64, Timeout: 30 * time.Second}
}

// Validate reports every mistake.
func (c Config) Validate() error {
	var errs []error
	if c.MaxBodyBytes < 1 {
		errs = append(errs, fmt.Errorf("max_body_bytes: %d is not positive", c.MaxBodyBytes))
	}
	if c.MaxLineBytes < 0 {
		errs = append(errs, fmt.Errorf("max_line_bytes: %d is negative", c.MaxLineBytes))
	}
	if c.MaxConcurrent < 1 {
		errs = append(errs, fmt.Errorf("max_concurrent: %d is not positive", c.MaxConcurrent))
	}
	if c.Timeout <= 0 {
		errs = append(errs, fmt.Errorf("timeout: %s is not positive", c.Timeout))
	}
	if err := c.Tokens.Validate(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Producer is what a Handler needs of kafka.Producer.
type Producer interface {
	TryProduce(ctx context.Context, m kafka.Message, done func(offset int64, err error))
	MaxRecordBytes() int
}

// Handler serves POST /v1/ingest.
type Handler struct {
	cfg      Config
	producer Producer
	metrics  *metrics
	turns    chan struct{} // holds a token for each request under work
}

// New returns a handler that writes by the producer (one that spreads).
func New(cfg Config, producer Producer, reg prometheus.Registerer) (*Handler, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("intake: configuration: %w", err)
	}
	if most := int64(producer.MaxRecordBytes() - len(access.TenantHeader) - maxTenantBytes); cfg.MaxLineBytes == 0 || cfg.MaxLineBytes > most {
		cfg.MaxLineBytes = most
	}
	return &Handler{cfg: cfg, producer: producer, metrics: newMetrics(reg), turns: make(chan struct{}, cfg.MaxConcurrent)}, nil
}

const maxTenantBytes = 150

// LineError says what became of a line that is not in Kafka.
type LineError struct {
	Line  int    `json:"line"` // from 1
	Error string `json:"error"`
}

// Answer is the body of every answer.
type Answer struct {
	Accepted int         `json:"accepted"`
	Errors   []LineError `json:"errors,omitempty"`
	Error    string      `json:"error,omitempty"`
}

// refusal is an answer without a look at the lines.
type refusal struct {
	status int
	text   string
}

func (e *refusal) Error() string { return e.text }

func refuse(status int, format string, args ...any) error {
	return &refusal{status, fmt.Sprintf(format, args...)}
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status, answer, err := h.ingest(w, r)
	var no *refusal
	if errors.As(err, &no) {
		status, answer = no.status, Answer{Error: no.text}
	}
	h.metrics.requests.WithLabelValues(strconv.Itoa(status)).Inc()
	h.metrics.lines.Add(float64(answer.Accepted))
	h.metrics.refused.Add(float64(len(answer.Errors)))
	switch status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", `Bearer realm="togo"`)
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "1")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer) // the client is gone if it fails
}

func (h *Handler) ingest(w http.ResponseWriter, r *http.Request) (int, Answer, error) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return 0, Answer{}, refuse(http.StatusMethodNotAllowed, "only POST is served here")
	}
	tenant, err := h.authorize(r)
	if err != nil {
		return 0, Answer{}, err
	}
	select {
	case h.turns <- struct{}{}:
		defer func() { <-h.turns }()
	default:
		return 0, Answer{}, refuse(http.StatusServiceUnavailable, "%d requests are under work; try again", h.cfg.MaxConcurrent)
	}
	body, err := h.readBody(w, r)
	if err != nil {
		return 0, Answer{}, err
	}
	status, answer := h.produce(r.Context(), tenant, body)
	return status, answer, nil
}

// authorize finds the tenant that the caller may write for; "": the topic's mapping says whose the event is.
func (h *Handler) authorize(r *http.Request) (event.TenantID, error) {
	caller, err := h.cfg.Tokens.Caller(r)
	if err != nil {
		return "", refuse(http.StatusUnauthorized, "%v", err)
	}
	if !caller.May(access.Ingest) {
		return "", refuse(http.StatusForbidden, "%v: it has not the role %s", access.ErrRole, access.Ingest)
	}
	tenant, err := caller.Tenant(r)
	switch {
	case errors.Is(err, access.ErrTenant):
		return "", refuse(http.StatusForbidden, "%v", err)
	case err != nil:
		return "", refuse(http.StatusBadRequest, "%v", err)
	case tenant == event.Unroutable:
		return "", refuse(http.StatusBadRequest, "header %s: %q is reserved", access.TenantHeader, tenant)
	}
	return tenant, nil
}

func (h *Handler) readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if ct := r.Header.Get("Content-Type"); ct != "" {
		kind, _, err := mime.ParseMediaType(ct)
		switch {
		case err != nil:
			return nil, refuse(http.StatusBadRequest, "content type: %v", err)
		case kind == "multipart/form-data":
			return nil, refuse(http.StatusUnsupportedMediaType, "the body must be NDJSON, not a form")
		}
	}
	var from io.Reader = http.MaxBytesReader(w, r.Body, h.cfg.MaxBodyBytes)
	switch encoding := r.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
	case "gzip":
		z, err := gzip.NewReader(from)
		if err != nil {
			return nil, bodyError(err)
		}
		from = z
	default:
		return nil, refuse(http.StatusUnsupportedMediaType, "content encoding %q is not gzip", encoding)
	}
	body, err := io.ReadAll(io.LimitReader(from, h.cfg.MaxBodyBytes+1))
	if err != nil {
		return nil, bodyError(err)
	}
	if int64(len(body)) > h.cfg.MaxBodyBytes {
		return nil, refuse(http.StatusRequestEntityTooLarge, "the body is larger than %d bytes", h.cfg.MaxBodyBytes)
	}
	return body, nil
}

func bodyError(err error) error {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return refuse(http.StatusRequestEntityTooLarge, "the body is larger than %d bytes", large.Limit)
	}
	return refuse(http.StatusBadRequest, "read the body: %v", err)
}

// errLine: the line itself is refused; sending it again is of no use.
var errLine = errors.New("the line is refused")

// errPending: no acknowledgement came in time.
var errPending = errors.New("not acknowledged in time")

// produce writes each line and waits for the acknowledgements.
func (h *Handler) produce(ctx context.Context, tenant event.TenantID, body []byte) (int, Answer) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.cfg.Timeout)
	defer cancel()
	var headers []kafka.Header
	if tenant != "" {
		headers = []kafka.Header{{Key: access.TenantHeader, Value: []byte(tenant)}}
	}
	l := newLines()
	for number := 1; len(body) > 0; number++ {
		line, rest, _ := bytes.Cut(body, []byte{'\n'})
		body = rest
		line = bytes.TrimSuffix(line, []byte{'\r'})
		if len(bytes.TrimSpace(line)) == 0 {
			continue // a blank line is no event
		}
		done := l.begin(number)
		if int64(len(line)) > h.cfg.MaxLineBytes {
			done(fmt.Errorf("%w: %d bytes, at most %d", errLine, len(line), h.cfg.MaxLineBytes))
			continue
		}
		h.producer.TryProduce(ctx, kafka.Message{Value: line, Headers: headers}, func(_ int64, err error) { done(err) })
	}
	l.end()
	select {
	case <-l.all:
	case <-ctx.Done(): // a record that is on its way can't be called back
	}
	return l.answer()
}
