package writer

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/writer/shard"
)

// reading reads the shard topic for all runners.
type reading struct {
	w *Writer

	mu       sync.Mutex
	topic    kafka.TopicInfo    // as it is now; ID zero while unknown
	reader   *kafka.Reader      // of topic; nil while there is none
	subs     map[int32]*sub     // by partition
	commands []func()           // to be done between two polls, by the polling goroutine
	wake     context.CancelFunc // ends the poll that waits
	recheck  bool               // the topic may be another by now
}

// sub is one partition's reading.
type sub struct {
	r         *runner
	gen       shard.Generation // of the ReadFrom that is in force; 0: none
	paused    bool             // by the core
	throttled bool             // because the runner has enough batches to do
}

func newReading(w *Writer) *reading { return &reading{w: w, subs: map[int32]*sub{}} }

// subscribe makes a runner hear of the topic, now and at every change.
func (d *reading) subscribe(r *runner) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.subs[int32(r.shard)] = &sub{r: r}
	d.announce(r)
	if d.wake != nil {
		d.wake() // its partition may be newer than what is known of the topic, and nothing else may come
	}
}

// announce needs mu.
func (d *reading) announce(r *runner) {
	if d.topic.ID == (event.TopicID{}) || int32(r.shard) >= d.topic.Partitions {
		return
	}
	r.topicIs(shard.Topic{Source: d.w.d.Kafka.Source(d.topic, int32(r.shard)), Name: d.topic.Name})
}

// do has a command run between two polls.
func (d *reading) do(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.commands = append(d.commands, f)
	if d.wake != nil {
		d.wake()
	}
}

// look has the topic described anew.
func (d *reading) look() { d.do(func() { d.recheck = true }) }

// readFrom begins a partition's reading, or moves it.
func (d *reading) readFrom(e shard.ReadFrom) {
	d.do(func() {
		s := d.subs[e.Source.Partition]
		if d.reader == nil || d.topic.ID != e.Source.Topic {
			return // the runner hears of the new topic
		}
		s.gen, s.paused, s.throttled = e.Gen, false, false
		d.reader.Add(e.Source.Partition, e.Offset, e.LeaderEpoch)
		d.pace(s)
	})
}

// end ends a partition's reading.
func (d *reading) end(partition int32) {
	d.do(func() {
		d.subs[partition].gen = 0
		if d.reader != nil {
			d.reader.Remove(partition)
		}
	})
}

func (d *reading) pause(partition int32, paused bool) {
	d.do(func() {
		d.subs[partition].paused = paused
		d.pace(d.subs[partition])
	})
}

// drained says that a runner has worked its batches off.
func (d *reading) drained(partition int32) {
	d.do(func() {
		d.subs[partition].throttled = false
		d.pace(d.subs[partition])
	})
}

// pace needs mu.
func (d *reading) pace(s *sub) {
	if d.reader == nil {
		return
	}
	if s.paused || s.throttled {
		d.reader.Pause(int32(s.r.shard))
	} else {
		d.reader.Resume(int32(s.r.shard))
	}
}

// The pauses of the reading loop.
const (
	topicRetry = time.Second     // until the next look for a topic that is not there
	topicCheck = 5 * time.Second // between looks for partitions that are not there yet
	// A poll that waits for nothing but records ends with the first of them, or by a command.
	foreverAndADay = 24 * time.Hour
)

// run reads incarnation after incarnation of the topic.
func (d *reading) run(ctx context.Context) {
	for ctx.Err() == nil {
		info, err := d.w.d.Kafka.Topic(ctx, d.w.d.Topic)
		var reader *kafka.Reader
		if err == nil {
			reader, err = d.w.d.Kafka.NewReader(info, kafka.ReaderConfig{MaxBytes: int(d.w.cfg.FetchBytes), CheckEvery: d.w.topicWatch})
		}
		if err != nil {
			if ctx.Err() == nil {
				d.w.log.Warn("can't read the shard topic yet", "topic", d.w.d.Topic, "error", err)
			}
			sleep(ctx, topicRetry)
			continue
		}
		d.w.log.Info("reading the shard topic", "topic", info.Name, "topic_id", info.ID, "partitions", info.Partitions)
		d.adopt(info, reader)
		d.poll(ctx, reader)
		d.mu.Lock()
		d.reader = nil
		d.mu.Unlock()
		reader.Close()
	}
}

var errNewReader = errors.New("the reader of the shard topic was made anew")

