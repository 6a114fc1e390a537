// Package kafka is Kafka as Togo needs it, and the only package that knows a
// Kafka client. A topic is named by the id of its incarnation, a position by
// offset and leader epoch, and nothing ever moves a position by itself.
//
// Invariants:
//
//  1. A Reader or Consumer never resets an offset. A position that can't be read
//     is reported with numbers (OutOfRangeError, HistoryCutError) and its
//     partition rests; the others go on.
//  2. A record is handed out only as part of the topic incarnation that was asked
//     for: an answer of another topic id is a TopicGoneError, never data.
//  3. Every offset below the last one handed out was either handed out (records and
//     transaction markers) or holds nothing that will ever be read (aborted,
//     compacted, deleted).
//  4. Producing is idempotent and acknowledged by all in-sync replicas; a record is
//     acknowledged only when it is stored, and of one partition in the order of its
//     Produce calls.
//  5. A Consumer commits only positions of partitions that it holds, with the topic
//     id in the commit's metadata; a commit of another topic id is no position.
package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Client is a connection to one cluster, for administration, and the maker of
// readers, consumers and producers, each with connections of its own.
type Client struct {
	cfg     ClusterConfig
	opts    []kgo.Opt
	cl      *kgo.Client
	adm     *kadm.Client
	log     *slog.Logger
	metrics *metrics
	id      string
}

// Connect reaches the cluster and learns its id. reg may be nil.
func Connect(ctx context.Context, cfg ClusterConfig, log *slog.Logger, reg prometheus.Registerer) (*Client, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("kafka: configuration: %w", err)
	}
	m := newMetrics(reg)
	opts, err := cfg.options(log, m)
	if err != nil {
		return nil, fmt.Errorf("kafka: configuration: %w", err)
	}
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("kafka: make a client: %w", err)
	}
	c := &Client{cfg: cfg, opts: opts, cl: cl, adm: kadm.NewClient(cl), log: log, metrics: m}
	meta, err := c.adm.BrokerMetadata(ctx)
	if err != nil {
		cl.Close()
		return nil, fmt.Errorf("kafka: reach %v: %w", cfg.Brokers, err)
	}
	if meta.Cluster == "" {
		cl.Close()
		return nil, errors.New("kafka: the cluster has no id (Togo needs Kafka 3.1 or newer)")
	}
	c.id = meta.Cluster
	// A connection that ends at once usually means TLS where there is none, and
	// the client gives up on it. Here one has worked: it is a broker that stopped.
	c.opts = append(c.opts, kgo.AlwaysRetryEOF())
	return c, nil
}

// ClusterID is Kafka's id of the cluster, part of every event.Source.
func (c *Client) ClusterID() string { return c.id }

// Ping reports whether a broker answers.
func (c *Client) Ping(ctx context.Context) error { return c.cl.Ping(ctx) }

// Close ends the client's own connections; what it made is closed by its owner.
func (c *Client) Close() { c.cl.Close() }
