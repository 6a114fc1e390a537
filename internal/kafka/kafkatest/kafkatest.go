// Package kafkatest gives tests a Kafka cluster in memory, and does to any cluster
// what its own tools would do.
package kafkatest

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/togodb/togo/internal/kafka"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Cluster is a Kafka cluster in memory that ends with its test.
type Cluster struct {
	*kfake.Cluster // for faults, leaders and the like
	Server
}

// Server is a cluster that runs anywhere.
type Server struct {
	t   testing.TB
	cfg kafka.ClusterConfig
}

// At is the cluster that cfg reaches, for tools without password and encryption.
func At(t testing.TB, cfg kafka.ClusterConfig) Server { return Server{t, cfg} }

// New starts a cluster of one broker.
func New(t testing.TB, opts ...kfake.Opt) *Cluster {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{
		kfake.NumBrokers(1), kfake.ClusterID("test"), kfake.GroupMinSessionTimeout(100 * time.Millisecond),
	}, opts...)...)
	if err != nil {
		t.Fatalf("start a cluster: %v", err)
	}
	t.Cleanup(c.Close)
	return &Cluster{Cluster: c, Server: At(t, kafka.ClusterConfig{Brokers: c.ListenAddrs()})}
}

// NewSASL starts a cluster that wants a user's password, by any mechanism.
func NewSASL(t testing.TB, user, password string) *Cluster {
	t.Helper()
	return New(t, kfake.EnableSASL(),
		kfake.Superuser("PLAIN", user, password),
		kfake.Superuser("SCRAM-SHA-256", user, password),
		kfake.Superuser("SCRAM-SHA-512", user, password))
}

// Config reaches the cluster.
func (c Server) Config() kafka.ClusterConfig { return c.cfg }

// Client connects, until the test ends.
func (c Server) Client() *kafka.Client {
	c.t.Helper()
	cl, err := kafka.Connect(context.Background(), c.Config(), Quiet(), nil)
	if err != nil {
		c.t.Fatalf("connect: %v", err)
	}
	c.t.Cleanup(cl.Close)
	return cl
}

// Topic creates a topic.
func (c Server) Topic(name string, partitions int32, configs map[string]string) {
	c.t.Helper()
	cl := c.raw()
	defer cl.Close()
	values := map[string]*string{}
	for k, v := range configs {
		values[k] = &v
	}
	if _, err := kadm.NewClient(cl).CreateTopic(context.Background(), partitions, 1, values, name); err != nil {
		c.t.Fatalf("create topic %s: %v", name, err)
	}
}

// Cut deletes a partition's records before an offset, as retention does.
func (c Server) Cut(topic string, partition int32, before int64) {
	c.t.Helper()
	cl := c.raw()
	defer cl.Close()
	var o kadm.Offsets
	o.AddOffset(topic, partition, before, -1)
	resp, err := kadm.NewClient(cl).DeleteRecords(context.Background(), o)
	if err == nil {
		err = resp.Error()
	}
	if err != nil {
		c.t.Fatalf("delete records of %s[%d] before %d: %v", topic, partition, before, err)
	}
}

// Recreate deletes a topic with all its records and creates it anew.
func (c Server) Recreate(name string, partitions int32, configs map[string]string) {
	c.t.Helper()
	cl := c.raw()
	defer cl.Close()
	if _, err := kadm.NewClient(cl).DeleteTopic(context.Background(), name); err != nil {
		c.t.Fatalf("delete topic %s: %v", name, err)
	}
	c.Topic(name, partitions, configs)
}

// AddPartitions gives a topic so many partitions.
func (c Server) AddPartitions(name string, partitions int) {
	c.t.Helper()
	cl := c.raw()
	defer cl.Close()
	resp, err := kadm.NewClient(cl).UpdatePartitions(context.Background(), partitions, name)
	if err == nil {
		err = resp.Error()
	}
	if err != nil {
		c.t.Fatalf("give topic %s %d partitions: %v", name, partitions, err)
	}
}

