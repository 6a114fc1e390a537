package sim

import (
	"errors"
	"testing"

	"github.com/togodb/togo/internal/kafka"
)

// TestHistories: what a partition says of positions after elections, as Kafka's
// OffsetsForLeaderEpoch does.
func TestHistories(t *testing.T) {
	topic := &topic{name: "t"}
	topic.grow(1)
	p := topic.parts[0]
	add := func(n int) {
		for range n {
			p.append(&record{})
		}
	}
	add(10) // [0,10) of epoch 0
	p.elect(10)
	add(5) // [10,15) of epoch 1
	if cut := p.elect(12); len(cut) != 3 || cut[0].offset != 12 {
		t.Fatalf("cut off: %v", cut)
	}
	add(1) // [12,13) of epoch 2
	for _, c := range []struct {
		epoch int32
		end   int64
	}{{0, 10}, {1, 12}, {2, 13}, {7, 13}} {
		if got := p.epochEnd(c.epoch); got != c.end {
			t.Errorf("epoch %d ends at %d, want %d", c.epoch, got, c.end)
		}
	}
	if gone := p.expire(4); len(gone) != 4 || p.start != 4 {
		t.Errorf("retention took %d records, the log starts at %d", len(gone), p.start)
	}
	var cut *kafka.HistoryCutError
	var oor *kafka.OutOfRangeError
	for _, c := range []struct {
		pos kafka.Position
		as  any // nil: it may be read from
	}{
		{kafka.Position{Offset: 10, LeaderEpoch: 0}, nil},
		{kafka.Position{Offset: 12, LeaderEpoch: 1}, nil},
		{kafka.Position{Offset: 13, LeaderEpoch: 2}, nil},
		{kafka.Position{Offset: 15, LeaderEpoch: 1}, &cut},
		{kafka.Position{Offset: 13, LeaderEpoch: 1}, &cut},
		{kafka.Position{Offset: 3, LeaderEpoch: -1}, &oor},
		{kafka.Position{Offset: 14, LeaderEpoch: -1}, &oor},
	} {
		err := topic.check(0, c.pos)
		if c.as == nil && err != nil || c.as != nil && (err == nil || !errors.As(err, c.as)) {
			t.Errorf("%+v: %v", c.pos, err)
		}
	}
}

// TestReadCommitted: an open transaction ends what can be read; aborted records are not
// read, their marker is.
func TestReadCommitted(t *testing.T) {
	b := &broker{topics: map[string]*topic{}}
	topic := b.create("t", 1)
	p := topic.parts[0]
	p.append(&record{})
	p.txn = p.end
	p.append(&record{aborted: true})
	p.append(&record{})
	if got := b.fetch(topic, 0, kafka.Position{LeaderEpoch: -1}, 10); len(got.records) != 1 || got.end != 1 || got.highWatermark != 3 {
		t.Errorf("within the transaction: %+v", got)
	}
	p.append(&record{control: true})
	p.txn = -1
	got := b.fetch(topic, 0, kafka.Position{LeaderEpoch: -1}, 10)
	if len(got.records) != 3 || got.records[1].offset != 2 || !got.records[2].control || got.next != 4 {
		t.Errorf("after it: %+v", got)
	}
	// The marker is cut off: its coordinator writes it again.
	p.elect(3)
	if last := p.records[len(p.records)-1]; !last.control || last.offset != 3 || last.epoch != 1 {
		t.Errorf("after the cut: %+v", last)
	}
	b.recreate(topic)
	var gone *kafka.TopicGoneError
	if err := b.fetch(topic, 0, kafka.Position{LeaderEpoch: -1}, 10).err; !errors.As(err, &gone) || gone.Recreated == gone.ID {
		t.Errorf("after it was recreated: %v", err)
	}
}
