package router

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/kafka"
)

func TestFault_tombstones(t *testing.T) {
	e := newEnv(t, 1)
	e.k.Produce(
		intakeRecord(0, []byte("k"), nil),
		intakeRecord(0, nil, nil),
		intakeRecord(0, nil, []byte{}),
		intakeRecord(0, nil, []byte("null")),
		intakeRecord(0, nil, []byte(" \t\n")),
		intakeRecord(0, []byte("k"), []byte(" null\r\n")),
		intakeRecord(0, nil, []byte(`{"a":1}`)),
		intakeRecord(0, []byte("k"), nil), // the last offset, too
	)
	r, _ := e.start()
	e.awaitCommit(0, 8)
	e.expect(0, "0 empty", "1 empty", "2 empty", "3 empty", "4 empty", "5 empty", "6 event", "7 empty")
	e.awaitStatus(r, func(s Status) bool { return len(s.Partitions) == 1 && s.Partitions[0].End == s.Partitions[0].Committed })
}

func TestFault_poison(t *testing.T) {
	e := newEnv(t, 1)
	e.k.Produce(
		intakeRecord(0, nil, []byte(`{"a":`)),
		intakeRecord(0, nil, []byte(`{"a":`+strings.Repeat("1", 90_000)+`}`)),
		intakeRecord(0, nil, []byte(strings.Repeat(`{"a":`, 10_000)+"1"+strings.Repeat("}", 10_000))),
		intakeRecord(0, nil, []byte{0, 0, 0, 0, 1, 2}),
		intakeRecord(0, nil, []byte("{\"a\":\"\xff\"}")),
		intakeRecord(0, nil, []byte(`[1]`)),
		intakeRecord(0, nil, []byte(`{"a":1}`)),
	)
	e.start()
	e.awaitCommit(0, 7)
	e.expect(0, "0 malformed", "1 event", "2 too_deep", "3 malformed", "4 malformed", "5 not_an_object", "6 event")
	for _, s := range e.stored() {
		if s.Origin.Offset == 0 && string(s.Payload) != `{"a":` {
			t.Fatalf("the letter holds %q", s.Payload)
		}
	}
}

func TestFault_offset_gaps(t *testing.T) {
	e := newEnv(t, 2)
	e.k.Values("events", 0, `{"n":0}`)
	e.k.Transaction(false, "events", 0, `{"n":1}`, `{"n":2}`) // 1, 2, marker 3
	e.k.Transaction(true, "events", 0, `{"n":4}`)             // 4, marker 5
	e.k.Transaction(false, "events", 0, `{"n":6}`)            // 6, marker 7
	e.k.Transaction(false, "events", 1, `{"n":0}`)            // nothing but a gap
	e.start()
	e.awaitCommit(0, 8)
	e.awaitCommit(1, 2)
	e.expect(0, "0 event", "1 skipped to 4", "4 event", "5 skipped to 8")
	e.expect(1, "0 skipped to 2")
}

func TestFault_offset_gaps_first_and_last_record_dead(t *testing.T) {
	e := newEnv(t, 1)
	e.k.Values("events", 0, `{`, `{"n":1}`, `}`)
	e.start()
	e.awaitCommit(0, 3)
	e.expect(0, "0 malformed", "1 event", "2 malformed")
}

func TestFault_seek_after_rebalance_to_a_start_above_zero(t *testing.T) {
	e := newEnv(t, 1)
	e.k.Values("events", 0, `{"n":0}`, `{"n":1}`, `{"n":2}`)
	if err := e.k.DeleteRecords("events", 0, 2); err != nil {
		t.Fatal(err)
	}
	e.start()
	e.awaitCommit(0, 3)
	e.expect(0, "2 event")
}

func TestFault_offset_out_of_range(t *testing.T) {
	e := newEnv(t, 2)
	e.k.Values("events", 0, `{"n":0}`)
	_, stop := e.start()
	e.awaitCommit(0, 1)
	stop()
	e.k.Values("events", 0, `{"n":1}`, `{"n":2}`, `{"n":3}`)
	e.k.Values("events", 1, `{"n":0}`)
	if err := e.k.DeleteRecords("events", 0, 3); err != nil {
		t.Fatal(err)
	}
	r, stop := e.start()
	e.awaitCommit(1, 1)
	e.awaitStatus(r, func(s Status) bool {
		return strings.Contains(s.Stopped["events[0]"], "2 offsets are lost")
	})
	if err := r.Ready(); err == nil {
		t.Fatal("ready, with a stopped partition")
	}
	stop()
	e.awaitCommit(0, 1)
	e.expect(0, "0 event")
	// An operator accepts the loss by the group's offset.
	if err := e.client.CommitGroup(e.context(), e.cfg.Group, "events", map[int32]int64{0: 3}, ""); err != nil {
		t.Fatal(err)
	}
	e.start()
	e.awaitCommit(0, 4)
	e.expect(0, "0 event", "3 event")
}

