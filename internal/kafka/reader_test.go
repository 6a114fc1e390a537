package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/internal/kafka/kafkatest"
)

// quick makes brokers answer an empty fetch soon, so that tests don't wait.
var quick = kafka.ReaderConfig{MaxWait: 50 * time.Millisecond, CheckEvery: 200 * time.Millisecond}

func testContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func newReader(t *testing.T, c *kafka.Client, topic string) *kafka.Reader {
	t.Helper()
	info, err := c.Topic(testContext(t), topic)
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.NewReader(info, quick)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// readTo polls until a batch of the partition reaches next, and returns what came:
// "offset:value", or "offset:control".
func readTo(t *testing.T, r *kafka.Reader, next int64) []string {
	t.Helper()
	ctx := testContext(t)
	var got []string
	for {
		batches, err := r.Poll(ctx)
		if err != nil {
			t.Fatalf("poll: %v, after %v", err, got)
		}
		for _, b := range batches {
			if b.Err != nil {
				t.Fatalf("poll: %v, after %v", b.Err, got)
			}
			for _, rec := range b.Records {
				if kafka.IsControl(rec) {
					got = append(got, fmt.Sprintf("%d:control", rec.Offset))
				} else {
					got = append(got, fmt.Sprintf("%d:%s", rec.Offset, rec.Value))
				}
			}
			if b.Next >= next {
				return got
			}
		}
	}
}

func readError(t *testing.T, r *kafka.Reader) error {
	t.Helper()
	return readErrorOr(t, r, math.MaxInt64)
}

// readErrorOr polls until an error comes, or a batch that reaches next: then nil.
func readErrorOr(t *testing.T, r *kafka.Reader, next int64) error {
	t.Helper()
	ctx := testContext(t)
	for {
		batches, err := r.Poll(ctx)
		if err != nil {
			t.Fatalf("poll: %v", err)
		}
		for _, b := range batches {
			if b.Err != nil {
				return b.Err
			}
			if b.Next >= next {
				return nil
			}
		}
	}
}

func equal(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func TestReaderReadsFromExactOffsets(t *testing.T) {
	k := kafkatest.New(t)
	k.Topic("shards", 2, nil)
	k.Values("shards", 0, "a", "b", "c")
	k.Values("shards", 1, "x")
	c := k.Client()
	r := newReader(t, c, "shards")
	r.Add(0, 1, -1)
	equal(t, readTo(t, r, 3), []string{"1:b", "2:c"})

	// Added again at a lower offset while later records may be fetched already.
	k.Values("shards", 0, "d", "e")
	r.Add(0, 0, -1)
	equal(t, readTo(t, r, 5), []string{"0:a", "1:b", "2:c", "3:d", "4:e"})

	r.Remove(0)
	k.Values("shards", 0, "f")
	r.Add(1, 0, -1)
	equal(t, readTo(t, r, 1), []string{"0:x"})
}

func TestFault_offset_gaps(t *testing.T) {
	k := kafkatest.New(t)
	k.Topic("shards", 1, nil)
	k.Values("shards", 0, "a")
	k.Transaction(false, "shards", 0, "aborted", "aborted")
	k.Transaction(true, "shards", 0, "b")
	k.Transaction(false, "shards", 0, "aborted")
	r := newReader(t, k.Client(), "shards")
	r.Add(0, 0, -1)
	equal(t, readTo(t, r, 8), []string{"0:a", "3:control", "4:b", "5:control", "7:control"})
}

func TestReaderPauses(t *testing.T) {
	k := kafkatest.New(t)
	k.Topic("shards", 2, nil)
	r := newReader(t, k.Client(), "shards")
	r.Pause(0)
	r.Add(0, 0, -1)
	r.Add(1, 0, -1)
	k.Values("shards", 0, "a")
	k.Values("shards", 1, "x")
	equal(t, readTo(t, r, 1), []string{"0:x"})
	r.Resume(0)
	equal(t, readTo(t, r, 1), []string{"0:a"})
}

func TestFault_offset_out_of_range(t *testing.T) {
	k := kafkatest.New(t)
	k.Topic("shards", 2, nil)
	k.Values("shards", 0, "a", "b", "c", "d")
	k.Values("shards", 1, "x")
	if err := k.DeleteRecords("shards", 0, 3); err != nil {
		t.Fatal(err)
	}
	r := newReader(t, k.Client(), "shards")
	for _, asked := range []int64{0, 2, 5} {
		r.Add(0, asked, -1)
		var oor *kafka.OutOfRangeError
		if err := readError(t, r); !errors.As(err, &oor) {
			t.Fatalf("offset %d: %v", asked, err)
		}
		if oor.Asked != asked || oor.Start != 3 || oor.End != 4 {
			t.Fatalf("offset %d: %+v", asked, oor)
		}
	}
	// The other partition goes on, and so does this one within its log.
	r.Add(1, 0, -1)
	equal(t, readTo(t, r, 1), []string{"0:x"})
	r.Add(0, 3, -1)
	equal(t, readTo(t, r, 4), []string{"3:d"})
}

func TestFault_offset_out_of_range_while_reading(t *testing.T) {
	k := kafkatest.New(t)
	k.Topic("shards", 1, nil)
	k.Values("shards", 0, "a")
	r := newReader(t, k.Client(), "shards")
	r.Add(0, 0, -1)
	equal(t, readTo(t, r, 1), []string{"0:a"})
	// A fetch that was on its way before the pause may bring the records before they are deleted: then once more.
	for asked := int64(1); ; asked += 3 {
		r.Pause(0)
		k.Values("shards", 0, "b", "c", "d")
		if err := k.DeleteRecords("shards", 0, asked+3); err != nil {
			t.Fatal(err)
		}
		r.Resume(0)
		var oor *kafka.OutOfRangeError
		switch err := readErrorOr(t, r, asked+3); {
		case err == nil:
			continue
		case !errors.As(err, &oor) || oor.Asked != asked || oor.Start != asked+3:
			t.Fatalf("got %v", err)
		}
		return
	}
}

func TestFault_history_cut(t *testing.T) {
	k := kafkatest.New(t)
	k.Topic("shards", 1, nil)
	k.Values("shards", 0, "a", "b")
	r := newReader(t, k.Client(), "shards")
	// Offset 2 was read in leader epoch 7, of which this log knows nothing.
	r.Add(0, 2, 7)
	var cut *kafka.HistoryCutError
	if err := readError(t, r); !errors.As(err, &cut) || cut.LeaderEpoch != 7 || cut.Asked != 2 {
		t.Fatalf("got %v", err)
	}
}

func TestFault_topic_recreated(t *testing.T) {
	for _, after := range []int{1, 5} { // the new end below and above the position
		t.Run(fmt.Sprint(after), func(t *testing.T) {
			k := kafkatest.New(t)
			k.Topic("shards", 1, nil)
			k.Values("shards", 0, "a", "b", "c")
			c := k.Client()
			r := newReader(t, c, "shards")
			r.Add(0, 0, -1)
			equal(t, readTo(t, r, 3), []string{"0:a", "1:b", "2:c"})
			if err := k.DeleteTopic("shards"); err != nil {
				t.Fatal(err)
			}
			k.Topic("shards", 1, nil)
			for range after {
				k.Values("shards", 0, "new")
			}
			var gone *kafka.TopicGoneError
			if err := readError(t, r); !errors.As(err, &gone) || gone.ID != r.Topic().ID {
				t.Fatalf("got %v", err)
			}
			// A position of the old topic is refused by a reader of the old topic.
			r.Add(0, 3, -1)
			now, err := c.Topic(testContext(t), "shards")
			if err != nil {
				t.Fatal(err)
			}
			if err := readError(t, r); !errors.As(err, &gone) || gone.Recreated != now.ID {
				t.Fatalf("got %v", err)
			}
		})
	}
}

func TestFault_catch_up(t *testing.T) {
	const bound = 8 << 20
	random := make([]byte, 50<<10)
	if _, err := rand.NewChaCha8([32]byte{1}).Read(random); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string][]byte{
		"random":       random,
		"compressible": []byte(strings.Repeat(`{"level":"info","message":"ready"}`, 1500)),
	} {
		t.Run(name, func(t *testing.T) {
			k := kafkatest.New(t)
			k.Topic("shards", 1, nil)
			var records []*kafka.Record
			for range 1000 { // 50 MB
				records = append(records, &kafka.Record{Topic: "shards", Value: value})
			}
			k.Produce(records...)
			c := k.Client()
			info, err := c.Topic(testContext(t), "shards")
			if err != nil {
				t.Fatal(err)
			}
			r, err := c.NewReader(info, kafka.ReaderConfig{MaxBytes: bound, MaxWait: 50 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(r.Close)
			r.Add(0, 0, -1)
			for next := int64(0); next < 1000; {
				batches, err := r.Poll(testContext(t))
				if err != nil {
					t.Fatal(err)
				}
				bytes := 0
				for _, b := range batches {
					for _, rec := range b.Records {
						bytes += len(rec.Value)
					}
					next = b.Next
				}
				if bytes > bound {
					t.Fatalf("one poll brought %d bytes", bytes)
				}
			}
		})
	}
}

func TestReaderCloseEndsPoll(t *testing.T) {
	k := kafkatest.New(t)
	k.Topic("shards", 1, nil)
	r := newReader(t, k.Client(), "shards")
	r.Add(0, 0, -1)
	done := make(chan error)
	go func() {
		_, err := r.Poll(testContext(t))
		done <- err
	}()
	r.Close()
	if err := <-done; !errors.Is(err, kafka.ErrClosed) {
		t.Fatalf("got %v", err)
	}
}

// TestFault_history_cut_in_a_known_epoch: the log knows the leader epoch of the record
// before the position, but it ended below the position: what was read from there on was cut, and the offsets
// are other records now.
func TestFault_history_cut_in_a_known_epoch(t *testing.T) {
	k := kafkatest.New(t)
	k.Topic("shards", 1, nil)
	k.Values("shards", 0, "a", "b", "c")
	k.ShufflePartitionLeaders() // epoch 1
	k.Values("shards", 0, "d", "e", "f")
	c := k.Client()
	r := newReader(t, c, "shards")
	check := func(err error) {
		t.Helper()
		var cut *kafka.HistoryCutError
		if !errors.As(err, &cut) || cut.Asked != 5 || cut.LeaderEpoch != 0 || cut.EpochEnd != 3 {
			t.Fatalf("got %v", err)
		}
	}
	r.Add(0, 5, 0) // five were read in epoch 0, of which the log has three
	check(readError(t, r))
	r.Add(0, 3, 0)
	equal(t, readTo(t, r, 6), []string{"3:d", "4:e", "5:f"})
	r.Add(0, 5, 1)
	equal(t, readTo(t, r, 6), []string{"5:f"})

	// A group's commit of the history that is no more.
	join := func() *kafka.Consumer {
		m, err := c.NewConsumer(testContext(t), kafka.ConsumerConfig{Group: "g", Topics: []string{"shards"}, Read: quick})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	poll := func(m *kafka.Consumer) (got kafka.Batch) {
		for got.Topic == "" {
			if err := m.Poll(testContext(t), func(batches []kafka.Batch) { got = batches[0] }); err != nil {
				t.Fatal(err)
			}
		}
		return got
	}
	m := join()
	poll(m)
	if err := m.Commit(testContext(t), map[kafka.TopicPartition]kafka.Position{{Topic: "shards"}: {Offset: 5, LeaderEpoch: 0}}); err != nil {
		t.Fatal(err)
	}
	m.Close()
	m = join()
	defer m.Close()
	check(poll(m).Err)
}

// TestRecycledRecords has the memory of records serve others, by every codec, and holds some back: what they say stays.
func TestRecycledRecords(t *testing.T) {
	k := kafkatest.New(t)
	k.Topic("shards", 1, nil)
	c := k.Client()
	ctx := testContext(t)
	info, err := c.Topic(ctx, "shards")
	if err != nil {
		t.Fatal(err)
	}
	value := func(n int) string { return strings.Repeat(fmt.Sprintf("value %d; ", n), 1+n%50) }
	const batches, each = 60, 50
	n := 0
	for _, codec := range []string{kafka.CompressionSnappy, kafka.CompressionNone, kafka.CompressionLZ4, kafka.CompressionZstd, kafka.CompressionGzip} {
		p, err := c.NewProducer(info, kafka.ProducerConfig{Compression: codec, Linger: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		for range batches {
			for range each {
				p.Produce(ctx, kafka.Message{Value: []byte(value(n))}, func(_ int64, err error) {
					if err != nil {
						t.Error(err)
					}
				})
				n++
			}
			if err := p.Flush(ctx); err != nil {
				t.Fatal(err)
			}
		}
		p.Close()
	}
	check := func(r *kafka.Record) {
		if want := value(int(r.Offset)); string(r.Value) != want {
			t.Fatalf("offset %d: %q, want %q", r.Offset, r.Value, want)
		}
	}
	var held []*kafka.Record
	for range 3 {
		r := newReader(t, c, "shards")
		r.Add(0, 0, -1)
		for next := int64(0); next < int64(n); {
			got, err := r.Poll(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range got {
				for _, rec := range b.Records {
					check(rec)
					if rec.Offset != next {
						t.Fatalf("offset %d, want %d", rec.Offset, next)
					}
					next++
					if rec.Offset%(7*each) == 0 {
						held = append(held, rec)
					} else {
						rec.Recycle()
					}
				}
			}
		}
	}
	for _, rec := range held {
		check(rec)
	}
	if len(held) < 3*n/(7*each) {
		t.Errorf("%d records were held back", len(held))
	}
}
