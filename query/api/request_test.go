package api

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/togodb/togo/query/fail"
)

// FuzzDecode: whatever is sent is a request with SQL, or an error that has a code.
func FuzzDecode(f *testing.F) {
	f.Add(false, "", "sql=x&from=2026-01-01&limit=1", "*/*", "")
	f.Add(true, "application/json", "", "", `{"sql":"x","from":1,"to":"2026-01-01","limit":9,"format":"csv"}`)
	f.Add(true, "application/json", "", "", `{"sql":null,"sql":{"a":[1e999]}}`)
	f.Add(true, "application/x-www-form-urlencoded", "limit=9", "text/csv;q=x", "sql=x&to=1")
	f.Add(true, "text/plain;=", "%", ",;q", "select \xff")
	f.Fuzz(func(t *testing.T, post bool, contentType, query, accept, body string) {
		r := httptest.NewRequest(http.MethodGet, "/v1/query", nil)
		if post {
			r = httptest.NewRequest(http.MethodPost, "/v1/query", strings.NewReader(body))
			r.Header.Set("Content-Type", contentType)
		}
		r.URL.RawQuery = query
		r.Header.Set("Accept", accept)
		a, err := decode(r, 1000)
		var e *fail.Error
		switch {
		case err != nil && (!errors.As(err, &e) || e.Code != fail.Request && e.Code != fail.TooLarge || !utf8.ValidString(e.Message)):
			t.Errorf("%v", err)
		case err == nil && (strings.TrimSpace(a.query.SQL) == "" || a.format == "" || a.query.Limit < 0 || a.query.Tenant != ""):
			t.Errorf("%+v", a)
		}
	})
}