// Empty deletes every topic and every group, once its killed members are taken for dead.
func (c Server) Empty(ctx context.Context) {
	c.t.Helper()
	cl := c.raw()
	defer cl.Close()
	adm := kadm.NewClient(cl)
	for {
		left, err := empty(ctx, adm)
		if err == nil && left == 0 {
			return
		}
		select {
		case <-ctx.Done():
			c.t.Fatalf("empty the cluster: %d topics and groups are left: %v", left, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// empty says how much was there.
func empty(ctx context.Context, adm *kadm.Client) (int, error) {
	topics, err := adm.ListTopics(ctx)
	if err != nil {
		return 0, err
	}
	if _, err := adm.DeleteTopics(ctx, topics.Names()...); err != nil {
		return len(topics), err
	}
	groups, err := adm.ListGroups(ctx)
	if err == nil {
		_, err = adm.DeleteGroups(ctx, groups.Groups()...)
	}
	return len(topics) + len(groups), err
}

// Produce writes records, each to the partition that it names.
func (c Server) Produce(records ...*kafka.Record) {
	c.t.Helper()
	batch := 1_000_012 // kgo's default
	for _, r := range records {
		batch = max(batch, len(r.Value)+1000) // what is too large, the topic says
	}
	cl := c.raw(kgo.ProducerBatchMaxBytes(int32(batch)))
	defer cl.Close()
	if err := cl.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
		c.t.Fatalf("produce: %v", err)
	}
}

// Values writes values to a partition.
func (c Server) Values(topic string, partition int32, values ...string) {
	c.t.Helper()
	records := make([]*kafka.Record, len(values))
	for i, v := range values {
		records[i] = &kafka.Record{Topic: topic, Partition: partition, Value: []byte(v)}
	}
	c.Produce(records...)
}

// Transaction writes values to a partition and commits or aborts them.
func (c Server) Transaction(commit bool, topic string, partition int32, values ...string) {
	c.t.Helper()
	records := make([]*kafka.Record, len(values))
	for i, v := range values {
		records[i] = &kafka.Record{Topic: topic, Partition: partition, Value: []byte(v)}
	}
	c.TransactionOf(commit, records...)
}

// TransactionOf writes records, each to the partition that it names, and commits
// or aborts them.
func (c Server) TransactionOf(commit bool, records ...*kafka.Record) {
	c.t.Helper()
	ctx := context.Background()
	cl := c.raw(kgo.TransactionalID("kafkatest"))
	defer cl.Close()
	if err := cl.BeginTransaction(); err != nil {
		c.t.Fatalf("begin a transaction: %v", err)
	}
	for _, r := range records {
		if err := cl.ProduceSync(ctx, r).FirstErr(); err != nil {
			c.t.Fatalf("produce: %v", err)
		}
	}
	if err := cl.EndTransaction(ctx, kgo.TransactionEndTry(commit)); err != nil {
		c.t.Fatalf("end a transaction: %v", err)
	}
}

func (c Server) raw(opts ...kgo.Opt) *kgo.Client {
	c.t.Helper()
	opts = append([]kgo.Opt{
		kgo.SeedBrokers(c.cfg.Brokers...),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
	}, opts...)
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		c.t.Fatalf("make a client: %v", err)
	}
	return cl
}

// AwaitCommit waits until the group's offset of a partition is what is wanted.
func (c *Cluster) AwaitCommit(ctx context.Context, group, topic string, partition int32, want int64) {
	c.t.Helper()
	_, err := c.WaitGroupInfo(ctx, group, func(g *kfake.GroupInfo) bool {
		return g != nil && g.Commits[topic][partition].Offset == want && g.Commits[topic] != nil
	})
	if err != nil {
		c.t.Fatalf("%s[%d]: offset of group %s is %d, want %d", topic, partition, group, c.Committed(group, topic, partition), want)
	}
}

// Committed is the group's offset of a partition; 0 if there is none.
func (c *Cluster) Committed(group, topic string, partition int32) int64 {
	g := c.GroupInfo(group)
	if g == nil {
		return 0
	}
	return g.Commits[topic][partition].Offset
}

// CommitMetadata is the metadata of the group's offset.
func (c *Cluster) CommitMetadata(group, topic string, partition int32) string {
	g := c.GroupInfo(group)
	if g == nil {
		return ""
	}
	return g.Commits[topic][partition].Metadata
}

// AwaitMembers waits until the group is stable with so many members.
func (c *Cluster) AwaitMembers(ctx context.Context, group string, members int) {
	c.t.Helper()
	if _, err := c.WaitGroupStable(ctx, group, members); err != nil {
		c.t.Fatalf("group %s: %v", group, err)
	}
}

// RefuseCommits has every commit of offsets refused until the function that it
// returns is called.
func (c *Cluster) RefuseCommits() (allow func()) {
	return c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Err: kerr.TopicAuthorizationFailed, Count: -1}).Remove
}

// Quiet is a logger that says nothing.
func Quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }
