package measure

import (
	"maps"
	"slices"
	"time"

	"github.com/togodb/togo/bench/result"
)

// document is what was measured.
func (s *sampler) document() *result.Document {
	elapsed := s.seconds[len(s.seconds)-1].AtS
	d := &result.Document{
		Format: result.Format, Started: s.r.began.UTC(), ElapsedS: elapsed, Seconds: s.seconds,
		Run: result.Run{
			Sent: s.sent, SentBytes: s.bytes, Closed: s.closed, Stored: s.counts["stored"], Duplicates: s.counts["duplicates"],
			Conflicts: s.counts["conflicts"], Dead: s.counts["dead"], Copies: s.r.heard().Copies,
			SentPerS: per(float64(s.sent), s.loadS), ClosedPerS: per(float64(s.closed), s.judgedS), LagMax: s.lagMax, LagEnd: s.lagEnd,
		},
	}
	s.roles(d)
	end := s.r.began.Add(time.Duration(elapsed * float64(time.Second)))
	for i, p := range s.r.probers {
		if i == 0 {
			if s.largestIsSmall() {
				p.limit = s.r.SmallAge + time.Second
				s.r.note("the tenant that sends most sends less than writer.small_tenant_bytes in a flush age, so its events may wait for writer.small_tenant_age, too")
			}
			d.Freshness = p.freshness(end)
		} else {
			d.SmallFreshness = p.freshness(end)
		}
	}
	s.dedup(d)
	d.Fragments = &result.Fragments{BySize: s.fragments}
	for _, c := range s.fragments {
		d.Fragments.Count += c.Count
		d.Fragments.Bytes += c.Bytes
	}
	s.traffics(d)
	if s.r.inquiry != nil {
		d.Queries = s.r.inquiry.results()
	}
	if d.Run.Duplicates != d.Run.Copies && d.Run.Closed == d.Run.Sent {
		s.r.note("the generator made %d copies, and %d duplicates were dropped", d.Run.Copies, d.Run.Duplicates)
	}
	d.Notes = s.r.notes
	return d
}

// largestIsSmall says that the rule of small tenants holds for all tenants at this rate.
func (s *sampler) largestIsSmall() bool {
	inFlushAge := per(float64(s.bytes), s.loadS) * s.r.FlushAge.Seconds() * s.r.Workload.Share(0)
	return s.r.SmallAge > 0 && inFlushAge < float64(s.r.SmallBytes)
}

