package sim

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/internal/sim/loop"
)

// cluster is the id of the simulated Kafka cluster.
const cluster = "sim"

var errBroker = errors.New("sim: broker not available")

var refusedKafka = []error{errBroker}

// broker is Kafka, as far as routers and writers see it: topics that can be deleted
// and recreated, logs that can be cut at an unclean election, retention, transactions,
// a group with fenced generations.
type broker struct {
	w      *world
	topics map[string]*topic
	made   int // topics, for their ids
	group  *group
}

// topic is one incarnation of a topic.
type topic struct {
	name  string
	id    event.TopicID
	parts []*part
	gone  bool
}

// part is a partition's log.
type part struct {
	start, end int64
	records    []*record // ascending; holes hold nothing
	epoch      int32
	begun      []begun // of each leader epoch
	txn        int64   // first offset of the transaction that is open; -1: none is
}

// begun says where a leader epoch began.
type begun struct {
	epoch int32
	at    int64
}

// record is what a partition holds at an offset.
type record struct {
	offset  int64
	epoch   int32
	at      time.Time // Kafka's timestamp: of the append
	key     []byte
	value   []byte
	headers []kafka.Header
	control bool
	aborted bool
	sent    *sent // of an intake topic's records
}

func (b *broker) create(name string, parts int) *topic {
	b.made++
	t := &topic{name: name}
	copy(t.id[:], fmt.Sprintf("%s-%d", name, b.made))
	t.grow(parts)
	b.topics[name] = t
	return t
}

func (t *topic) grow(parts int) {
	for len(t.parts) < parts {
		t.parts = append(t.parts, &part{txn: -1, begun: []begun{{0, 0}}})
	}
}

func (t *topic) source(partition int32) event.Source {
	return event.Source{Cluster: cluster, Topic: t.id, Partition: partition}
}

// recreate deletes the topic and makes another one of its name.
func (b *broker) recreate(t *topic) *topic {
	t.gone = true
	return b.create(t.name, len(t.parts))
}

func (p *part) append(r *record) {
	r.offset, r.epoch = p.end, p.epoch
	p.records = append(p.records, r)
	p.end++
}

// readable is the end of what a reader of committed records sees.
func (p *part) readable() int64 {
	if p.txn >= 0 {
		return p.txn
	}
	return p.end
}

// elect begins a new leader epoch, at `at`: what lies behind is cut off.
func (p *part) elect(at int64) (cut []*record) {
	i := sort.Search(len(p.records), func(i int) bool { return p.records[i].offset >= at })
	cut = slices.Clone(p.records[i:])
	p.records, p.end = p.records[:i:i], min(p.end, at)
	if p.txn >= at {
		p.txn = -1
	}
	p.epoch++
	p.begun = slices.DeleteFunc(p.begun, func(b begun) bool { return b.at > at })
	p.begun = append(p.begun, begun{p.epoch, p.end})
	for _, r := range cut {
		if r.control { // of a transaction that may have begun before: its coordinator writes it again
			p.append(&record{at: r.at, control: true})
			break
		}
	}
	return cut
}

// expire moves the log's start.
func (p *part) expire(start int64) (gone []*record) {
	start = min(start, p.readable())
	i := sort.Search(len(p.records), func(i int) bool { return p.records[i].offset >= start })
	gone = slices.Clone(p.records[:i])
	p.records, p.start = p.records[i:], max(p.start, start)
	return gone
}

// epochEnd is where the leader epoch, or the last one before it, ended.
func (p *part) epochEnd(epoch int32) int64 {
	end := int64(-1)
	for i, b := range p.begun {
		if b.epoch > epoch {
			break
		}
		end = p.end
		if i+1 < len(p.begun) {
			end = p.begun[i+1].at
		}
	}
	return end
}

// check says whether reading may begin at a position.
func (t *topic) check(partition int32, pos kafka.Position) error {
	p := t.parts[partition]
	if pos.LeaderEpoch >= 0 {
		if end := p.epochEnd(pos.LeaderEpoch); end < pos.Offset {
			return &kafka.HistoryCutError{Topic: t.name, Partition: partition, Asked: pos.Offset, LeaderEpoch: pos.LeaderEpoch, EpochEnd: end}
		}
	}
	if pos.Offset < p.start || pos.Offset > p.end {
		return &kafka.OutOfRangeError{Topic: t.name, Partition: partition, Start: p.start, End: p.end, Asked: pos.Offset}
	}
	return nil
}

