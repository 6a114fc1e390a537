package writer

import (
	"errors"
	"fmt"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/writer/shard"
)

// Config of a Writer. Budgets hold for all shards of the process together.
type Config struct {
	Shards            []event.ShardID `yaml:"shards" doc:"The shards that this process owns, such as [0, 1]; empty: all."`
	FlushBytes        int64           `yaml:"flush_bytes" doc:"A tenant's buffer is flushed when it holds as much input."`
	FlushAge          time.Duration   `yaml:"flush_age" doc:"A tenant's buffer is flushed when its oldest event has waited as long."`
	SmallTenantBytes  int64           `yaml:"small_tenant_bytes" doc:"A buffer with less input than this waits for small_tenant_age instead, so that the number of objects follows bytes and not tenants. 0: no such exception."`
	SmallTenantAge    time.Duration   `yaml:"small_tenant_age" doc:"See small_tenant_bytes."`
	MemoryBudget      int64           `yaml:"memory_budget" doc:"Bytes for events in memory: buffered, being flushed, and waiting; a quarter is kept for what is made of them."`
	DedupBudget       int64           `yaml:"dedup_budget" doc:"Bytes of event identities in memory; the others are read from the store when an event for them comes."`
	DedupQuota        float64         `yaml:"dedup_quota" doc:"Share of dedup_budget that one tenant may take, from 0 to 1."`
	MaxOpen           int             `yaml:"max_open" doc:"Ranges of Kafka offsets that a commit may leave open for tenants that were not flushed."`
	CheckpointEvery   int             `yaml:"checkpoint_every" doc:"Records of a shard log from one checkpoint to the next; a start reads no more than these."`
	MaxColumns        int             `yaml:"max_columns" doc:"Columns of a tenant's attributes, unless its settings say otherwise ('togo tenants'); those that come later are kept as JSON in _rest."`
	FetchBytes        int64           `yaml:"fetch_bytes" doc:"Bytes fetched from Kafka ahead of their use."`
	ReadConcurrency   int             `yaml:"read_concurrency" doc:"Reads of identities from the store at the same time, per shard."`
	UploadConcurrency int             `yaml:"upload_concurrency" doc:"Uploads to the store at the same time, for all shards."`
	LateAfter         time.Duration   `yaml:"late_after" doc:"The process is not ready when a commit that is due has not succeeded for so long."`
	ReclaimAfter      time.Duration   `yaml:"reclaim_after" doc:"A shard that another process took is claimed again when its log has shown nothing new of that owner for so long; doubles with each time."`
	StopTimeout       time.Duration   `yaml:"stop_timeout" doc:"At a stop, the time for a last commit and the release of the shards."`
}

// DefaultConfig is the configuration of a process of its own.
func DefaultConfig() Config {
	d := shard.Defaults()
	return Config{
		FlushBytes: d.FlushBytes, FlushAge: d.FlushAge,
		SmallTenantBytes: d.SmallTenantBytes, SmallTenantAge: d.SmallTenantAge,
		MemoryBudget: 512 << 20, DedupBudget: 512 << 20, DedupQuota: 0.5,
		MaxOpen: d.MaxOpen, CheckpointEvery: 64, MaxColumns: fragment.DefaultMaxColumns, FetchBytes: 64 << 20,
		ReadConcurrency:   8,  // hides the time of a range read
		UploadConcurrency: 16, // a store's answer takes tens of milliseconds, the encoding less
		LateAfter:         d.LateAfter,
		ReclaimAfter:      30 * time.Second, // longer than a pause that is no death
		StopTimeout:       30 * time.Second, // what orchestrators grant
	}
}

// Validate reports every mistake.
func (c Config) Validate() error {
	errs := []error{c.forShard(max(1, len(c.Shards))).Validate()}
	positive := func(name string, v int64) {
		if v <= 0 {
			errs = append(errs, fmt.Errorf("%s: %d is not positive", name, v))
		}
	}
	positive("checkpoint_every", int64(c.CheckpointEvery))
	positive("max_columns", int64(c.MaxColumns))
	positive("fetch_bytes", c.FetchBytes)
	positive("read_concurrency", int64(c.ReadConcurrency))
	positive("upload_concurrency", int64(c.UploadConcurrency))
	positive("reclaim_after", int64(c.ReclaimAfter))
	positive("stop_timeout", int64(c.StopTimeout))
	if c.DedupQuota <= 0 || c.DedupQuota > 1 {
		errs = append(errs, fmt.Errorf("dedup_quota: %v is not in (0, 1]", c.DedupQuota))
	}
	seen := map[event.ShardID]bool{}
	for _, s := range c.Shards {
		if s < 0 || seen[s] {
			errs = append(errs, fmt.Errorf("shards: %s is negative or stands twice", s))
		}
		seen[s] = true
	}
	return errors.Join(errs...)
}

// HeapBytes is what the writer's heap may come to with these budgets, garbage included, if
// the collector is told so (debug.SetMemoryLimit); by itself it lets a heap grow to twice
// what is in use.
func (c Config) HeapBytes() int64 {
	b := c.MemoryBudget + c.DedupBudget + c.FetchBytes
	return b + b/4
}

// overhead is the part of MemoryBudget that is kept for what is made of events: rows in
// columns, files that wait for their upload, column lists of tenants, memory that
// waits to be used again. A heap that is full of events would leave the collector no room.
const overhead = 0.25

// forShard is one shard's share of the configuration.
func (c Config) forShard(shards int) shard.Config {
	n := int64(shards)
	s := shard.Config{
		FlushBytes: c.FlushBytes, FlushAge: c.FlushAge,
		SmallTenantBytes: c.SmallTenantBytes, SmallTenantAge: c.SmallTenantAge,
		MemoryBytes: int64(float64(c.MemoryBudget)*(1-overhead)) / n, DedupBytes: c.DedupBudget / n,
		MaxOpen: c.MaxOpen, LateAfter: c.LateAfter,
	}
	s.ParkedBytes = min(shard.Defaults().ParkedBytes, s.MemoryBytes/4)
	s.DedupTenantBytes = int64(float64(s.DedupBytes) * c.DedupQuota)
	return s
}
