// Package scale asks what Togo costs with many tenants, many shards and a long history, without
// a machine of that size: it runs the real placements, shard log, picker and retention over a store
// in memory, and models only what would need the events themselves.
//
// # What is real, and what is a model
//
// Real: the placement chain with every tenant placed and moved day by day; the log of one shard (its
// records, folds, checkpoints, starts), with the tenants that the placements give it, and with
// every hour of the retention; the picker's choice of merges; the records of merges and of
// retention; the requests of all of these, counted at the store.
//
// Modelled: events are counts, drawn by a Poisson process for each tenant whose shares follow
// Zipf's law. Flushes follow the writer's rule for age and size (due in hour.go says it again).
// Sizes of files follow what was measured (docs/figures.md): a fixed part and one for each event. A merge
// is done at once. Listings of the store are reckoned from the placements and the compactor's settings (collect.go). Hours before the measured one are entered as compaction leaves them: one fragment
// for each tenant and hour, or as many as the target size asks for.
//
// One shard stands for all: the one with the median number of tenants. Figures of the whole are its
// figures times the shards.
//
// CPU time is that of the process, the collector included. The store answers at once, so times of
// starts come with the requests that a real store would be waited for.
package scale

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/togodb/togo/bench/measure"
	"github.com/togodb/togo/bench/result"
)

// Config is the size of what is asked about. Defaults has all of it.
type Config struct {
	Tenants       int
	Shards        int
	RetentionDays int
	MovesPerDay   int       // tenants that get other shards each day
	EventsPerDay  []float64 // of all tenants, from little to much; the log's growth is shown at the middle one
	EventBytes    float64   // of a payload
	Skew          float64   // exponent of Zipf's law
	Partitions    int       // of the intake topic
	Processes     int       // that share the shards, of each role
	Seed          uint64
	Prices        *measure.Prices
}

// Defaults is what `togo bench scale` runs; the prices are still to be set.
func Defaults() Config {
	return Config{
		Tenants: 100_000, Shards: 1024, RetentionDays: 30, MovesPerDay: 1000,
		EventsPerDay: []float64{1e8, 1e9, 1e10}, EventBytes: 550, Skew: 1, Partitions: 64, Processes: 64, Seed: 1,
	}
}

// Validate reports every mistake.
func (c Config) Validate() error {
	var errs []error
	for name, ok := range map[string]bool{
		"tenants is not positive": c.Tenants > 0, "shards is not positive": c.Shards > 0, "retention is below two days": c.RetentionDays >= 2,
		"moves a day are not in [0, tenants]": c.MovesPerDay >= 0 && c.MovesPerDay <= c.Tenants, "no events a day": len(c.EventsPerDay) > 0,
		"event bytes are not positive": c.EventBytes > 0, "skew is not in [0, 3]": c.Skew >= 0 && c.Skew <= 3,
		"partitions are not positive": c.Partitions > 0, "processes are not positive": c.Processes > 0, "no prices": c.Prices != nil,
	} {
		if !ok {
			errs = append(errs, errors.New(name))
		}
	}
	for i, v := range c.EventsPerDay {
		if v <= 0 || i > 0 && v <= c.EventsPerDay[i-1] {
			errs = append(errs, fmt.Errorf("events a day: %v does not rise from a positive number", v))
		}
	}
	return errors.Join(errs...)
}

// end is the model's present, the start of an hour.
var end = time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)

// Run makes the model and measures it. tell gets a line for each step that takes seconds.
func Run(ctx context.Context, cfg Config, tell func(string)) (*Report, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	r := &Report{
		Format: Format, Started: time.Now().UTC().Truncate(time.Second), Machine: result.ThisMachine(),
		Tenants: cfg.Tenants, Shards: cfg.Shards, RetentionDays: cfg.RetentionDays, MovesPerDay: cfg.MovesPerDay, EventBytes: cfg.EventBytes,
		Skew: cfg.Skew, Partitions: cfg.Partitions, Processes: cfg.Processes, Seed: cfg.Seed, Prices: cfg.Prices.Source,
	}
	tell(fmt.Sprintf("placing %d tenants on %d shards, and moving %d a day", cfg.Tenants, cfg.Shards, cfg.MovesPerDay))
	world, err := place(ctx, cfg, &r.Placements)
	if err != nil {
		return nil, fmt.Errorf("scale: placements: %w", err)
	}
	middle := len(cfg.EventsPerDay) / 2
	for i, perDay := range cfg.EventsPerDay {
		days := []int{1}
		if i == middle {
			for _, d := range []int{7, cfg.RetentionDays} {
				if d > days[len(days)-1] && d <= cfg.RetentionDays {
					days = append(days, d)
				}
			}
		}
		s, err := newShard(ctx, cfg, world, perDay)
		if err != nil {
			return nil, fmt.Errorf("scale: shard log: %w", err)
		}
		for _, day := range days {
			tell(fmt.Sprintf("%.0e events a day, shard %s: up to day %d, and an hour flush by flush", perDay, world.shard, day))
			if err := s.reach(ctx, day); err != nil {
				return nil, fmt.Errorf("scale: shard log at day %d: %w", day, err)
			}
			growth, hour, err := s.measure(ctx)
			if err != nil {
				return nil, fmt.Errorf("scale: shard log at day %d: %w", day, err)
			}
			if i == middle {
				r.Growth = append(r.Growth, growth)
			}
			if day == days[len(days)-1] {
				r.Volumes = append(r.Volumes, cost(cfg, world, r.Placements.polled, perDay, hour))
			}
		}
	}
	r.Walls = walls(r)
	return r, nil
}

// cpuTime is what the process has used, user and system.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(fmt.Sprintf("scale: getrusage: %v", err)) // a bug: the arguments are constant
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
