package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/internal/e2e/audit"
	"github.com/togodb/togo/internal/e2e/feed"
	"github.com/togodb/togo/internal/e2e/kafkaserver"
	"github.com/togodb/togo/internal/e2e/tool"
	"github.com/togodb/togo/internal/kafka/kafkatest"
)

const shardTopic = "togo-shards"

// apart is a router and a writer in processes of their own, and a broker beside them.
type apart struct {
	*world
	kafka          kafkatest.Server
	router, writer *process
	send           *feed.Sender
	acks           *acks
	msgs           []feed.Message // to be sent
}

func newApart(t *testing.T, k kafkatest.Server, events int, set ...string) *apart {
	t.Helper()
	w := newWorld(t, 2*time.Minute, kafkaserver.YAML(k.Config())+`
placements: {spread: 4}
router: {session_timeout: 2s, commit_every: 200ms}
writer: {flush_age: 300ms, small_tenant_age: 300ms, checkpoint_every: 4}
`+topics)
	a := &apart{world: w, kafka: k, acks: newAcks(), msgs: messages(w.rng, events),
		router: w.process("router", addr(t), append(set, "run", "--target", "router")...),
		writer: w.process("writer", addr(t), append(set, "run", "--target", "writer")...)}
	a.router.start()
	a.writer.start()
	a.send = w.sender(k.Config(), a.acks)
	return a
}

// some sends the next share of the messages.
func (a *apart) some(share int) {
	a.t.Helper()
	n := min(len(a.msgs), share)
	a.must(a.send.SendAll(a.ctx, a.msgs[:n], 0))
	a.msgs = a.msgs[n:]
}

// stopped is a shard that waits for an operator, as the writer's /status says it.
type stopped struct {
	Shard       int    `json:"shard"`
	State       string `json:"state"`
	Reason      string `json:"reason"`
	LostOffsets int64  `json:"lost_offsets"`
}

// awaitStopped waits until the writer says that a shard has stopped.
func (a *apart) awaitStopped(shard int) stopped {
	a.t.Helper()
	var found stopped
	a.writer.await(fmt.Sprintf("shard %d stops", shard), "/status", func(_ int, body string) bool {
		var s struct {
			Writer []stopped `json:"writer"`
		}
		if json.Unmarshal([]byte(body), &s) != nil || shard >= len(s.Writer) {
			return false
		}
		found = s.Writer[shard]
		return found.State == "lost"
	})
	return found
}

// TestFault_offset_out_of_range_shard_topic loses records of the shard topic that no writer has
// read: the shard stops and says how many, an operator accepts that, and what
// was lost comes back from the intake topic.
func TestFault_offset_out_of_range_shard_topic(t *testing.T) { overBoth(t, testRetentionAheadOfWriter) }

func testRetentionAheadOfWriter(t *testing.T, k kafkatest.Server) {
	a := newApart(t, k, 3000)
	// Where the first of two payloads is lost, the second becomes the event and the
	// first, when it comes back, the conflict: right, but no ledger's business.
	a.msgs = slices.DeleteFunc(a.msgs, func(m feed.Message) bool { return bytes.HasPrefix(m.Value, []byte(`{"changed"`)) })
	a.some(1500)
	a.done()
	a.writer.Kill()
	a.some(len(a.msgs))
	st, err := a.Await(a.ctx, "all is routed", tool.Status.Routed)
	a.must(err)
	info, err := a.send.Client().Offsets(a.ctx, shardTopic)
	a.must(err)
	victim := st.Shards[0]
	for _, s := range st.Shards {
		if *s.Lag > *victim.Lag {
			victim = s
		}
	}
	end := info[int32(victim.Shard)].End
	if end-victim.Committed < 2 {
		t.Fatalf("shard %d is at %d, its partition ends at %d: nothing to lose", victim.Shard, victim.Committed, end)
	}
	cut := victim.Committed + (end-victim.Committed+1)/2
	a.kafka.Cut(shardTopic, int32(victim.Shard), cut)
	t.Logf("shard %d was at %d of %d; its partition now begins at %d", victim.Shard, victim.Committed, end, cut)

	a.writer.begin()
	loss := a.awaitStopped(victim.Shard)
	if want := cut - victim.Committed; loss.LostOffsets != want || !strings.Contains(loss.Reason, fmt.Sprint(cut)) {
		t.Errorf("the shard says %+v; %d offsets are lost", loss, want)
	}
	a.writer.await("readiness is red", "/ready", func(status int, body string) bool {
		return status == 503 && strings.Contains(body, fmt.Sprintf("shard %d stopped (lost)", victim.Shard))
	})
	// The others go on.
	_, err = a.Await(a.ctx, "only the stopped shard lags", func(s tool.Status) bool {
		return s.WriterLag != nil && len(s.Shards) == 4 && *s.WriterLag == *s.Shards[victim.Shard].Lag
	})
	a.must(err)

	shard := fmt.Sprint(victim.Shard)
	contains(t, a.output("gap", shard, "--reason", "retention was too short", "--by", "test"), fmt.Sprintf("%d offsets", cut-victim.Committed))
	contains(t, a.output("log", shard), "gap ", "retention was too short", "by test")
	s := a.done()
	if s.Totals.Lost != cut-victim.Committed {
		t.Errorf("the store says that %d offsets are lost, want %d", s.Totals.Lost, cut-victim.Committed)
	}
	a.writer.awaitReady()
	contains(t, a.refused("gap", shard, "--reason", "again", "--by", "test"), "nothing to accept")

	// The loss is known, and only that: no other check fails.
	out, err := a.Command(a.ctx, "verify").CombinedOutput()
	if err == nil {
		t.Errorf("verify finds nothing: %s", out)
	}
	contains(t, string(out), "no shard has classed them")
	for line := range strings.SplitSeq(string(out), "\n") {
		if failed := regexp.MustCompile(`^ *[0-9]+ +[1-9][0-9]* `).MatchString(line); failed && !strings.Contains(line, "every intake offset") {
			t.Errorf("verify: %s", line)
		}
	}

	// The intake topic still has the records: they are routed once more.
	a.rewind()
	a.ends()
	a.check(a.expect(a.send, a.acks, intakeTopics))
}

