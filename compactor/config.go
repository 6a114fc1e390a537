package compactor

import (
	"errors"
	"fmt"
	"time"

	"github.com/togodb/togo/compactor/pick"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/shardlog"
)

// Config of a Compactor.
type Config struct {
	Shards           []event.ShardID `yaml:"shards" doc:"The shards that this process compacts, such as [0, 1]; empty: all. Several processes may have the same: they share the work."`
	Concurrency      int             `yaml:"concurrency" doc:"Merges at the same time, each of another shard."`
	MergeMemory      int64           `yaml:"merge_memory" doc:"Bytes that one merge may hold, whatever the size of its inputs."`
	FanIn            int             `yaml:"fan_in" doc:"How many fragments of a bucket wait for each other before they are merged, while the bucket still gets commits."`
	Ratio            int64           `yaml:"ratio" doc:"How much smaller than its result each input of a merge should be: more means fewer bytes written again, and more fragments."`
	Overlap          int64           `yaml:"overlap" doc:"A merge into the next level may write this many times the bytes again that it moves there."`
	Levels           int             `yaml:"levels" doc:"Levels of fragments that do not overlap in the sort key, each narrower than the one before; 1 to 7."`
	MaxInputs        int             `yaml:"max_inputs" doc:"Fragments or id segments of one merge."`
	MaxJobBytes      int64           `yaml:"max_job_bytes" doc:"Bytes of the inputs of one merge."`
	QuietAfter       time.Duration   `yaml:"quiet_after" doc:"A bucket without a commit for so long gets its last merges."`
	QuietNewestAfter time.Duration   `yaml:"quiet_newest_after" doc:"The same for the newest bucket of a tenant, to which more will come."`
	SegmentBytes     int64           `yaml:"segment_bytes" doc:"About how large a merged id segment becomes."`
	Poll             time.Duration   `yaml:"poll" doc:"How often the log of a shard is looked at that had nothing to do."`
	JobTimeout       time.Duration   `yaml:"job_timeout" doc:"A merge of another process that has been open for so long is given up for it."`
	ReadTries        int             `yaml:"read_tries" doc:"After so many tries, ten minutes and more apart, a fragment that cannot be read is set aside (quarantine); nothing is deleted."`
	ExpireEvery      time.Duration   `yaml:"expire_every" doc:"How often the retention of the tenants is looked at."`
	QueryGrace       time.Duration   `yaml:"query_grace" doc:"How long an object that nothing names any more stays for queries that were planned before. Longer than any query may last."`
	CollectEvery     time.Duration   `yaml:"collect_every" doc:"How often what the logs have removed is deleted, once query_grace is over, and old records of the logs. 0: never, and nothing is listed; 'togo gc' does it too."`
	ListEvery        time.Duration   `yaml:"list_every" doc:"How often the store is listed for what writers and merges left that died. Each process lists what its shards may have; those with the same shards take turns. 0: never; 'togo gc' does it too."`
	KeepRecords      int             `yaml:"keep_records" doc:"Records of a log that stay behind its second newest checkpoint."`
}

// DefaultConfig is the configuration of a process of its own.
func DefaultConfig() Config {
	p := pick.DefaultPolicy()
	return Config{
		Concurrency: 1, MergeMemory: 64 << 20,
		FanIn: p.Fanin, Ratio: p.Ratio, Overlap: p.Overlap, Levels: p.Levels, MaxInputs: p.MaxInputs, MaxJobBytes: p.MaxInputBytes,
		QuietAfter: p.QuietAfter, QuietNewestAfter: p.QuietNewestAfter, SegmentBytes: 64 << 20,
		Poll: 10 * time.Second, JobTimeout: 30 * time.Minute, ReadTries: 3, ExpireEvery: 10 * time.Minute,
		QueryGrace: time.Hour, CollectEvery: time.Hour, ListEvery: 24 * time.Hour, KeepRecords: shardlog.DefaultTrimMargin,
	}
}

// HeapBytes is what the compactor's heap may come to, garbage included: beside its memory a
// merge holds the dictionaries of its inputs (fragment.MergeSpec).
func (c Config) HeapBytes() int64 {
	const dictionaries = 1 << 20 // of an input; mostly far less, and at most some MiB
	b := int64(c.Concurrency) * (c.MergeMemory + int64(c.MaxInputs)*dictionaries)
	return b + b/4
}

// Bounds of the settings.
const (
	minMergeMemory = 8 << 20
	maxLevels      = 7
)

// Validate reports every mistake.
func (c Config) Validate() error {
	var errs []error
	wrong := func(name, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s: %s", name, fmt.Sprintf(format, args...)))
	}
	for name, v := range map[string]int64{
		"concurrency": int64(c.Concurrency), "max_job_bytes": c.MaxJobBytes, "quiet_after": int64(c.QuietAfter), "quiet_newest_after": int64(c.QuietNewestAfter), "segment_bytes": c.SegmentBytes,
		"poll": int64(c.Poll), "job_timeout": int64(c.JobTimeout), "read_tries": int64(c.ReadTries), "expire_every": int64(c.ExpireEvery),
	} {
		if v <= 0 {
			wrong(name, "%d is not positive", v)
		}
	}
	for name, v := range map[string]int64{"query_grace": int64(c.QueryGrace), "collect_every": int64(c.CollectEvery), "list_every": int64(c.ListEvery), "keep_records": int64(c.KeepRecords), "overlap": c.Overlap} {
		if v < 0 {
			wrong(name, "%d is negative", v)
		}
	}
	if c.MergeMemory < minMergeMemory {
		wrong("merge_memory", "%d bytes, less than %d", c.MergeMemory, minMergeMemory)
	}
	if c.FanIn < 2 || c.MaxInputs < c.FanIn {
		wrong("fan_in", "%d is not in [2, max_inputs = %d]", c.FanIn, c.MaxInputs)
	}
	if c.Ratio < 2 {
		wrong("ratio", "%d is below 2", c.Ratio)
	}
	if c.Levels < 1 || c.Levels > maxLevels {
		wrong("levels", "%d is not in [1, %d]", c.Levels, maxLevels)
	}
	seen := map[event.ShardID]bool{}
	for _, s := range c.Shards {
		if s < 0 || seen[s] {
			wrong("shards", "%s is negative or stands twice", s)
		}
		seen[s] = true
	}
	return errors.Join(errs...)
}
