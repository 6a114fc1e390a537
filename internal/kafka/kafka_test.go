package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/internal/kafka/kafkatest"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestClusterConfigValidate(t *testing.T) {
	with := func(change func(*kafka.ClusterConfig)) kafka.ClusterConfig {
		c := kafka.ClusterConfig{Brokers: []string{"localhost:9092"}}
		change(&c)
		return c
	}
	tests := []struct {
		cfg  kafka.ClusterConfig
		want string // in the error; "" none
	}{
		{with(func(*kafka.ClusterConfig) {}), ""},
		{kafka.ClusterConfig{}, "none given"},
		{with(func(c *kafka.ClusterConfig) { c.Brokers = []string{"localhost"} }), "not host:port"},
		{with(func(c *kafka.ClusterConfig) { c.TLS.CAFile = "ca.pem" }), "not enabled"},
		{with(func(c *kafka.ClusterConfig) { c.TLS.Enabled, c.TLS.CertFile = true, "c.pem" }), "its key"},
		{with(func(c *kafka.ClusterConfig) { c.SASL.Username = "u" }), "no mechanism"},
		{with(func(c *kafka.ClusterConfig) { c.SASL.Mechanism = "GSSAPI" }), "none of"},
		{with(func(c *kafka.ClusterConfig) { c.SASL.Mechanism = kafka.MechanismPlain }), "username"},
		{with(func(c *kafka.ClusterConfig) {
			c.SASL = kafka.SASLConfig{Mechanism: kafka.MechanismScramSHA512, Username: "u", Password: "p"}
		}), ""},
		{with(func(c *kafka.ClusterConfig) { c.SASL.Mechanism = kafka.MechanismOAuthBearer }), "exactly one"},
		{with(func(c *kafka.ClusterConfig) {
			c.SASL = kafka.SASLConfig{Mechanism: kafka.MechanismOAuthBearer, Token: "t", TokenFile: "f"}
		}), "exactly one"},
		{with(func(c *kafka.ClusterConfig) {
			c.SASL = kafka.SASLConfig{Mechanism: kafka.MechanismOAuthBearer, OAuth: kafka.OAuthConfig{TokenURL: "http://x"}}
		}), "client_id"},
		{with(func(c *kafka.ClusterConfig) {
			c.SASL = kafka.SASLConfig{Mechanism: kafka.MechanismAWSMSKIAM, AccessKey: "a"}
		}), "credentials"},
		{with(func(c *kafka.ClusterConfig) {
			c.TLS.Enabled, c.SASL.Mechanism = true, kafka.MechanismAWSMSKIAM
		}), ""},
		{with(func(c *kafka.ClusterConfig) {
			c.SASL = kafka.SASLConfig{Mechanism: kafka.MechanismAWSMSKIAM, AccessKey: "a", SecretKey: "s"}
		}), "TLS"},
	}
	for i, tt := range tests {
		err := tt.cfg.Validate()
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%d: got %v, want %q", i, err, tt.want)
		}
	}
}

func TestConnectWithSASL(t *testing.T) {
	k := kafkatest.NewSASL(t, "user", "secret")
	for _, mechanism := range []string{kafka.MechanismPlain, kafka.MechanismScramSHA256, kafka.MechanismScramSHA512} {
		cfg := k.Config()
		cfg.SASL = kafka.SASLConfig{Mechanism: mechanism, Username: "user", Password: "secret"}
		c, err := kafka.Connect(testContext(t), cfg, kafkatest.Quiet(), nil)
		if err != nil {
			t.Fatalf("%s: %v", mechanism, err)
		}
		if c.ClusterID() != "test" {
			t.Errorf("cluster id %q", c.ClusterID())
		}
		c.Close()
		cfg.SASL.Password = "wrong"
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond) // the client would try for seconds
		if _, err := kafka.Connect(ctx, cfg, kafkatest.Quiet(), nil); err == nil {
			t.Errorf("%s: a wrong password is taken", mechanism)
		}
		cancel()
	}
}

