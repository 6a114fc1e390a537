package router

import (
	"errors"
	"fmt"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/kafka"
)

// Config are the settings of a router.
type Config struct {
	Group       string        `yaml:"group" doc:"Consumer group of the intake topics."`
	Linger      time.Duration `yaml:"linger" doc:"How long events of one tenant and shard are gathered into one record."`
	BatchBytes  int64         `yaml:"batch_bytes" doc:"A record is sent before it grows beyond this; a larger event goes alone."`
	BatchEvents int64         `yaml:"batch_events" doc:"A record is sent when it holds so many events."`
	MaxBytes    int64         `yaml:"max_bytes" doc:"Events read and not yet acknowledged by the shard topic; above it the router stops reading. Memory stays within about twice this."`
	CommitEvery time.Duration `yaml:"commit_every" doc:"How often intake offsets are committed; a restart reads again what came after."`
	// SessionTimeout is Kafka's: a router that is killed holds its partitions for so long.
	SessionTimeout time.Duration `yaml:"session_timeout" doc:"How long a router may be silent before its group gives its partitions to others; one that was killed holds them for so long."`
	StopTimeout    time.Duration `yaml:"stop_timeout" doc:"How long a stop waits for acknowledgements."`
	Compression    string        `yaml:"compression" doc:"Of the shard topic: none, lz4, zstd, snappy or gzip. To compress a JSON event of 566 bytes took, in one run: snappy 0.53 us of CPU and 167 bytes, lz4 1.4 us and 172, zstd 1.6 us and 92. Take zstd where the network or the brokers' disks are dear, and lz4 where the brokers can't load the native library that Java's snappy is (a /tmp without exec)."`
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config {
	return Config{
		Group:          "togo-router",
		Linger:         50 * time.Millisecond, // a hundredth of the flush age; at 5 ms a tenant's events hardly meet each other
		BatchBytes:     256 << 10,
		BatchEvents:    1000,
		MaxBytes:       64 << 20,
		CommitEvery:    time.Second,
		SessionTimeout: 45 * time.Second,
		StopTimeout:    10 * time.Second,
		Compression:    kafka.CompressionSnappy,
	}
}

// Validate reports every mistake.
func (c Config) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Group == "" {
		bad("group: is empty")
	}
	if c.Linger < 0 || c.Linger > time.Second {
		bad("linger: %s is not from 0 to 1s", c.Linger)
	}
	if c.BatchBytes < 1<<10 || c.BatchBytes > 64<<20 {
		bad("batch_bytes: %d is not from 1 KiB to 64 MiB", c.BatchBytes)
	}
	if c.BatchEvents < 1 || c.BatchEvents > event.MaxItems {
		bad("batch_events: %d is not from 1 to %d", c.BatchEvents, event.MaxItems)
	}
	if c.MaxBytes < 1<<20 {
		bad("max_bytes: %d is below 1 MiB", c.MaxBytes)
	}
	if c.CommitEvery <= 0 || c.CommitEvery > time.Minute {
		bad("commit_every: %s is not from 0 to 1m", c.CommitEvery)
	}
	if c.SessionTimeout < time.Second || c.SessionTimeout > 30*time.Minute {
		bad("session_timeout: %s is not from 1s to 30m", c.SessionTimeout)
	}
	if c.StopTimeout <= 0 {
		bad("stop_timeout: %s is not positive", c.StopTimeout)
	}
	if err := (kafka.ProducerConfig{Compression: c.Compression}).Validate(); err != nil {
		bad("compression: %w", err)
	}
	return errors.Join(errs...)
}
