// Package result is what a run of `togo bench` leaves behind: one JSON document, the page
// of plots made from it, and the comparison of two documents.
//
// The document:
//
//  1. What was not measured is not there (a section is absent or null); a zero was measured.
//     Notes say why something is missing.
//  2. Units stand in the names: _s seconds, _ns nanoseconds, _bytes, _share from 0 to 1.
//     Times of seconds[] and probes count from the start of the load.
//  3. Every key has its meaning in a tag of its field; docs/bench.md repeats them, and a test
//     holds it against the tags. A key is never given another meaning: Format rises.
//  4. A field with a tag "better" is a figure of merit; Compare shows those.
package result

import "time"

// Format is that of the documents which this package writes and reads.
const Format = 1

// Document is one run.
type Document struct {
	Format      int       `json:"format" doc:"of this document: 1"`
	Program     Program   `json:"program"`
	Command     string    `json:"command" doc:"the command line"`
	Started     time.Time `json:"started" doc:"when the load began, UTC"`
	ElapsedS    float64   `json:"elapsed_s" doc:"from there to the last measurement"`
	Interrupted bool      `json:"interrupted" doc:"the run was ended by hand; what follows is of the time until then"`
	Machine     Machine   `json:"machine"`
	Workload    Workload  `json:"workload"`
	Setup       Setup     `json:"setup"`

	Run       Run        `json:"run"`
	Freshness *Freshness `json:"freshness,omitempty"`
	// SmallFreshness is that of tenants that send least, whose events may wait longer.
	SmallFreshness *Freshness `json:"freshness_small,omitempty"`
	Roles          []Role     `json:"roles" doc:"what each role took; the broker and the generator are there too if they are ours"`
	Dedup          *Dedup     `json:"dedup,omitempty"`
	Store          *Store     `json:"object_store,omitempty"`
	Fragments      *Fragments `json:"fragments,omitempty"`
	Queries        []Query    `json:"queries,omitempty" doc:"queries that ran beside the load"`
	Seconds        []Second   `json:"seconds" doc:"one entry for each second of the run, or each sample if they are further apart"`
	Notes          []string   `json:"notes,omitempty" doc:"what is missing, or was not as asked for, and why"`
}

// Program is what was measured.
type Program struct {
	Version string `json:"version" doc:"of Togo, with its commit"`
	Go      string `json:"go" doc:"the Go that built it"`
}

// Machine is where it ran.
type Machine struct {
	OS          string  `json:"os" doc:"operating system and its kernel"`
	Arch        string  `json:"arch" doc:"as Go names it"`
	CPU         string  `json:"cpu" doc:"the processor's own name"`
	Cores       int     `json:"cores" doc:"processors that the program may use"`
	MemoryBytes int64   `json:"memory_bytes" doc:"of the machine, or of the control group if it has less"`
	LoadBefore  float64 `json:"load_before" doc:"processes that were running or waiting to, the minute before (load average); well above 0 means that others were at work"`
}

// Workload is what was asked for.
type Workload struct {
	Name           string  `json:"name" doc:"small, wide, many, or the path of a file"`
	Seed           uint64  `json:"seed" doc:"the same seed gives the same events"`
	Tenants        int     `json:"tenants" doc:"that the events belong to"`
	EventBytes     float64 `json:"event_bytes" doc:"mean size of a payload"`
	Keys           int     `json:"keys" doc:"attributes that a tenant's events may have"`
	DuplicateShare float64 `json:"duplicate_share" doc:"of the events, copies of earlier ones"`
	LateShare      float64 `json:"late_share" doc:"of the events, those with an older time"`
	RatePerS       float64 `json:"rate_per_s" doc:"events a second that were asked for; 0: as many as go"`
	DurationS      float64 `json:"duration_s" doc:"that was asked for"`
}

// Setup is what it ran on.
type Setup struct {
	Kafka            string            `json:"kafka" doc:"embedded, or the brokers"`
	Store            string            `json:"store" doc:"which object store: the kind, and its folder or bucket"`
	Shards           int               `json:"shards" doc:"of the store"`
	IntakePartitions int               `json:"intake_partitions" doc:"of the intake topic"`
	Processes        map[string]int    `json:"processes" doc:"of each role"`
	Settings         map[string]string `json:"settings" doc:"that differ from the defaults, by their paths"`
}

