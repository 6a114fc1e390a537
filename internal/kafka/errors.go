package kafka

import (
	"errors"
	"fmt"

	"github.com/togodb/togo/internal/event"
)

// ErrTopicMissing: the topic does not exist (yet).
var ErrTopicMissing = errors.New("kafka: topic does not exist")

// ErrTooLarge: the record is larger than the topic or the producer takes; no
// retry can help it.
var ErrTooLarge = errors.New("kafka: record too large for its topic")

// ErrFewerPartitions: the topic has more partitions than asked for, and
// partitions can't be taken away.
var ErrFewerPartitions = errors.New("kafka: a topic's partitions can't be taken away")

// OutOfRangeError: the asked offset lies outside the partition's log [Start, End).
// Below Start, retention has passed it; above End, the log was cut.
type OutOfRangeError struct {
	Topic     string
	Partition int32
	Start     int64
	End       int64
	Asked     int64
}

func (e *OutOfRangeError) Error() string {
	if e.Asked < e.Start {
		return fmt.Sprintf("kafka: %s[%d]: offset %d is gone, the log starts at %d: %d offsets are lost",
			e.Topic, e.Partition, e.Asked, e.Start, e.Start-e.Asked)
	}
	return fmt.Sprintf("kafka: %s[%d]: offset %d is beyond the log's end %d: %d offsets were cut off",
		e.Topic, e.Partition, e.Asked, e.End, e.Asked-e.End)
}

// HistoryCutError: the log no longer holds the history that the position was
// made in: LeaderEpoch ended at EpochEnd, below the asked offset (-1: the log knows
// no such epoch), so the offsets from there on are other records than those read before.
type HistoryCutError struct {
	Topic       string
	Partition   int32
	Asked       int64
	LeaderEpoch int32
	EpochEnd    int64
}

func (e *HistoryCutError) Error() string {
	if e.EpochEnd < 0 {
		return fmt.Sprintf("kafka: %s[%d]: offset %d was read in leader epoch %d, of which the log knows nothing: it was cut or replaced",
			e.Topic, e.Partition, e.Asked, e.LeaderEpoch)
	}
	return fmt.Sprintf("kafka: %s[%d]: offset %d was read in leader epoch %d, which ended at %d: %d offsets were cut off or replaced",
		e.Topic, e.Partition, e.Asked, e.LeaderEpoch, e.EpochEnd, e.Asked-e.EpochEnd)
}

// TopicGoneError: the topic was deleted. Recreated is the id of the topic that
// now has the name, zero if none has: another source, with another history.
type TopicGoneError struct {
	Topic     string
	ID        event.TopicID
	Recreated event.TopicID
}

func (e *TopicGoneError) Error() string {
	if e.Recreated == (event.TopicID{}) {
		return fmt.Sprintf("kafka: topic %s (id %s) was deleted", e.Topic, e.ID)
	}
	return fmt.Sprintf("kafka: topic %s (id %s) was deleted and created anew (id %s)", e.Topic, e.ID, e.Recreated)
}
