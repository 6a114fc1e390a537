package e2e

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/togodb/togo/bench/result"
)

// TestBench: a run of every process, its result held against what was asked for.
func TestBench(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "result.json")
	workload := filepath.Join(dir, "load.yaml")
	if err := os.WriteFile(workload, []byte("tenants: 5\nevent: {bytes: 600, extra_keys: 10, extra_each: 3}\nduplicates: {share: 0.1, distance: 1000}\nrate: 1000\nduration: 6s\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "bench", "--workload", workload, "--out", out, "--set", "writer.flush_age=1s", "--set", "writer.small_tenant_bytes=0")
	text, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(text), "RESULT bench ") {
		t.Fatalf("%v\n%s", err, text)
	}
	d, err := result.Read(out)
	if err != nil {
		t.Fatal(err)
	}
	r := d.Run
	if r.Closed != r.Sent || r.Sent < 1000 || r.Sent > 7000 || r.Stored+r.Duplicates != r.Closed || r.Duplicates != r.Copies || r.Copies < r.Sent/20 {
		t.Errorf("events: %+v", r)
	}
	var sums result.Second
	for _, s := range d.Seconds {
		sums.Sent += s.Sent
		sums.Stored += s.Stored
		sums.Duplicates += s.Duplicates
	}
	if sums.Sent != r.Sent || sums.Stored != r.Stored || sums.Duplicates != r.Duplicates {
		t.Errorf("the seconds add up to %+v, the run is %+v", sums, r)
	}
	if d.Freshness == nil || d.Freshness.Probes == 0 || d.Freshness.MaxS <= 0 || d.Freshness.LimitS != 2 || d.SmallFreshness != nil {
		t.Errorf("freshness: %+v, %+v", d.Freshness, d.SmallFreshness)
	}
	var rows int64
	for _, c := range d.Fragments.BySize {
		rows += c.Count
	}
	if rows != d.Fragments.Count || rows == 0 || d.Store.PerMillion <= 0 || d.Store.Dollars == nil || d.Dedup == nil || d.Dedup.IDs < r.Stored-100 || d.Dedup.IDs > r.Stored {
		t.Errorf("store: %+v %+v %+v", d.Fragments, d.Store, d.Dedup)
	}
	seen := map[string]bool{}
	for _, role := range d.Roles {
		seen[role.Role] = true
		if role.CPUS < 0 || role.CPUS > d.ElapsedS*float64(d.Machine.Cores) || role.Role != "compactor" && role.CPUS == 0 {
			t.Errorf("role: %+v", role)
		}
	}
	for _, role := range []string{"broker", "generator", "router", "writer", "compactor", "query"} {
		if !seen[role] {
			t.Errorf("no role %s", role)
		}
	}
	if len(d.Queries) == 0 {
		t.Error("no queries were asked")
	}
	if d.Interrupted || d.Workload.Tenants != 5 || d.Workload.RatePerS != 1000 || d.Setup.Settings["writer.flush_age"] != "1s" {
		t.Errorf("%+v %+v", d.Workload, d.Setup)
	}
	if page, err := os.ReadFile(filepath.Join(dir, "result.html")); err != nil || !strings.Contains(string(page), "<svg") {
		t.Errorf("page: %v", err)
	}
}

// TestBenchInterrupted: Ctrl-C ends the load, and the result is of the time until then; nobody is left behind.
func TestBenchInterrupted(t *testing.T) {
	dir := t.TempDir()
	out, folder := filepath.Join(dir, "result.json"), filepath.Join(dir, "run")
	cmd := exec.Command(binary, "bench", "--for", "1h", "--rate", "500", "--out", out, "--folder", folder, "--no-queries", "--no-profile")
	// The tests' own variables are no settings, and a warning of them is no progress.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "TOGO_") })
	progress, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	cmd.Stdout = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	lines := bufio.NewScanner(progress)
	if !lines.Scan() {
		t.Fatalf("no line of progress: %v", cmd.Wait())
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	d, err := result.Read(out)
	if err != nil {
		t.Fatal(err)
	}
	if !d.Interrupted || d.Run.Sent == 0 || d.ElapsedS > time.Minute.Seconds() || !strings.Contains(said.String(), "interrupted=true") {
		t.Errorf("%+v\n%s", d.Run, said.String())
	}
	left, err := exec.Command("pgrep", "-f", folder).Output()
	if err == nil && len(left) > 0 {
		t.Errorf("processes are left: %s", left)
	}
}
