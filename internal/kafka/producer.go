package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// The codecs that a ProducerConfig may name.
const (
	CompressionNone   = "none"
	CompressionLZ4    = "lz4"
	CompressionZstd   = "zstd"
	CompressionSnappy = "snappy"
	CompressionGzip   = "gzip"
)

// ErrBufferFull: the producer holds as many bytes as it may; try later.
var ErrBufferFull = errors.New("kafka: the producer's buffer is full")

// ProducerConfig says how a Producer batches.
type ProducerConfig struct {
	// Compression of record batches; default snappy: it takes the least CPU time, and
	// JSON events come out no larger than by lz4.
	Compression string
	// MaxBufferedBytes not yet acknowledged; default 64 MiB.
	MaxBufferedBytes int
	// Linger is how long a batch waits for more records; default 0.
	Linger time.Duration
	// Spread lets the producer choose partitions (by key, or evenly); else each
	// message names its own.
	Spread bool
}

// Validate reports what is wrong.
func (c ProducerConfig) Validate() error {
	_, err := codec(cmp.Or(c.Compression, CompressionSnappy))
	if c.MaxBufferedBytes < 0 || c.Linger < 0 {
		err = errors.Join(err, errors.New("kafka: producer: negative bounds"))
	}
	return err
}

func codec(name string) (kgo.CompressionCodec, error) {
	switch name {
	case CompressionNone:
		return kgo.NoCompression(), nil
	case CompressionLZ4:
		return kgo.Lz4Compression(), nil
	case CompressionZstd:
		return kgo.ZstdCompression().WithLevel(1), nil
	case CompressionSnappy:
		return kgo.SnappyCompression(), nil
	case CompressionGzip:
		return kgo.GzipCompression(), nil
	}
	return kgo.CompressionCodec{}, fmt.Errorf("kafka: compression %q is none of none, lz4, zstd, snappy, gzip", name)
}

// Producer writes to one topic: idempotent, acknowledged by all in-sync replicas,
// tried again without end while the error may pass.
type Producer struct {
	cl       *kgo.Client
	topic    string
	maxValue int
}

// defaultMaxMessageBytes is Kafka's default for a topic that does not say.
const defaultMaxMessageBytes = 1_048_588

// RecordOverheadBytes is what a record needs in a batch beside its key, value
// and headers, generously: a batch's header is 61 bytes, a record's at most 30.
const RecordOverheadBytes = 512

// NewProducer makes a producer for the topic that info names.
func (c *Client) NewProducer(info TopicInfo, cfg ProducerConfig) (*Producer, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	comp, _ := codec(cmp.Or(cfg.Compression, CompressionSnappy))
	maxBytes := cmp.Or(info.MaxMessageBytes(), defaultMaxMessageBytes)
	partitioner := kgo.ManualPartitioner()
	if cfg.Spread {
		partitioner = kgo.UniformBytesPartitioner(64<<10, true, true, nil)
	}
	opts := append(append([]kgo.Opt{}, c.opts...),
		kgo.DefaultProduceTopicAlways(),
		kgo.DefaultProduceTopic(info.Name),
		kgo.RecordPartitioner(partitioner),
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.ProducerBatchCompression(comp, kgo.NoCompression()),
		kgo.ProducerBatchMaxBytes(int32(maxBytes)),
		kgo.MaxBufferedBytes(cmp.Or(cfg.MaxBufferedBytes, 64<<20)),
		// Bytes are the bound; this one only has to be out of the way.
		kgo.MaxBufferedRecords(1<<20),
		kgo.ProducerLinger(cfg.Linger),
		// A batch may be larger than the client's default of 100 MiB for a request.
		kgo.BrokerMaxWriteBytes(int32(max(100<<20, 2*maxBytes))),
	)
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("kafka: make a producer for %s: %w", info.Name, err)
	}
	return &Producer{cl: cl, topic: info.Name, maxValue: maxBytes - RecordOverheadBytes}, nil
}

// MaxRecordBytes is what key, value and headers of a record may have together.
func (p *Producer) MaxRecordBytes() int { return p.maxValue }

// Message is a record to be produced. Its bytes must not change until it is done.
type Message struct {
	Partition int32 // unless the producer spreads
	Key       []byte
	Value     []byte
	Headers   []Header
	Timestamp time.Time // zero: now
}

// Produce writes the message and calls done, on a goroutine of the client, when
// it is acknowledged or has failed for good: ErrTooLarge (nothing helps),
// ErrClosed, or an error after which the topic itself must be looked at. It waits
// while the buffer is full.
func (p *Producer) Produce(ctx context.Context, m Message, done func(offset int64, err error)) {
	p.cl.Produce(ctx, p.record(m), promise(done))
}

// TryProduce is Produce, but does not wait: done gets ErrBufferFull.
func (p *Producer) TryProduce(ctx context.Context, m Message, done func(offset int64, err error)) {
	p.cl.TryProduce(ctx, p.record(m), promise(done))
}

func (p *Producer) record(m Message) *kgo.Record {
	return &kgo.Record{Topic: p.topic, Partition: m.Partition, Key: m.Key, Value: m.Value, Headers: m.Headers, Timestamp: m.Timestamp}
}

func promise(done func(int64, error)) func(*kgo.Record, error) {
	return func(r *kgo.Record, err error) {
		switch {
		case errors.Is(err, kerr.MessageTooLarge), errors.Is(err, kerr.RecordListTooLarge), errors.Is(err, kerr.InvalidRecord):
			err = fmt.Errorf("%w: %w", ErrTooLarge, err)
		case errors.Is(err, kgo.ErrMaxBuffered):
			err = ErrBufferFull
		case errors.Is(err, kgo.ErrClientClosed):
			err = ErrClosed
		}
		done(r.Offset, err)
	}
}

// Flush waits until nothing is buffered.
func (p *Producer) Flush(ctx context.Context) error { return p.cl.Flush(ctx) }

// BufferedBytes are produced but not acknowledged yet.
func (p *Producer) BufferedBytes() int64 { return p.cl.BufferedProduceBytes() }

// Close ends the producer; what is buffered fails with ErrClosed.
func (p *Producer) Close() { p.cl.Close() }
