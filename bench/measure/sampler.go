package measure

import (
	"context"
	"fmt"
	"maps"
	"os"
	"sync"
	"time"

	"github.com/togodb/togo/bench/result"
	"github.com/togodb/togo/internal/inspect"
	"github.com/togodb/togo/internal/shardlog"
)

// sampler takes a sample each second, and adds up.
type sampler struct {
	r       *rig
	base    shardlog.Totals    // of the shard logs before the load
	first   map[string]metrics // of each role, before the load
	now     map[string]metrics // the last ones
	seconds []result.Second

	sent, bytes    int64
	counts         map[string]int64 // stored, duplicates, conflicts, dead: since the load began
	closed, judged int64
	perSecond      float64       // sent, of late
	span           time.Duration // since the sample before
	lagMax, lagEnd int64
	loadS          float64 // seconds that the load took; 0: it has not ended
	judgedS        float64 // seconds until the last event was judged; 0: that has not been
	measuredS      float64 // until the requests were counted
	measuredClosed int64

	at        time.Time
	cpu       map[string]time.Duration
	requests  map[string]int64
	written   int64
	fragments []result.BySize // live, when last looked at
	lookedAt  time.Time
}

// outcomes are the writer's counters of closed events.
var outcomes = []string{"stored", "duplicates", "conflicts", "dead"}

func newSampler(ctx context.Context, r *rig) (*sampler, error) {
	s := &sampler{r: r, counts: map[string]int64{}, cpu: map[string]time.Duration{}, requests: map[string]int64{}, at: time.Now()}
	v, err := inspect.Open(ctx, r.store, r.Logger)
	if err != nil {
		return nil, err
	}
	s.base = totals(v)
	if s.base.Stored > 0 {
		r.note("the store held %d events before; fragments and sizes at the end are of all", s.base.Stored)
	}
	s.first = s.scrape(ctx)
	for role, m := range s.first {
		if m == nil {
			return nil, fmt.Errorf("the %s does not answer at /metrics", role)
		}
	}
	for _, c := range r.children {
		c.base = c.cpu()
	}
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		r.note("there is no /proc: no memory and no CPU time by second was measured (they are 0), and CPU time by role has the start in it")
	}
	s.now = maps.Clone(s.first)
	return s, nil
}

func totals(v *inspect.View) (t shardlog.Totals) {
	for _, s := range v.Shards {
		x := s.Totals()
		t.Stored += x.Stored
		t.Duplicate += x.Duplicate
		t.Conflict += x.Conflict
		t.Dead += x.Dead
	}
	return t
}

// scrape asks each role for its metrics; nil for one that does not answer.
func (s *sampler) scrape(ctx context.Context) map[string]metrics {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var mu sync.Mutex
	var wait sync.WaitGroup
	out := map[string]metrics{}
	for _, role := range roles {
		wait.Go(func() {
			body, err := fetch(ctx, "http://"+s.r.child(role).addr+"/metrics")
			mu.Lock()
			defer mu.Unlock()
			out[role] = nil
			if err == nil {
				out[role] = parseMetrics(string(body))
			}
		})
	}
	wait.Wait()
	return out
}

// rose is by how much a counter of a role rose since the load began.
func (s *sampler) rose(role, name string) int64 {
	return int64(s.now[role].sum(name) - s.first[role].sum(name))
}

// rises is rose by a label.
func (s *sampler) rises(role, name, label string) map[string]int64 {
	out := map[string]int64{}
	before := s.first[role].by(name, label)
	for k, v := range s.now[role].by(name, label) {
		if n := int64(v - before[k]); n != 0 {
			out[k] = n
		}
	}
	return out
}

// sample takes one sample.
func (s *sampler) sample(ctx context.Context) error {
	for role, m := range s.scrape(ctx) {
		if m != nil { // a role too busy to answer is as it was
			s.now[role] = m
		}
	}
	outcome := map[string]int64{}
	for _, name := range outcomes {
		outcome[name] = s.rose("writer", "togo_writer_"+name+"_total")
	}
	s.judged = s.rose("writer", "togo_writer_items_total")
	s.add(time.Now(), outcome)
	if s.at.Sub(s.lookedAt) >= lookEvery {
		return s.look(ctx)
	}
	return nil
}

// lookEvery is how often the shard logs are read for the sizes of fragments.
const lookEvery = 10 * time.Second

