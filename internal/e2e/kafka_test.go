package e2e

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"testing"

	"github.com/togodb/togo/internal/e2e/feed"
	"github.com/togodb/togo/internal/e2e/tool"
	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/internal/kafka/kafkatest"
)

// ends wants every partition's log done to its very end: what the group and the shards
// have committed is where Kafka's logs end, and the lag is 0.
func (a *apart) ends() {
	a.t.Helper()
	s := a.done()
	shards, err := a.send.Client().Offsets(a.ctx, shardTopic)
	a.must(err)
	for _, line := range s.Shards {
		if line.Lag == nil { // of a topic that is no more
			continue
		}
		if end := shards[int32(line.Shard)].End; line.Committed != end || *line.Lag != 0 {
			a.t.Errorf("shard %d has committed %d, lag %d; its partition ends at %d", line.Shard, line.Committed, *line.Lag, end)
		}
	}
	for _, topic := range intakeTopics {
		info, err := a.send.Client().Topic(a.ctx, topic)
		a.must(err)
		committed, err := a.send.Client().Committed(a.ctx, "togo-router", info)
		a.must(err)
		ranges, err := a.send.Client().Offsets(a.ctx, topic)
		a.must(err)
		for p, r := range ranges {
			if committed[p] != r.End && r.End > 0 {
				a.t.Errorf("%s[%d]: the router has committed %d, the log ends at %d", topic, p, committed[p], r.End)
			}
		}
	}
}

// TestTransactions sends everything in transactions, half of which are aborted, and ends
// every partition, those of the shard topic as well, with an aborted one.
func TestTransactions(t *testing.T) { overBoth(t, testTransactions) }

func testTransactions(t *testing.T, k kafkatest.Server) {
	const perTransaction = 60
	a := newApart(t, k, 1200)
	partitions := map[string]uint32{"events": 4, "orders": 3}
	var aborted, committed int
	for chunk := range slices.Chunk(a.msgs, perTransaction) {
		records := make([]*kafka.Record, len(chunk))
		for i, m := range chunk {
			h := fnv.New32a()
			h.Write([]byte(m.Key))
			records[i] = &kafka.Record{Topic: m.Topic, Partition: int32(h.Sum32() % partitions[m.Topic]), Value: m.Value, Headers: m.Headers()}
		}
		commit := a.rng.IntN(2) == 0
		k.TransactionOf(commit, records...)
		if !commit {
			aborted += len(chunk)
			continue
		}
		committed += len(chunk)
		for _, m := range chunk {
			a.must(a.acks.add(m))
		}
		if committed >= len(a.msgs)/4 && committed < len(a.msgs)/4+len(chunk) { // in the middle of it
			a.router.Kill()
			a.writer.Kill()
			a.router.begin()
			a.writer.begin()
		}
	}
	if aborted == 0 || committed == 0 {
		t.Fatalf("%d aborted, %d committed", aborted, committed)
	}
	partitions[shardTopic] = 4
	for topic, n := range partitions {
		for p := range int32(n) {
			k.Transaction(false, topic, p, "aborted")
		}
	}
	a.ends()
	e := a.expect(a.send, a.acks, intakeTopics)
	if sent, _, _, _, _ := e.Ledger().Counts(); sent != committed {
		t.Fatalf("Kafka shows %d records, %d were committed", sent, committed)
	}
	a.check(e)

	// Nothing but control records, while everything else rests.
	for p := range int32(4) {
		k.Transaction(true, "events", p)
		k.Transaction(false, "events", p, "aborted")
	}
	a.ends()
	a.check(e)
	a.router.awaitReady()
	a.writer.awaitReady()
}

// TestTopicRecreatedWithOpenOffsets deletes the shard topic while a commit has left
// events of small tenants to a later one, and no writer has them in memory: the shards
// that miss some stop and say how many, an operator accepts, the new topic is
// read, and the intake topics bring back what was lost.
func TestTopicRecreatedWithOpenOffsets(t *testing.T) { overBoth(t, testRecreatedWithOpenOffsets) }

