package main

import (
	"fmt"
	"strings"
	"testing"
)

// everything is an output with all benchmarks that the table knows.
func everything(leaveOut string) string {
	units := map[string][]string{}
	add := func(benchmark string, u ...string) { units[benchmark] = append(units[benchmark], u...) }
	for _, s := range steps {
		add(s.benchmark, append(s.extras, "cpu-ns/event", "allocs/event", "B/event")...)
	}
	for _, f := range figures {
		for _, v := range f.values {
			add(v.benchmark, v.unit)
		}
	}
	for _, k := range keys {
		add(k.benchmark, k.unit)
	}
	var out strings.Builder
	for name, us := range units {
		if name == leaveOut {
			continue
		}
		pkg, benchmark, _ := strings.Cut(name, ".")
		fmt.Fprintf(&out, "goos: linux\npkg: %s%s\nBenchmark%s-2 \t 7\t 1234 ns/op", module, pkg, benchmark)
		for _, u := range us {
			fmt.Fprintf(&out, "\t 12.5 %s", u)
		}
		out.WriteString("\nPASS\n")
	}
	return out.String()
}

func TestTable(t *testing.T) {
	var out strings.Builder
	if err := run(strings.NewReader(everything("")), &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	last := lines[len(lines)-1]
	if !strings.HasPrefix(last, "RESULT decode_ns=12.5 ") || strings.Contains(out.String(), "?") {
		t.Errorf("%s", out.String())
	}
}

func TestABenchmarkThatIsMissingFails(t *testing.T) {
	var out strings.Builder
	err := run(strings.NewReader(everything("router.Place")), &out)
	if err == nil || !strings.Contains(err.Error(), "router.Place") {
		t.Errorf("%v", err)
	}
	if !strings.Contains(out.String(), " route_ns=? ") {
		t.Errorf("%s", out.String())
	}
}

func TestOutputThatSaysFailed(t *testing.T) {
	for _, line := range []string{"--- FAIL: BenchmarkX", "FAIL", "panic: no"} {
		if err := run(strings.NewReader(everything("")+line+"\n"), &strings.Builder{}); err == nil {
			t.Errorf("%s: no error", line)
		}
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.0001: "0", 0.25: "0.25", 1.047: "1.05", 21.74: "21.7", 45213.4: "45213", 1e7: "10000000"} {
		if got := number(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}
