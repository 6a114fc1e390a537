package writer

import (
	"github.com/prometheus/client_golang/prometheus"
)

// collector shows the shards' snapshots; the names are part of what users build on.
type collector struct{ w *Writer }

// metric is one value of a snapshot.
type metric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(s *snapshot) float64
}

func gauge(name, help string, of func(s *snapshot) float64) metric {
	return metric{prometheus.NewDesc("togo_writer_"+name, help, []string{"shard"}, nil), prometheus.GaugeValue, of}
}

func counter(name, help string, of func(s *snapshot) float64) metric {
	return metric{prometheus.NewDesc("togo_writer_"+name+"_total", help, []string{"shard"}, nil), prometheus.CounterValue, of}
}

var shardMetrics = []metric{
	gauge("ready", "1 if the shard does its work.", func(s *snapshot) float64 {
		if s.ready == nil {
			return 1
		}
		return 0
	}),
	gauge("epoch", "Epoch of this process's claim.", func(s *snapshot) float64 { return float64(s.status.Epoch) }),
	gauge("log_position", "Position of the shard log.", func(s *snapshot) float64 { return float64(s.status.Position) }),
	gauge("committed_offset", "Offset of the shard topic below which all but the open offsets are committed.", func(s *snapshot) float64 { return float64(s.status.Committed) }),
	gauge("oldest_open_offset", "Offset of the shard topic below which everything is committed.", func(s *snapshot) float64 { return float64(s.status.OldestOpen) }),
	gauge("open_offsets", "Records that were read and are not committed.", func(s *snapshot) float64 { return float64(s.status.OpenOffsets) }),
	gauge("lag_offsets", "Offsets from the oldest open one to the log's end.", func(s *snapshot) float64 { return float64(s.status.Lag) }),
	gauge("lost_offsets", "Offsets that Kafka lost and no operator has accepted.", func(s *snapshot) float64 { return float64(s.status.LostOffsets) }),
	gauge("memory_bytes", "Events in memory.", func(s *snapshot) float64 { return float64(s.status.MemoryBytes) }),
	gauge("parked_bytes", "Events that wait for identities to be read.", func(s *snapshot) float64 { return float64(s.status.ParkedBytes) }),
	gauge("dedup_bytes", "Identities in memory.", func(s *snapshot) float64 { return float64(s.status.DedupBytes) }),
	gauge("dedup_resident_ids", "Identities in memory, but for the pending ones.", func(s *snapshot) float64 { return float64(s.status.Dedup.ResidentIDs) }),
	gauge("dedup_summary_ids", "Identities of which memory has a summary alone, for others needed their place.", func(s *snapshot) float64 { return float64(s.status.Dedup.SummaryIDs) }),
	gauge("dedup_pending_ids", "Identities of events that are in no commit yet.", func(s *snapshot) float64 { return float64(s.status.Dedup.PendingIDs) }),
	// Counted since the state was last loaded.
	gauge("dedup_checks", "Questions for an identity.", func(s *snapshot) float64 { return float64(s.status.Dedup.Checks) }),
	gauge("dedup_waits", "Questions that had to wait for the store.", func(s *snapshot) float64 { return float64(s.status.Dedup.Waits) }),
	gauge("dedup_filter_false", "Times that a filter said maybe and the identities said no.", func(s *snapshot) float64 { return float64(s.status.Dedup.FilterFalse) }),
	gauge("dedup_load_bytes", "Bytes of identities read from the store.", func(s *snapshot) float64 { return float64(s.status.Dedup.LoadBytes) }),
	gauge("dedup_evictions", "Identities of a tenant and bucket that made room for others.", func(s *snapshot) float64 { return float64(s.status.Dedup.UnitEvictions) }),
	gauge("tenants", "Tenants with something in memory.", func(s *snapshot) float64 { return float64(s.status.Tenants) }),
	gauge("last_commit_seconds", "Time of the last commit, from its plan on.", func(s *snapshot) float64 { return s.counts.LastCommitSeconds }),
	gauge("last_commit_oldest_seconds", "Age of the oldest record of the last commit.", func(s *snapshot) float64 { return s.counts.LastFreshnessSeconds }),
	gauge("last_commit_timestamp_seconds", "When the last commit was.", func(s *snapshot) float64 { return float64(s.status.LastCommitMS) / 1e3 }),
	counter("records", "Records of the shard topic that were judged.", func(s *snapshot) float64 { return float64(s.counts.Records) }),
	counter("items", "Events and letters in them.", func(s *snapshot) float64 { return float64(s.counts.Items) }),
	counter("parked", "Records that waited for identities.", func(s *snapshot) float64 { return float64(s.counts.Parked) }),
	counter("commits", "Commits.", func(s *snapshot) float64 { return float64(s.counts.Commits) }),
	counter("commit_seconds", "Time of all commits, from their plans on.", func(s *snapshot) float64 { return s.counts.CommitSeconds }),
	counter("fragments", "Fragments committed.", func(s *snapshot) float64 { return float64(s.counts.Fragments) }),
	counter("bytes", "Bytes of objects committed.", func(s *snapshot) float64 { return float64(s.counts.Bytes) }),
	counter("stored", "Events stored.", func(s *snapshot) float64 { return float64(s.counts.Stored) }),
	counter("duplicates", "Events that were stored before.", func(s *snapshot) float64 { return float64(s.counts.Duplicates) }),
	counter("conflicts", "Events with another payload than the stored one of their identity.", func(s *snapshot) float64 { return float64(s.counts.Conflicts) }),
	counter("dead", "Dead letters stored.", func(s *snapshot) float64 { return float64(s.counts.Dead) }),
	counter("lost_races", "Appends that found another's record.", func(s *snapshot) float64 { return float64(s.counts.LostRaces) }),
	counter("reloads", "Times that all was dropped and the log read again.", func(s *snapshot) float64 { return float64(s.counts.Reloads) }),
	counter("claims", "Claims of the shard by this process.", func(s *snapshot) float64 { return float64(s.sessions) }),
}

func (c collector) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range shardMetrics {
		ch <- m.desc
	}
}

func (c collector) Collect(ch chan<- prometheus.Metric) {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	for _, r := range c.w.runners {
		s := r.snapshot()
		for _, m := range shardMetrics {
			ch <- prometheus.MustNewConstMetric(m.desc, m.kind, m.of(&s), r.shard.String())
		}
	}
}