func TestEnsureTopic(t *testing.T) {
	k := kafkatest.New(t)
	c := k.Client()
	ctx := testContext(t)
	if _, err := c.Topic(ctx, "shards"); !errors.Is(err, kafka.ErrTopicMissing) {
		t.Fatalf("missing topic: %v", err)
	}
	configs := map[string]string{"max.message.bytes": "2000000"}
	made, warnings, err := c.EnsureTopic(ctx, "shards", 2, configs)
	if err != nil || made.Partitions != 2 || made.MaxMessageBytes() != 2_000_000 || len(warnings) != 1 {
		t.Fatalf("made %+v, %v, %v", made, warnings, err)
	}
	more, _, err := c.EnsureTopic(ctx, "shards", 5, configs)
	if err != nil || more.Partitions != 5 || more.ID != made.ID {
		t.Fatalf("made %+v, %v", more, err)
	}
	if _, _, err := c.EnsureTopic(ctx, "shards", 3, configs); !errors.Is(err, kafka.ErrFewerPartitions) {
		t.Fatalf("fewer: %v", err)
	}
	configs["max.message.bytes"] = "3000000"
	if _, warnings, _ = c.EnsureTopic(ctx, "shards", 5, configs); !strings.Contains(strings.Join(warnings, "; "), "should be 3000000") {
		t.Fatalf("warnings %v", warnings)
	}
	k.Topic("compacted", 1, map[string]string{"cleanup.policy": "compact"})
	if _, _, err := c.EnsureTopic(ctx, "compacted", 1, nil); err == nil || !strings.Contains(err.Error(), "compaction") {
		t.Fatalf("compacted: %v", err)
	}
}

// TestFault_config_change: settings of topics that void a promise are refused, or warned of where they are not ours.
func TestFault_config_change(t *testing.T) {
	tests := []struct {
		replicas int
		configs  map[string]string
		err      string
	}{
		{3, map[string]string{"min.insync.replicas": "2", "cleanup.policy": "delete"}, ""},
		{3, map[string]string{"min.insync.replicas": "1"}, "min.insync.replicas"},
		{1, map[string]string{"min.insync.replicas": "1"}, ""},
		{3, map[string]string{"min.insync.replicas": "2", "unclean.leader.election.enable": "true"}, "unclean"},
		{3, map[string]string{"min.insync.replicas": "2", "cleanup.policy": "compact,delete"}, "compaction"},
	}
	for i, tt := range tests {
		_, err := kafka.CheckTopic(kafka.TopicInfo{Name: "t", Replicas: tt.replicas, Configs: tt.configs}, nil)
		if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%d: got %v, want %q", i, err, tt.err)
		}
	}
	for i, tt := range []struct {
		configs map[string]string
		want    int
	}{
		{map[string]string{"message.timestamp.type": "LogAppendTime"}, 0},
		{map[string]string{"message.timestamp.type": "CreateTime"}, 1},
		{map[string]string{"message.timestamp.type": "CreateTime", "message.timestamp.after.max.ms": "3600000"}, 0},
		{map[string]string{"message.timestamp.type": "CreateTime", "message.timestamp.after.max.ms": "9223372036854775807"}, 1},
		{map[string]string{"message.timestamp.type": "LogAppendTime", "cleanup.policy": "compact", "unclean.leader.election.enable": "true"}, 2},
	} {
		if got := kafka.CheckIntake(kafka.TopicInfo{Name: "t", Configs: tt.configs}); len(got) != tt.want {
			t.Errorf("intake %d: %v", i, got)
		}
	}
}

func produce(t *testing.T, p *kafka.Producer, m kafka.Message) (offset int64, err error) {
	t.Helper()
	done := make(chan struct{})
	p.Produce(testContext(t), m, func(o int64, e error) { offset, err = o, e; close(done) })
	<-done
	return offset, err
}

