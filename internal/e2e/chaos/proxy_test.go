package chaos

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// server notes what it was asked for.
type server struct {
	mu   sync.Mutex
	done []string // guarded by mu
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = append(s.done, r.Method+" "+r.Host+r.URL.RequestURI()+" "+r.Header.Get("X-Amz-Date")+" "+string(body))
	_, _ = io.WriteString(w, strings.Repeat("answer", 100))
}

func (s *server) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.done)
}

// TestEachTrouble: what the client sees, and what the server has done then and later.
func TestEachTrouble(t *testing.T) {
	const patience = 200 * time.Millisecond
	for _, c := range []struct {
		trouble Trouble
		status  int // 0: an error
		atOnce  int // done by the server when the client has its answer
		later   int // done in the end
	}{
		{None, 200, 1, 1},
		{Refuse500, 500, 0, 0},
		{Refuse503, 503, 0, 0},
		{ResetBefore, 0, 0, 0},
		{Answer500, 500, 1, 1},
		{LoseAnswer, 0, 1, 1},
		{CutAnswer, 0, 1, 1},
		{DelayRequest, 200, 1, 1},
		{LateRequest, 0, 0, 1},
	} {
		s := &server{}
		backend := httptest.NewServer(s)
		p, err := NewProxy(strings.TrimPrefix(backend.URL, "http://"), patience, 1)
		if err != nil {
			t.Fatal(err)
		}
		p.always = c.trouble
		req, err := http.NewRequest(http.MethodPut, p.Endpoint+"/a%20b?x=1", strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Amz-Date", "today")
		client := &http.Client{Timeout: patience, Transport: &http.Transport{}}
		status := 0
		if resp, err := client.Do(req); err == nil {
			if _, err = io.ReadAll(resp.Body); err == nil {
				status = resp.StatusCode
			}
			resp.Body.Close()
		}
		if status != c.status || s.count() != c.atOnce {
			t.Errorf("%s: status %d, the server did %d; want %d and %d", c.trouble, status, s.count(), c.status, c.atOnce)
		}
		p.Settle()
		if s.count() != c.later {
			t.Errorf("%s: the server did %d in the end, want %d", c.trouble, s.count(), c.later)
		}
		want := "PUT " + strings.TrimPrefix(p.Endpoint, "http://") + "/a%20b?x=1 today body" // the host is the one that was signed
		if c.later > 0 && s.done[0] != want {
			t.Errorf("%s: the server got %q, want %q", c.trouble, s.done[0], want)
		}
		p.Close()
		backend.Close()
	}
}

// TestRateOfTrouble: none at 0, all at 1, and each kind comes.
func TestRateOfTrouble(t *testing.T) {
	p, err := NewProxy("127.0.0.1:1", time.Second, 7)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for range 1000 {
		if trouble, _ := p.pick(http.MethodPut); trouble != None {
			t.Fatalf("%s without a rate", trouble)
		}
	}
	p.SetRate(1)
	for range 1000 {
		if trouble, _ := p.pick(http.MethodGet); trouble == LateRequest || trouble == None {
			t.Fatalf("a read has trouble %q", trouble)
		}
		p.pick(http.MethodPut)
	}
	counts, total := p.Counts()
	if total != 3000 || len(counts) != len(weights) {
		t.Errorf("%d requests, troubles %v", total, counts)
	}
}
