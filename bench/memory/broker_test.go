package memory

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/bench/traffic"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/internal/kafka/kafkatest"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/placements"
	"github.com/togodb/togo/router"
)

const (
	shardTopic = "shards"
	shards     = 4
	columns    = 300 // of each tenant
	used       = 40  // of them, in an event
	// perEnvelope events make a record, as a busy router gathers.
	perEnvelope = 32
)

// load is what the broker's process is to hold.
type load struct {
	tenants int
	bytes   int64 // of payloads
	hours   int   // that the events are spread over
	events  int   // in a record
}

// brokerEnv makes the test's program a broker with a filled shard topic: the
// memory of both must not be in the writer's process.
const brokerEnv = "TOGO_BENCH_BROKER"

func TestMain(m *testing.M) {
	if s := os.Getenv(brokerEnv); s != "" {
		if err := serve(s); err != nil {
			fmt.Fprintln(os.Stderr, "broker:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// startBroker runs the broker until the test ends and returns its address and the number
// of records that it holds.
func startBroker(b testing.TB, l load) (addr string, records int64) {
	b.Helper()
	program, err := os.Executable()
	must(b, err)
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d %d %d", brokerEnv, l.tenants, l.bytes, l.hours, l.events))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(b, err)
	in, err := cmd.StdinPipe()
	must(b, err)
	must(b, cmd.Start())
	b.Cleanup(func() {
		_ = in.Close() // which ends it
		if err := cmd.Wait(); err != nil {
			b.Errorf("broker: %v", err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	must(b, err)
	words := strings.Fields(line)
	if len(words) != 2 {
		b.Fatalf("the broker said %q", line)
	}
	records, err = strconv.ParseInt(words[1], 10, 64)
	must(b, err)
	return words[0], records
}

// serve fills a broker, says where it is, and ends with its input.
func serve(settings string) error {
	var l load
	if _, err := fmt.Sscan(settings, &l.tenants, &l.bytes, &l.hours, &l.events); err != nil {
		return err
	}
	ctx := context.Background()
	broker, err := kafka.StartEmbedded(ctx, kafka.EmbeddedConfig{
		Addr:   "127.0.0.1:0",
		Topics: []kafka.SeedTopic{{Name: shardTopic, Partitions: shards, Configs: router.ShardTopicConfigs(1<<20, false)}},
	}, kafkatest.Quiet())
	if err != nil {
		return err
	}
	defer broker.Close()
	client, err := kafka.Connect(ctx, kafka.ClusterConfig{Brokers: []string{broker.Addr()}}, kafkatest.Quiet(), nil)
	if err != nil {
		return err
	}
	defer client.Close()
	records, err := fill(ctx, client, l)
	if err != nil {
		return err
	}
	fmt.Println(broker.Addr(), records)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// fill produces what a router would have produced.
func fill(ctx context.Context, client *kafka.Client, l load) (records int64, err error) {
	info, err := client.Topic(ctx, shardTopic)
	if err != nil {
		return 0, err
	}
	p, err := client.NewProducer(info, kafka.ProducerConfig{})
	if err != nil {
		return 0, err
	}
	defer p.Close()
	hasher, keeper, err := newPlacements(objstore.NewMemory())
	if err != nil {
		return 0, err
	}
	table := keeper.Current()
	events := traffic.Wide(1, columns, used)
	var failed error
	var builder event.Builder
	var item event.Item
	offset := int64(0)
	for made := int64(0); made < l.bytes; records++ {
		name := event.TenantID(fmt.Sprintf("tenant-%d", int(records*7919)%l.tenants))
		builder.Reset(name, nil)
		var shard event.ShardID
		hour := int(records) / l.tenants % l.hours
		for range l.events {
			e := events.Next(1, traffic.Start.Add(-time.Duration(hour)*time.Hour), nil)
			at := event.Timestamp(e.Time.UnixNano())
			item = event.Item{Kind: event.KindEvent, Timestamp: at, FirstSeen: at, ID: e.ID, HasID: true,
				Origin: event.Origin{Source: event.Source{Cluster: "bench"}, Offset: offset}, Format: event.FormatJSON, Payload: e.Payload}
			shard, _ = table.Shard(name, at, hasher.Routing(e.ID)) // a tenant has one shard by the default rule
			builder.Append(&item)
			offset++
			made += int64(len(e.Payload))
		}
		envelope, _ := builder.Finish(uint64(table.Version()))
		p.Produce(ctx, kafka.Message{Partition: int32(shard), Value: envelope}, func(_ int64, err error) {
			if err != nil {
				failed = err
			}
		})
	}
	if err := p.Flush(ctx); err != nil {
		return 0, err
	}
	return records, failed
}

// newPlacements makes the placements, the same ones in both processes.
func newPlacements(store objstore.Store) (*event.Hasher, *placements.Keeper, error) {
	ctx := context.Background()
	hasher := event.NewHasher(event.Seed(seed))
	keeper, err := placements.NewKeeper(placements.Config{Store: store, Hasher: hasher, Logger: kafkatest.Quiet()})
	if err != nil {
		return nil, nil, err
	}
	if _, err = keeper.Init(ctx, placements.NewGenesis(shards)); err != nil {
		return nil, nil, err
	}
	_, err = keeper.Extend(ctx, event.Timestamp(traffic.Start.UnixNano()))
	return hasher, keeper, err
}

// seed is the store's, in both processes.
var seed = objstore.Seed{7}