// TestFault_topic_recreated deletes and creates topics anew under a running router and
// writer that have nothing left to do: the new topics are other sources, and
// events that come again are known.
func TestFault_topic_recreated(t *testing.T) { overBoth(t, testTopicsRecreated) }

func testTopicsRecreated(t *testing.T, k kafkatest.Server) {
	a := newApart(t, k, 2000)
	all := a.msgs
	a.some(1000)
	a.done()
	e := audit.New()
	a.add(e, a.send, []string{"events"})

	a.kafka.Recreate("events", 4, nil)
	a.send = a.sender(a.kafka.Config(), a.acks) // a producer holds on to the topic that it knows
	a.some(500)
	a.done()

	info, err := a.send.Client().Topic(a.ctx, shardTopic)
	a.must(err)
	a.kafka.Recreate(shardTopic, 4, settings(info))
	again := make([]feed.Message, 500)
	copy(again, all)
	a.msgs = append(a.msgs, again...)
	a.some(len(a.msgs))
	a.ends()

	a.add(e, a.send, intakeTopics)
	a.kept(e, a.acks)
	a.check(e)
	a.router.awaitReady()
	a.writer.awaitReady()
}

// TestFault_offset_out_of_range_intake loses records of an intake topic that no router has
// read: the partition stops, the others go on, and an operator moves the group
// past the loss.
func TestFault_offset_out_of_range_intake(t *testing.T) { overBoth(t, testRetentionAheadOfRouter) }

func testRetentionAheadOfRouter(t *testing.T, k kafkatest.Server) {
	a := newApart(t, k, 2000)
	const topic, partition = "events", 1
	a.some(1000)
	a.done()
	e := audit.New()
	a.add(e, a.send, []string{topic})
	a.router.stop()

	info, err := a.send.Client().Topic(a.ctx, topic)
	a.must(err)
	committed, err := a.send.Client().Committed(a.ctx, "togo-router", info)
	a.must(err)
	a.some(len(a.msgs))
	ranges, err := a.send.Client().Offsets(a.ctx, topic)
	a.must(err)
	end := ranges[partition].End
	cut := committed[partition] + (end-committed[partition]+1)/2
	if cut == committed[partition] {
		t.Fatalf("partition %d is at %d, its end: nothing to lose", partition, cut)
	}
	a.kafka.Cut(topic, partition, cut)

	a.router.begin()
	lost := fmt.Sprintf("%d offsets are lost", cut-committed[partition])
	a.router.await("readiness is red", "/ready", func(status int, body string) bool {
		return status == 503 && strings.Contains(body, "events[1]") && strings.Contains(body, lost)
	})
	_, err = a.Await(a.ctx, "only the stopped partition lags", func(s tool.Status) bool {
		return s.RouterLag != nil && *s.RouterLag == end-cut
	})
	a.must(err)

	a.router.stop()
	a.must(a.send.Client().CommitGroup(a.ctx, "togo-router", topic, map[int32]int64{partition: cut}, ""))
	a.router.start()
	a.done()
	// What lay before the cut was read by the test in time, but for what was lost.
	a.add(e, a.send, intakeTopics)
	a.check(e)
}