func TestFault_topic_recreated(t *testing.T) {
	for _, records := range []int{2, 6} { // the new end below and above the committed offset
		for _, running := range []bool{true, false} {
			t.Run(fmt.Sprintf("%d records, running %v", records, running), func(t *testing.T) {
				e := newEnv(t, 1)
				e.k.Values("events", 0, `{"n":0}`, `{"n":1}`, `{"n":2}`, `{"n":3}`)
				old, err := e.client.Topic(e.context(), "events")
				if err != nil {
					t.Fatal(err)
				}
				_, stop := e.start()
				e.awaitCommit(0, 4)
				if !running {
					stop()
				}
				if err := e.k.DeleteTopic("events"); err != nil {
					t.Fatal(err)
				}
				e.k.Topic("events", 1, nil)
				for range records {
					e.k.Values("events", 0, `{"new":true}`)
				}
				if !running {
					e.start()
				}
				e.awaitCommit(0, int64(records))
				now, err := e.client.Topic(e.context(), "events")
				if err != nil {
					t.Fatal(err)
				}
				count := map[event.TopicID]int{}
				for _, s := range e.stored() {
					count[s.Origin.Topic]++
				}
				if want := map[event.TopicID]int{old.ID: 4, now.ID: records}; !maps.Equal(count, want) {
					t.Fatalf("stored %v, want %v", count, want)
				}
			})
		}
	}
}

func TestFault_too_large(t *testing.T) {
	e := newEnv(t, 1)
	// At the intake's limit: it goes through.
	whole := `{"event_id":"` + strings.Repeat("i", 60_000) + `","x":"` + strings.Repeat("x", intakeLimit-60_000-200) + `"}`
	e.k.Values("events", 0, whole)
	_, stop := e.start()
	e.awaitCommit(0, 1)
	e.expect(0, "0 event")
	stop()
	// A shard topic with a smaller limit: it is dead, and nothing is stuck.
	if err := e.k.DeleteTopic("shards"); err != nil {
		t.Fatal(err)
	}
	e.k.Topic("shards", shardCount, map[string]string{"max.message.bytes": "10000"})
	e.k.Values("events", 0, whole, `{"n":1}`)
	e.start()
	e.awaitCommit(0, 3)
	e.expect(0, "1 too_large", "2 event")
	for _, s := range e.stored() {
		if s.Reason == event.ReasonTooLarge && (len(s.Payload) < 8000 || !strings.HasPrefix(whole, string(s.Payload))) {
			t.Fatalf("the letter holds %d bytes", len(s.Payload))
		}
	}
}

func TestFault_far_future(t *testing.T) {
	e := newEnv(t, 1)
	ahead := func(d time.Duration) string {
		return fmt.Sprintf(`{"timestamp":%q}`, time.Now().Add(d).Format(time.RFC3339))
	}
	e.k.Values("events", 0, `{"n":0}`, ahead(10*365*24*time.Hour), `{"timestamp":"9999-12-31T23:59:59Z"}`, ahead(11*time.Minute), ahead(8*time.Minute), `{"n":5}`)
	e.start()
	e.awaitCommit(0, 6)
	e.expect(0, "0 event", "1 too_far_in_future", "2 too_far_in_future", "3 too_far_in_future", "4 event", "5 event")
	// The horizon went up for the event that is eight minutes ahead, and for no other.
	if h := time.Unix(0, int64(e.keeper.Current().Horizon())); h.After(time.Now().Add(15 * time.Minute)) {
		t.Errorf("the horizon is at %s", h)
	}
}

func TestFault_far_past(t *testing.T) {
	e := newEnv(t, 1)
	e.k.Values("events", 0, `{"n":0}`, `{"timestamp":"1900-01-01T00:00:00Z"}`, `{"timestamp":"0001-01-01T00:00:00Z"}`, `{"timestamp":0}`, `{"timestamp":"2000-01-01T00:00:00Z"}`, `{"n":5}`)
	e.start()
	e.awaitCommit(0, 6)
	e.expect(0, "0 event", "1 too_far_in_past", "2 too_far_in_past", "3 too_far_in_past", "4 event", "5 event")
	for _, s := range e.stored() { // where a dead record lies is said by its Kafka timestamp
		if s.Kind == event.KindDead && time.Since(time.Unix(0, int64(s.FirstSeen))).Abs() > time.Hour {
			t.Errorf("offset %d was first seen at %d", s.Origin.Offset, s.FirstSeen)
		}
	}
}

func TestFault_catch_up(t *testing.T) {
	e := newEnv(t, 1)
	e.cfg.MaxBytes = 1 << 20
	value := []byte(`{"event_id":"e","text":"` + strings.Repeat("x", 2000) + `"}`)
	const n = 5000 // 10 MB, ten times what may be held
	records := make([]*kafka.Record, n)
	for i := range records {
		records[i] = intakeRecord(0, nil, value)
	}
	e.k.Produce(records...)
	r, _ := e.start()
	var most int64
	ctx := e.context()
	for {
		most = max(most, r.Status().HeldBytes)
		if e.k.Committed(e.cfg.Group, "events", 0) == n {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("stuck: %+v", r.Status())
		}
		time.Sleep(5 * time.Millisecond)
	}
	// One poll may come on top of what is held.
	if bound := e.cfg.MaxBytes + 8<<20; most > bound {
		t.Fatalf("held %d bytes, bound %d", most, bound)
	}
	if all := e.stored(); len(all) < n {
		t.Fatalf("stored %d", len(all))
	}
}