func TestProducer(t *testing.T) {
	k := kafkatest.New(t)
	k.Topic("shards", 3, map[string]string{"max.message.bytes": "50000"})
	c := k.Client()
	info, err := c.Topic(testContext(t), "shards")
	if err != nil {
		t.Fatal(err)
	}
	for _, codec := range []string{"", "none", "lz4", "zstd", "snappy", "gzip"} {
		p, err := c.NewProducer(info, kafka.ProducerConfig{Compression: codec})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := produce(t, p, kafka.Message{Partition: 2, Value: []byte("x")}); err != nil {
			t.Fatalf("%s: %v", codec, err)
		}
		// What is promised to fit, fits, also if it does not compress; more does not.
		value := make([]byte, p.MaxRecordBytes())
		for i := range value {
			value[i] = byte(i * i >> 3)
		}
		if _, err := produce(t, p, kafka.Message{Partition: 1, Value: value}); err != nil {
			t.Fatalf("%s: %d bytes: %v", codec, len(value), err)
		}
		if _, err := produce(t, p, kafka.Message{Partition: 1, Value: make([]byte, 50_000)}); !errors.Is(err, kafka.ErrTooLarge) {
			t.Fatalf("%s: too large: %v", codec, err)
		}
		p.Close()
	}
	logs, err := c.Offsets(testContext(t), "shards")
	if err != nil || logs[0].End != 0 || logs[1].End != 6 || logs[2].End != 6 {
		t.Fatalf("logs %v, %v", logs, err)
	}
	if _, err := c.NewProducer(info, kafka.ProducerConfig{Compression: "rar"}); err == nil {
		t.Fatal("rar")
	}
}

// TestProducerIsSafe: the broker sees that all in-sync replicas are waited for, and
// batches that are numbered, so that one sent again is not written twice.
func TestProducerIsSafe(t *testing.T) {
	k := kafkatest.New(t)
	k.Topic("shards", 1, nil)
	c := k.Client()
	info, err := c.Topic(testContext(t), "shards")
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.NewProducer(info, kafka.ProducerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	requests := make(chan *kmsg.ProduceRequest, 1)
	k.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		requests <- r.(*kmsg.ProduceRequest)
		return nil, nil, false
	})
	acked := make(chan error, 1)
	p.Produce(testContext(t), kafka.Message{Value: []byte("a")}, func(_ int64, err error) { acked <- err })
	if err := <-acked; err != nil {
		t.Fatal(err)
	}
	r := <-requests
	var batch kmsg.RecordBatch
	if err := batch.ReadFrom(r.Topics[0].Partitions[0].Records); err != nil {
		t.Fatal(err)
	}
	if r.Acks != -1 || batch.ProducerID < 0 {
		t.Errorf("acks %d, producer id %d", r.Acks, batch.ProducerID)
	}
}

