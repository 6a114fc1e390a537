// Package feed makes and sends Kafka records for the tests end to end and the
// demo, and reads back what Kafka holds. Each record carries in headers, which
// Togo does not look at, what must become of it: so what lies in Kafka is a
// ledger by itself, whatever a killed broker made of a producer's retries.
package feed

import (
	"bytes"
	"math/rand/v2"

	"github.com/togodb/togo/internal/e2e/oracle"
)

// TenantHeader is the header that the default mapping takes the tenant from.
const TenantHeader = "X-Scope-OrgID"

// Message is one Kafka record to be sent.
type Message struct {
	Topic  string
	Tenant string // header X-Scope-OrgID; empty: none
	Key    string // decides the partition
	Value  []byte
	// Want is the identity under which Togo must keep the event; an empty ID: the
	// one made of the record's position.
	Want oracle.Key
	// Bad: no event; it must end as a dead letter of Want.Tenant.
	Bad bool
	// Serial numbers the records of a test; the sender does not care.
	Serial int
}

// Plan says what is mixed into fresh events.
type Plan struct {
	Copies        float64           // share of exact copies, near and far
	Elsewhere     float64           // share of the copies that go to another partition
	ConflictEvery int               // events from one changed copy to the next
	BadEvery      int               // events from one bad record to the next
	Bad           func(int) Message // the n-th bad record
}

// near is how far back a near copy may lie.
const near = 10

// Mix shuffles the events and puts copies, changed copies and bad records in
// between. Changed copies are made of even events, copies that go elsewhere of odd
// ones, so that it stays known which payload of an identity came first.
func Mix(rng *rand.Rand, fresh []Message, p Plan) []Message {
	rng.Shuffle(len(fresh), func(i, j int) { fresh[i], fresh[j] = fresh[j], fresh[i] })
	var out []Message
	for i, m := range fresh {
		out = append(out, m)
		if rng.Float64() < p.Copies {
			out = append(out, p.again(rng, fresh[:i+1]))
		}
		if i%p.ConflictEvery == p.ConflictEvery/2 {
			other := fresh[back(rng, i)&^1]
			other.Value = bytes.Replace(other.Value, []byte("{"), []byte(`{"changed":true,`), 1)
			out = append(out, other)
		}
		if i%p.BadEvery == p.BadEvery/2 {
			out = append(out, p.Bad(i/p.BadEvery))
		}
	}
	return out
}

func (p Plan) again(rng *rand.Rand, sent []Message) Message {
	i := back(rng, len(sent)-1)
	m := sent[i]
	if i%2 == 1 && rng.Float64() < 2*p.Elsewhere {
		m.Key += "/elsewhere"
	}
	return m
}

// back picks an event at or before i, one time in two a near one.
func back(rng *rand.Rand, i int) int {
	if rng.IntN(2) == 0 {
		return i - rng.IntN(min(i+1, near))
	}
	return rng.IntN(i + 1)
}