// Run is the sums over the whole run.
type Run struct {
	Sent       int64 `json:"sent" doc:"events that Kafka acknowledged to the generator, copies among them"`
	SentBytes  int64 `json:"sent_bytes" doc:"their payloads"`
	Closed     int64 `json:"closed" doc:"events whose fate was committed: stored, duplicate, conflict or dead"`
	Stored     int64 `json:"stored" doc:"events that were stored"`
	Duplicates int64 `json:"duplicates" doc:"copies that were dropped"`
	Conflicts  int64 `json:"conflicts" doc:"events of a known identity with another payload, kept as letters"`
	Dead       int64 `json:"dead" doc:"events that could not be read, kept as letters"`
	// Copies are those that the generator made: a check of Duplicates.
	Copies          int64   `json:"copies" doc:"of sent, copies that the generator made"`
	SentPerS        float64 `json:"sent_per_s" doc:"sent over the time of the load"`
	ClosedPerS      float64 `json:"closed_per_s" better:"more" doc:"closed over the time until the last one was judged; what is held for later commits, as small tenants' events are, was judged before"`
	LagMax          int64   `json:"lag_max" better:"less" doc:"events sent and not closed, at most"`
	LagEnd          int64   `json:"lag_end" doc:"the same when the load ended"`
	CPUNsPerEvent   float64 `json:"cpu_ns_per_event" better:"less" doc:"CPU time of the processes of router and writer for each closed event, user and system"`
	CPUSPerMillion  float64 `json:"cpu_s_per_million" better:"less" doc:"the same in seconds for a million events"`
	PeakMemoryBytes int64   `json:"peak_memory_bytes" better:"less" doc:"resident memory of router and writer at most, added up"`
}

// Freshness is the time from an event's acknowledgement by Kafka until a query sees it.
type Freshness struct {
	Probes int     `json:"probes" doc:"events that were sent to be looked for"`
	Missed int     `json:"missed" better:"less" doc:"probes that no query had seen when the run ended"`
	P50S   float64 `json:"p50_s" better:"less" doc:"half of the probes were seen within it"`
	P99S   float64 `json:"p99_s" better:"less" doc:"99 of 100 probes"`
	MaxS   float64 `json:"max_s" better:"less" doc:"the slowest of those that were seen"`
	LimitS float64 `json:"limit_s" doc:"what the settings promise: the flush age (of small tenants theirs) and a second"`
}

// Role is all processes of a role.
type Role struct {
	Role            string   `json:"role" key:"true" doc:"router, writer, compactor, query; broker, generator"`
	Processes       int      `json:"processes" doc:"of the role"`
	CPUS            float64  `json:"cpu_s" doc:"CPU time, user and system, of the whole run"`
	CPUNsPerEvent   float64  `json:"cpu_ns_per_event" better:"less" doc:"cpu_s over the closed events"`
	PeakMemoryBytes int64    `json:"peak_memory_bytes" better:"less" doc:"resident memory at most"`
	GCShare         *float64 `json:"gc_share,omitempty" better:"less" doc:"of its CPU time, the garbage collector's"`
	AllocatedBytes  *int64   `json:"allocated_bytes,omitempty" doc:"that it allocated on the heap, all in all"`
	Steps           []Step   `json:"steps,omitempty" doc:"its CPU time by step, as sampled by CPU profiles"`
}

// Step is one step of a role's work.
type Step struct {
	Step          string  `json:"step" key:"true" doc:"by the innermost function of a sample that a step is known of: its package"`
	CPUS          float64 `json:"cpu_s" doc:"CPU time, scaled from the time that was profiled to the whole run"`
	CPUNsPerEvent float64 `json:"cpu_ns_per_event" better:"less" doc:"cpu_s over the closed events"`
	Share         float64 `json:"share" doc:"of the role's profiled CPU time"`
}

// Dedup is the index of known identities, all writers together.
type Dedup struct {
	IDs          int64   `json:"ids" doc:"identities in memory at the end, those of which a summary is left alone included"`
	MemoryBytes  int64   `json:"memory_bytes" doc:"that they take"`
	BytesPerID   float64 `json:"bytes_per_id" better:"less" doc:"memory_bytes over ids"`
	Asked        int64   `json:"asked" doc:"identities that were looked up"`
	MemoryShare  float64 `json:"memory_share" better:"more" doc:"of asked, answered from memory: by identities, or new by a Bloom filter"`
	FetchedShare float64 `json:"fetched_share" better:"less" doc:"of asked, those that parts of segments were fetched for"`
	LoadedBytes  int64   `json:"loaded_bytes" doc:"of identities that were read back from segments"`
}

