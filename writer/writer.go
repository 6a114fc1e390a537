// Package writer runs the shards of a process: it reads the shard topic, stores
// each event once as per-tenant fragments, and commits them in the shard logs.
//
// It is the shell of package shard, whose core decides everything: the writer
// claims shards, reads Kafka and the store, encodes, uploads and appends.
//
// Rules of the shell:
//
//  1. A core is stepped by one goroutine, the shard's runner; all other
//     goroutines of the shard bring it inputs, and end before another core takes its place.
//  2. Batches are tagged with the load that asked for them by the one goroutine
//     that polls Kafka, so that no record of an older position slips in.
//  3. An upload or append is tried until it succeeds or the shard ends; nothing
//     that was uploaded is deleted here.
//  4. A shard that is fenced drops all that it holds at once.
package writer

import (
	"context"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/placements"
	"github.com/togodb/togo/writer/shard"
)

// Deps are what a Writer works with. All are shared; it closes none of them.
type Deps struct {
	Store      objstore.Store
	Meta       objstore.Meta
	Kafka      *kafka.Client // of the shard topic's cluster
	Topic      string        // the shard topic
	Placements *placements.Keeper
	Owner      string // this process's name, for people
	Logger     *slog.Logger
	Registerer prometheus.Registerer // may be nil
}

// Writer owns shards.
type Writer struct{}

// New checks the configuration; nothing is read or written before Run.
func New(cfg Config, d Deps) (*Writer, error) { panic("writer: not built") }

// Run claims the shards and works until ctx ends; then it commits what it holds
// and releases the shards, within StopTimeout.
func (w *Writer) Run(ctx context.Context) error { panic("writer: not built") }

// Status describes each shard, in order.
func (w *Writer) Status() []shard.Status { panic("writer: not built") }

// Ready is nil if every shard does its work.
func (w *Writer) Ready() error { panic("writer: not built") }
