package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"strings"
	"time"

	"github.com/togodb/togo/bench/cpu"
)

// figures are what a step took.
type figures struct {
	Events int64         `json:"events"`
	CPU    time.Duration `json:"cpu"`
	Wall   time.Duration `json:"wall"`
	Memory int64         `json:"memory"` // the most that the process held
	Files  int           `json:"files,omitempty"`
	Bytes  int64         `json:"bytes,omitempty"` // of the files
	// Rows are in the files, and Left of them repeat another; where a step wrote none that can be read, Rows is 0.
	Rows int64 `json:"rows,omitempty"`
	Left int64 `json:"left,omitempty"`
}

func (f *figures) perEvent() time.Duration { return f.CPU / time.Duration(max(1, f.Events)) }

// steps that run in a process of their own, by the name that -step has.
var steps = map[string]func(context.Context, *options) (figures, error){
	"duckdb 1":   func(ctx context.Context, o *options) (figures, error) { return duckdb(ctx, o, 1) },
	"duckdb 2":   func(ctx context.Context, o *options) (figures, error) { return duckdb(ctx, o, 2) },
	"route":      route,
	"write":      write,
	"broker":     broker,
	"consume":    consume,
	"parse":      parse,
	"jsonparser": parseJSONParser,
	"columns":    columns,
	"put":        put,
}

func child(ctx context.Context, o *options, step string) (figures, error) {
	f := steps[step]
	if f == nil {
		return figures{}, fmt.Errorf("there is no such step")
	}
	if o.profile == "" {
		return f(ctx, o)
	}
	file, err := os.Create(filepath.Join(o.profile, step+".pprof"))
	if err != nil {
		return figures{}, err
	}
	defer file.Close()
	if err := pprof.StartCPUProfile(file); err != nil {
		return figures{}, err
	}
	defer pprof.StopCPUProfile()
	return f(ctx, o)
}

// inChild runs a step in a process of its own, on so many processors.
func (o *options) inChild(ctx context.Context, step string, processors int) (f figures, err error) {
	self, err := os.Executable()
	if err != nil {
		return f, err
	}
	cmd := exec.CommandContext(ctx, self, o.args(step)...)
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), "GOMAXPROCS="+strconv.Itoa(processors))
	out, err := cmd.Output()
	if err != nil {
		return f, fmt.Errorf("%s: %w", step, err)
	}
	return f, json.Unmarshal(out, &f)
}

func (o *options) args(step string) []string {
	return []string{"-step", step, "-dir", o.dir, "-events", strconv.Itoa(o.events),
		"-broker", o.broker, "-profile", o.profile, "-s3", o.s3, "-files", strconv.Itoa(o.files), "-file-bytes", strconv.FormatInt(o.fileBytes, 10)}
}

// meter adds up what this process takes between start and stop.
type meter struct {
	figures
	began   time.Time
	cpuAt   time.Duration
	started bool
}

func (m *meter) start() {
	if !m.started {
		m.started = true
		debug.FreeOSMemory()
		forgetPeak()
	}
	m.began, m.cpuAt = time.Now(), cpu.Time()
}

func (m *meter) stop() {
	m.CPU += cpu.Time() - m.cpuAt
	m.Wall += time.Since(m.began)
	m.Memory = max(m.Memory, peak("self"))
}

// forgetPeak lets the kernel count the most memory from now on; where it cannot, what was before counts too.
func forgetPeak() { _ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

// peak is the most memory that a process had, in bytes; 0 where the system does not say.
func peak(pid string) int64 {
	b, err := os.ReadFile("/proc/" + pid + "/status")
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
