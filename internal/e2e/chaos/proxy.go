package chaos

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"
)

// Trouble is what the proxy does to a request.
type Trouble string

// The troubles. Those "after" come when the server has done what was asked.
const (
	None         Trouble = ""
	Refuse500    Trouble = "500 before"
	Refuse503    Trouble = "503 before"
	ResetBefore  Trouble = "reset before"
	Answer500    Trouble = "500 after"
	LoseAnswer   Trouble = "answer lost"
	CutAnswer    Trouble = "answer cut short"
	DelayAnswer  Trouble = "answer delayed"
	DelayRequest Trouble = "request delayed"                // by less than the client waits
	LateRequest  Trouble = "lands after the client gave up" // writes only
)

// weights say how often a trouble is picked among others.
var weights = []struct {
	trouble Trouble
	weight  int
}{
	{Refuse500, 2}, {Refuse503, 3}, {ResetBefore, 2}, {Answer500, 3}, {LoseAnswer, 4},
	{CutAnswer, 1}, {DelayAnswer, 2}, {DelayRequest, 2}, {LateRequest, 3},
}

// Proxy stands between the processes and the S3 server.
type Proxy struct {
	Endpoint string

	target     string        // host:port of the server
	patience   time.Duration // what the clients wait for an answer
	server     *http.Server
	client     http.RoundTripper
	background sync.WaitGroup  // late requests
	ctx        context.Context // of late requests
	cancel     context.CancelFunc

	always Trouble // a test's wish

	mu     sync.Mutex
	rng    *rand.Rand      // guarded by mu
	rate   float64         // share of requests that get into trouble; guarded by mu
	counts map[Trouble]int // guarded by mu
	total  int             // guarded by mu
}

// NewProxy listens on a loopback port.
func NewProxy(target string, patience time.Duration, seed uint64) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{
		Endpoint: "http://" + l.Addr().String(), target: target, patience: patience,
		client: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 256},
		rng:    rand.New(rand.NewPCG(seed, 1)), counts: map[Trouble]int{},
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.server = &http.Server{Handler: p}
	go func() { _ = p.server.Serve(l) }() // ends with Close
	return p, nil
}

// Close ends the proxy; late requests never land.
func (p *Proxy) Close() {
	p.cancel()
	_ = p.server.Close()
	p.background.Wait()
}

// Settle waits until all late requests have landed.
func (p *Proxy) Settle() { p.background.Wait() }

// SetRate sets the share of requests that get into trouble.
func (p *Proxy) SetRate(rate float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rate = rate
}

// Counts are the troubles so far, and all requests.
func (p *Proxy) Counts() (map[Trouble]int, int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := map[Trouble]int{}
	for t, n := range p.counts {
		out[t] = n
	}
	return out, p.total
}

// pick decides what becomes of a request, and of a delay between 0 and 1.
func (p *Proxy) pick(method string) (Trouble, float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total++
	if p.always != None {
		return p.always, 0
	}
	if p.rng.Float64() >= p.rate {
		return None, 0
	}
	sum := 0
	for _, w := range weights {
		sum += w.weight
	}
	at := p.rng.IntN(sum)
	picked := None
	for _, w := range weights {
		if at -= w.weight; at < 0 {
			picked = w.trouble
			break
		}
	}
	if picked == LateRequest && method != http.MethodPut {
		picked = LoseAnswer
	}
	p.counts[picked]++
	return picked, p.rng.Float64()
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	trouble, fraction := p.pick(r.Method)
	part := time.Duration(fraction * float64(p.patience))
	switch trouble {
	case Refuse500:
		refuse(w, http.StatusInternalServerError, "InternalError")
		return
	case Refuse503:
		refuse(w, http.StatusServiceUnavailable, "SlowDown")
		return
	case ResetBefore:
		hangUp(w)
		return
	case LateRequest:
		p.late(r, body, fraction)
		<-r.Context().Done() // the client has given up
		return
	case DelayRequest:
		sleep(r.Context(), part)
	}
	// What the server was asked for it does, whether or not the client still waits.
	answer, text, err := p.forward(context.WithoutCancel(r.Context()), r, body)
	if err != nil {
		hangUp(w) // the server is down
		return
	}
	switch trouble {
	case Answer500:
		refuse(w, http.StatusInternalServerError, "InternalError")
		return
	case LoseAnswer:
		hangUp(w)
		return
	case DelayAnswer:
		sleep(r.Context(), 2*part)
	}
	for name, values := range answer.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.StatusCode)
	if trouble == CutAnswer && len(text) > 0 {
		_, _ = w.Write(text[:len(text)/2])
		_ = http.NewResponseController(w).Flush()
		hangUp(w)
		return
	}
	_, _ = w.Write(text) // an error is the client's that has gone
}

// late has a request land when its client has given up and tried again: soon
// after, or long after others have taken over.
func (p *Proxy) late(r *http.Request, body []byte, fraction float64) {
	after := time.Duration((1.5 + fraction) * float64(p.patience))
	if fraction > 0.6 {
		after = time.Duration(10 * fraction * float64(p.patience))
	}
	copied := r.Clone(p.ctx)
	p.background.Add(1)
	go func() {
		defer p.background.Done()
		for sleep(p.ctx, after) {
			if _, _, err := p.forward(p.ctx, copied, body); err == nil {
				return
			}
			after = p.patience / 10 // the server is down just then
		}
	}()
}

// forward passes a request on as it is: its signature covers the host that the
// client knows.
func (p *Proxy) forward(ctx context.Context, r *http.Request, body []byte) (*http.Response, []byte, error) {
	out := r.Clone(ctx)
	out.RequestURI = ""
	out.URL.Scheme, out.URL.Host = "http", p.target
	out.Host = r.Host
	out.Header.Del("Expect") // the body is here already
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	if len(body) == 0 {
		out.Body = http.NoBody
	}
	answer, err := p.client.RoundTrip(out)
	if err != nil {
		return nil, nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer, text, err
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "<Error><Code>"+code+"</Code><Message>by the proxy</Message></Error>")
}

// hangUp resets the connection.
func hangUp(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // the server closes the connection
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	conn.Close()
}

// sleep waits; false if ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
