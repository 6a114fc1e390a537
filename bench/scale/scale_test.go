package scale

import (
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/bench/measure"
	"github.com/togodb/togo/bench/result"
	"github.com/togodb/togo/writer/shard"
)

// tiny is a model that runs within seconds.
func tiny() Config {
	c := Defaults()
	c.Tenants, c.Shards, c.RetentionDays, c.MovesPerDay = 40, 2, 2, 10
	c.EventsPerDay, c.Partitions, c.Processes = []float64{1e4, 1e5, 1e6}, 4, 2
	var err error
	if c.Prices, err = measure.ReadPrices(""); err != nil {
		panic(err)
	}
	return c
}

func run(t *testing.T, c Config) *Report {
	t.Helper()
	r, err := Run(t.Context(), c, func(line string) { t.Log(line) })
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestModel(t *testing.T) {
	r := run(t, tiny())
	if r.Placements.Moves != 20 || r.Placements.MemoryBytes <= 0 || r.Placements.PollRequests == 0 {
		t.Errorf("placements: %+v", r.Placements)
	}
	if len(r.Growth) != 2 || r.Growth[0].Days != 1 || r.Growth[1].Days != 2 {
		t.Fatalf("growth: %+v", r.Growth)
	}
	first, last := r.Growth[0], r.Growth[1]
	if last.Fragments < 3*first.Fragments/2 || last.Fragments != last.Buckets {
		t.Errorf("%d fragments after a day, %d in %d buckets after two: compaction leaves one for each hour of a tenant", first.Fragments, last.Fragments, last.Buckets)
	}
	if first.RecordRequests < 2 || last.RecordRequests > first.RecordRequests*1.05 {
		t.Errorf("a record makes %.3f requests at first and %.3f in the end", first.RecordRequests, last.RecordRequests)
	}
	if last.Expired < 10 || first.Expired != 0 {
		t.Errorf("retention dropped %d fragments after a day and %d after two", first.Expired, last.Expired)
	}
	for i, v := range r.Volumes {
		parts := v.DollarsFlush + v.DollarsMerge + v.DollarsLog + v.DollarsFollow + v.DollarsCollect + v.DollarsStorage
		if math.Abs(parts-v.DollarsMonth) > 1e-6*parts {
			t.Errorf("%v events a day: the parts come to %v dollars, not %v", v.EventsPerDay, parts, v.DollarsMonth)
		}
		if want := v.DollarsMonth / (v.EventsPerDay * 730 / 24 / 1e6); math.Abs(v.DollarsPerMillion-want) > 1e-9*want {
			t.Errorf("%v dollars for a million, not %v", v.DollarsPerMillion, want)
		}
		if i == 0 {
			continue
		}
		if before := r.Volumes[i-1]; v.EventsPerFragment <= before.EventsPerFragment || v.DollarsPerMillion >= before.DollarsPerMillion || v.DollarsMonth <= before.DollarsMonth {
			t.Errorf("more events do not make files larger and events cheaper: %+v, %+v", before, v)
		}
	}
	for i, w := range r.Walls {
		if w.Value <= 0 || i > 0 && w.Headroom < r.Walls[i-1].Headroom {
			t.Errorf("wall %d: %+v", i, w)
		}
	}
	checkShown(t, r)
}

// checkShown: what people and programs get of a report.
func checkShown(t *testing.T, r *Report) {
	t.Helper()
	var out strings.Builder
	if err := r.Print(&out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if last := lines[len(lines)-1]; !strings.HasPrefix(last, "RESULT tenants=40 shards=2 days=2 ") || strings.Contains(out.String(), "NaN") {
		t.Errorf("%s", out.String())
	}
	if _, err := r.Encode(); err != nil {
		t.Error(err)
	}
	if svg := r.Cost().Standalone(); !strings.Contains(svg, "garbage") || strings.Contains(svg, "NaN") {
		t.Errorf("%s", svg)
	}
}

// Counts repeat themselves under one seed, and are others under another.
func TestSeed(t *testing.T) {
	c := tiny()
	c.EventsPerDay = []float64{1e4}
	a, b := run(t, c).Volumes[0], run(t, c).Volumes[0]
	c.Seed++
	other := run(t, c).Volumes[0]
	a.LogCPUShare, b.LogCPUShare, other.LogCPUShare = 0, 0, 0 // times
	if a != b {
		t.Errorf("one seed, two results: %+v, %+v", a, b)
	}
	if a == other {
		t.Error("two seeds, one result")
	}
}

func TestFlushRule(t *testing.T) {
	now := time.Unix(1000, 0)
	f := &flush{s: &shardModel{now: now, cfg: Config{EventBytes: 1000}}, rule: shard.Defaults(), last: now.Add(-time.Minute)}
	for _, c := range []struct {
		rows       int64
		age        time.Duration
		due, joins bool
	}{
		{0, time.Hour, false, true},
		{10, 44 * time.Second, false, false},
		{10, 45 * time.Second, false, true},
		{10, 60 * time.Second, true, true},
		{2000, 2 * time.Second, false, false},
		{2000, 3 * time.Second, false, true},
		{2000, 5 * time.Second, true, true},
		{100_000, 0, true, true},
	} {
		b := buffer{c.rows, now.Add(-c.age)}
		if due := f.due(b); due != c.due {
			t.Errorf("%d events after %s: due %v", c.rows, c.age, due)
		}
		if joins := f.joins(b); joins != c.joins && c.rows > 0 {
			t.Errorf("%d events after %s: joins %v", c.rows, c.age, joins)
		}
	}
	f.last = now.Add(-4 * time.Second)
	if f.due(buffer{10, now.Add(-time.Hour)}) {
		t.Error("tenants with little ask again within the flush age")
	}
}

func TestPoisson(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, mean := range []float64{0, 0.01, 3, 49, 51, 10_000} {
		const n = 20_000
		sum, squares := 0.0, 0.0
		for range n {
			v := float64(poisson(r, mean))
			sum, squares = sum+v, squares+v*v
		}
		got := sum / n
		variance := squares/n - got*got
		if math.Abs(got-mean) > 5*math.Sqrt(mean/n) || math.Abs(variance-mean) > 0.06*mean+0.005 {
			t.Errorf("mean %v: drawn %v with variance %v", mean, got, variance)
		}
	}
}

func TestShares(t *testing.T) {
	list := shares(1000, 1)
	sum := 0.0
	for _, s := range list {
		sum += s
	}
	if math.Abs(sum-1) > 1e-9 || math.Abs(list[0]/list[9]-10) > 1e-9 {
		t.Errorf("sum %v, the first has %v times the tenth", sum, list[0]/list[9])
	}
	if n := len(shardsFor(0, 0, 0.1, 64)); n != 7 {
		t.Errorf("a tenth of all events lies on %d of 64 shards", n)
	}
}

func TestConfig(t *testing.T) {
	c := Defaults()
	if err := c.Validate(); err == nil || err.Error() != "no prices" {
		t.Error(err)
	}
	c.Tenants, c.RetentionDays, c.EventsPerDay = 0, 1, []float64{5, 5}
	err := c.Validate()
	for _, want := range []string{"tenants", "retention", "does not rise"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
}

var rewrite = flag.Bool("rewrite", false, "write the list of keys into docs/bench.md")

func TestKeysAreDocumented(t *testing.T) {
	const path, begin, end = "../../docs/bench.md", "<!-- scale keys: go test ./bench/scale -run TestKeysAreDocumented -rewrite -->\n", "<!-- end of scale keys -->\n"
	for _, k := range result.Keys[Report]() {
		if k.Doc == "" {
			t.Errorf("key %q has no meaning (tag doc)", k.Path)
		}
	}
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(body), begin)
	table, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s lacks the marks around its list of keys", path)
	}
	if want := result.Table[Report](); *rewrite {
		if err := os.WriteFile(path, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if table != want {
		t.Errorf("%s has another list of keys than the report; -rewrite makes it anew", path)
	}
}

// TestListing: each process lists what its shards may have, or all there is where that takes less.
func TestListing(t *testing.T) {
	c := Config{Shards: 8, Processes: 2}
	tenants := []spread{{1, 1}, {1, 1}, {2, 2}}
	// 10, 10 and 20 pages, each with those of letters, the last by both; 8 of id segments, 6 of unfinished uploads.
	if got, want := listing(c, tenants, 40_000), 11.+11+2*21+8+6; got != want {
		t.Errorf("%v requests, not %v", got, want)
	}
	if got, want := listing(c, tenants, 5_000), 2*5.+6; got != want {
		t.Errorf("%v requests for a small store, not %v", got, want)
	}
}