// adopt makes a topic the current one and tells the runners.
func (d *reading) adopt(info kafka.TopicInfo, reader *kafka.Reader) {
	d.mu.Lock()
	defer d.mu.Unlock()
	same := d.topic.ID == info.ID
	if !same {
		d.w.group.forget()
	}
	d.topic, d.reader, d.recheck = info, reader, false
	for _, s := range d.subs {
		s.gen, s.paused, s.throttled = 0, false, false
		if same {
			s.r.restart(errNewReader) // its place in the topic went with the old reader
		} else {
			d.announce(s.r)
		}
	}
}

// poll delivers batches until the topic changes or ctx ends.
func (d *reading) poll(ctx context.Context, reader *kafka.Reader) {
	for ctx.Err() == nil {
		patience := topicCheck
		waits := d.waitsForPartitions()
		if !waits {
			patience = foreverAndADay
		}
		pollCtx, cancel := context.WithTimeout(ctx, patience)
		d.mu.Lock()
		d.wake = cancel
		for len(d.commands) > 0 {
			f := d.commands[0]
			d.commands = d.commands[1:]
			f()
		}
		recheck := d.recheck
		d.mu.Unlock()
		if (recheck || waits) && d.changed(ctx) {
			cancel()
			return
		}
		batches, err := reader.Poll(pollCtx)
		cancel()
		if errors.Is(err, kafka.ErrClosed) {
			return
		}
		gone := false
		for i := range batches {
			gone = d.deliver(&batches[i]) || gone
		}
		if gone {
			return
		}
	}
}

func (d *reading) waitsForPartitions() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for p := range d.subs {
		if p >= d.topic.Partitions {
			return true
		}
	}
	return false
}

// changed looks at the topic; true if it must be read by another reader. New
// partitions are adopted.
func (d *reading) changed(ctx context.Context) bool {
	info, err := d.w.d.Kafka.Topic(ctx, d.w.d.Topic)
	if err != nil {
		return errors.Is(err, kafka.ErrTopicMissing)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.recheck = false
	if info.ID != d.topic.ID {
		return true
	}
	before := d.topic.Partitions
	d.topic = info
	for p, s := range d.subs {
		if p >= before {
			d.announce(s.r)
		}
	}
	return false
}

// maxQueued bounds the batches that wait for a runner: one that is worked on
// and one behind it.
const maxQueued = 2

// deliver gives a batch to its runner; true if the topic is gone.
func (d *reading) deliver(b *kafka.Batch) (gone bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var missing *kafka.TopicGoneError
	if errors.As(b.Err, &missing) {
		return true
	}
	s := d.subs[b.Partition]
	if s == nil || s.gen == 0 {
		return false
	}
	if b.Err != nil {
		d.failed(s, b)
		return false
	}
	in := shard.Batch{Gen: s.gen, Source: b.Source, LogStart: b.LogStart, End: b.End, Records: make([]shard.Record, len(b.Records))}
	for i, r := range b.Records {
		in.Records[i] = shard.Record{Offset: r.Offset, LeaderEpoch: r.LeaderEpoch, Control: kafka.IsControl(r), Value: r.Value, Memory: r}
	}
	if s.r.sendBatch(in) >= maxQueued && !s.throttled {
		s.throttled = true
		d.pace(s)
	}
	return false
}

// failed needs mu.
func (d *reading) failed(s *sub, b *kafka.Batch) {
	gen := s.gen
	s.gen = 0
	var oor *kafka.OutOfRangeError
	var cut *kafka.HistoryCutError
	switch {
	case errors.As(b.Err, &oor) && oor.End < 0:
		// Where the log lies is not known: the inspection after the reload says it.
		s.r.restart(b.Err)
	case errors.As(b.Err, &oor), errors.As(b.Err, &cut):
		s.r.send(shard.KafkaTrouble{Gen: gen, Source: b.Source, Trouble: *troubleOf(b.Err)})
	default:
		s.r.restart(b.Err)
	}
}

// troubleOf is what an error of package kafka says to the core; nil if it says
// nothing of the position.
func troubleOf(err error) *shard.Trouble {
	var oor *kafka.OutOfRangeError
	var cut *kafka.HistoryCutError
	switch {
	case errors.As(err, &oor):
		return &shard.Trouble{Kind: shard.OutOfRange, Start: oor.Start, End: oor.End}
	case errors.As(err, &cut):
		return &shard.Trouble{Kind: shard.HistoryCut, EpochEnd: cut.EpochEnd}
	}
	return nil
}

// sleep waits; false if ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
