package main

// step is one step of an event's way.
type step struct {
	title     string
	benchmark string
	extras    []string // units that stand beside
}

var steps = []step{
	{"router: decode tenant, time and id", "internal/event.Extract", nil},
	{"router: hash and look-up of the shard", "router.Place", nil},
	{"router: into an envelope", "internal/event.EnvelopeEncode", []string{"overhead-B/event"}},
	{"router: whole core, 10 tenants", "router.Core/tenants=10", nil},
	{"router: whole core, 1,000 tenants", "router.Core/tenants=1000", nil},
	{"writer: decode an envelope", "internal/event.EnvelopeDecode", nil},
	{"writer: identity hash", "internal/event.Identity", nil},
	{"writer: payload hash", "internal/event.PayloadHash", nil},
	{"dedup: new id, 1 million in memory", "writer/dedup.Check/new/1M", nil},
	{"dedup: new id, 10 million", "writer/dedup.Check/new/10M", nil},
	{"dedup: present id, 1 million", "writer/dedup.Check/present/1M", nil},
	{"dedup: present id, 10 million", "writer/dedup.Check/present/10M", nil},
	{"dedup: check, accept, confirm", "writer/dedup.CheckAcceptConfirm", nil},
	{"dedup: new id in a bucket on disk (filters)", "writer/dedup.CheckByFilters", nil},
	{"writer: whole core, new, 200 tenants", "writer/shard.Step/new/200_tenants", nil},
	{"writer: whole core, duplicates", "writer/shard.Step/copies", nil},
	{"encode: full parse of the JSON", "internal/event/jsonscan.Tape", nil},
	{"encode: Parquet, 10,000 events (parse included)", "internal/fragment.Encode10k", []string{"file-bytes/event"}},
	{"encode: Parquet, 100 events", "internal/fragment.Encode100", []string{"file-bytes/event"}},
	{"encode: identities", "internal/idseg.Encode", []string{"bytes/id"}},
	{"compaction: fragments, 8 into one, one after the other in time", "internal/fragment.Merge", []string{"rows/cpu-s", "reads"}},
	{"compaction: fragments, 8 of the same time into one", "internal/fragment.MergeMixed", []string{"rows/cpu-s", "reads"}},
	{"compaction: identities, 16 segments into one", "internal/idseg.Merge/kept", nil},
	{"compaction: identities, read twice for lack of memory", "internal/idseg.Merge/twice", nil},
	{"commit: log and checkpoints, 50,000 events", "bench/commits.Commit", nil},
	{"whole path without Kafka", "bench/path.Cores", []string{"file-bytes/event"}},
	{"whole path with Kafka and its broker", "bench/path.ThroughKafka", []string{"events/envelope"}},
}

// value is a benchmark's value, with a word behind it.
type value struct {
	benchmark, unit, after string
}

// figure is what Togo stands by.
type figure struct {
	title  string
	goal   string
	values []value
}

const (
	commit = "bench/commits.Commit"
	memory = "bench/memory.Writer/tenants="
	life   = "compactor/pick.Life/"
	beside = "bench/beside.Ingestion"
)

var figures = []figure{
	{"dedup: bytes of memory an id", "at most 25", []value{{"writer/dedup.Check/present/1M", "bytes/id", "at 1 million"}, {"writer/dedup.Check/present/10M", "bytes/id", "at 10 million"}}},
	{"dedup: CPU ns an id, a bucket of four times the budget", "at most 1.5 times what it is in memory", []value{
		{"writer/dedup.Pressure/quarter", "cpu-ns/event", ""}, {"writer/dedup.Pressure/all", "cpu-ns/event", "all in memory"},
		{"writer/dedup.Pressure/quarter", "reads/1000ids", "reads for a thousand ids, 2 of them far copies"}}},
	{"dedup: CPU ns to page an id in from segments", "at most 100 (10 million a second a core)", []value{{"writer/dedup.PageIn", "cpu-ns/event", ""}, {"internal/idseg.DecodePart", "cpu-ns/event", "of it to read and check the segment"}}},
	{"placement look-up, 100,000 tenants: ns", "under 100", []value{
		{"placements.Shard/hot", "cpu-ns/event", "as traffic asks (100 of them)"}, {"placements.Shard/cold", "cpu-ns/event", "each time another (a cache miss)"}}},
	{"placement look-up: allocations", "none", []value{{"placements.Shard/hot", "allocs/event", ""}}},
	{"commit: bytes put, checkpoints included", "the same", []value{{commit, "put-B@10", "from commit 10 on"}, {commit, "put-B@5000", "up to commit 5,000"}}},
	{"commit: requests, checkpoints included", "the same", []value{{commit, "requests@10", ""}, {commit, "requests@5000", ""}}},
	{"commit: us that it waits, memory store", "the same", []value{{commit, "us@10", ""}, {commit, "us@5000", ""}}},
	{"commit: us of checkpoints beside it", "the same", []value{{commit, "beside-us@10", ""}, {commit, "beside-us@5000", ""}}},
	{"commit: ms of the longest", "-", []value{{commit, "longest-ms", "that commits waited"}, {commit, "longest-beside-ms", "of a checkpoint beside"}}},
	{"compaction: bytes written for each byte, a bucket's hour", "at most 4", lives("written/byte")},
	{"compaction: fragments of a bucket at rest", "-", lives("fragments")},
	{"compaction: of them small, the most of a level", "at most 2", lives("small")},
	{"compaction: median fragment at rest, % of the target", "at least 50 from 512 MiB on", lives("median-%")},
	{"ingestion (router, writer) beside a compactor: CPU ns/event", "more by at most the compactor's own", []value{
		{beside, "alone-cpu-ns/event", "alone"}, {beside, "beside-cpu-ns/event", "beside it"}, {beside, "compactor-cpu-ns/event", "the compactor's own"}}},
	{"writer's heap against its budget, 10 tenants", "at most 1.25", heap("10")},
	{"writer's heap against its budget, 200 tenants", "at most 1.25", heap("200")},
	{"writer's heap against its budget, 2,000 tenants", "at most 1.25", heap("2000")},
}

