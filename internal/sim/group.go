package sim

import (
	"errors"
	"fmt"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/kafka"
)

// group is the routers' consumer group. Its assignments overlap for a while at each
// rebalance, more than Kafka's do: the new owner begins while the old one has not
// heard of it.
type group struct {
	b          *broker
	generation int
	members    []*routing
	committed  map[kafka.TopicPartition]committed
	turn       int // so that partitions wander at rebalances
	timeout    time.Duration
}

// committed is a position of the group, and the incarnation of the topic that it was
// made in.
type committed struct {
	kafka.Position
	topic event.TopicID
}

var errGeneration = errors.New("sim: the group has another generation")

func (g *group) join(m *routing) {
	m.seen = g.b.w.Now()
	g.members = append(g.members, m)
	g.rebalance()
}

func (g *group) holds(m *routing) bool {
	for _, other := range g.members {
		if other == m {
			return true
		}
	}
	return false
}

func (g *group) leave(m *routing) {
	for i, other := range g.members {
		if other == m {
			g.members = append(g.members[:i:i], g.members[i+1:]...)
			g.rebalance()
			return
		}
	}
}

// expel drops members that were silent for too long.
func (g *group) expel() {
	for i := 0; i < len(g.members); i++ {
		if m := g.members[i]; g.b.w.Now()-m.seen > g.timeout {
			g.b.w.Note("group expels %s", m.p.Name)
			g.leave(m)
			i = -1
		}
	}
}

// rebalance deals the partitions of the intake topics out anew.
func (g *group) rebalance() {
	g.generation++
	g.turn += g.b.w.delays.IntN(3)
	if len(g.members) == 0 {
		return
	}
	dealt := make([][]kafka.TopicPartition, len(g.members))
	i := g.turn
	for _, name := range g.b.w.plan.intakes {
		for p := range g.b.topics[name].parts {
			at := i % len(g.members)
			dealt[at] = append(dealt[at], kafka.TopicPartition{Topic: name, Partition: int32(p)})
			i++
		}
	}
	generation := g.generation
	for i, m := range g.members {
		parts := dealt[i]
		m.p.After(delay(g.b.w.delays, fastest, time.Second), func() {
			if g.generation == generation && !m.over {
				m.assigned(generation, parts)
			}
		})
	}
}

// commit stores positions, if the member's generation is the group's. Now and then one
// that is not slips in: that may cost work, never truth.
func (g *group) commit(m *routing, generation int, positions map[kafka.TopicPartition]kafka.Position, ids map[string]event.TopicID) error {
	if generation != g.generation {
		s := g.b.w.faults.stream(m.p.Name + "/group")
		s.n++
		if s.r.IntN(10) > 0 || g.b.w.plan.faultRate == 0 || !s.strike("stale commit", "of %s", m.p.Name) {
			return errGeneration
		}
	}
	for tp, pos := range positions {
		g.committed[tp] = committed{pos, ids[tp.Topic]}
	}
	return nil
}

// begin says where the reading of a partition begins.
func (g *group) begin(tp kafka.TopicPartition) (kafka.Assignment, *topic, error) {
	t := g.b.topics[tp.Topic]
	a := kafka.Assignment{TopicPartition: tp, Source: t.source(tp.Partition)}
	c, ok := g.committed[tp]
	if !ok || c.topic != t.id {
		a.Fresh, a.Start = true, kafka.Position{Offset: t.parts[tp.Partition].start, LeaderEpoch: -1}
		return a, t, nil
	}
	a.Start = c.Position
	if err := t.check(tp.Partition, c.Position); err != nil {
		return a, t, fmt.Errorf("begin at the group's position: %w", err)
	}
	return a, t, nil
}
