package chaos

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

// echo answers each line with itself, and tells which lines it got.
func echo(t *testing.T) (addr string, got chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	got = make(chan string, 100)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for s := bufio.NewScanner(c); s.Scan(); {
					got <- s.Text()
					fmt.Fprintln(c, s.Text())
				}
			}()
		}
	}()
	return l.Addr().String(), got
}

// ask sends a line and waits for its answer.
func ask(c net.Conn, in *bufio.Reader, line string, patience time.Duration) (string, error) {
	if _, err := fmt.Fprintln(c, line); err != nil {
		return "", err
	}
	if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	text, err := in.ReadString('\n')
	return strings.TrimSpace(text), err
}

// TestEachHarm: what the client sees of its answer, and what the server was asked.
func TestEachHarm(t *testing.T) {
	addr, got := echo(t)
	for _, c := range []struct {
		harm     Harm
		reaches  bool // the request, while the harm lasts
		survives bool // the connection
	}{{LoseAnswers, true, false}, {Reset, false, false}, {Stall, false, true}} {
		w, err := NewWire(addr, 1)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := net.Dial("tcp", w.Addr)
		if err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReader(conn)
		if text, err := ask(conn, in, "before", time.Minute); err != nil || text != "before" {
			t.Fatalf("%s: before: %q, %v", c.harm, text, err)
		}
		<-got
		during := func() {
			if text, err := ask(conn, in, "during", 100*time.Millisecond); err == nil {
				t.Errorf("%s: an answer while it lasts: %q", c.harm, text)
			}
			select {
			case <-got:
				if !c.reaches {
					t.Errorf("%s: the request reached the server", c.harm)
				}
			case <-time.After(100 * time.Millisecond):
				if c.reaches {
					t.Errorf("%s: the request did not reach the server", c.harm)
				}
			}
		}
		for w.Hurt(c.harm, during) == 0 { // by chance it hits nobody
		}
		if c.harm == Reset {
			during()
		}
		text, err := ask(conn, in, "after", 10*time.Second)
		if survives := err == nil && text == "during"; survives != c.survives { // the stalled answer comes first
			t.Errorf("%s: after: %q, %v", c.harm, text, err)
		}
		for len(got) > 0 {
			<-got
		}
		conn.Close()
		w.Close()
	}
}
