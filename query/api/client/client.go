// Package client asks a server's HTTP interface (package api). A Client is a query.Answerer: whoever works with one works with an
// engine in the own process, too.
//
// What it promises: the rows that a sink gets are those of the server, and nil from Query means that they are all.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/togodb/togo/internal/access"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/query"
	"github.com/togodb/togo/query/api/format"
)

// Client asks one server.
type Client struct {
	base  *url.URL
	token string
	http  *http.Client
}

// New makes a client of a server, such as http://localhost:8080; a token of "" is none.
func New(server, token string) (*Client, error) {
	base, err := url.Parse(server)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, fmt.Errorf("%q is no address of a server, such as http://localhost:8080", server)
	}
	return &Client{base: base, token: token, http: &http.Client{}}, nil
}

// Query implements query.Answerer.
func (c *Client) Query(ctx context.Context, r query.Request, out query.Sink) (*query.Summary, error) {
	body := map[string]any{"sql": r.SQL, "format": format.Arrow}
	for name, t := range map[string]*event.Timestamp{"from": r.From, "to": r.To} {
		if t != nil {
			body[name] = t.String()
		}
	}
	if r.Snapshot != "" {
		body["snapshot"] = r.Snapshot
	}
	if r.Limit > 0 {
		body["limit"] = r.Limit
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	resp, err := c.send(ctx, http.MethodPost, c.base.JoinPath("v1/query"), r.Tenant, text)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if err := format.ReadArrow(resp.Body, out); err != nil {
		return nil, err
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil { // to the trailers
		return nil, fmt.Errorf("the answer was cut off: %w", err)
	}
	return summary(resp)
}

// summary is in the headers of short answers, in the trailers of long ones.
func summary(resp *http.Response) (*query.Summary, error) {
	from := resp.Header
	if from.Get(format.StatisticsHeader) == "" {
		from = resp.Trailer
	}
	var stats format.Statistics
	if err := json.Unmarshal([]byte(from.Get(format.StatisticsHeader)), &stats); err != nil {
		return nil, fmt.Errorf("the server's statistics cannot be read: %w", err)
	}
	return stats.Summary(from.Get(format.SnapshotHeader)), nil
}

// Schema implements query.Answerer.
func (c *Client) Schema(ctx context.Context, tenant event.TenantID, table string, from, to *event.Timestamp) (*query.Schema, error) {
	params := url.Values{"table": {table}}
	for name, t := range map[string]*event.Timestamp{"from": from, "to": to} {
		if t != nil {
			params.Set(name, t.String())
		}
	}
	at := c.base.JoinPath("v1/schema")
	at.RawQuery = params.Encode()
	resp, err := c.send(ctx, http.MethodGet, at, tenant, nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var s query.Schema
	if err := json.NewDecoder(resp.Body).Decode(&s); err != nil {
		return nil, fmt.Errorf("the server's answer cannot be read: %w", err)
	}
	return &s, nil
}

// send gives an answer with status 200, or the server's error.
func (c *Client) send(ctx context.Context, method string, at *url.URL, tenant event.TenantID, body []byte) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, at.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if tenant != "" {
		r.Header.Set(access.TenantHeader, string(tenant))
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	if len(body) > 0 {
		r.Header.Set("Content-Type", format.JSON.ContentType())
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, errorOf(resp)
}

// errorBytes bounds what is read of an answer that is an error.
const errorBytes = 1 << 20

// errorOf is the server's error, or what some other server said.
func errorOf(resp *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(resp.Body, errorBytes))
	if err != nil {
		return fmt.Errorf("the server answered %s, and then: %w", resp.Status, err)
	}
	var answer struct{ Error *format.Error }
	if json.Unmarshal(text, &answer) == nil && answer.Error != nil && answer.Error.Code != "" {
		return answer.Error.Fail()
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return fmt.Errorf("%s answered %s: %.200q; is it a Togo server with the role query?", resp.Request.URL.Host, resp.Status, line)
}
