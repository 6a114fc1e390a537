package scale

import (
	"time"

	"github.com/togodb/togo/bench/result"
)

// Format is that of the reports which this package writes.
const Format = 1

// Report is what the model found. Keys have their meanings in the tag "doc".
type Report struct {
	Format        int            `json:"format" doc:"of this document: 1"`
	Started       time.Time      `json:"started" doc:"when the model was run, UTC"`
	Machine       result.Machine `json:"machine"`
	Tenants       int            `json:"tenants" doc:"that are placed"`
	Shards        int            `json:"shards" doc:"of the store"`
	RetentionDays int            `json:"retention_days" doc:"that events are kept"`
	MovesPerDay   int            `json:"moves_per_day" doc:"tenants that get other shards"`
	EventBytes    float64        `json:"event_bytes" doc:"mean size of a payload"`
	Skew          float64        `json:"skew" doc:"exponent of Zipf's law, which the tenants' shares follow"`
	Partitions    int            `json:"partitions" doc:"of the intake topic"`
	Processes     int            `json:"processes" doc:"of each role, which share the shards"`
	Seed          uint64         `json:"seed" doc:"of the events"`
	Prices        string         `json:"prices" doc:"whose list, of which day"`

	Placements Placements `json:"placement_chain"`
	Growth     []Growth   `json:"growth" doc:"one shard's log as its history grows, at the middle number of events a day"`
	Volumes    []Volume   `json:"volumes" doc:"the whole by events a day"`
	Walls      []Wall     `json:"walls" doc:"what would be too much first, the nearest first"`
}

// Placements is the chain with every tenant placed and the retention's moves.
type Placements struct {
	Versions        int64   `json:"versions" doc:"records of the chain; an hour of extensions counts as one"`
	Moves           int64   `json:"moves" doc:"placements beyond the first of each tenant"`
	MemoryBytes     int64   `json:"memory_bytes" doc:"of a table in memory"`
	CheckpointBytes int64   `json:"checkpoint_bytes" doc:"of a checkpoint, every 100 versions"`
	CheckpointCPUMs float64 `json:"checkpoint_cpu_ms" doc:"CPU time to encode one"`
	StartCPUMs      float64 `json:"start_cpu_ms" doc:"CPU time of a start"`
	StartRequests   int64   `json:"start_requests" doc:"of a start"`
	StartBytes      int64   `json:"start_bytes" doc:"that a start reads"`
	ExtendCPUUs     float64 `json:"extend_cpu_us" doc:"CPU time to raise the horizon, once a minute: median"`
	LookupHotNs     float64 `json:"lookup_hot_ns" doc:"CPU time to look up the shard of an event, of 100 tenants"`
	LookupColdNs    float64 `json:"lookup_cold_ns" doc:"the same over all tenants in turn"`
	PollRequests    int64   `json:"poll_requests" doc:"of a process that follows the chain, for each look (every five seconds)"`

	polled counts
}

// Growth is one shard's log at an age.
type Growth struct {
	Days               int     `json:"days" doc:"of history"`
	Fragments          int64   `json:"fragments" doc:"that are live"`
	Segments           int64   `json:"segments" doc:"id segments that are live"`
	Buckets            int64   `json:"buckets" doc:"hours of tenants that have files"`
	MemoryBytes        int64   `json:"memory_bytes" doc:"of the folded state"`
	StartCPUMs         float64 `json:"start_cpu_ms" doc:"CPU time to read and fold the log"`
	StartRequests      int64   `json:"start_requests" doc:"of it"`
	StartBytes         int64   `json:"start_bytes" doc:"that it reads"`
	CommitCPUUs        float64 `json:"commit_cpu_us" doc:"CPU time of the log's part of a commit: mean"`
	CommitMaxCPUMs     float64 `json:"commit_max_cpu_ms" doc:"the longest"`
	FragmentsPerCommit float64 `json:"fragments_per_commit" doc:"mean"`
	CheckpointCPUMs    float64 `json:"checkpoint_cpu_ms" doc:"CPU time of a checkpoint, beside the commits: mean"`
	CheckpointMaxCPUMs float64 `json:"checkpoint_max_cpu_ms" doc:"the longest"`
	RecordRequests     float64 `json:"record_requests" doc:"of a record (commits and merges), its share of checkpoints included"`
	RecordBytes        float64 `json:"record_bytes" doc:"written for a record, its share of checkpoints included"`
	LookupCPUUs        float64 `json:"lookup_cpu_us" doc:"CPU time to find the files of a tenant's day"`
	PickCPUMs          float64 `json:"pick_cpu_ms" doc:"CPU time to look for merges in all buckets"`
	ExpireCPUMs        float64 `json:"expire_cpu_ms,omitempty" doc:"CPU time to drop an hour by retention"`
	Expired            int64   `json:"expired,omitempty" doc:"fragments that it dropped"`
}

// Volume is the whole at a number of events a day.
type Volume struct {
	EventsPerDay       float64 `json:"events_per_day" doc:"of all tenants"`
	CommitsPerHour     float64 `json:"commits_per_hour" doc:"of a shard"`
	FragmentsPerHour   float64 `json:"fragments_per_hour" doc:"that a shard flushes"`
	EventsPerFragment  float64 `json:"events_per_fragment" doc:"as flushed"`
	MergesPerHour      float64 `json:"merges_per_hour" doc:"of a shard"`
	Amplification      float64 `json:"write_amplification" doc:"bytes of fragments written, merges included, over those flushed"`
	Fragments          float64 `json:"fragments" doc:"at rest, in the whole store, at the end of the retention"`
	StoredBytes        float64 `json:"stored_bytes" doc:"in the whole store, at the end of the retention"`
	BytesPerEvent      float64 `json:"bytes_per_event" doc:"stored, at rest"`
	WritesPerS         float64 `json:"writes_per_s" doc:"PUT, LIST and parts of uploads, of the whole"`
	RequestsPerMillion float64 `json:"requests_per_million" doc:"of any kind, for a million events"`
	DollarsFlush       float64 `json:"dollars_month_flush" doc:"requests for fragments and id segments as flushed, a month"`
	DollarsMerge       float64 `json:"dollars_month_merge" doc:"requests for files by merges"`
	DollarsLog         float64 `json:"dollars_month_log" doc:"requests for the shard logs, by writers and merges"`
	DollarsFollow      float64 `json:"dollars_month_follow" doc:"requests to follow logs and placements"`
	DollarsCollect     float64 `json:"dollars_month_collect" doc:"finding garbage, and deleting it with old records of the logs"`
	DollarsStorage     float64 `json:"dollars_month_storage" doc:"to keep what is at rest"`
	DollarsMonth       float64 `json:"dollars_month" doc:"all of these"`
	DollarsPerMillion  float64 `json:"dollars_per_million" doc:"the same for a million events"`
	DollarsTenantMonth float64 `json:"dollars_tenant_month" doc:"the same for a tenant"`
	LogCPUShare        float64 `json:"log_cpu_share" doc:"of one core: the log's part of commits, checkpoints and merges, of all shards of a process"`
	CollectS           float64 `json:"collect_s" doc:"how long a compactor takes to list its share of the store, at 50 ms a page of 1,000"`
}

// Wall is something that has a limit.
type Wall struct {
	What     string  `json:"what" doc:"that grows"`
	Value    float64 `json:"value" doc:"here"`
	Limit    float64 `json:"limit" doc:"above which it hurts"`
	Headroom float64 `json:"headroom" doc:"limit over value; below 1 the wall is behind us"`
	Remedy   string  `json:"remedy" doc:"what moves it"`
}
