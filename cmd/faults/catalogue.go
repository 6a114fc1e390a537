package main

import "strings"

// kind is a kind of fault that users of systems like this one have reported.
type kind struct {
	id     string
	tried  string // in one line
	absent string // the part that does not exist, of which the kind is a fault; empty: there are tests
	yet    string // of a kind with tests, the part in which it is to be tried, too, and that does not exist
}

// catalogue is every kind, in the order of the table.
var catalogue = []kind{
	// Commit and ownership.
	{id: "zombie-writer", tried: "a writer uploads and freezes, another takes the shard and commits, the first thaws"},
	{id: "two-owners", tried: "two believe that they own a shard, and the older replays its last batch"},
	{id: "commit-boundary", tried: "killed right after a commit became durable, with a record that overflowed the buffer as the last one read"},
	{id: "lost-answer", tried: "a conditional write is applied and answered with 500, a reset or nothing; the retry sees 412"},
	{id: "409-is-not-412", tried: "409, 409, 200; and 409, 412"},
	{id: "store-ignores-condition", tried: "a store that accepts a second create, in five ways"},
	{id: "late-landing", tried: "a write times out, reading it gives 404, and then it lands"},
	{id: "freed-position", tried: "paused processes go on after the records that they had read were deleted"},
	{id: "pending-evicted", tried: "a new id in a cold bucket, the bucket evicted before the commit, then a copy"},
	{id: "rolled-back-bucket", tried: "the bucket is restored to an older state and goes on"},
	{id: "replay-other-batches", tried: "killed between upload and commit; the same offsets again in other batches and another interleaving"},
	{id: "half-a-file", tried: "killed at each byte of an upload and of a commit, three recoveries each; a part of an object under its key"},
	{id: "leftovers", tried: "10,000 objects of crashed workers under a shard's prefixes, at a start, under merges, and collected"},
	{id: "log-growth", tried: "50,000 commits; commits that are merged, collected and trimmed; what a commit says of a file with 1,000 columns"},
	{id: "hung-store", tried: "a worker hangs in a store call for 20 minutes while the rest of it lives"},
	{id: "config-change", tried: "killed in uploads and commits, and started with other settings; settings that void a promise"},

	// Kafka.
	{id: "topic-recreated", tried: "a topic deleted and created anew, its end below and above the old position; another cluster"},
	{id: "offset-out-of-range", tried: "retention passes the committed offset"},
	{id: "history-cut", tried: "an election or a lost disk takes the log back below the committed offset; other records take the offsets"},
	{id: "too-large", tried: "a record at the intake's limit, whose envelope is larger; a shard topic with a smaller limit"},
	{id: "offset-gaps", tried: "aborted transactions, control records only, holes; first and last record dead"},
	{id: "seek-after-rebalance", tried: "rebalances in the middle of reading, batches of dead letters, a log that starts above 0"},
	{id: "catch-up", tried: "a backlog of ten times the memory on one partition; an empty topic at start"},
	{id: "tombstones", tried: "key and null, null and null, empty bytes, JSON null, white space"},
	{id: "poison", tried: "cut JSON, a million digits, depth 10,000, a wrong magic byte, invalid UTF-8, 10 MB"},
	{id: "silent-nothing", tried: "every commit fails for five minutes, and all else goes well"},

	// Identity and routing.
	{id: "resend", tried: "the same again; a millisecond later over a bucket's and a placement's edge; no id; no timestamp"},
	{id: "old-copy", tried: "copies after an hour, a day and a week, after restarts and merges, the newest first"},
	{id: "conflict", tried: "the same identity with another payload"},
	{id: "odd-ids", tried: "empty, 10 kB, differing in case or form only, the same id in two tenants"},
	{id: "mapping-change", tried: "a topic's mapping changes between a crash and the second reading"},
	{id: "clock-off", tried: "router, writer, compactor and placements with clocks a year ahead and a year behind"},
	{id: "reshard", tried: "4 to 6 shards in mid-stream, copies on both sides of the edge in both orders; queries of before, after and both"},
	{id: "router-skew", tried: "old and new table versions on one stream; golden vectors (tenant, timestamp, id) -> shard"},
	{id: "filter-as-truth", tried: "a Bloom filter with 50% false positives; ids chosen because it says 'maybe'; collisions of another seed"},
	{id: "far-future", tried: "an event ten years ahead in normal traffic"},
	{id: "far-past", tried: "an event of 1900 in normal traffic"},
	{id: "late", tried: "three days of old data of one tenant beside live traffic"},

	// Data.
	{id: "type-conflict", tried: "one field of seven types: in one batch, over batches, shards and a compaction"},
	{id: "timestamps", tried: "s, ms, us, ns as number and text; 0, -1, 2^63-1; years 1 to 9999; RFC 3339 of all kinds; missing"},
	{id: "big-numbers", tried: "2^53+1, 2^64-1, -2^63, 1e400, 0.1"},
	{id: "nesting", tried: "{}, [], [{}], [null], then [{b:1}]; depth 200"},
	{id: "many-columns", tried: "a random field name in every event; queries for fields with and without a column"},
	{id: "text", tried: "half pairs, overlong UTF-8, BOM, NUL, marks of direction, emoji in names and values"},
	{id: "parquet-corruption", tried: "random rows, wide and nested, by 16 writers at once, read by another engine"},
	{id: "nan", tried: "NaN, infinities and signed zeros under every comparison, over files of either zero and of both"},
	{id: "noisy-tenant", tried: "one tenant sends 90% of the traffic, all new ids"},
	{id: "many-tenants", tried: "2,000 tenants with 24 hours of backfill in little memory"},

	// Store.
	{id: "503", tried: "503 to the first three tries of each key; 503 to all writes for five minutes; queries meanwhile"},
	{id: "checksums", tried: "a store that refuses checksums and their trailers"},
	{id: "request-budget", tried: "1,000 tenants, 990 of them at one event a minute"},
	{id: "credentials", tried: "tokens that run out with each request, and a refresh that fails"},

	// Compaction and garbage.
	{id: "double-count", tried: "a compactor killed after each request, merging and collecting, while others count, in SQL too"},
	{id: "inputs-vanish", tried: "slow readers of lists of files, which are merged and collected meanwhile; queries planned before, slow clients, past snapshots"},
	{id: "gc-race", tried: "uploads committed long after, a merge and a collector that pause, a collector whose clock jumps by years"},
	{id: "orphans", tried: "refused commits, merges killed in their uploads, writes that land late, empty and multipart leftovers"},
	{id: "falls-behind", tried: "six hours without a compactor, then one while commits go on"},
	{id: "against-writers", tried: "commits every 200 ms during merges, over a store with 10 to 60 ms a request"},

	// Query.
	{id: "pruning", tried: "conditions on columns of every type, with and without pruning, dictionaries and late reading"},
	{id: "zones", tried: "one query under three time zones; half-open ranges at the nanosecond"},
	{id: "cross-tenant", tried: "another tenant named in header, parameters, body, cookie, path, token, snapshot and SQL, of the intake and of queries"},
}

// prefix begins the name of each test of a kind: TestFault_zombie_writer. More words may follow it.
const prefix = "TestFault_"

func (k kind) test() string { return prefix + strings.ReplaceAll(k.id, "-", "_") }

// kindOf is the kind whose test this is: of those that its name begins with, the longest.
func kindOf(kinds []kind, test string) (id string, ok bool) {
	best := ""
	for _, k := range kinds {
		name := k.test()
		if (test == name || strings.HasPrefix(test, name+"_")) && len(name) > len(best) {
			best, id = name, k.id
		}
	}
	return id, best != ""
}