func testRecreatedWithOpenOffsets(t *testing.T, k kafkatest.Server) {
	// Small tenants wait for ever, acme does not: each commit steps over the others' events.
	a := newApart(t, k, 1500, "--set", "writer.small_tenant_age=1h", "--set", "writer.small_tenant_bytes=4KiB")
	a.msgs = slices.DeleteFunc(a.msgs, func(m feed.Message) bool { return strings.HasPrefix(string(m.Value), `{"changed"`) })
	a.some(700)
	open := func(s tool.Status) (n int64) {
		for _, l := range s.Shards {
			n += l.Open
		}
		return n
	}
	_, err := a.Await(a.ctx, "all is routed, and a commit has left some open", func(s tool.Status) bool { return s.Routed() && open(s) > 0 })
	a.must(err)
	a.writer.Kill()
	s, err := a.Status(a.ctx)
	a.must(err)
	info, err := a.send.Client().Topic(a.ctx, shardTopic)
	a.must(err)
	k.Recreate(shardTopic, 4, settings(info))
	a.writer.begin()
	for _, line := range s.Shards {
		if line.Open == 0 {
			continue
		}
		loss := a.awaitStopped(line.Shard)
		if loss.LostOffsets != line.Open || !strings.Contains(loss.Reason, "topic_recreated") {
			t.Errorf("shard %d says %+v; %d offsets are lost with the topic", line.Shard, loss, line.Open)
		}
		contains(t, a.output("gap", fmt.Sprint(line.Shard), "--reason", "the topic was deleted", "--by", "test"), fmt.Sprintf("%d offsets", line.Open))
	}
	a.rewind()
	a.some(len(a.msgs))
	a.writer.stop() // commits what waits, too
	a.writer.args = append(a.writer.args, "--set", "writer.small_tenant_age=300ms")
	a.writer.start()
	if got := a.done().Totals.Lost; got != open(s) {
		t.Errorf("the store says that %d offsets are lost, want %d", got, open(s))
	}
	a.ends()
	a.check(a.expect(a.send, a.acks, intakeTopics))
}

// TestPartitionsAddedWhileIdle: a router with nothing to do finds new intake partitions,
// and reads them from their start.
func TestPartitionsAddedWhileIdle(t *testing.T) {
	k := overApache(t)
	a := newApart(t, k, 600)
	a.some(200)
	a.done()
	k.AddPartitions("events", 7)
	a.send = a.sender(k.Config(), a.acks)
	// An event's copy may now lie in another partition than the first: no changed copies.
	a.msgs = slices.DeleteFunc(a.msgs, func(m feed.Message) bool { return strings.HasPrefix(string(m.Value), `{"changed"`) })
	a.some(len(a.msgs))
	ranges, err := a.send.Client().Offsets(a.ctx, "events")
	a.must(err)
	if len(ranges) != 7 || ranges[4].End+ranges[5].End+ranges[6].End == 0 {
		t.Fatalf("nothing lies in the new partitions: %v", ranges)
	}
	a.ends()
	a.check(a.expect(a.send, a.acks, intakeTopics))
}

// rewind has the intake topics read from their start again.
func (a *apart) rewind() {
	a.t.Helper()
	a.router.stop()
	for _, topic := range intakeTopics {
		ranges, err := a.send.Client().Offsets(a.ctx, topic)
		a.must(err)
		from := map[int32]int64{}
		for p, r := range ranges {
			from[p] = r.Start
		}
		a.must(a.send.Client().CommitGroup(a.ctx, "togo-router", topic, from, ""))
	}
	a.router.start()
}

// settings are those that Togo gave the shard topic.
func settings(info kafka.TopicInfo) map[string]string {
	out := map[string]string{}
	for _, key := range []string{"retention.ms", "retention.bytes", "max.message.bytes"} {
		out[key] = info.Configs[key]
	}
	return out
}
