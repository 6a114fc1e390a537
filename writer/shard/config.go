package shard

import (
	"errors"
	"fmt"
	"time"
)

// Config bounds one shard. All figures are settings; Defaults says why they are
// what they are.
type Config struct {
	FlushBytes       int64         // a tenant's buffer is flushed when it holds as much input
	FlushAge         time.Duration // or when its oldest record has waited as long
	SmallTenantBytes int64         // a tenant with less input than this
	SmallTenantAge   time.Duration // may wait this long instead
	MemoryBytes      int64         // of all buffers, the flush under way and parked records
	ParkedBytes      int64         // of records that wait for identities to be read
	DedupBytes       int64         // of identities in memory
	DedupTenantBytes int64         // of DedupBytes that one tenant may take
	MaxOpen          int           // ranges of open offsets that a commit may leave
	LateAfter        time.Duration // without a commit while one is due, the shard is not ready
}

// Defaults are the figures for one shard.
func Defaults() Config {
	return Config{
		FlushBytes:       64 << 20, // a fragment of some megabytes: few objects, and still little to encode again after a crash
		FlushAge:         5 * time.Second,
		SmallTenantBytes: 1 << 20, // below it the cost of a request outweighs that of its bytes
		SmallTenantAge:   60 * time.Second,
		MemoryBytes:      256 << 20,
		ParkedBytes:      32 << 20, // some thousand records: enough to hide the time of a range read
		DedupBytes:       128 << 20,
		DedupTenantBytes: 64 << 20,
		MaxOpen:          10_000, // a few hundred kilobytes of JSON at most
		LateAfter:        30 * time.Second,
	}
}

// Validate reports every mistake.
func (c Config) Validate() error {
	var errs []error
	positive := func(name string, v int64) {
		if v <= 0 {
			errs = append(errs, fmt.Errorf("%s: %d is not positive", name, v))
		}
	}
	positive("flush_bytes", c.FlushBytes)
	positive("flush_age", int64(c.FlushAge))
	positive("small_tenant_age", int64(c.SmallTenantAge))
	positive("memory_bytes", c.MemoryBytes)
	positive("parked_bytes", c.ParkedBytes)
	positive("dedup_bytes", c.DedupBytes)
	positive("dedup_tenant_bytes", c.DedupTenantBytes)
	positive("max_open", int64(c.MaxOpen))
	positive("late_after", int64(c.LateAfter))
	if c.SmallTenantBytes < 0 {
		errs = append(errs, fmt.Errorf("small_tenant_bytes: %d is negative", c.SmallTenantBytes))
	}
	if c.SmallTenantAge < c.FlushAge {
		errs = append(errs, fmt.Errorf("small_tenant_age: %s is less than flush_age %s", c.SmallTenantAge, c.FlushAge))
	}
	if c.ParkedBytes > c.MemoryBytes {
		errs = append(errs, fmt.Errorf("parked_bytes: %d is more than memory_bytes %d", c.ParkedBytes, c.MemoryBytes))
	}
	return errors.Join(errs...)
}