func TestFault_catch_up_empty_topic(t *testing.T) {
	e := newEnv(t, 1)
	r, _ := e.start()
	e.awaitStatus(r, func(s Status) bool { return s.Running && len(s.Partitions) == 1 })
	e.awaitCommit(0, 0)
	e.k.Values("events", 0, `{"n":0}`)
	e.awaitCommit(0, 1)
	e.expect(0, "0 event")
}

func TestFault_seek_after_rebalance(t *testing.T) {
	e := newEnv(t, 6)
	stopProducing := make(chan struct{})
	var produced [6]int64
	var producing sync.WaitGroup
	producing.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stopProducing:
				return
			default:
			}
			p := int32(i % 6)
			value := `{"n":1}`
			if i%7 == 0 {
				value = `{` // some batches hold dead letters only
			}
			e.k.Values("events", p, value)
			produced[p]++
		}
	})
	_, stop1 := e.start()
	for range 3 {
		_, stop2 := e.start()
		e.k.AwaitMembers(e.context(), e.cfg.Group, 2)
		stop1()
		stop1 = stop2
	}
	close(stopProducing)
	producing.Wait()
	seen := map[event.Source]map[int64]bool{}
	for p := range int32(6) {
		e.awaitCommit(p, produced[p])
	}
	for _, s := range e.stored() {
		if seen[s.Origin.Source] == nil {
			seen[s.Origin.Source] = map[int64]bool{}
		}
		seen[s.Origin.Source][s.Origin.Offset] = true
	}
	for src, offsets := range seen {
		if int64(len(offsets)) != produced[src.Partition] {
			t.Errorf("partition %d: %d of %d offsets stored", src.Partition, len(offsets), produced[src.Partition])
		}
	}
	if len(seen) != 6 {
		t.Fatalf("%d sources", len(seen))
	}
}

// TestFault_silent_nothing: the shard topic takes nothing. The router holds what it may, its lag grows with what comes, and it goes on by
// itself. (That it is not ready, and says why, is TestStalled's.)
func TestFault_silent_nothing(t *testing.T) {
	e := newEnv(t, 1)
	e.cfg.MaxBytes = 1 << 20
	value := []byte(`{"text":"` + strings.Repeat("x", 10_000) + `"}`)
	send := func(n int) {
		var records []*kafka.Record
		for range n {
			records = append(records, intakeRecord(0, nil, value))
		}
		e.k.Produce(records...)
	}
	fault := e.k.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "shards", Err: kerr.NotEnoughReplicas, Count: -1})
	r, _ := e.startWith(func(r *Router) { r.endWatch = 20 * time.Millisecond })
	lag := func(s Status) int64 {
		if len(s.Partitions) != 1 {
			return 0
		}
		return s.Partitions[0].End - s.Partitions[0].Committed
	}
	send(300)
	e.awaitStatus(r, func(s Status) bool { return s.HeldBytes >= e.cfg.MaxBytes && lag(s) == 300 })
	send(200)
	e.awaitStatus(r, func(s Status) bool { return lag(s) == 500 })
	if s := r.Status(); s.HeldBytes > e.cfg.MaxBytes+8<<20 { // one poll may come on top
		t.Errorf("%d bytes held, %d are allowed", s.HeldBytes, e.cfg.MaxBytes)
	}
	fault.Remove()
	e.awaitCommit(0, 500)
	e.awaitStatus(r, func(s Status) bool { return lag(s) == 0 && s.Stalled == "" && r.Ready() == nil })
	for offset, times := range offsets(e.stored()) {
		if times != 1 {
			t.Errorf("offset %d is stored %d times", offset, times)
		}
	}
}

// offsets counts how often each intake offset is stored.
func offsets(all []sent) map[int64]int {
	times := map[int64]int{}
	for _, s := range all {
		times[s.Origin.Offset]++
	}
	return times
}

// TestFault_topic_recreated_shard_topic: what was not committed is sent again to the
// topic that is there.
func TestFault_topic_recreated_shard_topic(t *testing.T) {
	e := newEnv(t, 1)
	r, _ := e.start()
	e.k.Values("events", 0, `{"n":0}`)
	e.awaitCommit(0, 1)
	if err := e.k.DeleteTopic("shards"); err != nil {
		t.Fatal(err)
	}
	e.k.Values("events", 0, `{"n":1}`)
	e.awaitStatus(r, func(s Status) bool { return s.LastError != "" })
	e.k.Topic("shards", shardCount, ShardTopicConfigs(intakeLimit, false))
	e.awaitCommit(0, 2)
	e.expect(0, "1 event")
	if err := r.Ready(); err != nil {
		t.Fatal(err)
	}
}
