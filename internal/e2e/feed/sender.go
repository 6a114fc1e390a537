package feed

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/togodb/togo/internal/e2e/oracle"
	"github.com/togodb/togo/internal/kafka"
)

// The headers that say what must become of a record.
const (
	wantTenant = "want-tenant"
	wantID     = "want-id"
	wantLetter = "want-letter"
	serial     = "serial"
)

// Sender produces messages, and says what is acknowledged.
type Sender struct {
	client    *kafka.Client
	acked     func(Message) error
	producers map[string]*kafka.Producer

	mu    sync.Mutex
	count int           // of acknowledged messages; guarded by mu
	err   error         // the first failure; guarded by mu
	moved chan struct{} // closed and replaced at each change; guarded by mu
}

// NewSender connects to a cluster. acked hears of each acknowledged message, one
// at a time; an error ends the sending.
func NewSender(ctx context.Context, cluster kafka.ClusterConfig, acked func(Message) error) (*Sender, error) {
	log := slog.New(slog.DiscardHandler) // the client's complaints about a killed broker
	cluster.ClientID = "feed"
	client, err := kafka.Connect(ctx, cluster, log, nil)
	if err != nil {
		return nil, err
	}
	return &Sender{client: client, acked: acked, producers: map[string]*kafka.Producer{}, moved: make(chan struct{})}, nil
}

// Client is the sender's connection.
func (s *Sender) Client() *kafka.Client { return s.client }

// Close ends the connection.
func (s *Sender) Close() {
	for _, p := range s.producers {
		p.Close()
	}
	s.client.Close()
}

func (s *Sender) producer(ctx context.Context, topic string) (*kafka.Producer, error) {
	if p := s.producers[topic]; p != nil {
		return p, nil
	}
	info, err := s.client.Topic(ctx, topic)
	if err != nil {
		return nil, err
	}
	p, err := s.client.NewProducer(info, kafka.ProducerConfig{Spread: true})
	if err == nil {
		s.producers[topic] = p
	}
	return p, err
}

// SendAll spreads the messages over the time, and returns when all are acknowledged.
func (s *Sender) SendAll(ctx context.Context, msgs []Message, over time.Duration) error {
	began := time.Now()
	for i, m := range msgs {
		p, err := s.producer(ctx, m.Topic)
		if err != nil {
			return err
		}
		if wait := time.Until(began.Add(over * time.Duration(i) / time.Duration(len(msgs)))); wait > 0 {
			time.Sleep(wait)
		}
		p.Produce(ctx, kafka.Message{Key: []byte(m.Key), Value: m.Value, Headers: m.Headers()}, func(_ int64, err error) {
			s.done(m, err)
		})
	}
	for _, p := range s.producers {
		if err := p.Flush(ctx); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Headers of the record, with what must become of it.
func (m Message) Headers() []kafka.Header {
	out := []kafka.Header{
		{Key: wantTenant, Value: []byte(m.Want.Tenant)},
		{Key: serial, Value: strconv.AppendInt(nil, int64(m.Serial), 10)},
	}
	if m.Want.ID != "" {
		out = append(out, kafka.Header{Key: wantID, Value: []byte(m.Want.ID)})
	}
	if m.Bad {
		out = append(out, kafka.Header{Key: wantLetter})
	}
	if m.Tenant != "" {
		out = append(out, kafka.Header{Key: TenantHeader, Value: []byte(m.Tenant)})
	}
	return out
}

func (s *Sender) done(m Message, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		err = s.acked(m)
	}
	if err != nil && s.err == nil {
		s.err = fmt.Errorf("record for topic %s: %w", m.Topic, err)
	}
	s.count++
	close(s.moved)
	s.moved = make(chan struct{})
}

// Await waits until so many messages are acknowledged; an error says that they
// will never be.
func (s *Sender) Await(ctx context.Context, count int) error {
	for {
		s.mu.Lock()
		have, err, moved := s.count, s.err, s.moved
		s.mu.Unlock()
		if err != nil || have >= count {
			return err
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return fmt.Errorf("%d of %d messages acknowledged: %w", have, count, ctx.Err())
		}
	}
}

// Held is a record as Kafka holds it.
type Held struct {
	Message
	Partition int32
	// Position is the id that Togo makes of the record's place.
	Position string
}

// Read returns everything that a topic holds now, partition by partition, in
// the order of offsets. The ids made of positions are filled in.
func (s *Sender) Read(ctx context.Context, topic string) ([]Held, error) {
	info, err := s.client.Topic(ctx, topic)
	if err != nil {
		return nil, err
	}
	ranges, err := s.client.Offsets(ctx, topic)
	if err != nil {
		return nil, err
	}
	r, err := s.client.NewReader(info, kafka.ReaderConfig{})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var out []Held
	for p := range info.Partitions {
		next := ranges[p].Start
		if next < ranges[p].End {
			r.Add(p, next, -1)
		}
		for next < ranges[p].End {
			batches, err := r.Poll(ctx)
			if err != nil {
				return nil, err
			}
			for _, b := range batches {
				if b.Err != nil {
					return nil, b.Err
				}
				for _, rec := range b.Records {
					if !kafka.IsControl(rec) {
						out = append(out, held(s.client, info, rec))
					}
				}
				next = b.Next
			}
		}
		r.Remove(p)
	}
	return out, nil
}

func held(c *kafka.Client, info kafka.TopicInfo, r *kafka.Record) Held {
	h := Held{
		Message:   Message{Topic: info.Name, Key: string(r.Key), Value: r.Value},
		Partition: r.Partition,
		Position:  fmt.Sprintf("@%s/%s/%d/%d/%d/0", c.ClusterID(), info.ID, r.Partition, r.LeaderEpoch, r.Offset),
	}
	for _, header := range r.Headers {
		v := string(header.Value)
		switch header.Key {
		case wantTenant:
			h.Want.Tenant = v
		case wantID:
			h.Want.ID = v
		case wantLetter:
			h.Bad = true
		case serial:
			h.Serial, _ = strconv.Atoi(v)
		case TenantHeader:
			h.Tenant = v
		}
	}
	if h.Want.ID == "" {
		h.Want.ID = h.Position
	}
	return h
}

// Note enters the message into a ledger.
func (m Message) Note(l *oracle.Ledger) error {
	if m.Bad {
		l.SentBad()
		return nil
	}
	return l.Sent(m.Want, m.Value)
}
