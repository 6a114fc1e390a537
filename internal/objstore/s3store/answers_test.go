package s3store

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/togodb/togo/internal/chain"
)

// bucket is a server that honours If-None-Match, behind a proxy that spoils answers.
type bucket struct {
	mu      sync.Mutex
	objects map[string]string // guarded by mu
	spoil   []func(w http.ResponseWriter, apply func() int)
}

func (b *bucket) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.Method == http.MethodGet {
		text, ok := b.objects[r.URL.Path]
		if !ok {
			refuse(w, 404, "NoSuchKey")
			return
		}
		_, _ = io.WriteString(w, text)
		return
	}
	apply := func() int {
		if _, exists := b.objects[r.URL.Path]; exists && r.Header.Get("If-None-Match") == "*" {
			return 412
		}
		b.objects[r.URL.Path] = string(body)
		return 200
	}
	if len(b.spoil) > 0 {
		spoil := b.spoil[0]
		b.spoil = b.spoil[1:]
		spoil(w, apply)
		return
	}
	if apply() == 412 {
		refuse(w, 412, "PreconditionFailed")
	}
}

// Answers of the proxy, to writes that were applied and to those that were not.
func lost500(w http.ResponseWriter, apply func() int) { apply(); refuse(w, 500, "InternalError") }
func lostReset(_ http.ResponseWriter, apply func() int) {
	apply()
	panic(http.ErrAbortHandler)
}
func lostTimeout(_ http.ResponseWriter, apply func() int) {
	apply()
	time.Sleep(300 * time.Millisecond)
	panic(http.ErrAbortHandler)
}
func conflict409(w http.ResponseWriter, _ func() int) {
	refuse(w, 409, "ConditionalRequestConflict")
}

// appends writes a record of our nonce to position 1 of a log, through the proxy, after what
// was there before.
func appends(t *testing.T, there string, spoil ...func(http.ResponseWriter, func() int)) (won bool, found string) {
	t.Helper()
	b := &bucket{objects: map[string]string{}, spoil: spoil}
	s := fakeStore(t, false, nil, b.serve)
	l := &chain.Log{Store: s, Prefix: "log", Backoff: chain.Backoff{Min: time.Millisecond, Max: time.Millisecond}}
	if there != "" {
		b.objects["/bucket/pre/fix/"+l.Key(1)] = there
	}
	out, err := l.Append(t.Context(), 1, []byte("ours:record"), func(found []byte) bool { return strings.HasPrefix(string(found), "ours:") })
	if err != nil {
		t.Fatal(err)
	}
	if n := len(b.objects); n != 1 {
		t.Errorf("%d objects", n)
	}
	return out.Won, string(out.Body)
}

// TestFault_lost_answer: a proxy applies a conditional write, and its answer is lost in one of three ways, once or at every
// try of the SDK; the retry sees 412. The record that is there says who won.
func TestFault_lost_answer(t *testing.T) {
	type spoils = []func(http.ResponseWriter, func() int)
	for name, spoil := range map[string]spoils{
		"500": {lost500}, "reset": {lostReset}, "time-out": {lostTimeout}, "500 four times": {lost500, lost500, lost500, lost500}, "all": {lost500, lostReset, lostTimeout, conflict409},
	} {
		t.Run(name, func(t *testing.T) {
			if won, found := appends(t, "", spoil...); !won || found != "ours:record" {
				t.Errorf("won %t, found %q", won, found)
			}
			if won, found := appends(t, "another's:record", spoil...); won || found != "another's:record" {
				t.Errorf("the other's: won %t, found %q", won, found)
			}
		})
	}
}

// TestFault_409_is_not_412: 409, 409, 200; and 409, 412.
func TestFault_409_is_not_412(t *testing.T) {
	for n := range 6 {
		var spoil []func(http.ResponseWriter, func() int)
		for range n {
			spoil = append(spoil, conflict409)
		}
		if won, found := appends(t, "", spoil...); !won || found != "ours:record" {
			t.Errorf("409 %d times, then 200: won %t, found %q", n, won, found)
		}
		if won, found := appends(t, "another's:record", spoil...); won || found != "another's:record" {
			t.Errorf("409 %d times, then 412: won %t, found %q", n, won, found)
		}
	}
}
