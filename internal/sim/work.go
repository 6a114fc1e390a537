package sim

import (
	"context"
	"errors"
	"time"

	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/idseg"
	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/writer/shard"
)

// inspect asks Kafka whether a position can be trusted.
func (s *session) inspect(e shard.Inspect) {
	for {
		in := shard.Inspected{Gen: e.Gen, Source: e.Source}
		same := false
		err := s.w.call(s.p, "kafka", "inspect", false, refusedKafka, func() error {
			t := s.w.broker.topics[shardTopic]
			if same = t.id == e.Source.Topic; !same {
				return nil
			}
			part := t.parts[e.Source.Partition]
			in.Start, in.End = part.start, part.end
			if e.Offset >= 0 {
				in.Trouble = troubleOf(t.check(e.Source.Partition, kafka.Position{Offset: e.Offset, LeaderEpoch: e.LeaderEpoch}), part)
			}
			return nil
		})
		if err == nil && same {
			s.send(in)
			return
		}
		s.w.Sleep(time.Second)
	}
}

func troubleOf(err error, p *part) *shard.Trouble {
	var oor *kafka.OutOfRangeError
	var cut *kafka.HistoryCutError
	switch {
	case errors.As(err, &oor):
		return &shard.Trouble{Kind: shard.OutOfRange, Start: oor.Start, End: oor.End}
	case errors.As(err, &cut):
		return &shard.Trouble{Kind: shard.HistoryCut, EpochEnd: cut.EpochEnd, Start: p.start, End: p.end}
	}
	return nil
}

// poll brings the next records of the shard topic.
func (s *session) poll() {
	if !s.reading || s.paused || s.polling {
		return
	}
	s.polling = true
	gen, t, at := s.gen, s.t, s.at
	s.p.Spawn("fetch", func() {
		var got fetched
		err := s.w.call(s.p, "kafka", "fetch", false, refusedKafka, func() error {
			got = s.w.broker.fetch(t, int32(s.shard), at, s.w.plan.fetchRecords)
			return nil
		})
		s.polling = false
		if err != nil {
			return
		}
		s.p.After(0, func() { s.fetched(gen, t, at, got) })
	})
}

func (s *session) fetched(gen shard.Generation, t *topic, at kafka.Position, got fetched) {
	if s.over || !s.reading || s.gen != gen || s.t != t || s.at != at {
		return // it was asked for by a reading that has ended
	}
	source := t.source(int32(s.shard))
	var gone *kafka.TopicGoneError
	switch {
	case errors.As(got.err, &gone):
		s.reading = false
		s.hear()
	case got.err != nil:
		s.reading = false
		s.step(shard.KafkaTrouble{Gen: gen, Source: source, Trouble: *troubleOf(got.err, t.parts[s.shard])})
	case len(got.records) > 0:
		in := shard.Batch{Gen: gen, Source: source, LogStart: got.start, End: got.end}
		for _, r := range got.records {
			in.Records = append(in.Records, shard.Record{Offset: r.offset, LeaderEpoch: r.epoch, Control: r.control, Value: r.value})
		}
		last := got.records[len(got.records)-1]
		s.at = kafka.Position{Offset: got.next, LeaderEpoch: last.epoch}
		s.step(in)
	}
}

func (s *session) readIDs(e shard.ReadIDs) {
	for {
		data, err := s.wp.store.GetRange(context.Background(), e.Load.Key, e.Load.Offset, e.Load.Length)
		if err == nil || errors.Is(err, objstore.ErrNotFound) {
			s.send(shard.IDsRead{Gen: e.Gen, Load: e.Load, Data: data, Err: err})
			return
		}
		s.w.Sleep(time.Second)
	}
}

// encode makes the objects of a flight and uploads them.
func (s *session) encode(e shard.Encode) {
	in := shard.Encoded{Gen: e.Gen, Flight: e.Flight, Files: make([]shard.EncodedFile, len(e.Files))}
	for i := range e.Files {
		p := &e.Files[i]
		var f *fragment.File
		input := p.InputFor(s.wp.tenants.Get(p.Input.Tenant))
		for f == nil {
			var err error
			s.wp.encode.With(s.w.Loop, func() { f, err = fragment.Encode(context.Background(), input, s.wp.columns) })
			if err != nil {
				s.w.Sleep(time.Second)
			}
		}
		s.upload(p.Key, f.Body)
		in.Files[i] = shard.EncodedFileOf(f)
	}
	if e.IDs != nil {
		body, buckets, err := idseg.Encode(e.IDs.Entries, idseg.DefaultConfig())
		if err != nil {
			s.w.fail("%s: shard %s: id segment: %v", s.p.Name, s.shard, err)
		}
		s.upload(e.IDs.Key, body)
		in.IDs = &shard.EncodedIDs{Bytes: int64(len(body)), Sum: objstore.Sum(body), Buckets: buckets}
	}
	s.send(in)
}

func (s *session) upload(key string, body []byte) {
	for s.wp.store.Put(context.Background(), key, body) != nil {
		s.w.Sleep(time.Second)
	}
}
