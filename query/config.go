package query

import (
	"errors"
	"fmt"
	"time"
)

// Config are the settings of the engine, most of them limits of one query.
type Config struct {
	MaxTime      time.Duration `yaml:"max_time" doc:"A query that takes longer ends with 504. Below compactor.query_grace; 0: a minute, or half of query_grace where that is less."`
	MaxMemory    int64         `yaml:"max_memory" doc:"Bytes of groups, rows to be sorted, columns that are being read and the like that one query may hold; more ends it with 413."`
	SureMemory   int64         `yaml:"sure_memory" doc:"Of max_memory, what each query has for itself."`
	SharedMemory int64         `yaml:"shared_memory" doc:"What is beyond sure_memory, all queries share; one that finds none left ends with 503."`
	MaxRows      int64         `yaml:"max_rows" doc:"Rows of one answer; more ends the query with 413. 0: no bound."`
	MaxScanBytes int64         `yaml:"max_scan_bytes" doc:"Bytes that one query may read from the cache and the store; more ends it with 413. 0: no bound."`
	MaxText      int           `yaml:"max_text_bytes" doc:"Of one value that a function makes."`
	MaxPattern   int           `yaml:"max_pattern_bytes" doc:"Of a regular expression."`
	MaxAge       time.Duration `yaml:"max_age" doc:"An answer holds whatever was committed this long before it was asked for."`
	StateBytes   int64         `yaml:"state_bytes" doc:"Memory for the shard logs of tenants that were queried lately."`
	FooterBytes  int64         `yaml:"footer_bytes" doc:"Memory for the footers and dictionaries of files that were queried lately."`
	CacheDir     string        `yaml:"cache_dir" doc:"A local directory for parts of files that were read from the store; it may be deleted at any time. Empty: no cache, which is right where the store is a local directory."`
	CacheBytes   int64         `yaml:"cache_bytes" doc:"Bytes of the cache on the disk."`
	Workers      int           `yaml:"workers" doc:"Threads that one query may use; 0: as many as there are processors."`
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config {
	return Config{MaxTime: time.Minute, MaxMemory: 1 << 30, SureMemory: 64 << 20, SharedMemory: 1 << 30, MaxRows: 10_000_000, MaxText: 16 << 20, MaxPattern: 4 << 10,
		MaxAge: time.Second, StateBytes: 512 << 20, FooterBytes: 256 << 20, CacheBytes: 10 << 30}
}

// Validate reports every mistake.
func (c Config) Validate() error {
	var errs []error
	for name, v := range map[string]int64{
		"max_time": int64(c.MaxTime), "max_memory": c.MaxMemory, "sure_memory": c.SureMemory, "shared_memory": c.SharedMemory, "max_text_bytes": int64(c.MaxText), "max_pattern_bytes": int64(c.MaxPattern),
		"max_age": int64(c.MaxAge), "state_bytes": c.StateBytes, "footer_bytes": c.FooterBytes, "cache_bytes": c.CacheBytes,
	} {
		if v < 1 {
			errs = append(errs, fmt.Errorf("%s: %d is not positive", name, v))
		}
	}
	if c.MaxRows < 0 || c.MaxScanBytes < 0 {
		errs = append(errs, fmt.Errorf("max_rows and max_scan_bytes must not be negative (%d, %d); 0 is no bound", c.MaxRows, c.MaxScanBytes))
	}
	if c.Workers < 0 {
		errs = append(errs, fmt.Errorf("workers: %d is negative; 0 is as many as there are processors", c.Workers))
	}
	return errors.Join(errs...)
}
