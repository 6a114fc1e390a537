package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"

	"github.com/twmb/franz-go/pkg/kfake"
)

// EmbeddedConfig describes the broker within the process.
type EmbeddedConfig struct {
	Dir             string // where its data lies; empty: in memory
	Addr            string // host:port to listen on; the port must be fixed for clients to find it again
	ClusterID       string // of a new broker; default "togo-embedded"
	MaxMessageBytes int    // default for topics; 0: Kafka's
	Topics          []SeedTopic
}

// SeedTopic is a topic that is there at the start.
type SeedTopic struct {
	Name       string
	Partitions int32
	Configs    map[string]string
}

// Validate reports what is wrong.
func (c EmbeddedConfig) Validate() error {
	host, port, err := net.SplitHostPort(c.Addr)
	if err != nil {
		return fmt.Errorf("kafka: embedded broker: address %q is not host:port", c.Addr)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("kafka: embedded broker: port %q is no port", port)
	}
	if host == "" {
		return errors.New("kafka: embedded broker: name the host to listen on; it takes anybody's word, so think before you say 0.0.0.0")
	}
	return nil
}

// Embedded is a Kafka broker within the process, for one machine: a real port,
// real clients, and an fsync before each acknowledgement.
type Embedded struct {
	cluster *kfake.Cluster
}

// StartEmbedded starts the broker, with what it held before.
func StartEmbedded(_ context.Context, cfg EmbeddedConfig, log *slog.Logger) (*Embedded, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	host, port, _ := net.SplitHostPort(cfg.Addr)
	number, _ := strconv.Atoi(port)
	id := cfg.ClusterID
	if id == "" {
		id = "togo-embedded"
	}
	opts := []kfake.Opt{
		kfake.NumBrokers(1),
		kfake.Ports(number),
		kfake.ClusterID(id),
		kfake.WithLogger(&brokerLog{log}),
		kfake.ListenFn(func(network, _ string) (net.Listener, error) {
			return net.Listen(network, net.JoinHostPort(host, port))
		}),
	}
	if cfg.Dir != "" {
		opts = append(opts, kfake.DataDir(cfg.Dir), kfake.SyncWrites())
	}
	if cfg.MaxMessageBytes > 0 {
		opts = append(opts, kfake.BrokerConfigs(map[string]string{"message.max.bytes": strconv.Itoa(cfg.MaxMessageBytes)}))
	}
	cluster, err := kfake.NewCluster(opts...)
	if err != nil {
		return nil, fmt.Errorf("kafka: start the embedded broker on %s: %w", cfg.Addr, err)
	}
	for _, t := range cfg.Topics {
		if cluster.TopicInfo(t.Name) != nil {
			continue
		}
		if err := cluster.CreateTopic(t.Name, t.Partitions, t.Configs); err != nil {
			cluster.Close()
			return nil, fmt.Errorf("kafka: embedded broker: create topic %s: %w", t.Name, err)
		}
	}
	return &Embedded{cluster: cluster}, nil
}

// Addr is where the broker listens.
func (e *Embedded) Addr() string { return e.cluster.ListenAddrs()[0] }

// Close stops the broker; what it acknowledged stays on disk.
func (e *Embedded) Close() { e.cluster.Close() }

type brokerLog struct{ log *slog.Logger }

// Logf implements kfake.Logger.
func (l *brokerLog) Logf(level kfake.LogLevel, format string, args ...any) {
	to := slog.LevelDebug
	switch level {
	case kfake.LogLevelError:
		to = slog.LevelError
	case kfake.LogLevelWarn:
		to = slog.LevelWarn
	}
	if l.log.Enabled(context.Background(), to) {
		l.log.Log(context.Background(), to, "kafka broker: "+fmt.Sprintf(format, args...))
	}
}
