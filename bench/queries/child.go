package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/togodb/togo/bench/cpu"
	"github.com/togodb/togo/query/scan"
)

// Each engine runs in a process of its own, so that its memory and its CPU time are its own. It reads orders and writes results, a line of
// JSON each.

type order struct {
	Query int  `json:"query"`
	Cold  bool `json:"cold"` // Togo: by an engine that has read nothing
}

type result struct {
	Wall     time.Duration `json:"wall"`
	CPU      time.Duration `json:"cpu"` // of the whole process
	FirstRow time.Duration `json:"first_row"`
	Rows     []string      `json:"rows"`
	// Bytes and Requests are what Togo read from the store; Needed is what the needed columns take in the files, with the footers.
	Bytes    int64  `json:"bytes"`
	Requests int64  `json:"requests"`
	Needed   int64  `json:"needed"`
	Memory   int64  `json:"memory"` // the most that the process had so far
	Error    string `json:"error,omitempty"`

	runs []result // of which this is the sum
}

// runner answers orders.
type runner func(ctx context.Context, o order) result

// serve is the child's main. With profile, Togo writes there what takes its
// CPU time, and beside it (.allocs) what is allocated.
func serve(ctx context.Context, w *world, engine, profile string) error {
	var run runner
	switch engine {
	case "duckdb":
		d, err := openDuck(ctx, w)
		if err != nil {
			return err
		}
		run = d.answer
	case "togo":
		debug.SetGCPercent(400) // as a process of the role query alone has it
		dir, err := os.MkdirTemp(w.Root, "cache-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		t, err := openTogo(ctx, w, dir)
		if err != nil {
			return err
		}
		defer t.close()
		if profile != "" {
			f, err := os.Create(profile)
			if err != nil {
				return err
			}
			defer f.Close()
			if err := pprof.StartCPUProfile(f); err != nil {
				return err
			}
			defer pprof.StopCPUProfile()
			defer allocations(profile + ".allocs")
		}
		run = t.answer
	default:
		return fmt.Errorf("there is no engine %q", engine)
	}
	in, out := json.NewDecoder(bufio.NewReader(os.Stdin)), json.NewEncoder(os.Stdout)
	for {
		var o order
		if err := in.Decode(&o); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if err := out.Encode(run(ctx, o)); err != nil {
			return err
		}
	}
}

// allocations writes a profile of what was allocated since the start.
func allocations(path string) {
	var b bytes.Buffer
	err := pprof.Lookup("allocs").WriteTo(&b, 0)
	if err == nil {
		err = os.WriteFile(path, b.Bytes(), 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// measure runs f once.
func measure(f func(*answer) error) result {
	a := &answer{}
	before := cpu.Time()
	a.began = time.Now()
	err := f(a)
	r := result{Wall: time.Since(a.began), CPU: cpu.Time() - before, FirstRow: a.FirstRow, Rows: a.Rows, Memory: peak()}
	if err != nil {
		r.Error = err.Error()
	}
	return r
}

// peak is the most memory that the process had, in bytes; 0 where the system does not say. (getrusage would tell of the parent's.)
func peak() int64 {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(b), "VmHWM:")
	var kib int64
	if _, err := fmt.Sscan(after, &kib); err != nil {
		return 0
	}
	return kib << 10
}

func (d *duck) answer(ctx context.Context, o order) result {
	q := &queries[o.Query]
	r := measure(func(a *answer) error { return d.run(ctx, q, a) })
	needed, err := d.needed(ctx, q)
	if r.Needed = needed; err != nil && r.Error == "" {
		r.Error = err.Error()
	}
	return r
}

func (t *togo) answer(ctx context.Context, o order) result {
	if o.Cold {
		cold, err := openTogo(ctx, t.w, "")
		if err != nil {
			return result{Error: err.Error()}
		}
		defer cold.close()
		t = cold
	}
	r := measure(func(a *answer) error { return t.run(ctx, &queries[o.Query], a) })
	if t.last != nil {
		r.Bytes, r.Requests = read(t.last.Stats)
	}
	return r
}

func read(s *scan.Stats) (bytes, requests int64) { return s.StoreBytes.Load(), s.StoreRequests.Load() }

// child is a running engine.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	enc *json.Encoder
	dec *json.Decoder
}

// start runs this program as an engine, on one processor where taskset is there.
func start(w *world, engine string, o options) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{self, "-child", engine, "-dir", filepath.Dir(w.Root), "-events", fmt.Sprint(w.Events), "-profile", o.profile}
	if path, err := exec.LookPath("taskset"); err == nil && o.processor >= 0 {
		args = append([]string{path, "-c", fmt.Sprint(o.processor)}, args...)
	}
	c := &child{cmd: exec.Command(args[0], args[1:]...)}
	c.cmd.Stderr, c.cmd.Env = os.Stderr, append(os.Environ(), "GOMAXPROCS=1")
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.enc, c.dec = json.NewEncoder(c.in), json.NewDecoder(bufio.NewReaderSize(out, 1<<20))
	return c, c.cmd.Start()
}

func (c *child) ask(o order) (r result, err error) {
	if err := c.enc.Encode(o); err != nil {
		return r, err
	}
	if err := c.dec.Decode(&r); err != nil {
		return r, err
	}
	if r.Error != "" {
		return r, fmt.Errorf("%s: %s", queries[o.Query].Name, r.Error)
	}
	return r, nil
}

// stop lets the child end.
func (c *child) stop() error {
	c.in.Close()
	return c.cmd.Wait()
}
