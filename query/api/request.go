package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/query"
	"github.com/togodb/togo/query/api/format"
	"github.com/togodb/togo/query/fail"
)

// asked is a request that was understood; the tenant is not of it.
type asked struct {
	query  query.Request
	format format.Format
}

// parameters of /v1/query, in URLs, forms and JSON alike.
var parameters = []string{"sql", "from", "to", "snapshot", "limit", "format"}

// decode reads a request of /v1/query. Whatever is sent, it is a request or a *fail.Error.
func decode(r *http.Request, maxBody int64) (*asked, error) {
	values, err := parseParameters(r.URL.RawQuery, parameters)
	if err != nil {
		return nil, err
	}
	if r.Method == http.MethodPost {
		body, err := readBody(r, maxBody)
		if err != nil {
			return nil, err
		}
		in, err := decodeBody(r.Header.Get("Content-Type"), body)
		if err != nil {
			return nil, err
		}
		for name, value := range in {
			if _, twice := values[name]; twice {
				return nil, fail.New(fail.Request, "%s stands in the URL and in the body", name)
			}
			values[name] = value
		}
	}
	return understand(values, r.Header.Values("Accept"))
}

// readBody takes no more than the limit.
func readBody(r *http.Request, most int64) ([]byte, error) {
	if e := r.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return nil, fail.New(fail.Request, "content encoding %q: send the body unpacked", e)
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, most+1))
	if err != nil {
		return nil, &fail.Error{Code: fail.Request, Message: "the body ended early", Err: err}
	}
	if int64(len(body)) > most {
		return nil, fail.New(fail.TooLarge, "the body is larger than %d bytes (query.max_body_bytes)", most)
	}
	return body, nil
}

// formBody is how a form begins, and no SQL does: curl says application/x-www-form-urlencoded of SQL, too.
var formBody = regexp.MustCompile(`^(` + strings.Join(parameters, "|") + `)=`)

// decodeBody reads SQL, a form or a JSON object.
func decodeBody(contentType string, body []byte) (map[string]string, error) {
	media := "text/plain"
	if contentType != "" {
		var err error
		if media, _, err = mime.ParseMediaType(contentType); err != nil {
			return nil, fail.New(fail.Request, "header Content-Type: %v", err)
		}
	}
	switch {
	case media == "application/json":
		return decodeJSON(body)
	case media == "application/x-www-form-urlencoded" && formBody.Match(body):
		return parseParameters(string(body), parameters)
	case media == "multipart/form-data":
		return nil, fail.New(fail.Request, "send the SQL as the body itself, or as JSON, not as a form of parts")
	}
	if len(body) == 0 {
		return nil, nil // the SQL may stand in the URL
	}
	return map[string]string{"sql": string(body)}, nil
}

// parseParameters reads a query string: known names, each once.
func parseParameters(raw string, known []string) (map[string]string, error) {
	all, err := url.ParseQuery(raw)
	if err != nil {
		return nil, fail.New(fail.Request, "the parameters cannot be read: %v", err)
	}
	out := map[string]string{}
	for name, values := range all {
		if err := checkName(name, known); err != nil {
			return nil, err
		}
		if len(values) > 1 {
			return nil, fail.New(fail.Request, "the parameter %s stands more than once", name)
		}
		out[name] = values[0]
	}
	return out, nil
}

func checkName(name string, known []string) error {
	for _, k := range known {
		if name == k {
			return nil
		}
	}
	switch strings.ToLower(name) {
	case "tenant", "tenant_id", "x-scope-orgid", "org_id", "orgid":
		return fail.New(fail.Request, "the tenant is named by the header X-Scope-OrgID alone, not by %q", name)
	case "query", "q":
		return fail.New(fail.Request, "there is no parameter %q; the text of the query is sql", name)
	}
	return fail.New(fail.Request, "there is no parameter %q, but %s", name, strings.Join(known, ", "))
}

