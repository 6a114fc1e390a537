package chaos

import (
	"io"
	"math/rand/v2"
	"net"
	"sync"
)

// Wire stands between the processes and the broker, byte by byte, and can go bad for
// some of the connections.
type Wire struct {
	Addr string

	target   string // host:port of the broker
	listener net.Listener
	accepted sync.WaitGroup

	mu     sync.Mutex
	rng    *rand.Rand         // guarded by mu
	links  map[*link]struct{} // guarded by mu
	closed bool               // guarded by mu
}

// link is one connection through the wire.
type link struct {
	client, server net.Conn

	mu    sync.Mutex
	still sync.Cond // mute or open has changed
	mute  bool      // answers are not passed on; guarded by mu
	deaf  bool      // requests are not passed on either; guarded by mu
	over  bool      // guarded by mu
}

// harms are all of them.
var harms = []Harm{LoseAnswers, Reset, Stall}

// Harm is what happens to a connection.
type Harm string

// The harms: the first two lose answers to requests that the broker has done.
const (
	LoseAnswers Harm = "answers lost, then reset"
	Reset       Harm = "reset"
	Stall       Harm = "silent both ways for seconds"
)

// NewWire listens on a loopback port.
func NewWire(target string, seed uint64) (*Wire, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &Wire{Addr: l.Addr().String(), listener: l, target: target, rng: rand.New(rand.NewPCG(seed, 3)), links: map[*link]struct{}{}}
	w.accepted.Add(1)
	go w.accept()
	return w, nil
}

func (w *Wire) accept() {
	defer w.accepted.Done()
	for {
		client, err := w.listener.Accept()
		if err != nil {
			return // closed
		}
		w.accepted.Add(1)
		go func() {
			defer w.accepted.Done()
			w.connect(client)
		}()
	}
}

// connect passes a connection on until either side ends it.
func (w *Wire) connect(client net.Conn) {
	server, err := net.Dial("tcp", w.target)
	if err != nil {
		reset(client) // the broker is down
		return
	}
	l := &link{client: client, server: server}
	l.still.L = &l.mu
	w.mu.Lock()
	w.links[l] = struct{}{}
	closed := w.closed
	w.mu.Unlock()
	if closed {
		l.end()
	}
	var both sync.WaitGroup
	both.Add(2)
	for _, way := range []struct {
		from, to net.Conn
		blocked  func() bool
	}{
		{client, server, func() bool { return l.deaf }},
		{server, client, func() bool { return l.mute }},
	} {
		go func() {
			defer both.Done()
			l.pass(way.from, way.to, way.blocked)
			l.end()
		}()
	}
	both.Wait()
	w.mu.Lock()
	delete(w.links, l)
	w.mu.Unlock()
}

// pass copies bytes; what comes while it is blocked waits.
func (l *link) pass(from io.Reader, to io.Writer, blocked func() bool) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		l.mu.Lock()
		for blocked() && !l.over {
			l.still.Wait()
		}
		over := l.over
		l.mu.Unlock()
		if over {
			return
		}
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// end resets both sides.
func (l *link) end() {
	l.mu.Lock()
	l.over = true
	l.still.Broadcast()
	l.mu.Unlock()
	reset(l.client)
	reset(l.server)
}

func (l *link) set(mute, deaf bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mute, l.deaf = mute, deaf
	l.still.Broadcast()
}

// hurtShare of the connections suffer a harm.
const hurtShare = 0.3

// Hurt does the harm to some of the connections while wait lasts, and says to how many.
func (w *Wire) Hurt(h Harm, wait func()) int {
	w.mu.Lock()
	var hurt []*link
	for l := range w.links {
		if w.rng.Float64() < hurtShare {
			hurt = append(hurt, l)
		}
	}
	w.mu.Unlock()
	if len(hurt) == 0 {
		return 0
	}
	for _, l := range hurt {
		l.set(h != Reset, h == Stall)
	}
	if h != Reset {
		wait()
	}
	for _, l := range hurt {
		if h == Stall {
			l.set(false, false)
			continue
		}
		l.end()
	}
	return len(hurt)
}

// Close ends the wire and every connection.
func (w *Wire) Close() {
	w.listener.Close()
	w.mu.Lock()
	w.closed = true
	for l := range w.links {
		go l.end() // w.accepted waits for what it ends
	}
	w.mu.Unlock()
	w.accepted.Wait()
}

func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	c.Close()
}
