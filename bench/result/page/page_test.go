package page

import (
	"encoding/json"
	"flag"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/bench/result"
	"github.com/togodb/togo/bench/result/plot"
)

var keep = flag.String("keep", "", "a folder that the pages and plots of the tests are written to, to be looked at")

// sample is a result as a run of n seconds leaves it.
func sample(n int) *result.Document {
	gc := 0.07
	d := &result.Document{
		Format: result.Format, Command: "togo bench --workload small --for 1m", Started: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		ElapsedS: float64(n), Program: result.Program{Version: "v1 <dev>", Go: "go1.26"},
		Machine:        result.Machine{OS: "linux 6.1", Arch: "amd64", CPU: "AMD EPYC", Cores: 2, MemoryBytes: 24 << 30, LoadBefore: 0.1},
		Workload:       result.Workload{Name: "small", Seed: 1, Tenants: 200, EventBytes: 550, Keys: 25, DuplicateShare: 0.02, RatePerS: 50000},
		Setup:          result.Setup{Kafka: "embedded", Store: "directory", Shards: 4, IntakePartitions: 4, Processes: map[string]int{"router": 1, "writer": 2}, Settings: map[string]string{"writer.flush_age": "5s"}},
		Run:            result.Run{Sent: 3_000_000, Copies: 60_000, Closed: 3_000_000, Stored: 2_940_000, Duplicates: 60_000, ClosedPerS: 49_900, CPUNsPerEvent: 7400, CPUSPerMillion: 7.4, PeakMemoryBytes: 700 << 20},
		Freshness:      &result.Freshness{Probes: 120, P50S: 3, P99S: 5.6, MaxS: 6, LimitS: 6},
		SmallFreshness: &result.Freshness{Probes: 7, P50S: 31, P99S: 58, MaxS: 59, LimitS: 61},
		Roles: []result.Role{
			{Role: "router", Processes: 1, CPUS: 9, CPUNsPerEvent: 3000, PeakMemoryBytes: 200 << 20},
			{Role: "writer", Processes: 2, CPUS: 13, CPUNsPerEvent: 4400, PeakMemoryBytes: 500 << 20, GCShare: &gc,
				Steps: []result.Step{{Step: "encode", CPUS: 8, CPUNsPerEvent: 2700, Share: 0.6}, {Step: "dedup", CPUS: 5, CPUNsPerEvent: 1700, Share: 0.4}}},
		},
		Dedup:     &result.Dedup{IDs: 2_940_000, MemoryBytes: 64 << 20, BytesPerID: 21.7, Asked: 3_000_000, MemoryShare: 1},
		Store:     &result.Store{Requests: []result.Requests{{Kind: "put", Count: 2400, PerMillion: 800, Bytes: 300 << 20}}, PerMillion: 900, WrittenPerByte: 0.2, Compression: 5, Amplification: 2.5, Dollars: &result.Dollars{Prices: "S3, 2026-11", PerMillion: 0.0045}},
		Fragments: &result.Fragments{Count: 300, Bytes: 200 << 20, BySize: []result.BySize{{BelowBytes: 1 << 20, Count: 200, Bytes: 1 << 20}, {Count: 100, Bytes: 199 << 20}}},
		Queries:   []result.Query{{Name: "needle", Runs: 10, P50S: 0.004, P99S: 0.012, MaxS: 0.02}, {Name: "top", Runs: 9, P50S: 0.1, P99S: 0.3, MaxS: 0.31}},
		Notes:     []string{"nothing & nobody"},
	}
	for i := range n {
		wave := 1 + 0.2*math.Sin(float64(i)/7)
		s := result.Second{AtS: float64(i + 1), Sent: 50_000, SentBytes: 27_500_000, Stored: int64(49_000 * wave), Duplicates: 1000, Lag: int64(200_000 * wave),
			CPUS: map[string]float64{"router": 0.3, "writer": 0.6 * wave}, MemoryBytes: map[string]int64{"router": 200 << 20, "writer": int64(450*wave) << 20},
			Requests: map[string]int64{"put": 40, "get": 3}, WrittenBytes: 5_000_000}
		if i%5 == 0 {
			p50, slow := 3*wave, 5*wave
			s.FreshP50S, s.FreshMaxS = &p50, &slow
			s.Fragments = []int64{int64(i), int64(i / 2)}
		}
		d.Seconds = append(d.Seconds, s)
	}
	return d
}

func write(t *testing.T, name string, body []byte) {
	t.Helper()
	if *keep != "" {
		if err := result.WriteFile(filepath.Join(*keep, name), body); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPage(t *testing.T) {
	body, err := HTML(sample(60))
	if err != nil {
		t.Fatal(err)
	}
	write(t, "sample.html", body)
	text := string(body)
	for _, want := range []string{
		"v1 &lt;dev&gt;", "AMD EPYC", "nothing &amp; nobody", "writer.flush_age=5s", "7.4 s", "700 MiB", "3 s · 5.6 s", "$0.0045",
		"21.7 bytes each", "below 1 MiB", "from 1 MiB", "<td>needle</td>", "4 ms", "width:60.0%", "2940000", "router 1, writer 2",
		"of 7 probes 0 were not seen", "58 s", "Ingest over time", "Lag:", "Freshness:", "CPU time by role", "Resident memory", "Requests to the store", "Bytes written", "Live fragments by size",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, bad := range []string{"<script", "http-equiv", "href=", "src=", "@import", "url(", "ZgotmplZ", "NaN", "<no value>"} {
		if strings.Contains(text, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
}

// A run that was ended at once, or that could not measure something, has a page as well.
func TestPageOfLittle(t *testing.T) {
	for _, d := range []*result.Document{{Format: result.Format}, sample(0), sample(1)} {
		body, err := HTML(d)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(body), "NaN") || !strings.HasSuffix(string(body), "</html>\n") {
			t.Errorf("%s", body)
		}
	}
}

func TestIngestIsPerSecond(t *testing.T) {
	d := &result.Document{Seconds: []result.Second{{AtS: 1, Sent: 100}, {AtS: 3, Sent: 100}, {AtS: 3, Sent: 5}}}
	got := Ingest(d).Series[0].Points
	if got[0].Y != 100 || got[1] != (plot.Point{X: 3, Y: 50}) || !math.IsNaN(got[2].Y) {
		t.Errorf("%v", got)
	}
	write(t, "ingest.svg", []byte(Ingest(sample(120)).Standalone()))
}

func TestSampleIsADocument(t *testing.T) {
	body, err := sample(3).Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := result.Decode(body); err != nil {
		t.Fatal(err)
	}
	if !json.Valid(body) || len(body) > 1<<20 {
		t.Errorf("%d bytes", len(body))
	}
	write(t, "sample.json", body)
}
