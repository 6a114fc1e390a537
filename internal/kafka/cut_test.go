package kafka_test

import (
	"context"
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/internal/kafka/kafkatest"
)

// TestFault_history_cut_in_one_poll: the client notices that a history was cut, goes back by itself, and brings
// what it finds there in the same poll, before the error: those are other records than the reader asked for.
func TestFault_history_cut_in_one_poll(t *testing.T) {
	k := kafkatest.New(t)
	k.Topic("events", 1, nil)
	k.Values("events", 0, "a", "b", "c")
	c := k.Client()
	info, err := c.Topic(testContext(t), "events")
	if err != nil {
		t.Fatal(err)
	}
	poll := kgo.Fetches{
		{Topics: []kgo.FetchTopic{{Topic: "events", TopicID: info.ID, Partitions: []kgo.FetchPartition{{
			Records: []*kgo.Record{{Topic: "events", Offset: 1, LeaderEpoch: 1, Value: []byte("other")}},
		}}}}},
		{Topics: []kgo.FetchTopic{{Topic: "events", TopicID: info.ID, Partitions: []kgo.FetchPartition{{
			Err: &kgo.ErrDataLoss{Topic: "events", ConsumedTo: 3, ResetTo: 1},
		}}}}},
	}
	r := newReader(t, c, "events")
	r.Add(0, 0, -1)
	readTo(t, r, 3)
	m, err := c.NewConsumer(testContext(t), kafka.ConsumerConfig{Group: "g", Topics: []string{"events"}, Read: quick})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for next := int64(0); next < 3; {
		if err := m.Poll(testContext(t), func(b []kafka.Batch) { next = b[0].Next }); err != nil {
			t.Fatal(err)
		}
	}
	for name, take := range map[string]func(context.Context, kgo.Fetches) []kafka.Batch{"reader": r.Take, "consumer": m.Take} {
		got := take(testContext(t), poll)
		var cut *kafka.HistoryCutError
		if len(got) != 1 || !errors.As(got[0].Err, &cut) || cut.Asked != 3 || cut.EpochEnd != 1 {
			t.Errorf("%s: %+v; want one error", name, got)
		}
	}
}

// TestFault_history_cut_before_the_error: the same, with the error in a later poll or in none. What lies
// before the position that was asked for is never taken for what was asked for.
func TestFault_history_cut_before_the_error(t *testing.T) {
	k := kafkatest.New(t)
	k.Topic("events", 1, nil)
	k.Values("events", 0, "a", "b", "c")
	c := k.Client()
	info, err := c.Topic(testContext(t), "events")
	if err != nil {
		t.Fatal(err)
	}
	r := newReader(t, c, "events")
	r.Add(0, 0, -1)
	readTo(t, r, 3)
	poll := kgo.Fetches{{Topics: []kgo.FetchTopic{{Topic: "events", TopicID: info.ID, Partitions: []kgo.FetchPartition{{
		Records: []*kgo.Record{{Topic: "events", Offset: 1, LeaderEpoch: 1, Value: []byte("other")}},
	}}}}}}
	got := r.Take(testContext(t), poll)
	var cut *kafka.HistoryCutError
	if len(got) != 1 || len(got[0].Records) > 0 || !errors.As(got[0].Err, &cut) || cut.Asked != 3 {
		t.Errorf("%+v; want an error and no records", got)
	}
	if again := r.Take(testContext(t), poll); len(again) != 0 {
		t.Errorf("a partition that ended is read on: %+v", again)
	}
}
