package measure

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/togodb/togo/bench/load"
	"github.com/togodb/togo/internal/kafka"
)

// TenantHeader is the header that the default mapping takes the tenant from.
const TenantHeader = "X-Scope-OrgID"

// Generation is what the generator does.
type Generation struct {
	Workload *load.Workload
	Seed     uint64
	Begin    time.Time     // of event times
	For      time.Duration // how long it sends
	Ahead    int64         // at most so many events are sent that are not closed; 0: any number
}

// Sent is what the generator says, a line of JSON each time.
type Sent struct {
	Events int64 `json:"events"` // acknowledged
	Bytes  int64 `json:"bytes"`
	Copies int64 `json:"copies"` // of events
	Done   bool  `json:"done"`   // the load has ended: nothing more comes
}

// generator sends what a stream gives.
type generator struct {
	Generation
	events, bytes, copies atomic.Int64 // acknowledged
	closed                atomic.Int64 // by Togo, as the parent says
	failed                atomic.Pointer[error]
}

// sayEvery is how often the generator says how far it is.
const sayEvery = 100 * time.Millisecond

// Generate sends a workload's events to a topic, and says on out how far it is. On in it hears how many events
// are closed, a number a line; the end of in ends the load, as ctx does.
func Generate(ctx context.Context, g Generation, client *kafka.Client, topic string, in io.Reader, out io.Writer) error {
	info, err := client.Topic(ctx, topic)
	if err != nil {
		return err
	}
	producer, err := client.NewProducer(info, kafka.ProducerConfig{Spread: true, Linger: 5 * time.Millisecond})
	if err != nil {
		return err
	}
	defer producer.Close()
	r := &generator{Generation: g}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		r.listen(in)
		cancel()
	}()
	var say sync.WaitGroup
	quiet := make(chan struct{})
	say.Go(func() { r.say(out, quiet) })
	r.send(ctx, producer)
	flush, stop := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer stop()
	err = producer.Flush(flush)
	close(quiet)
	say.Wait()
	if failed := r.failed.Load(); failed != nil {
		return *failed
	}
	return err
}

func (r *generator) listen(in io.Reader) {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if n, err := strconv.ParseInt(strings.TrimSpace(lines.Text()), 10, 64); err == nil {
			r.closed.Store(n)
		}
	}
}

func (r *generator) say(out io.Writer, quiet <-chan struct{}) {
	tick := time.NewTicker(sayEvery)
	defer tick.Stop()
	enc := json.NewEncoder(out)
	for done := false; !done; {
		select {
		case <-tick.C:
		case <-quiet:
			done = true
		}
		// The events last: who reads never sees copies of events that are not counted.
		copies, bytes := r.copies.Load(), r.bytes.Load()
		_ = enc.Encode(Sent{Events: r.events.Load(), Bytes: bytes, Copies: copies, Done: done}) // a parent that is gone closes in, too
	}
}

// slab is how many bytes of payloads are made in one piece.
const slab = 1 << 20

func (r *generator) send(ctx context.Context, producer *kafka.Producer) {
	stream := r.Workload.Events(r.Seed, r.Begin)
	headers := map[int][]kafka.Header{}
	began := time.Now()
	var room []byte
	for n := int64(0); ctx.Err() == nil && r.failed.Load() == nil; n++ {
		if n%64 == 0 && !r.pace(ctx, n, began) {
			return
		}
		e := stream.Next(room)
		if size := len(room) + len(e.Value); size <= cap(room) {
			room = room[:size]
		} else {
			room = make([]byte, 0, slab)
		}
		h := headers[e.Rank]
		if h == nil {
			h = []kafka.Header{{Key: TenantHeader, Value: []byte(e.Tenant)}}
			headers[e.Rank] = h
		}
		size, duplicate := int64(len(e.Value)), e.Duplicate
		// Not with ctx: what it cut off could be in Kafka all the same.
		producer.Produce(context.Background(), kafka.Message{Value: e.Value, Headers: h}, func(_ int64, err error) { r.acked(size, duplicate, err) })
	}
}

// pace waits until it is time for the n-th event; false: the load has ended.
func (r *generator) pace(ctx context.Context, n int64, began time.Time) bool {
	for ctx.Err() == nil {
		elapsed := time.Since(began)
		if elapsed >= r.For {
			return false
		}
		early := r.Workload.Rate > 0 && float64(n) >= float64(r.Workload.Rate)*elapsed.Seconds()
		ahead := r.Ahead > 0 && n-r.closed.Load() >= r.Ahead
		if !early && !ahead {
			return true
		}
		time.Sleep(2 * time.Millisecond)
	}
	return false
}

func (r *generator) acked(size int64, duplicate bool, err error) {
	if err != nil {
		err = fmt.Errorf("produce: %w", err)
		r.failed.CompareAndSwap(nil, &err)
		return
	}
	r.bytes.Add(size)
	if duplicate {
		r.copies.Add(1)
	}
	r.events.Add(1)
}