// per is a over b, or 0 where b is.
func per(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

func (s *sampler) roles(d *result.Document) {
	closed := float64(d.Run.Closed)
	for _, c := range s.r.children {
		cpu := (c.cpu() - c.base).Seconds()
		_, peak := c.memory()
		role := result.Role{Role: c.role, Processes: 1, CPUS: cpu, CPUNsPerEvent: per(cpu*1e9, closed), PeakMemoryBytes: peak}
		if s.now[c.role] != nil {
			allocated := s.rose(c.role, "go_memstats_alloc_bytes_total")
			role.AllocatedBytes = &allocated
		}
		if p := s.r.profiles[c.role]; p != nil && p.total > 0 {
			gc := float64(p.gc) / float64(p.total)
			role.GCShare = &gc
			for _, step := range slices.Sorted(maps.Keys(p.steps)) {
				share := float64(p.steps[step]) / float64(p.total)
				role.Steps = append(role.Steps, result.Step{Step: step, Share: share, CPUS: share * cpu, CPUNsPerEvent: per(share*cpu*1e9, closed)})
			}
			slices.SortStableFunc(role.Steps, func(a, b result.Step) int {
				switch {
				case a.Share > b.Share:
					return -1
				case a.Share < b.Share:
					return 1
				}
				return 0
			})
		}
		d.Roles = append(d.Roles, role)
		if c.role == "router" || c.role == "writer" {
			d.Run.CPUNsPerEvent += role.CPUNsPerEvent
			d.Run.PeakMemoryBytes += peak
		}
	}
	d.Run.CPUSPerMillion = d.Run.CPUNsPerEvent / 1e3
}

func (s *sampler) dedup(d *result.Document) {
	w := s.now["writer"]
	checks, waits := int64(w.sum("togo_writer_dedup_checks")), int64(w.sum("togo_writer_dedup_waits"))
	x := &result.Dedup{
		IDs:         int64(w.sum("togo_writer_dedup_resident_ids") + w.sum("togo_writer_dedup_summary_ids") + w.sum("togo_writer_dedup_pending_ids")),
		MemoryBytes: int64(w.sum("togo_writer_dedup_bytes")), Asked: checks - waits, LoadedBytes: int64(w.sum("togo_writer_dedup_load_bytes")),
	}
	x.BytesPerID = per(float64(x.MemoryBytes), float64(x.IDs))
	// One that waited is asked again, and counts once.
	x.FetchedShare = min(1, per(float64(waits), float64(x.Asked)))
	x.MemoryShare = 1 - x.FetchedShare
	if x.Asked > 0 {
		d.Dedup = x
	}
}

// failures are results of a request without an answer of the store.
var failures = []string{"unavailable", "canceled", "error"}

// traffics is about the store: requests, bytes, money.
func (s *sampler) traffics(d *result.Document) {
	closed := float64(s.measuredClosed)
	if closed == 0 {
		s.r.note("nothing of the store's traffic is here: no event was closed while the load ran")
		return
	}
	tenantHours := float64(s.r.Workload.Tenants) * s.measuredS / 3600
	x := &result.Store{MeasuredSeconds: s.measuredS}
	counts, sizes := map[string]int64{}, map[string]int64{}
	var all, failed int64
	for _, role := range roles {
		of := s.of(role)
		x.ByRole = append(x.ByRole, result.ByRole{Role: role, Counts: of})
		if !slices.Contains(ingesting, role) {
			continue
		}
		for kind, n := range of {
			counts[kind] += n
			all += n
		}
		for kind, n := range s.rises(role, "togo_objstore_bytes_total", "op") {
			sizes[kind] += n
		}
		answers := s.rises(role, "togo_objstore_requests_total", "result")
		for _, f := range failures {
			failed += answers[f]
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		n := float64(counts[kind])
		x.Requests = append(x.Requests, result.Requests{
			Kind: kind, Count: counts[kind], PerMillion: per(n*1e6, closed), PerTenantHour: per(n, tenantHours), Bytes: sizes[kind],
		})
		if writes(kind) {
			x.WrittenBytes += sizes[kind]
		} else {
			x.ReadBytes += sizes[kind]
		}
	}
	x.PerMillion, x.PerTenantHour = per(float64(all)*1e6, closed), per(float64(all), tenantHours)
	x.FailedShare = per(float64(failed), float64(all))
	eventBytes := per(float64(s.bytes), float64(s.sent))
	x.WrittenPerByte = per(float64(x.WrittenBytes), eventBytes*closed)
	flushed := float64(s.rose("writer", "togo_writer_bytes_total"))
	stored := float64(s.rose("writer", "togo_writer_stored_total"))
	x.Compression = per(eventBytes*stored, flushed)
	x.Amplification = per(flushed+float64(s.rose("compactor", "togo_compactor_written_bytes_total")), flushed)
	d.Store = x

	s.dollars(d, counts, tenantHours)
}

func (s *sampler) dollars(d *result.Document, counts map[string]int64, tenantHours float64) {
	cost, err := s.r.Prices.Requests(counts)
	if err != nil {
		s.r.note("no dollars: %v", err)
		return
	}
	live := per(float64(d.Fragments.Bytes)*1e6, float64(d.Run.Stored+s.base.Stored))
	d.Store.Dollars = &result.Dollars{
		Prices: s.r.Prices.Source, PerMillion: per(cost*1e6, float64(s.measuredClosed)), PerTenantHour: per(cost, tenantHours),
		StoragePerMillion: s.r.Prices.Storage(live),
	}
}