// fetched is an answer to a fetch.
type fetched struct {
	records       []*record
	next          int64 // where reading goes on
	start, end    int64
	highWatermark int64
	err           error
}

// fetch reads up to n records of the topic at pos.
func (b *broker) fetch(t *topic, partition int32, pos kafka.Position, n int) fetched {
	if t.gone {
		return fetched{err: &kafka.TopicGoneError{Topic: t.name, ID: t.id, Recreated: b.topics[t.name].id}}
	}
	if err := t.check(partition, pos); err != nil {
		return fetched{err: err}
	}
	p := t.parts[partition]
	out := fetched{start: p.start, end: p.readable(), highWatermark: p.end}
	i := sort.Search(len(p.records), func(i int) bool { return p.records[i].offset >= pos.Offset })
	for ; i < len(p.records) && len(out.records) < n && p.records[i].offset < out.end; i++ {
		if !p.records[i].aborted {
			out.records = append(out.records, p.records[i])
		}
	}
	if k := len(out.records); k > 0 {
		out.next = out.records[k-1].offset + 1
	}
	return out
}

// producer writes to the shard topic for one session of a router: idempotent, in
// order within a partition, tried until it is acknowledged.
type producer struct {
	w      *world
	p      *loop.Process
	t      *topic
	queues [][]*pending
	busy   []bool
	dead   error // the topic is gone
}

type pending struct {
	value   []byte
	applied bool // by the broker, which knows a repeat by its sequence number
	done    func(error)
}

func (b *broker) newProducer(p *loop.Process, t *topic) *producer {
	return &producer{w: b.w, p: p, t: t}
}

func (pr *producer) send(partition int32, value []byte, done func(error)) {
	for int(partition) >= len(pr.queues) {
		pr.queues, pr.busy = append(pr.queues, nil), append(pr.busy, false)
	}
	pr.queues[partition] = append(pr.queues[partition], &pending{value: value, done: done})
	pr.pump(partition)
}

// pump sends what waits for a partition, one request at a time.
func (pr *producer) pump(partition int32) {
	if pr.busy[partition] || len(pr.queues[partition]) == 0 {
		return
	}
	pr.busy[partition] = true
	batch := pr.queues[partition]
	pr.queues[partition] = nil
	pr.p.Spawn("produce", func() {
		for {
			err := pr.w.call(pr.p, "kafka", fmt.Sprintf("produce %d to %s[%d]", len(batch), pr.t.name, partition), true, refusedKafka, func() error {
				return pr.apply(partition, batch)
			})
			var gone *kafka.TopicGoneError
			if err == nil || errors.As(err, &gone) {
				pr.busy[partition] = false
				for _, m := range batch {
					m.done(err)
				}
				pr.pump(partition)
				return
			}
			pr.w.Sleep(delay(pr.w.delays, 100*time.Millisecond, time.Second))
		}
	})
}

func (pr *producer) apply(partition int32, batch []*pending) error {
	if pr.t.gone {
		return &kafka.TopicGoneError{Topic: pr.t.name, ID: pr.t.id}
	}
	part := pr.t.parts[partition]
	for _, m := range batch {
		if !m.applied {
			m.applied = true
			part.append(&record{at: pr.w.trueTime(), value: m.value})
			pr.w.Detail(func() string { return fmt.Sprintf("%s[%d]@%d %s", pr.t.name, partition, part.end-1, contents(m.value)) })
		}
	}
	return nil
}

// contents names what an envelope holds.
func contents(value []byte) string {
	var env event.Envelope
	if err := event.DecodeEnvelope(value, &env); err != nil {
		return err.Error()
	}
	out := string(env.Tenant)
	for _, it := range env.Items {
		out += fmt.Sprintf(" %s[%d]@%d", it.Origin.Topic, it.Origin.Partition, it.Origin.Offset)
		if it.Kind == event.KindSkipped {
			out += fmt.Sprintf("..%d", it.SkipTo)
		}
	}
	return out
}