// Store is the traffic with the object store and what it costs.
type Store struct {
	Requests        []Requests `json:"requests" doc:"of router, writer and compactor, by kind"`
	PerMillion      float64    `json:"requests_per_million" better:"less" doc:"the same of every kind for a million closed events"`
	PerTenantHour   float64    `json:"requests_per_tenant_hour" better:"less" doc:"the same of every kind for a tenant and an hour"`
	WrittenBytes    int64      `json:"written_bytes" doc:"bodies of what they wrote"`
	ReadBytes       int64      `json:"read_bytes" doc:"bodies of what they read"`
	WrittenPerByte  float64    `json:"written_per_byte" better:"less" doc:"written_bytes over the payload bytes of closed events"`
	Compression     float64    `json:"compression" better:"more" doc:"payload bytes of stored events over the bytes that were flushed for them: fragments and identities"`
	Amplification   float64    `json:"write_amplification" better:"less" doc:"bytes of fragments and identities that were written, merges included, over those that were flushed"`
	Dollars         *Dollars   `json:"dollars,omitempty"`
	ByRole          []ByRole   `json:"by_role,omitempty" doc:"requests of each role, those of queries among them"`
	FailedShare     float64    `json:"failed_share" better:"less" doc:"of the requests, those without an answer (unavailable, canceled, error)"`
	MeasuredSeconds float64    `json:"measured_s" doc:"the time that the rates above are of"`
}

// Requests are those of one kind.
type Requests struct {
	Kind          string  `json:"kind" key:"true" doc:"put, put_if_absent, get, get_range, list, delete, ..."`
	Count         int64   `json:"count" doc:"in the whole run"`
	PerMillion    float64 `json:"per_million" better:"less" doc:"for a million closed events"`
	PerTenantHour float64 `json:"per_tenant_hour" doc:"for a tenant and an hour"`
	Bytes         int64   `json:"bytes" doc:"of bodies"`
}

// ByRole are a role's requests.
type ByRole struct {
	Role   string           `json:"role" key:"true" doc:"whose"`
	Counts map[string]int64 `json:"counts" doc:"by kind"`
}

// Dollars is what the requests and the stored bytes cost at list prices.
type Dollars struct {
	Prices            string  `json:"prices" doc:"whose list, of which day"`
	PerMillion        float64 `json:"per_million" better:"less" doc:"for a million closed events, requests alone"`
	PerTenantHour     float64 `json:"per_tenant_hour" better:"less" doc:"for a tenant and an hour, requests alone"`
	StoragePerMillion float64 `json:"storage_per_million_month" doc:"to keep a million stored events for a month, at the size of the live fragments"`
}

// Fragments are the live ones at the end.
type Fragments struct {
	Count  int64    `json:"count" better:"less" doc:"live fragments at the end"`
	Bytes  int64    `json:"bytes" doc:"their size"`
	BySize []BySize `json:"by_size" doc:"from small to large"`
}

// BySize is a class of fragments.
type BySize struct {
	BelowBytes int64 `json:"below_bytes" doc:"fragments below this size and not below that of the class before; 0: no limit"`
	Count      int64 `json:"count" doc:"fragments in it"`
	Bytes      int64 `json:"bytes" doc:"their size"`
}

// Query is one of the twelve queries, asked again and again beside the load.
type Query struct {
	Name   string  `json:"name" key:"true" doc:"as in bench/queries"`
	Runs   int     `json:"runs" doc:"answers"`
	Failed int     `json:"failed" better:"less" doc:"that were errors"`
	P50S   float64 `json:"p50_s" better:"less" doc:"half of them took no longer"`
	P99S   float64 `json:"p99_s" better:"less" doc:"99 of 100"`
	MaxS   float64 `json:"max_s" doc:"the longest"`
}

// Second is a sample. Counts are those since the sample before.
type Second struct {
	AtS          float64            `json:"at_s" doc:"when the sample was taken"`
	Sent         int64              `json:"sent" doc:"events acknowledged since the sample before"`
	SentBytes    int64              `json:"sent_bytes" doc:"their payloads"`
	Stored       int64              `json:"stored" doc:"events stored since the sample before"`
	Duplicates   int64              `json:"duplicates" doc:"copies dropped since the sample before"`
	Other        int64              `json:"other" doc:"conflicts and dead events since the sample before"`
	Lag          int64              `json:"lag" doc:"events sent and not closed at that moment"`
	FreshP50S    *float64           `json:"fresh_p50_s,omitempty" doc:"freshness of the probes that were seen since the sample before: the median"`
	FreshMaxS    *float64           `json:"fresh_max_s,omitempty" doc:"and the slowest"`
	CPUS         map[string]float64 `json:"cpu_s" doc:"CPU time since the sample before, by role"`
	MemoryBytes  map[string]int64   `json:"memory_bytes" doc:"resident memory at that moment, by role"`
	Requests     map[string]int64   `json:"requests" doc:"of router, writer and compactor to the store since the sample before, by kind"`
	WrittenBytes int64              `json:"written_bytes" doc:"bytes that they wrote since the sample before"`
	Fragments    []int64            `json:"fragments,omitempty" doc:"live fragments at that moment by the classes of fragments.by_size; only in some samples"`
}

// EventBytes is the mean size of a payload that was sent.
func (d *Document) EventBytes() float64 {
	if d.Run.Sent == 0 {
		return 0
	}
	return float64(d.Run.SentBytes) / float64(d.Run.Sent)
}
