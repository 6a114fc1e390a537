package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"
)

// protocol are the packages whose tests prove the protocol without processes of their
// own, the cheap ones first.
var protocol = []string{
	"./internal/event", "./internal/chain", "./internal/idseg", "./internal/fragment", "./placements/...", "./internal/inspect",
	"./internal/tenants", "./compactor/...", "./writer/dedup", "./internal/kafka", "./internal/shardlog/...", "./router", "./writer/shard", "./writer", "./query/...", "./internal/access",
}

// The tests' own deadlines, so that a mutant that hangs is caught by them; many
// times what they take on an idle machine.
const (
	unitTimeout = "5m"
	pathTimeout = "15m"
	simTimeout  = 10 * time.Minute
)

// stageNames are the parts of the proof, the cheap ones first: unit tests, the simulation's
// seeds, its crash at every call, the tests of the whole path.
var stageNames = []string{"unit", "seeds", "crash", "path"}

// prover runs the proof on trees that differ from a copy of the module's by an overlay.
type prover struct {
	root, temp string // the copy, and a folder for the overlays
	seeds      int
	stages     map[string]bool // of stageNames

	pathOnce sync.Once
	pathErr  error // of the tests of the whole path without a mutant
}

// copyTree copies the files that git knows or would take; tests leave files in the
// copy that are no part of the project.
func copyTree(ctx context.Context, from, to string) error {
	list := exec.CommandContext(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = from
	names, err := list.Output()
	if err != nil {
		return fmt.Errorf("list the files of %s: %w", from, err)
	}
	for _, name := range strings.Split(strings.TrimRight(string(names), "\x00"), "\x00") {
		source, target := filepath.Join(from, filepath.FromSlash(name)), filepath.Join(to, filepath.FromSlash(name))
		info, err := os.Lstat(source)
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted, and git was not told yet
		}
		if err != nil {
			return err
		}
		text, err := os.ReadFile(source)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(target), 0o755)
		}
		if err == nil {
			err = os.WriteFile(target, text, info.Mode().Perm())
		}
		if err != nil {
			return fmt.Errorf("copy the tree: %w", err)
		}
	}
	return nil
}

// catch is what a proof found.
type catch struct {
	by  string // the failing test or seed; "": nothing
	why string // its first words
}