func heap(tenants string) []value {
	return []value{
		{memory + tenants, "heap/budget", "of it"}, {memory + tenants, "peak-heap-MiB", "MiB at most"}, {memory + tenants, "budget-MiB", "MiB budget"},
		{memory + tenants, "%gc", "% of the CPU for the collector"},
	}
}

// lives are the modelled buckets of compaction, by their size.
func lives(unit string) []value {
	var out []value
	for _, size := range []string{"70MiB", "720MiB", "2GiB", "9GiB", "15GiB"} {
		out = append(out, value{life + size, unit, "of " + size})
	}
	return out
}

// keys are for programs.
var keys = []struct{ key, benchmark, unit string }{
	{"decode_ns", "internal/event.Extract", "cpu-ns/event"},
	{"route_ns", "router.Place", "cpu-ns/event"},
	{"envelope_ns", "internal/event.EnvelopeEncode", "cpu-ns/event"},
	{"router_ns", "router.Core/tenants=1000", "cpu-ns/event"},
	{"dedup_new_ns", "writer/dedup.Check/new/10M", "cpu-ns/event"},
	{"dedup_present_ns", "writer/dedup.Check/present/10M", "cpu-ns/event"},
	{"writer_ns", "writer/shard.Step/new/200_tenants", "cpu-ns/event"},
	{"parse_ns", "internal/event/jsonscan.Tape", "cpu-ns/event"},
	{"encode_ns", "internal/fragment.Encode10k", "cpu-ns/event"},
	{"merge_ns", "internal/fragment.Merge", "cpu-ns/event"},
	{"merge_mixed_ns", "internal/fragment.MergeMixed", "cpu-ns/event"},
	{"path_ns", "bench/path.Cores", "cpu-ns/event"},
	{"path_kafka_ns", "bench/path.ThroughKafka", "cpu-ns/event"},
	{"produce_ns", "bench/path.ThroughKafka", "produce-cpu-ns/event"},
	{"ingest_alone_ns", beside, "alone-cpu-ns/event"},
	{"ingest_beside_ns", beside, "beside-cpu-ns/event"},
	{"compactor_ns", beside, "compactor-cpu-ns/event"},
	{"dedup_bytes_per_id", "writer/dedup.Check/present/10M", "bytes/id"},
	{"lookup_ns", "placements.Shard/hot", "cpu-ns/event"},
	{"lookup_allocs", "placements.Shard/hot", "allocs/event"},
	{"commit_bytes_10", commit, "put-B@10"},
	{"commit_bytes_5000", commit, "put-B@5000"},
	{"commit_requests_10", commit, "requests@10"},
	{"commit_requests_5000", commit, "requests@5000"},
	{"commit_us_10", commit, "us@10"},
	{"commit_us_5000", commit, "us@5000"},
	{"commit_beside_us_10", commit, "beside-us@10"},
	{"commit_beside_us_5000", commit, "beside-us@5000"},
	{"commit_longest_ms", commit, "longest-ms"},
	{"commit_longest_beside_ms", commit, "longest-beside-ms"},
	{"written_per_byte_2gib", life + "2GiB", "written/byte"},
	{"written_per_byte_15gib", life + "15GiB", "written/byte"},
	{"writer_mem_ratio_10", memory + "10", "heap/budget"},
	{"writer_mem_ratio_200", memory + "200", "heap/budget"},
	{"writer_mem_ratio_2000", memory + "2000", "heap/budget"},
}
