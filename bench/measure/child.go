package measure

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// child is one process of a role.
type child struct {
	role string
	addr string // of its HTTP server; "" if it has none
	log  string // the file that it writes to
	cmd  *exec.Cmd
	in   io.WriteCloser // its standard input; only of the generator
	out  io.ReadCloser  // its standard output; only of the generator
	done chan struct{}  // closed when it has ended
	exit error          // valid then

	base time.Duration // CPU time when the load began
	peak int64
}

// start runs the program with args. What it prints goes to a file of its role.
func start(program, folder, role string, args []string, talks bool) (*child, error) {
	c := &child{role: role, log: filepath.Join(folder, role+".log"), done: make(chan struct{})}
	log, err := os.Create(c.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	c.cmd = exec.Command(program, args...)
	c.cmd.Stdout, c.cmd.Stderr = log, log
	if talks {
		c.cmd.Stdout = nil
		if c.out, err = c.cmd.StdoutPipe(); err != nil {
			return nil, err
		}
		if c.in, err = c.cmd.StdinPipe(); err != nil {
			return nil, err
		}
	}
	// A group of its own: Ctrl-C at the terminal reaches the parent alone, which stops its children in order.
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the %s: %w", role, err)
	}
	if !talks {
		go c.wait()
	}
	return c, nil
}

// wait must not run before what the child says was read.
func (c *child) wait() {
	c.exit = c.cmd.Wait()
	close(c.done)
}

func (c *child) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// failure is what a child that ended by itself left in its log.
func (c *child) failure() error {
	text, _ := os.ReadFile(c.log)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return fmt.Errorf("the %s ended (%v); its log says:\n%s", c.role, c.exit, strings.Join(lines[max(0, len(lines)-10):], "\n"))
}

// ready waits until the process answers that it is.
func (c *child) ready(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	last := errors.New("no answer")
	for {
		if _, err := fetch(ctx, "http://"+c.addr+"/ready"); err == nil {
			return nil
		} else if ctx.Err() == nil {
			last = err
		}
		select {
		case <-c.done:
			return c.failure()
		case <-ctx.Done():
			return fmt.Errorf("the %s is not ready: %w (its log: %s)", c.role, last, c.log)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// listening waits until something takes connections at an address.
func (c *child) listening(ctx context.Context, addr string, limit time.Duration) error {
	deadline := time.Now().Add(limit)
	for {
		conn, err := net.DialTimeout("tcp", addr, time.Second)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-c.done:
			return c.failure()
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the %s takes no connections at %s: %w", c.role, addr, err)
		}
	}
}

// stop asks the process to end, and kills it after the limit.
func (c *child) stop(limit time.Duration) {
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-c.done:
	case <-time.After(limit):
		_ = c.cmd.Process.Kill()
		<-c.done
	}
}

// clockTick is the unit of CPU time in /proc: 100 a second on every Linux that Go runs on.
const clockTick = 10 * time.Millisecond

// cpu is the CPU time, user and system, that the process has used so far; of one that has ended, all of it. Without
// /proc it is known only then.
func (c *child) cpu() time.Duration {
	if c.ended() {
		return c.cmd.ProcessState.UserTime() + c.cmd.ProcessState.SystemTime()
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	return statCPU(text)
}

// statCPU reads the 14th and 15th field of /proc/PID/stat; the second is a name in brackets with anything in it.
func statCPU(text []byte) time.Duration {
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * clockTick
}

// memory is the resident memory now and the most that there was; zero where /proc is not.
func (c *child) memory() (now, most int64) {
	if c.ended() {
		return 0, c.peak
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.cmd.Process.Pid))
	if err != nil {
		return 0, c.peak
	}
	now, most = statusMemory(string(text))
	c.peak = max(c.peak, most)
	return now, c.peak
}

func statusMemory(text string) (now, most int64) {
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(line, ":")
		kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
		switch name {
		case "VmRSS":
			now = kib << 10
		case "VmHWM":
			most = kib << 10
		}
	}
	return now, most
}

// fetch asks a child.
func fetch(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	return answer(req)
}

func answer(req *http.Request) ([]byte, error) {
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s: %s", req.URL.Path, resp.Status, bytes.TrimSpace(body[:min(len(body), 300)]))
	}
	return body, nil
}

// freeAddr is a loopback address whose port was free a moment ago.
func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
