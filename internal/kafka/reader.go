package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/twmb/franz-go/pkg/kgo"
)

// ErrClosed: the reader or consumer was closed.
var ErrClosed = errors.New("kafka: closed")

// ReaderConfig bounds what a Reader or Consumer holds in memory.
type ReaderConfig struct {
	// MaxBytes of fetched records that were not polled yet, uncompressed, as far as
	// the compression of late batches tells; default 64 MiB.
	MaxBytes int
	// MaxPartitionBytes of one answer for one partition, likewise; default 4 MiB. A
	// larger batch still comes, alone.
	MaxPartitionBytes int
	// MaxRecordsPerPoll; default 10,000.
	MaxRecordsPerPoll int
	// MaxWait is how long a broker holds an answer back for more data; default 500 ms.
	MaxWait time.Duration
	// CheckEvery: when nothing came for so long, ask whether the topic is still the
	// same one; default 5 s.
	CheckEvery time.Duration
}

func (c ReaderConfig) withDefaults() ReaderConfig {
	c.MaxBytes = cmp.Or(c.MaxBytes, 64<<20)
	c.MaxPartitionBytes = cmp.Or(c.MaxPartitionBytes, 4<<20)
	c.MaxRecordsPerPoll = cmp.Or(c.MaxRecordsPerPoll, 10_000)
	c.MaxWait = cmp.Or(c.MaxWait, 500*time.Millisecond)
	c.CheckEvery = cmp.Or(c.CheckEvery, 5*time.Second)
	return c
}

// concurrentFetches bounds the answers that are under way or not polled; four
// keep the next answers coming while one is worked on, and divide MaxBytes.
const concurrentFetches = 4

// newConsumer makes a client that fetches within the bounds of cfg.
func (c *Client) newConsumer(cfg ReaderConfig, opts ...kgo.Opt) (*kgo.Client, error) {
	e := newExpansion(cfg)
	perFetch, perPartition := e.limits(firstRatio)
	opts = append(append(append([]kgo.Opt{}, c.opts...), cfg.options()...), opts...)
	opts = append(opts,
		kgo.WithHooks(e),
		kgo.WithPools(&memory{}),
		kgo.FetchMaxBytes(perFetch),
		kgo.FetchMaxPartitionBytes(perPartition),
	)
	if c.cfg.Rack != "" {
		opts = append(opts, kgo.Rack(c.cfg.Rack))
	}
	cl, err := kgo.NewClient(opts...)
	if err == nil {
		e.mu.Lock()
		e.set = cl.UpdateFetchMaxBytes
		e.mu.Unlock()
	}
	return cl, err
}

func (c ReaderConfig) options() []kgo.Opt {
	return []kgo.Opt{
		kgo.MaxConcurrentFetches(concurrentFetches),
		kgo.FetchMaxWait(c.MaxWait),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.KeepControlRecords(),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
	}
}

// Reader reads chosen partitions of one incarnation of a topic, from exact
// offsets, without a consumer group. It never moves a position by itself: what
// it can't read from the asked offset on it reports (Batch.Err), and leaves the
// partition alone until it is added again.
//
// Its methods may be called by any goroutine; Poll by one at a time.
type Reader struct {
	c    *Client
	info TopicInfo
	cfg  ReaderConfig
	cl   *kgo.Client

	mu     sync.Mutex
	parts  map[int32]*reading // guarded by mu
	cancel context.CancelFunc // of the Poll that waits, if any; guarded by mu
}

// reading is where a partition's reading stands.
type reading struct {
	next    Position // of the next record
	started bool     // the position was checked and fetching has begun
}

// NewReader makes a reader of the topic that info names (Client.Topic).
func (c *Client) NewReader(info TopicInfo, cfg ReaderConfig) (*Reader, error) {
	cfg = cfg.withDefaults()
	cl, err := c.newConsumer(cfg)
	if err != nil {
		return nil, fmt.Errorf("kafka: make a reader of %s: %w", info.Name, err)
	}
	return &Reader{c: c, info: info, cfg: cfg, cl: cl, parts: map[int32]*reading{}}, nil
}

// Topic is the topic that the reader reads.
func (r *Reader) Topic() TopicInfo { return r.info }

// Source names a partition as a source of events.
func (c *Client) Source(t TopicInfo, partition int32) event.Source {
	return event.Source{Cluster: c.id, Topic: t.ID, Partition: partition}
}

// Add begins reading a partition at offset. leaderEpoch is that of the record
// before offset (-1: unknown); it lets the reader notice a history that was cut.
// Adding a partition again starts it over. Errors come out of Poll.
func (r *Reader) Add(partition int32, offset int64, leaderEpoch int32) {
	r.Remove(partition)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.parts[partition] = &reading{next: Position{Offset: offset, LeaderEpoch: leaderEpoch}}
	if r.cancel != nil {
		r.cancel()
	}
}

// Remove ends the reading of a partition; records of it that were fetched are dropped.
func (r *Reader) Remove(partition int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remove(partition)
}

// remove needs mu.
func (r *Reader) remove(partition int32) {
	if p := r.parts[partition]; p != nil && p.started {
		r.cl.RemoveConsumePartitions(map[string][]int32{r.info.Name: {partition}})
	}
	delete(r.parts, partition)
}

// Pause stops fetching partitions; Poll returns nothing of them until Resume.
func (r *Reader) Pause(partitions ...int32) {
	r.cl.PauseFetchPartitions(map[string][]int32{r.info.Name: partitions})
}