// overlay lays a mutant over the tree, and gives what the go command is to be told.
func (p *prover) overlay(m *mutant) (goflags string, err error) {
	changed, err := m.apply(func(file string) (string, error) {
		text, err := os.ReadFile(filepath.Join(p.root, filepath.FromSlash(file)))
		return string(text), err
	})
	if err != nil {
		return "", err
	}
	dir := filepath.Join(p.temp, m.name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	replace := map[string]string{}
	for file, text := range changed {
		copied := filepath.Join(dir, strings.ReplaceAll(file, "/", "-"))
		if err := os.WriteFile(copied, []byte(text), 0o644); err != nil {
			return "", err
		}
		replace[filepath.Join(p.root, filepath.FromSlash(file))] = copied
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return "-overlay=" + name, os.WriteFile(name, list, 0o644)
}

// command is one of the go command under an overlay. GOFLAGS carries it, so that tests
// that build the program build the mutant. Without -trimpath everything would be compiled anew,
// because the copy lies in another folder each time.
func (p *prover) command(ctx context.Context, goflags string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = p.root
	cmd.Env = append(os.Environ(), "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -trimpath "+goflags))
	// The tests are processes of the go command: one group, so that all end together.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd
}

// compiles says why the changed packages do not.
func (p *prover) compiles(ctx context.Context, m *mutant, goflags string) error {
	out, err := p.command(ctx, goflags, append([]string{"build"}, m.packages()...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s does not compile: %w\n%s", m.name, err, bytes.TrimSpace(out))
	}
	return nil
}

// baseline is the proof without a mutant; it must find nothing.
func (p *prover) baseline(ctx context.Context) error {
	if p.stages["unit"] {
		if err := nothing(p.tests(ctx, "", true, unitTimeout, protocol...)); err != nil {
			return err
		}
	}
	return nothing(p.simulate(ctx, "baseline", "", p.simulations()...))
}

func nothing(c catch, err error) error {
	if err == nil && c.by != "" {
		return fmt.Errorf("the proof fails without a mutant, at %s: %s", c.by, c.why)
	}
	return err
}

// prove runs the proof on a mutant up to its first failure.
func (p *prover) prove(ctx context.Context, m *mutant, goflags string) (catch, error) {
	if p.stages["unit"] {
		if c, err := p.tests(ctx, goflags, true, unitTimeout, m.packages()...); c.by != "" || err != nil {
			return c, err
		}
		if c, err := p.tests(ctx, goflags, true, unitTimeout, protocol...); c.by != "" || err != nil {
			return c, err
		}
	}
	if modes := p.simulations(); len(modes) > 0 {
		if c, err := p.simulate(ctx, m.name, goflags, modes...); c.by != "" || err != nil {
			return c, err
		}
	}
	if !p.stages["path"] {
		return catch{}, nil
	}
	p.pathOnce.Do(func() { p.pathErr = nothing(p.wholePath(ctx, "")) })
	if p.pathErr != nil {
		return catch{}, p.pathErr
	}
	return p.wholePath(ctx, goflags)
}

// wholePath runs the tests with processes. They are left to end by themselves, since they
// end the processes that they started.
func (p *prover) wholePath(ctx context.Context, goflags string) (catch, error) {
	return p.tests(ctx, goflags, false, pathTimeout, "./internal/e2e")
}

// testEvent is a line of go test -json.
type testEvent struct {
	Action, Package, Test, Output string
}

// said is how the words of a failure begin in a test's output.
var said = regexp.MustCompile(`^\s*(?:[\w./-]+\.go:\d+: |panic: |fatal error: )`)

// brief is a text's begin and end, in one line: a panic says what is wrong first, a
// scenario last.
func brief(s string) string {
	r := []rune(strings.ToValidUTF8(strings.Join(strings.Fields(s), " "), ""))
	if len(r) <= 2*maxWords {
		return string(r)
	}
	return string(r[:maxWords]) + " ... " + string(r[len(r)-maxWords:])
}

// maxWords is enough to see by the report that the broken promise failed, and no other.
const maxWords = 250

// tests runs the tests of packages up to the first that fails.
func (p *prover) tests(ctx context.Context, goflags string, kill bool, timeout string, packages ...string) (catch, error) {
	args := append([]string{"test", "-json", "-failfast", "-timeout", timeout}, packages...)
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := p.command(running, goflags, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return catch{}, err
	}
	if err := cmd.Start(); err != nil {
		return catch{}, err
	}
	found, last := catch{}, ""
	words := map[string]string{} // of each test, from the first of a failure on
	for lines := json.NewDecoder(stdout); ; {
		var e testEvent
		if lines.Decode(&e) != nil {
			break // the end
		}
		name := strings.TrimSuffix(strings.TrimPrefix(e.Package, "github.com/togodb/togo/")+"."+e.Test, ".")
		switch {
		case e.Action == "build-output" || e.Action == "output" && e.Test == "":
			if strings.TrimSpace(e.Output) != "" {
				last = e.Output
			}
		case e.Action == "output":
			if words[name] != "" || said.MatchString(e.Output) {
				words[name] += e.Output
			}
		case e.Action == "build-fail":
			cancel()
			_ = cmd.Wait()
			return catch{}, fmt.Errorf("the tests do not compile: %s", last)
		case e.Action == "fail" && found.by == "":
			found = catch{by: name, why: brief(cmp.Or(words[name], last))}
			if kill {
				cancel()
			}
		}
	}
	err = cmd.Wait()
	if ctx.Err() != nil {
		return catch{}, ctx.Err()
	}
	var exit *exec.ExitError
	if found.by == "" && err != nil {
		if errors.As(err, &exit) {
			err = fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
		}
		return catch{}, err
	}
	return found, nil
}

// failedRun is how the simulation says that a run failed: "seed=17 after ...: what", or
// "crash before at call 40 (...): what".
var failedRun = regexp.MustCompile(`^FAIL (.*)`)

// simulate runs the simulation up to its first failure; modes are the arguments of its runs.
func (p *prover) simulate(ctx context.Context, name, goflags string, modes ...[]string) (catch, error) {
	bin := filepath.Join(p.temp, name+".sim")
	defer os.Remove(bin)
	if out, err := p.command(ctx, goflags, "build", "-o", bin, "./cmd/sim").CombinedOutput(); err != nil {
		return catch{}, fmt.Errorf("build the simulation: %w\n%s", err, out)
	}
	for _, mode := range modes {
		if c, err := p.simulateOnce(ctx, bin, mode); c.by != "" || err != nil {
			return c, err
		}
	}
	return catch{}, nil
}

// seeded are the arguments of a run over seeds.
func (p *prover) seeded() []string { return []string{"-seeds", fmt.Sprint(p.seeds)} }

// simulations are the runs that are part of the proof.
func (p *prover) simulations() (modes [][]string) {
	if p.stages["seeds"] {
		modes = append(modes, p.seeded())
	}
	if p.stages["crash"] {
		modes = append(modes, []string{"-crash"})
	}
	return modes
}

func (p *prover) simulateOnce(ctx context.Context, bin string, args []string) (catch, error) {
	running, cancel := context.WithTimeout(ctx, simTimeout)
	defer cancel()
	cmd := exec.CommandContext(running, bin, args...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return catch{}, err
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		return catch{}, err
	}
	found := catch{}
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 16<<20) // a failure may hold what differs
	for found.by == "" && lines.Scan() {
		if f := failedRun.FindSubmatch(lines.Bytes()); f != nil {
			where, what, _ := strings.Cut(string(f[1]), ": ")
			where, _, _ = strings.Cut(where, " after ")
			where, _, _ = strings.Cut(where, " (")
			found = catch{by: "sim " + where, why: brief(what)}
		}
	}
	if found.by != "" {
		cancel() // it would go on with shrinking, and with the other runs
	}
	err = cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return catch{}, ctx.Err()
	case found.by != "" || err == nil:
		return found, nil
	case errors.Is(running.Err(), context.DeadlineExceeded):
		return catch{by: "sim " + strings.Join(args, " "), why: fmt.Sprintf("it did not end within %s", simTimeout)}, nil
	case strings.Contains(stderr.String(), "fatal error: ") || strings.Contains(stderr.String(), "panic: "):
		return catch{by: "sim " + strings.Join(args, " "), why: brief(stderr.String())}, nil
	}
	return catch{}, fmt.Errorf("sim %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
}