// add makes a sample of what is known now.
func (s *sampler) add(now time.Time, outcome map[string]int64) {
	heard := s.r.heard()
	sent, size := heard.Events, heard.Bytes
	for _, p := range s.r.probers {
		n, b := p.count()
		sent, size = sent+n, size+b
	}
	var closed int64
	for _, n := range outcome {
		closed += n
	}
	x := result.Second{
		AtS: s.r.since(now), Sent: sent - s.sent, SentBytes: size - s.bytes,
		Stored: outcome["stored"] - s.counts["stored"], Duplicates: outcome["duplicates"] - s.counts["duplicates"],
		Other: outcome["conflicts"] + outcome["dead"] - s.counts["conflicts"] - s.counts["dead"],
		// Events may be closed that the generator has not yet told of.
		Lag: max(0, sent-closed), CPUS: map[string]float64{}, MemoryBytes: map[string]int64{}, Requests: map[string]int64{},
	}
	s.span = now.Sub(s.at)
	s.perSecond = float64(x.Sent) / s.span.Seconds()
	s.sent, s.bytes, s.counts, s.closed, s.at = sent, size, outcome, closed, now
	s.lagMax = max(s.lagMax, x.Lag)
	if len(s.r.probers) > 0 {
		if seen := s.r.probers[0].news(); len(seen) > 0 {
			p50, most := quantile(seen, 0.5).Seconds(), seen[len(seen)-1].Seconds()
			x.FreshP50S, x.FreshMaxS = &p50, &most
		}
	}
	for _, c := range s.r.children {
		cpu := c.cpu() - c.base
		x.CPUS[c.role] = (cpu - s.cpu[c.role]).Seconds()
		s.cpu[c.role] = cpu
		if now, _ := c.memory(); now > 0 {
			x.MemoryBytes[c.role] = now
		}
	}
	requests, written := s.traffic()
	for kind, n := range requests {
		if d := n - s.requests[kind]; d != 0 {
			x.Requests[kind] = d
		}
	}
	x.WrittenBytes = written - s.written
	s.requests, s.written = requests, written
	s.seconds = append(s.seconds, x)
}

// ingesting are the roles whose requests ingestion costs; those of queries depend on who asks.
var ingesting = []string{"router", "writer", "compactor"}

// traffic are the requests of ingestion by kind, and the bytes it wrote.
func (s *sampler) traffic() (requests map[string]int64, written int64) {
	requests = map[string]int64{}
	for _, role := range ingesting {
		for kind, n := range s.rises(role, "togo_objstore_requests_total", "op") {
			requests[kind] += n
		}
		for kind, n := range s.rises(role, "togo_objstore_bytes_total", "op") {
			if writes(kind) {
				written += n
			}
		}
	}
	return requests, written
}

func writes(kind string) bool { return kind == "put" || kind == "put_if_absent" || kind == "upload" }

// classes are sizes that fragments are told apart by; the last one has no limit.
var classes = []int64{64 << 10, 1 << 20, 16 << 20, 128 << 20, 0}

// look reads the shard logs for the live fragments.
func (s *sampler) look(ctx context.Context) error {
	v, err := inspect.Open(ctx, s.r.store, s.r.Logger)
	if err != nil {
		return err
	}
	s.lookedAt = time.Now()
	s.fragments = make([]result.BySize, len(classes))
	for i, below := range classes {
		s.fragments[i].BelowBytes = below
	}
	for _, tenant := range v.Tenants() {
		for _, f := range v.Files(tenant, shardlog.TableEvents, inspect.Always) {
			at := 0
			for classes[at] > 0 && f.Bytes >= classes[at] {
				at++
			}
			s.fragments[at].Count++
			s.fragments[at].Bytes += f.Bytes
		}
	}
	counts := make([]int64, len(classes))
	for i, c := range s.fragments {
		counts[i] = c.Count
	}
	s.seconds[len(s.seconds)-1].Fragments = counts
	return nil
}

// loadEnded notes the end of the load, once.
func (s *sampler) loadEnded() {
	if s.loadS == 0 {
		last := s.seconds[len(s.seconds)-1]
		s.loadS, s.lagEnd = last.AtS, last.Lag
	}
}

// allJudged notes that the fate of every event is decided, once.
func (s *sampler) allJudged() {
	if s.judgedS == 0 {
		s.judgedS = s.seconds[len(s.seconds)-1].AtS
	}
}

// lastCounts notes what the roles count, before some of them end.
func (s *sampler) lastCounts(ctx context.Context) {
	s.loadEnded()
	s.allJudged()
	for role, m := range s.scrape(ctx) {
		if m != nil {
			s.now[role] = m
		}
	}
	s.measuredS = s.r.since(time.Now())
	for _, name := range outcomes {
		s.measuredClosed += s.rose("writer", "togo_writer_"+name+"_total")
	}
}

// finish takes the last sample, after the writer's last commit: what is closed stands in the shard logs.
func (s *sampler) finish(ctx context.Context) error {
	v, err := inspect.Open(ctx, s.r.store, s.r.Logger)
	if err != nil {
		return err
	}
	t := totals(v)
	s.add(time.Now(), map[string]int64{
		"stored": t.Stored - s.base.Stored, "duplicates": t.Duplicate - s.base.Duplicate,
		"conflicts": t.Conflict - s.base.Conflict, "dead": t.Dead - s.base.Dead,
	})
	return s.look(ctx)
}

// of are the requests of one role by kind.
func (s *sampler) of(role string) map[string]int64 {
	return maps.Clone(s.rises(role, "togo_objstore_requests_total", "op"))
}
