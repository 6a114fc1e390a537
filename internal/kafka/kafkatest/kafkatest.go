// Package kafkatest gives tests a Kafka cluster in memory.
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
	t              testing.TB
}

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
	return &Cluster{Cluster: c, t: t}
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
func (c *Cluster) Config() kafka.ClusterConfig {
	return kafka.ClusterConfig{Brokers: c.ListenAddrs()}
}

// Client connects, until the test ends.
func (c *Cluster) Client() *kafka.Client {
	c.t.Helper()
	cl, err := kafka.Connect(context.Background(), c.Config(), Quiet(), nil)
	if err != nil {
		c.t.Fatalf("connect: %v", err)
	}
	c.t.Cleanup(cl.Close)
	return cl
}

// Topic creates a topic.
func (c *Cluster) Topic(name string, partitions int32, configs map[string]string) {
	c.t.Helper()
	if err := c.CreateTopic(name, partitions, configs); err != nil {
		c.t.Fatalf("create topic %s: %v", name, err)
	}
}

// Cut deletes a partition's records before an offset, as retention does.
func (c *Cluster) Cut(topic string, partition int32, before int64) {
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
func (c *Cluster) Recreate(name string, partitions int32, configs map[string]string) {
	c.t.Helper()
	cl := c.raw()
	defer cl.Close()
	if _, err := kadm.NewClient(cl).DeleteTopic(context.Background(), name); err != nil {
		c.t.Fatalf("delete topic %s: %v", name, err)
	}
	c.Topic(name, partitions, configs)
}

// Produce writes records, each to the partition that it names.
func (c *Cluster) Produce(records ...*kafka.Record) {
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
func (c *Cluster) Values(topic string, partition int32, values ...string) {
	c.t.Helper()
	records := make([]*kafka.Record, len(values))
	for i, v := range values {
		records[i] = &kafka.Record{Topic: topic, Partition: partition, Value: []byte(v)}
	}
	c.Produce(records...)
}

// Transaction writes values to a partition and commits or aborts them.
func (c *Cluster) Transaction(commit bool, topic string, partition int32, values ...string) {
	c.t.Helper()
	ctx := context.Background()
	cl := c.raw(kgo.TransactionalID("kafkatest"))
	defer cl.Close()
	if err := cl.BeginTransaction(); err != nil {
		c.t.Fatalf("begin a transaction: %v", err)
	}
	for _, v := range values {
		r := &kafka.Record{Topic: topic, Partition: partition, Value: []byte(v)}
		if err := cl.ProduceSync(ctx, r).FirstErr(); err != nil {
			c.t.Fatalf("produce: %v", err)
		}
	}
	if err := cl.EndTransaction(ctx, kgo.TransactionEndTry(commit)); err != nil {
		c.t.Fatalf("end a transaction: %v", err)
	}
}

func (c *Cluster) raw(opts ...kgo.Opt) *kgo.Client {
	c.t.Helper()
	opts = append([]kgo.Opt{
		kgo.SeedBrokers(c.ListenAddrs()...),
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

// Control makes the record one that IsControl.
func Control(r *kafka.Record) *kafka.Record {
	r.Attrs = kgo.NewRecordAttrs(kgo.RecordAttrsOpts{Transactional: true, Control: true})
	return r
}