// Resume undoes Pause.
func (r *Reader) Resume(partitions ...int32) {
	r.cl.ResumeFetchPartitions(map[string][]int32{r.info.Name: partitions})
}

// Close ends the reader; a Poll that waits returns.
func (r *Reader) Close() { r.cl.Close() }

// retryPause is how long Poll lets brokers rest that failed to answer a check.
const retryPause = 500 * time.Millisecond

// Poll waits for records or errors. It returns an error only if ctx ended or
// the reader was closed; the records of a Batch are valid until they are recycled.
func (r *Reader) Poll(ctx context.Context) ([]Batch, error) {
	for {
		batches, waiting := r.start(ctx)
		if len(batches) > 0 {
			return batches, nil
		}
		patience := r.cfg.CheckEvery
		if waiting {
			patience = min(patience, retryPause)
		}
		pollCtx, cancel := context.WithTimeout(ctx, patience)
		r.mu.Lock()
		r.cancel = cancel
		for _, p := range r.parts {
			if !p.started && !waiting { // added since
				cancel()
			}
		}
		r.mu.Unlock()
		fetches := r.cl.PollRecords(pollCtx, r.cfg.MaxRecordsPerPoll)
		idle := errors.Is(pollCtx.Err(), context.DeadlineExceeded)
		cancel()
		if fetches.IsClientClosed() {
			return nil, ErrClosed
		}
		if batches = r.take(ctx, fetches); len(batches) > 0 {
			return batches, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if idle && !waiting {
			if batches = r.checkTopic(ctx); len(batches) > 0 {
				return batches, nil
			}
		}
	}
}

// checkTopic ends all partitions if the topic is no longer the one that is read.
func (r *Reader) checkTopic(ctx context.Context) []Batch {
	gone := r.c.gone(ctx, r.info)
	if gone == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var batches []Batch
	for p := range r.parts {
		batches = append(batches, r.failure(p, gone))
		r.remove(p)
	}
	return batches
}

// start checks the positions of added partitions and begins to fetch them. waiting
// means that brokers could not be asked, and some are still to be started.
func (r *Reader) start(ctx context.Context) (failed []Batch, waiting bool) {
	r.mu.Lock()
	var added []int32
	for p, s := range r.parts {
		if !s.started {
			added = append(added, p)
		}
	}
	r.mu.Unlock()
	if len(added) == 0 {
		return nil, false
	}
	gone := r.c.gone(ctx, r.info)
	ranges, err := r.c.Offsets(ctx, r.info.Name)
	if err != nil && gone == nil {
		r.c.log.Warn("kafka: can't ask for a topic's offsets yet", "topic", r.info.Name, "err", err)
		return nil, true
	}
	for _, p := range added {
		r.mu.Lock()
		s := r.parts[p]
		r.mu.Unlock()
		if s == nil {
			continue // removed since
		}
		err := gone
		if err == nil {
			err = r.c.startable(ctx, r.info.Name, p, s.next, ranges)
		}
		if err != nil && !isTyped(err) {
			r.c.log.Warn("kafka: can't check a position yet", "topic", r.info.Name, "partition", p, "err", err)
			waiting = true
			continue
		}
		r.mu.Lock()
		switch {
		case r.parts[p] != s: // started over or removed since
		case err != nil:
			delete(r.parts, p)
			failed = append(failed, r.failure(p, err))
		default:
			s.started = true
			at := kgo.NewOffset().At(s.next.Offset).WithEpoch(s.next.LeaderEpoch)
			r.cl.AddConsumePartitions(map[string]map[int32]kgo.Offset{r.info.Name: {p: at}})
		}
		r.mu.Unlock()
	}
	return failed, waiting
}

func (r *Reader) failure(partition int32, err error) Batch {
	return Batch{Topic: r.info.Name, Source: r.c.Source(r.info, partition), Partition: partition, Err: err}
}

// take turns what was fetched into batches.
func (r *Reader) take(ctx context.Context, fetches kgo.Fetches) (batches []Batch) {
	each(fetches, func(t *kgo.FetchTopic, p *kgo.FetchPartition) {
		if t.Topic != r.info.Name {
			return // how the client says that the context ended
		}
		if b, ok := r.takePartition(ctx, t, p); ok {
			batches = append(batches, b)
		}
	})
	return batches
}

func (r *Reader) takePartition(ctx context.Context, t *kgo.FetchTopic, p *kgo.FetchPartition) (Batch, bool) {
	r.mu.Lock()
	s := r.parts[p.Partition]
	r.mu.Unlock()
	if s == nil || !s.started {
		return Batch{}, false // removed since
	}
	err := p.Err
	if id := event.TopicID(t.TopicID); err == nil && id != (event.TopicID{}) && id != r.info.ID {
		err = &TopicGoneError{Topic: r.info.Name, ID: r.info.ID, Recreated: id}
	}
	if err == nil {
		err = wentBack(p, s.next)
	}
	if err != nil {
		err = r.c.explain(ctx, r.info, p.Partition, s.next, err)
		if err == nil {
			return Batch{}, false // the client tries again
		}
		r.Remove(p.Partition)
		return r.failure(p.Partition, err), true
	}
	if len(p.Records) == 0 {
		return Batch{}, false
	}
	b := newBatch(r.c.Source(r.info, p.Partition), r.info.Name, p)
	s.next = b.nextPosition()
	return b, true
}
