package chaos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/togodb/togo/internal/e2e/feed"
)

// requestPatience is what a producer waits for an answer over HTTP; then it sends
// the same again, to another process.
const requestPatience = 4 * time.Second

// sending is traffic that goes on until it is told to end.
type sending struct {
	end  chan struct{}
	done sync.WaitGroup
	mu   sync.Mutex
	err  error // guarded by mu
}

// startSending sends to Kafka and over HTTP.
func (r *run) startSending(ctx context.Context) *sending {
	s := &sending{end: make(chan struct{})}
	kafkaRate := max(1, r.Rate*2/3)
	s.loop(func() error { return r.send.SendAll(ctx, r.traffic.take(kafkaTopic, kafkaRate), time.Second) })
	for i := range r.ofRole(intake) {
		s.loop(func() error { return r.request(ctx, i) })
	}
	return s
}

// loop repeats f until the end, or an error.
func (s *sending) loop(f func() error) {
	s.done.Add(1)
	go func() {
		defer s.done.Done()
		for {
			select {
			case <-s.end:
				return
			default:
			}
			if err := f(); err != nil {
				s.mu.Lock()
				s.err = errors.Join(s.err, err)
				s.mu.Unlock()
				return
			}
		}
	}()
}

// stop returns when everything that was sent is acknowledged.
func (s *sending) stop() error {
	close(s.end)
	s.done.Wait()
	return s.err
}

func (r *run) ofRole(role string) (out []*node) {
	for _, n := range r.nodes {
		if n.role == role {
			out = append(out, n)
		}
	}
	return out
}

// request sends one tenant's events over HTTP, again and again until they are
// accepted, and keeps to the rate.
func (r *run) request(ctx context.Context, first int) error {
	began := time.Now()
	tenant, lines := r.traffic.request()
	var body bytes.Buffer
	for _, m := range lines {
		body.Write(append(m.Value, '\n'))
	}
	intakes := r.ofRole(intake)
	for try := first; ; try++ {
		err := post(ctx, intakes[try%len(intakes)].http, tenant, body.Bytes())
		if err == nil {
			break
		}
		if !sleep(ctx, 100*time.Millisecond) {
			return fmt.Errorf("a request with %d events is not accepted: %w", len(lines), err)
		}
	}
	r.mu.Lock()
	for _, m := range lines {
		if n := httpSerial(m.Value); n != 0 {
			r.acked[n] = true
		}
	}
	r.mu.Unlock()
	rate := max(1, r.Rate/3/len(intakes))
	sleep(ctx, time.Until(began.Add(time.Duration(len(lines))*time.Second/time.Duration(rate))))
	return nil
}

func post(ctx context.Context, addr, tenant string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, requestPatience)
	defer cancel()
	return feed.Post(ctx, "http://"+addr+"/v1/ingest", tenant, body)
}

// awaitReady waits until the process says that it does its work.
func (r *run) awaitReady(ctx context.Context, n *node) error {
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.http+"/ready", nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
			err = fmt.Errorf("status %s", resp.Status)
		}
		if !sleep(ctx, 100*time.Millisecond) {
			return fmt.Errorf("%s is not ready: %w (see %s)", n.name, err, n.log.Name())
		}
	}
}
