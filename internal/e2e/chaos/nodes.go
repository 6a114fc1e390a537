package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/togodb/togo/internal/e2e/proc"
)

// The roles of processes.
const (
	router    = "router"
	writer    = "writer"
	intake    = "intake"
	compactor = "compactor"
)

// node is a process of Togo that is started again whenever it has ended, as an
// orchestrator does.
type node struct {
	name string
	role string
	http string
	bin  string
	args []string
	log  *os.File

	mu      sync.Mutex // guards all below, and keeps two from doing things to one process
	extra   []string   // arguments that change
	proc    *proc.Process
	dueAt   time.Time // no start before
	stopped bool      // by SIGSTOP
	resting bool      // not to be started
	own     ownEnds
}

// ownEnds counts a process's ends that nobody asked for.
type ownEnds struct {
	starting int // before it said that it had started: a server was not there
	running  int
}

// restartPause is what an orchestrator waits before it starts a process again that
// ended by itself.
const restartPause = 300 * time.Millisecond

// tend starts the process if it has ended and is due.
func (n *node) tend(now time.Time) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.proc != nil {
		if _, ended := n.proc.Exited(); !ended {
			return nil
		}
		if n.hasStarted() {
			n.own.running++
		} else {
			n.own.starting++
		}
		n.proc, n.dueAt = nil, now.Add(restartPause)
	}
	if n.resting || now.Before(n.dueAt) {
		return nil
	}
	fmt.Fprintf(n.log, "\n%s%s\n", startLine, n.name)
	var err error
	n.proc, err = proc.Start(n.bin, append(append([]string{}, n.args...), n.extra...), n.log)
	n.stopped = false
	return err
}

const startLine = "--- start of "

// hasStarted reads in the log how far the process got.
func (n *node) hasStarted() bool {
	text, err := os.ReadFile(n.log.Name())
	if err != nil {
		return false
	}
	at := bytes.LastIndex(text, []byte(startLine))
	return at >= 0 && bytes.Contains(text[at:], []byte("msg=started"))
}

// kill ends the process (SIGKILL), and has it started again after a pause. False: it
// does not run.
func (n *node) kill(pause time.Duration) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.proc == nil {
		return false
	}
	if _, ended := n.proc.Exited(); ended {
		return false
	}
	n.proc.Kill()
	n.proc, n.dueAt = nil, time.Now().Add(pause)
	return true
}

// freeze stops the process in its tracks (SIGSTOP), thaw lets it go on.
func (n *node) freeze() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.proc == nil || n.stopped || n.proc.Signal(syscall.SIGSTOP) != nil {
		return false
	}
	n.stopped = true
	return true
}

// thaw says whether the process is still the one that was frozen.
func (n *node) thaw() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.proc == nil || !n.stopped {
		return false
	}
	n.stopped = false
	return n.proc.Signal(syscall.SIGCONT) == nil
}

// stop asks the process to end well, and leaves it so.
func (n *node) stop() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.resting = true
	if n.proc == nil {
		return nil
	}
	p := n.proc
	n.proc = nil
	if err := p.Stop(40 * time.Second); err != nil {
		return fmt.Errorf("stop %s: %w", n.name, err)
	}
	return nil
}

// wake ends a stop; args are what it starts with.
func (n *node) wake(args []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.resting, n.extra, n.dueAt = false, args, time.Time{}
}

// pid is 0 if the process does not run.
func (n *node) pid() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.proc == nil {
		return 0
	}
	return n.proc.Pid()
}

// status asks the process's server.
func (n *node) status(ctx context.Context, into any) error {
	ctx, cancel := context.WithTimeout(ctx, requestPatience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.http+"/status", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(into)
}

// close kills the process for good.
func (n *node) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.resting = true
	if n.proc != nil {
		n.proc.Kill()
	}
	n.log.Close()
}

// cries are what no process may ever print.
var cries = []string{"panic:", "fatal error:", "bug:", "DATA RACE"}

// cry is the first line of the log that is one.
func (n *node) cry() string {
	text, err := os.ReadFile(n.log.Name())
	if err != nil {
		return err.Error()
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		for _, c := range cries {
			if strings.Contains(line, c) {
				return line
			}
		}
	}
	return ""
}