// decodeJSON reads an object of strings and, for some, numbers; names are taken exactly, and each once.
func decodeJSON(body []byte) (map[string]string, error) {
	if !utf8.Valid(body) {
		return nil, fail.New(fail.Request, "the body is not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, notJSON(err)
	}
	out := map[string]string{}
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		if err != nil || !ok {
			return nil, notJSON(err)
		}
		if err := checkName(name, parameters); err != nil {
			return nil, err
		}
		if _, twice := out[name]; twice {
			return nil, fail.New(fail.Request, "%s stands more than once in the body", name)
		}
		value, err := d.Token()
		if err != nil {
			return nil, notJSON(err)
		}
		switch v := value.(type) {
		case string:
			out[name] = v
		case json.Number:
			if name != "limit" && name != "from" && name != "to" {
				return nil, fail.New(fail.Request, "%s is no text", name)
			}
			out[name] = v.String()
		case nil: // as if it were not there
		default:
			return nil, fail.New(fail.Request, "%s is neither a text nor a number", name)
		}
	}
	if _, err := d.Token(); err != nil { // the closing brace
		return nil, notJSON(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fail.New(fail.Request, "there is more behind the JSON object of the body")
	}
	return out, nil
}

func notJSON(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return fail.New(fail.Request, `the body is no JSON object, such as {"sql": "select count(*) from events"}`)
	}
	return fail.New(fail.Request, "the body is no JSON: %v", err)
}

// understand gives the parameters their meaning.
func understand(values map[string]string, accept []string) (*asked, error) {
	var a asked
	a.query.SQL = values["sql"]
	if strings.TrimSpace(a.query.SQL) == "" {
		return nil, fail.New(fail.Request, "there is no SQL: send it as the body of POST /v1/query, as sql in a JSON body, or as the parameter sql")
	}
	if !utf8.ValidString(a.query.SQL) {
		return nil, fail.New(fail.Request, "the SQL is not UTF-8")
	}
	a.query.Snapshot = values["snapshot"]
	var err error
	if a.query.From, a.query.To, err = span(values); err != nil {
		return nil, err
	}
	if text, ok := values["limit"]; ok {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 {
			return nil, fail.New(fail.Request, "limit: %q is no whole number above 0", clip(text))
		}
		a.query.Limit = n
	}
	if name, ok := values["format"]; ok {
		a.format, err = format.Parse(name)
	} else {
		a.format, err = format.Accepted(strings.Join(accept, ","))
	}
	if err != nil {
		return nil, fail.New(fail.Request, "%v", err)
	}
	return &a, nil
}

// span reads from and to.
func span(values map[string]string) (from, to *event.Timestamp, err error) {
	for _, bound := range []struct {
		name string
		at   **event.Timestamp
	}{{"from", &from}, {"to", &to}} {
		text, ok := values[bound.name]
		if !ok || text == "" {
			continue
		}
		t, ok := parseTime(text)
		if !ok {
			return nil, nil, fail.New(fail.Request, "%s: %q is no time; write 2026-01-02T15:04:05Z, 2026-01-02 (UTC), or milliseconds since 1970", bound.name, clip(text))
		}
		*bound.at = &t
	}
	if from != nil && to != nil && *from > *to {
		return nil, nil, fail.New(fail.Request, "from is later than to")
	}
	return from, to, nil
}

// parseTime reads RFC 3339, the same without zone (UTC) or without a time of day, or milliseconds since 1970, as JavaScript and
// dashboards have them. Times beyond what 64-bit nanoseconds hold become the nearest that they do.
func parseTime(text string) (event.Timestamp, bool) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return clamp(time.UnixMilli(n)), true
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return clamp(t), true
		}
	}
	return 0, false
}

func clamp(t time.Time) event.Timestamp {
	switch {
	case t.Before(time.Unix(0, math.MinInt64)):
		return math.MinInt64
	case t.After(time.Unix(0, math.MaxInt64)):
		return math.MaxInt64
	}
	return event.Timestamp(t.UnixNano())
}

// clip bounds what is repeated of a request.
func clip(s string) string {
	const most = 100
	if len(s) <= most {
		return s
	}
	return fmt.Sprintf("%s... (%d bytes)", strings.ToValidUTF8(s[:most], ""), len(s))
}
