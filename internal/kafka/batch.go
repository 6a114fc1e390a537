package kafka

import (
	"context"
	"errors"

	"github.com/togodb/togo/internal/event"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Record is one Kafka record. Who is done with it and keeps no part of it may call its Recycle, which gives
// its memory back.
type Record = kgo.Record

// Header is a header of a Record.
type Header = kgo.RecordHeader

// IsControl reports whether the record is a transaction marker: an offset that
// holds no event. Readers and consumers return them, so that every offset is seen.
func IsControl(r *Record) bool { return r.Attrs.IsControl() }

// AsControl makes of r a transaction marker, for who stands in for a broker.
func AsControl(r *Record) *Record {
	r.Attrs = kgo.NewRecordAttrs(kgo.RecordAttrsOpts{Transactional: true, Control: true})
	return r
}

// Batch is what one Poll brought of one partition: records in offset order, or an
// error that ends the partition's reading until it is added (or assigned) again.
type Batch struct {
	Topic     string
	Source    event.Source
	Partition int32
	Records   []*Record
	// Next is where reading goes on. Offsets below it that came in no Batch hold
	// nothing that will ever be read.
	Next int64
	// End is the end of what can be read now: of the last settled transaction.
	End           int64
	HighWatermark int64 // end of the log
	LogStart      int64
	// Err is *OutOfRangeError, *HistoryCutError, *TopicGoneError, or what else
	// the brokers refuse for good; a Batch with it has no records.
	Err error
}

// wentBack is an error if the records of a poll lie before the position that was asked for:
// the client has moved it by itself, since the history was cut, and has not said so yet.
func wentBack(p *kgo.FetchPartition, asked Position) error {
	if len(p.Records) == 0 || p.Records[0].Offset >= asked.Offset {
		return nil
	}
	return kerr.OffsetOutOfRange // what is wrong, the brokers are asked
}

func newBatch(src event.Source, topic string, p *kgo.FetchPartition) Batch {
	return Batch{
		Topic:         topic,
		Source:        src,
		Partition:     p.Partition,
		Records:       p.Records,
		Next:          p.Records[len(p.Records)-1].Offset + 1,
		End:           p.LastStableOffset,
		HighWatermark: p.HighWatermark,
		LogStart:      p.LogStartOffset,
	}
}

func (b *Batch) nextPosition() Position {
	return Position{Offset: b.Next, LeaderEpoch: b.Records[len(b.Records)-1].LeaderEpoch}
}

// each calls f with every partition of a poll, those with an error first. A client that
// noticed a cut history says so, moves its position by itself, and one poll may bring records
// from there before the error.
func each(fetches kgo.Fetches, f func(*kgo.FetchTopic, *kgo.FetchPartition)) {
	for _, failed := range []bool{true, false} {
		for i := range fetches {
			for j := range fetches[i].Topics {
				t := &fetches[i].Topics[j]
				for k := range t.Partitions {
					if p := &t.Partitions[k]; (p.Err != nil) == failed {
						f(t, p)
					}
				}
			}
		}
	}
}

// isTyped reports whether err is one that waiting does not mend.
func isTyped(err error) bool {
	var oor *OutOfRangeError
	var cut *HistoryCutError
	var gone *TopicGoneError
	return errors.As(err, &oor) || errors.As(err, &cut) || errors.As(err, &gone)
}

// gone is the *TopicGoneError if the topic is known to be no longer the one that
// info describes; brokers that do not answer say nothing.
func (c *Client) gone(ctx context.Context, info TopicInfo) error {
	id, err := c.topicID(ctx, info.Name)
	if err == nil && id == info.ID || err != nil && !errors.Is(err, ErrTopicMissing) {
		return nil
	}
	return &TopicGoneError{Topic: info.Name, ID: info.ID, Recreated: id}
}

// explain turns an error of a fetch at pos into one of ours; nil: it passes.
func (c *Client) explain(ctx context.Context, info TopicInfo, partition int32, pos Position, err error) error {
	var loss *kgo.ErrDataLoss
	switch {
	case isTyped(err):
		return err
	case errors.As(err, &loss):
		return &HistoryCutError{Topic: info.Name, Partition: partition, Asked: loss.ConsumedTo,
			LeaderEpoch: loss.ConsumedToEpoch, EpochEnd: loss.ResetTo}
	case errors.Is(err, kerr.UnknownTopicID), errors.Is(err, kerr.UnknownTopicOrPartition),
		errors.Is(err, kerr.InconsistentTopicID):
		return c.gone(ctx, info)
	case errors.Is(err, kerr.OffsetOutOfRange):
		r, checked := c.Check(ctx, info.Name, partition, pos)
		if isTyped(checked) {
			return checked
		}
		if checked == nil && pos.Offset <= r.End {
			// Out of range a moment ago and within it now: the log was cut and has
			// grown over the position since.
			return &HistoryCutError{Topic: info.Name, Partition: partition, Asked: pos.Offset,
				LeaderEpoch: pos.LeaderEpoch, EpochEnd: -1}
		}
		return &OutOfRangeError{Topic: info.Name, Partition: partition, Start: -1, End: -1, Asked: pos.Offset}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), kerr.IsRetriable(err):
		return nil
	}
	return err
}
