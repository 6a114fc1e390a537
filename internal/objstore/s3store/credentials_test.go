package s3store

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestFault_credentials: credentials that are out of date with the next request, from a service that fails once. The
// write meanwhile is an error, which its caller tries again, and then the store works with new ones: no
// restart.
func TestFault_credentials(t *testing.T) {
	var asked, down atomic.Int32
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down.Load() > 0 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		n := asked.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"AccessKeyId": "key" + string('0'+rune(n%10)), "SecretAccessKey": "secret", "Token": "token",
			"Expiration": time.Now().UTC().Format(time.RFC3339Nano),
		})
	}))
	defer service.Close()
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", t.TempDir()+"/none")
	t.Setenv("AWS_CONFIG_FILE", t.TempDir()+"/none")
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", service.URL)
	var mu sync.Mutex
	keys := map[string]bool{}
	s := fakeStore(t, false, func(c *Config) { c.AccessKeyID, c.SecretAccessKey = "", "" }, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, rest, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
		key, _, _ := strings.Cut(rest, "/")
		mu.Lock()
		keys[key] = true
		mu.Unlock()
	})
	put := func() error { return s.Put(t.Context(), "k", []byte("x")) }
	if err := put(); err != nil {
		t.Fatal(err)
	}
	down.Store(1)
	if err := put(); err == nil {
		t.Error("a write without credentials succeeds")
	} else {
		t.Logf("meanwhile: %v", err)
	}
	down.Store(0)
	if err := put(); err != nil {
		t.Errorf("after the refresh: %v", err)
	}
	if len(keys) < 2 || asked.Load() < 2 {
		t.Errorf("keys %v, asked %d times", keys, asked.Load())
	}
}
