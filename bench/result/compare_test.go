package result

import (
	"strings"
	"testing"
	"time"
)

// small is a document with few values.
func small() *Document {
	gc := 0.05
	return &Document{
		Format: Format, Started: time.Unix(0, 0), Command: "togo bench",
		Machine:   Machine{Cores: 2, CPU: "one"},
		Workload:  Workload{Name: "small"},
		Setup:     Setup{Settings: map[string]string{"writer.flush_age": "5s"}},
		Run:       Run{ClosedPerS: 50000, CPUNsPerEvent: 7000, LagMax: 10},
		Freshness: &Freshness{P99S: 5},
		Roles:     []Role{{Role: "writer", CPUNsPerEvent: 4000, GCShare: &gc, Steps: []Step{{Step: "dedup", CPUNsPerEvent: 400}}}},
	}
}

func TestCompare(t *testing.T) {
	a, b := small(), small()
	b.Machine.CPU = "another"
	b.Setup.Settings["writer.flush_age"] = "1s"
	b.Run.ClosedPerS = 100000
	b.Run.CPUNsPerEvent = 7500
	b.Run.LagMax = 40
	b.Freshness = nil
	b.Roles = append([]Role{{Role: "router", CPUNsPerEvent: 1000}}, b.Roles...)
	b.Roles[1].Steps[0].CPUNsPerEvent = 200
	var out strings.Builder
	if err := Compare(&out, "a.json", a, "b.json", b); err != nil {
		t.Fatal(err)
	}
	lines := map[string]string{}
	for line := range strings.Lines(out.String()) {
		words := strings.Fields(line)
		if len(words) > 1 {
			lines[words[0]] = strings.Join(words[1:], " ")
		}
	}
	for path, want := range map[string]string{
		"a.json":                                      "b.json",
		"machine.cpu":                                 "one another",
		"setup.settings.writer.flush_age":             "5s 1s",
		"run.closed_per_s":                            "50K 100K 2.00 better",
		"run.cpu_ns_per_event":                        "7000 7500 1.07",
		"run.lag_max":                                 "10 40 4.00 worse",
		"freshness.p99_s":                             "5 - -",
		"roles[router].cpu_ns_per_event":              "- 1000 -",
		"roles[writer].cpu_ns_per_event":              "4000 4000 1.00",
		"roles[writer].steps[dedup].cpu_ns_per_event": "400 200 0.50 better",
		"roles[writer].gc_share":                      "0.05 0.05 1.00",
		// neither different settings nor figures of merit
		"machine.cores": "", "workload.name": "", "run.lag_end": "",
	} {
		if lines[path] != want {
			t.Errorf("%s: %q, want %q", path, lines[path], want)
		}
	}
	if t.Failed() {
		t.Log("\n" + out.String())
	}
}

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		a, b    float64
		better  string
		ratio   string
		verdict string
	}{
		{0, 0, "less", "1.00", ""},
		{0, 3, "less", "-", "worse"},
		{0, 3, "more", "-", "better"},
		{100, 109, "less", "1.09", ""},
		{100, 112, "less", "1.12", "worse"},
		{100, 92, "more", "0.92", ""},
		{100, 50, "more", "0.50", "worse"},
		{100, 0, "less", "0.00", "better"},
	} {
		ratio, verdict := judge(figure{number: c.a}, true, figure{number: c.b}, true, c.better)
		if ratio != c.ratio || verdict != c.verdict {
			t.Errorf("%v -> %v, %s: %s %q, want %s %q", c.a, c.b, c.better, ratio, verdict, c.ratio, c.verdict)
		}
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 1: "1", 0.5: "0.5", 0.123456: "0.123", 12.345: "12.3", 123.4: "123", 9999: "9999", 10000: "10K", 123456: "123K",
		1.5e6: "1.5M", 2e9: "2G", 3.25e12: "3.25T", 0.00001234: "1.23e-05", -1500: "-1500", 0.001: "0.001", 100: "100", 99.96: "100",
	} {
		if got := Number(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}