func TestCommitGroup(t *testing.T) {
	k := kafkatest.New(t)
	k.Topic("shards", 2, nil)
	c := k.Client()
	ctx := testContext(t)
	if err := c.CommitGroup(ctx, "togo-writer", "shards", map[int32]int64{0: 7, 1: 9}, "m"); err != nil {
		t.Fatal(err)
	}
	info, err := c.Topic(ctx, "shards")
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Committed(ctx, "togo-writer", info)
	if err != nil || got[0] != 7 || got[1] != 9 {
		t.Fatalf("got %v, %v", got, err)
	}
	if err := c.CommitGroup(ctx, "togo-writer", "shards", map[int32]int64{1: 12}, `{"togo":1,"topic":"00000000000000000000000000000001"}`); err != nil {
		t.Fatal(err)
	}
	got, err = c.Committed(ctx, "togo-writer", info)
	if at, ok := got[1]; err != nil || got[0] != 7 || ok {
		t.Fatalf("got %v, %v: %d was committed for an earlier topic of the name", got, err, at)
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TestEmbeddedKeepsEverything: topic ids, records, leader epochs, group offsets and
// the cluster's id survive a restart, so that no position is taken for another's.
func TestEmbeddedKeepsEverything(t *testing.T) {
	ctx := testContext(t)
	cfg := kafka.EmbeddedConfig{Dir: t.TempDir(), Addr: freePort(t), Topics: []kafka.SeedTopic{
		{Name: "events", Partitions: 2, Configs: map[string]string{"max.message.bytes": "3000000"}},
	}}
	var before kafka.TopicInfo
	var position kafka.Position
	for round := range 3 {
		b, err := kafka.StartEmbedded(ctx, cfg, kafkatest.Quiet())
		if err != nil {
			t.Fatal(err)
		}
		if b.Addr() != cfg.Addr {
			t.Fatalf("listens on %s", b.Addr())
		}
		c, err := kafka.Connect(ctx, kafka.ClusterConfig{Brokers: []string{cfg.Addr}}, kafkatest.Quiet(), nil)
		if err != nil {
			t.Fatal(err)
		}
		info, err := c.Topic(ctx, "events")
		if err != nil {
			t.Fatal(err)
		}
		if round == 0 {
			before = info
		}
		if info.ID != before.ID || info.Partitions != 2 || info.MaxMessageBytes() != 3_000_000 || c.ClusterID() != "togo-embedded" {
			t.Fatalf("round %d: %+v, before %+v", round, info, before)
		}
		if round > 0 {
			if got, err := c.Committed(ctx, "g", info); err != nil || got[0] != int64(round) {
				t.Fatalf("round %d: group at %v, %v", round, got, err)
			}
			if _, err := c.Check(ctx, "events", 0, position); err != nil {
				t.Fatalf("round %d: the position of before: %v", round, err)
			}
		}
		p, err := c.NewProducer(info, kafka.ProducerConfig{})
		if err != nil {
			t.Fatal(err)
		}
		if offset, err := produce(t, p, kafka.Message{Value: []byte(fmt.Sprint(round))}); err != nil || offset != int64(round) {
			t.Fatalf("round %d: offset %d, %v", round, offset, err)
		}
		r, err := c.NewReader(info, quick)
		if err != nil {
			t.Fatal(err)
		}
		r.Add(0, 0, -1)
		var next int64
		for next < int64(round)+1 {
			batches, err := r.Poll(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range batches {
				if b.Err != nil {
					t.Fatal(b.Err)
				}
				next = b.Next
				position = kafka.Position{Offset: b.Next, LeaderEpoch: b.Records[len(b.Records)-1].LeaderEpoch}
			}
		}
		if err := c.CommitGroup(ctx, "g", "events", map[int32]int64{0: int64(round) + 1}, ""); err != nil {
			t.Fatal(err)
		}
		r.Close()
		p.Close()
		c.Close()
		b.Close()
	}
}

func TestEmbeddedValidate(t *testing.T) {
	for _, addr := range []string{"", "localhost", ":9092", "localhost:x", "localhost:99999"} {
		if err := (kafka.EmbeddedConfig{Addr: addr}).Validate(); err == nil {
			t.Errorf("address %q is taken", addr)
		}
	}
}

func TestConsumerSaysTheTopicInItsCommit(t *testing.T) {
	k := kafkatest.New(t)
	k.Topic("events", 1, nil)
	k.Values("events", 0, "a", "b")
	c := k.Client()
	info, err := c.Topic(testContext(t), "events")
	if err != nil {
		t.Fatal(err)
	}
	assigned := make(chan kafka.Assignment, 10)
	join := func() *kafka.Consumer {
		m, err := c.NewConsumer(testContext(t), kafka.ConsumerConfig{
			Group: "g", Topics: []string{"events"}, Read: quick,
			OnAssigned: func(parts []kafka.Assignment) { assigned <- parts[0] },
		})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	poll := func(m *kafka.Consumer) (b kafka.Batch) {
		for b.Source.Cluster == "" {
			if err := m.Poll(testContext(t), func(batches []kafka.Batch) { b = batches[0] }); err != nil {
				t.Fatal(err)
			}
		}
		return b
	}
	m := join()
	b := poll(m)
	if a := <-assigned; !a.Fresh || a.Start.Offset != 0 || a.Source != c.Source(info, 0) {
		t.Fatalf("assigned %+v", a)
	}
	tp := kafka.TopicPartition{Topic: "events"}
	if err := m.Commit(testContext(t), map[kafka.TopicPartition]kafka.Position{
		tp: {Offset: 1, LeaderEpoch: b.Records[0].LeaderEpoch}, {Topic: "events", Partition: 9}: {Offset: 5},
	}); err != nil {
		t.Fatal(err)
	}
	if meta := k.CommitMetadata("g", "events", 0); !strings.Contains(meta, info.ID.String()) || !strings.Contains(meta, "leader_epoch") {
		t.Fatalf("metadata %q", meta)
	}
	m.Close()
	m = join()
	if b := poll(m); string(b.Records[0].Value) != "b" {
		t.Fatalf("read %q after the commit", b.Records[0].Value)
	}
	if a := <-assigned; a.Fresh || a.Start.Offset != 1 {
		t.Fatalf("assigned %+v", a)
	}
	m.Close()
	// A commit of another incarnation is no position.
	other := `{"togo":1,"topic":"00000000000000000000000000000001","leader_epoch":0}`
	if err := c.CommitGroup(testContext(t), "g", "events", map[int32]int64{0: 1}, other); err != nil {
		t.Fatal(err)
	}
	m = join()
	defer m.Close()
	if b := poll(m); string(b.Records[0].Value) != "a" {
		t.Fatalf("read %q", b.Records[0].Value)
	}
	if a := <-assigned; !a.Fresh {
		t.Fatalf("assigned %+v", a)
	}
}

func TestFault_seek_after_rebalance(t *testing.T) {
	k := kafkatest.New(t)
	k.Topic("events", 2, nil)
	value := strings.Repeat("x", 1000)
	for range 40 {
		k.Values("events", 0, value, value, value, value, value)
		k.Values("events", 1, value)
	}
	read := quick
	read.MaxRecordsPerPoll = 7 // so that much is fetched and not polled
	m, err := k.Client().NewConsumer(testContext(t), kafka.ConsumerConfig{Group: "g", Topics: []string{"events"}, Read: read})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	tp := kafka.TopicPartition{Topic: "events"}
	var next [2]int64
	seeks := 0
	for next[0] < 200 || next[1] < 40 {
		epoch := int32(-1)
		if err := m.Poll(testContext(t), func(batches []kafka.Batch) {
			for _, b := range batches {
				if first := b.Records[0].Offset; b.Err != nil || first != next[b.Partition] {
					t.Fatalf("partition %d: got offset %d, want %d, %v", b.Partition, first, next[b.Partition], b.Err)
				}
				next[b.Partition] = b.Next
				epoch = b.Records[0].LeaderEpoch
			}
		}); err != nil {
			t.Fatal(err)
		}
		if seeks < 5 && next[0] > int64(20*seeks+20) {
			seeks++
			next[0] -= 15
			m.Pause(tp)
			m.Seek(map[kafka.TopicPartition]kafka.Position{tp: {Offset: next[0], LeaderEpoch: epoch}})
			m.Resume(tp)
		}
	}
	if seeks != 5 {
		t.Fatalf("%d seeks", seeks)
	}
}

func TestConsumerPollEndsWithItsContext(t *testing.T) {
	k := kafkatest.New(t)
	k.Topic("events", 1, nil)
	m, err := k.Client().NewConsumer(testContext(t), kafka.ConsumerConfig{Group: "g", Topics: []string{"events"}, Read: quick})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := m.Poll(ctx, func([]kafka.Batch) {}); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
}
