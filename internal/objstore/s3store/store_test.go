package s3store

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/togodb/togo/internal/objstore"
)

// fakeStore answers each request as a test says.
func fakeStore(t *testing.T, tls bool, change func(*Config), answer http.HandlerFunc) *Store {
	t.Helper()
	for _, name := range []string{"AWS_CA_BUNDLE", "AWS_PROFILE", "AWS_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"} {
		t.Setenv(name, "") // the machine's own settings are none of the test's
	}
	server := httptest.NewUnstartedServer(answer)
	if tls {
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	c := Config{
		Bucket: "bucket", Prefix: "pre/fix", Endpoint: server.URL, Region: "us-east-1", PathStyle: true,
		AccessKeyID: "key", SecretAccessKey: "secret", MaxRetryPause: time.Millisecond,
	}
	if change != nil {
		change(&c)
	}
	s, err := newStore(t.Context(), c, server.Client())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>as the test says</Message></Error>", code)
}

func TestAnswersBecomeSentinels(t *testing.T) {
	ctx := t.Context()
	put := func(s *Store) error { return s.Put(ctx, "k", []byte("x")) }
	create := func(s *Store) error { return s.PutIfAbsent(ctx, "k", []byte("x")) }
	get := func(s *Store) error { _, err := s.Get(ctx, "k"); return err }
	part := func(s *Store) error { _, err := s.GetRange(ctx, "k", 5, 5); return err }
	list := func(s *Store) (last error) {
		for _, err := range s.List(ctx, "", "") {
			last = err
		}
		return last
	}
	all := []error{objstore.ErrNotFound, objstore.ErrExists, objstore.ErrConflict, objstore.ErrRange, objstore.ErrUnavailable, objstore.ErrInvalidKey}
	for _, c := range []struct {
		name   string
		do     func(*Store) error
		status int
		code   string
		want   error // nil: an error that is none of the sentinels
	}{
		{"create", create, 412, "PreconditionFailed", objstore.ErrExists},
		{"create", create, 409, "ConditionalRequestConflict", objstore.ErrConflict},
		{"create beside a delete", create, 404, "NoSuchKey", objstore.ErrConflict},
		{"create", create, 503, "SlowDown", objstore.ErrUnavailable},
		{"create", create, 429, "TooManyRequests", objstore.ErrUnavailable},
		{"create", create, 500, "InternalError", nil},
		{"create", create, 403, "AccessDenied", nil},
		{"create", create, 404, "NoSuchBucket", nil},
		{"create", create, 409, "ObjectParentIsFile", objstore.ErrInvalidKey},
		{"put", put, 409, "OperationAborted", objstore.ErrConflict},
		{"put", put, 404, "NoSuchBucket", nil},
		{"put", put, 412, "PreconditionFailed", nil},
		{"get", get, 404, "NoSuchKey", objstore.ErrNotFound},
		{"get", get, 404, "NoSuchBucket", nil},
		{"get", get, 403, "AccessDenied", nil},
		{"get", get, 503, "ServiceUnavailable", objstore.ErrUnavailable},
		{"range", part, 416, "InvalidRange", objstore.ErrRange},
		{"range", part, 404, "NoSuchKey", objstore.ErrNotFound},
		{"list", list, 404, "NoSuchBucket", nil},
		{"list", list, 503, "SlowDown", objstore.ErrUnavailable},
	} {
		t.Run(fmt.Sprint(c.name, " ", c.status, " ", c.code), func(t *testing.T) {
			var requests atomic.Int32
			s := fakeStore(t, false, nil, func(w http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				refuse(w, c.status, c.code)
			})
			err := c.do(s)
			if err == nil {
				t.Fatal("no error")
			}
			for _, sentinel := range all {
				if errors.Is(err, sentinel) != (sentinel == c.want) {
					t.Errorf("is %q: %t, of %v", sentinel, errors.Is(err, sentinel), err)
				}
			}
			if n := requests.Load(); n > folderTries || n > 3 && c.code != "ObjectParentIsFile" {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// TestFault_503: 503 for the first tries of each key.
func TestFault_503(t *testing.T) {
	var mu sync.Mutex
	tries := map[string]int{}
	stored := map[string][]byte{}
	s := fakeStore(t, false, nil, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		if tries[r.URL.Path]++; tries[r.URL.Path] < 3 {
			refuse(w, 503, "SlowDown")
			return
		}
		if r.Header.Get("If-None-Match") != "*" {
			t.Error("the condition is lost")
		}
		stored[r.URL.Path] = body
	})
	for i := range 5 {
		body := strings.Repeat(fmt.Sprint(i), 100_000)
		if err := s.PutIfAbsent(t.Context(), fmt.Sprint("k", i), []byte(body)); err != nil {
			t.Fatal(err)
		}
		if got := stored[fmt.Sprint("/bucket/pre/fix/k", i)]; string(got) != body {
			t.Errorf("%d of %d bytes arrived", len(got), len(body))
		}
	}
}

func TestFault_checksums(t *testing.T) {
	for _, tls := range []bool{false, true} {
		for code, status := range map[string]int{"NotImplemented": 501, "XAmzContentSHA256Mismatch": 400, "MissingContentLength": 411, "SignatureDoesNotMatch": 403} {
			t.Run(fmt.Sprint(code, " over TLS ", tls), func(t *testing.T) {
				answer := func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					for name := range r.Header {
						if lower := strings.ToLower(name); strings.HasPrefix(lower, "x-amz-checksum") || lower == "x-amz-trailer" || lower == "x-amz-sdk-checksum-algorithm" {
							refuse(w, status, code)
							return
						}
					}
				}
				err := fakeStore(t, tls, nil, answer).Put(t.Context(), "k", []byte("x"))
				if err == nil || !strings.Contains(err.Error(), "`checksum: when_required`") {
					t.Errorf("with checksums: %v", err)
				}
				required := func(c *Config) { c.Checksum = ChecksumWhenRequired }
				if err := fakeStore(t, tls, required, answer).Put(t.Context(), "k", []byte("x")); err != nil {
					t.Errorf("without: %v", err)
				}
			})
		}
	}
	denied := fakeStore(t, false, nil, func(w http.ResponseWriter, r *http.Request) { refuse(w, 403, "AccessDenied") })
	if err := denied.Put(t.Context(), "k", nil); err == nil || strings.Contains(err.Error(), "checksum:") {
		t.Errorf("another refusal: %v", err)
	}
}

func TestAnswersThatBreakOff(t *testing.T) {
	const text = "0123456789"
	var requests atomic.Int32
	var broken int32 // so many answers break off
	s := fakeStore(t, false, nil, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(text)))
		if requests.Add(1) <= broken {
			_, _ = io.WriteString(w, text[:4])
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, text)
	})
	broken = 2
	if got, err := s.Get(t.Context(), "k"); string(got) != text || err != nil {
		t.Errorf("two answers break off: %q, %v", got, err)
	}
	requests.Store(0)
	broken = 100
	if got, err := s.Get(t.Context(), "k"); err == nil || got != nil || requests.Load() != 3 {
		t.Errorf("all answers break off: %q, %v after %d requests", got, err, requests.Load())
	}
	// A store that knows no ranges sends the whole.
	requests.Store(100)
	if got, err := s.GetRange(t.Context(), "k", -3, 2); string(got) != "78" || err != nil {
		t.Errorf("a range from a store that sends the whole: %q, %v", got, err)
	}
	if got, err := s.GetRange(t.Context(), "k", 2, 3); string(got) != "234" || err != nil {
		t.Errorf("a range from a store that sends the whole: %q, %v", got, err)
	}
}

func TestFault_hung_store(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer server.Close()
	defer close(release)
	s, err := New(t.Context(), Config{
		Bucket: "b", Endpoint: server.URL, PathStyle: true, AccessKeyID: "k", SecretAccessKey: "s",
		MaxAttempts: 1, RequestTimeout: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	// The context has no end: the request has.
	if err := s.PutIfAbsent(context.Background(), "k", nil); err == nil {
		t.Error("no error")
	}
}

func TestDeletesInBatches(t *testing.T) {
	type request struct {
		Objects []struct{ Key string } `xml:"Object"`
	}
	var batches []int
	s := fakeStore(t, false, nil, func(w http.ResponseWriter, r *http.Request) {
		var q request
		if err := xml.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		batches = append(batches, len(q.Objects))
		if len(batches) == 2 {
			refuse(w, 403, "AccessDenied")
			return
		}
		fmt.Fprint(w, "<DeleteResult>")
		for _, o := range q.Objects {
			switch o.Key {
			case "pre/fix/k0007":
				fmt.Fprintf(w, "<Error><Key>%s</Key><Code>AccessDenied</Code></Error>", o.Key)
			case "pre/fix/k0008":
				fmt.Fprintf(w, "<Error><Key>%s</Key><Code>SlowDown</Code></Error>", o.Key)
			case "pre/fix/k0009":
				fmt.Fprintf(w, "<Error><Key>%s</Key><Code>NoSuchKey</Code></Error>", o.Key)
			}
		}
		fmt.Fprint(w, "</DeleteResult>")
	})
	var keys []string
	for i := range 2500 {
		keys = append(keys, fmt.Sprintf("k%04d", i))
	}
	err := s.Delete(t.Context(), keys...)
	var left *objstore.DeleteError
	if !errors.As(err, &left) {
		t.Fatal(err)
	}
	want := append([]string{"k0007", "k0008"}, keys[1000:2000]...)
	if !slices.Equal(left.Keys(), want) || !slices.Equal(batches, []int{1000, 1000, 500}) {
		t.Errorf("batches of %v left %d keys, want %d", batches, len(left.Left), len(want))
	}
	if !errors.Is(left.Left["k0008"], objstore.ErrUnavailable) || errors.Is(left.Left["k0007"], objstore.ErrUnavailable) {
		t.Errorf("reasons: %v; %v", left.Left["k0007"], left.Left["k0008"])
	}
}

func TestListingsThatCannotBe(t *testing.T) {
	for name, keys := range map[string][]string{"out of order": {"pre/fix/b", "pre/fix/a"}, "another prefix": {"other/a"}} {
		s := fakeStore(t, false, nil, func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, "<ListBucketResult>")
			for _, key := range keys {
				fmt.Fprintf(w, "<Contents><Key>%s</Key><Size>1</Size></Contents>", key)
			}
			fmt.Fprint(w, "</ListBucketResult>")
		})
		var last error
		for _, err := range s.List(t.Context(), "", "") {
			last = err
		}
		if last == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestDateIsTheStoresOwn(t *testing.T) {
	want := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
	s := fakeStore(t, false, nil, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", want.Format(http.TimeFormat))
	})
	if got, err := s.Date(t.Context()); !got.Equal(want) || err != nil {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
	none := fakeStore(t, false, nil, func(w http.ResponseWriter, r *http.Request) { w.Header()["Date"] = nil })
	if got, err := none.Date(t.Context()); err == nil {
		t.Errorf("an answer without a date: %s", got)
	}
}

func TestConfigValidate(t *testing.T) {
	if err := (Config{Bucket: "b"}).Validate(); err != nil {
		t.Error(err)
	}
	for want, c := range map[string]Config{
		"no bucket":            {},
		"prefix of 24 bytes":   {Bucket: "b", Prefix: strings.Repeat("p", 24)},
		"prefix: invalid":      {Bucket: "b", Prefix: "a//b"},
		"is no http":           {Bucket: "b", Endpoint: "localhost:9000"},
		"need both":            {Bucket: "b", AccessKeyID: "a"},
		"checksum \"never\"":   {Bucket: "b", Checksum: "never"},
		"100 attempts":         {Bucket: "b", MaxAttempts: 100},
		"request timeout 1ms":  {Bucket: "b", RequestTimeout: time.Millisecond},
		"both the access key ": {Bucket: "b", SessionToken: "t"},
	} {
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", c, err, want)
		}
		if _, err := New(t.Context(), c); err == nil {
			t.Errorf("New took %+v", c)
		}
	}
}
