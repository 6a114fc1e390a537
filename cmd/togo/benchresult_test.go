package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/togodb/togo/bench/result"
)

// writeResult puts a document with few values into a file.
func writeResult(t *testing.T, path string, perSecond float64) {
	t.Helper()
	d := &result.Document{Format: result.Format, Run: result.Run{ClosedPerS: perSecond}, Seconds: []result.Second{{AtS: 1, Sent: 10}, {AtS: 2, Sent: 20}}}
	body, err := d.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if err := result.WriteFile(path, body); err != nil {
		t.Fatal(err)
	}
}

func TestBenchCompareAndPage(t *testing.T) {
	dir := t.TempDir()
	before, after := filepath.Join(dir, "before.json"), filepath.Join(dir, "after.json")
	writeResult(t, before, 1000)
	writeResult(t, after, 3000)
	var out strings.Builder
	a := &app{out: &out, ctx: t.Context(), log: quiet}
	if err := (benchCompareCmd{A: before, B: after}).Run(a); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "3.00") || !strings.Contains(out.String(), "better") {
		t.Errorf("%s", out.String())
	}
	out.Reset()
	if err := (benchPageCmd{Result: after}).Run(a); err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(dir, "after.html"); strings.TrimSpace(out.String()) != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
	for _, name := range []string{"after.html", "after-ingest.svg"} {
		if body, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !strings.Contains(string(body), "Ingest over time") {
			t.Errorf("%s: %v, %.100s", name, err, body)
		}
	}
	if err := os.WriteFile(before, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (benchCompareCmd{A: before, B: after}).Run(a); err == nil || !strings.Contains(err.Error(), before) {
		t.Errorf("a file without a result: %v", err)
	}
}

func TestBenchScale(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "scale.json")
	var out strings.Builder
	c := benchScaleCmd{Tenants: 20, Shards: 2, Days: 2, Moves: 100, Events: []float64{1e4}, Processes: 1, Seed: 1, Out: path}
	if err := c.Run(&app{out: &out, ctx: t.Context(), log: quiet}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "\nRESULT tenants=20 ") {
		t.Errorf("%s", out.String())
	}
	for _, name := range []string{path, strings.TrimSuffix(path, ".json") + "-cost.svg"} {
		if info, err := os.Stat(name); err != nil || info.Size() < 500 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
