package e2e

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/internal/e2e/proc"
	"github.com/togodb/togo/internal/e2e/tool"
)

// world is a fresh folder, a configuration in it, and the processes that a test
// runs on it.
type world struct {
	tool.Tool
	t       *testing.T
	ctx     context.Context // ends at the test's own deadline
	dir     string
	rng     *rand.Rand // of the test's own goroutine
	written []string   // the files that processes log to
}

// newWorld writes the configuration; deadline is that of the whole test.
func newWorld(t *testing.T, deadline time.Duration, yaml string) *world {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	t.Cleanup(cancel)
	s := *seed
	if s == 0 {
		s = uint64(time.Now().UnixNano())
	}
	t.Logf("go test ./internal/e2e -run '^%s$' -seed %d", t.Name(), s)
	w := &world{t: t, ctx: ctx, dir: t.TempDir(), rng: rand.New(rand.NewPCG(s, 0))}
	cfg := filepath.Join(w.dir, "togo.yaml")
	w.must(os.WriteFile(cfg, []byte(yaml), 0o600))
	w.Tool = tool.Tool{Bin: binary, Args: []string{"--config", cfg, "--dir", w.dir}}
	t.Cleanup(w.showLogs)
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// addr is a free loopback address.
func addr(t *testing.T) string {
	t.Helper()
	a, err := proc.FreeAddr()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// process is a command of the program that runs for long, with its HTTP server.
type process struct {
	*proc.Process
	w    *world
	name string
	http string
	args []string
	log  *os.File
}

// process names a process; start runs it. Its server is on the given address,
// which set must configure or args name.
func (w *world) process(name, http string, args ...string) *process {
	w.t.Helper()
	path := filepath.Join(w.dir, name+".log")
	log, err := os.Create(path)
	w.must(err)
	w.written = append(w.written, path)
	p := &process{w: w, name: name, http: http, log: log,
		args: append(append(append([]string{}, w.Args...), "--set", "http.listen="+http), args...)}
	w.t.Cleanup(func() {
		if p.Process != nil {
			p.Kill()
		}
		log.Close()
	})
	return p
}

// begin starts the process and returns at once.
func (p *process) begin() {
	p.w.t.Helper()
	fmt.Fprintf(p.log, "--- %s started\n", p.name)
	var err error
	p.Process, err = proc.Start(binary, p.args, p.log)
	p.w.must(err)
}

// start starts the process and waits until it is ready.
func (p *process) start() {
	p.w.t.Helper()
	p.begin()
	p.awaitReady()
}

func (p *process) awaitReady() {
	p.w.t.Helper()
	if err := p.WaitOK(p.w.ctx, p.url("/ready")); err != nil {
		p.w.t.Fatalf("%s: %v", p.name, err)
	}
}

// stop asks the process to end, and wants it to end well.
func (p *process) stop() {
	p.w.t.Helper()
	if err := p.Stop(30 * time.Second); err != nil {
		p.w.t.Fatalf("%s: %v", p.name, err)
	}
}

func (p *process) url(path string) string { return "http://" + p.http + path }

// get asks the process's server.
func (p *process) get(path string) (status int, body string) {
	p.w.t.Helper()
	req, err := http.NewRequestWithContext(p.w.ctx, http.MethodGet, p.url(path), nil)
	p.w.must(err)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(text)
}

// await asks the process until its answer is as wanted.
func (p *process) await(what, path string, ok func(status int, body string) bool) string {
	p.w.t.Helper()
	for {
		status, body := p.get(path)
		if ok(status, body) {
			return body
		}
		select {
		case <-p.w.ctx.Done():
			p.w.t.Fatalf("%s: waited in vain until %s; %s says %d: %s", p.name, what, path, status, body)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// output runs a command that must succeed.
func (w *world) output(args ...string) string {
	w.t.Helper()
	out, err := w.Output(w.ctx, args...)
	w.must(err)
	return out
}

// refused runs a command that must fail, and returns what it complains of.
func (w *world) refused(args ...string) string {
	w.t.Helper()
	out, err := w.Command(w.ctx, args...).CombinedOutput()
	if err == nil {
		w.t.Fatalf("togo %s is accepted: %s", strings.Join(args, " "), out)
	}
	return string(out)
}

// done waits until nothing is left to do.
func (w *world) done() tool.Status {
	w.t.Helper()
	s, err := w.Await(w.ctx, "everything is stored", tool.Status.Done)
	w.must(err)
	return s
}

// showLogs prints the end of what each process logged, if the test failed.
func (w *world) showLogs() {
	if !w.t.Failed() {
		return
	}
	for _, path := range w.written {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		const most = 8 << 10
		if len(text) > most {
			text = text[len(text)-most:]
		}
		w.t.Logf("the end of %s:\n%s", filepath.Base(path), text)
	}
}
