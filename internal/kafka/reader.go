package kafka

import (
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Record is one Kafka record.
type Record = kgo.Record

// IsControl reports whether the record is a transaction marker: an offset that
// holds no event. Readers and consumers return them, so that every offset is seen.
func IsControl(r *Record) bool { return r.Attrs.IsControl() }

// ReaderConfig bounds a Reader.
type ReaderConfig struct {
	MaxBytes          int           // of fetched and not yet polled records, over all brokers; default 64 MiB
	MaxPartitionBytes int           // of one answer for one partition; default 4 MiB
	MaxRecordsPerPoll int           // default 10,000
	MaxWait           time.Duration // that a broker holds an answer back for more data; default 500 ms
}

// Batch is what one Poll brought of one partition: records in offset order, or an
// error that ends the partition's reading until it is added again.
type Batch struct {
	Source        event.Source
	Partition     int32
	Records       []*Record
	Next          int64 // the offset after the last record, from which reading goes on; offsets of it that are in no record of this or an earlier Batch hold nothing
	HighWatermark int64 // end of the log as of the fetch; 0 in a Batch with Err
	LogStart      int64
	Err           error // *OutOfRangeError, *HistoryCutError, *TopicGoneError; anything else is fatal for the partition, too
}
