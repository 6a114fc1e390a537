package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/kafka"
)

// The fields of the id by the first and by the second mapping.
const (
	firstID  = "event_id"
	secondID = "key"
)

// traffic is all producers together.
type traffic struct {
	w    *world
	r    *rand.Rand
	left int // records still to be sent
	ids  int
	past []*sent // for copies
}

// begin sends until nothing is left.
func (t *traffic) begin(rate time.Duration) {
	if t.left == 0 {
		return
	}
	t.w.After(delay(t.r, rate/10, rate*3), func() {
		for range 1 + t.r.IntN(4)*t.r.IntN(4) {
			if t.left > 0 {
				t.left--
				t.send()
			}
		}
		t.begin(rate)
	})
}

// send puts one record into an intake topic: something new, a copy, or nonsense.
func (t *traffic) send() {
	w, r := t.w, t.r
	if n := w.opt.MaxEvents; n > 0 && len(w.ledger.sent) >= n {
		return
	}
	name := w.plan.intakes[r.IntN(len(w.plan.intakes))]
	part := int32(r.IntN(len(w.broker.topics[name].parts)))
	var s sent
	switch k := r.IntN(100); {
	case k < 22 && len(t.past) > 0: // a retry, or a copy of long ago
		old := t.old()
		s = sent{tenant: old.tenant, value: old.value, reason: old.reason, hasTS: old.hasTS, ts: old.ts, ids: old.ids}
	case k < 28 && len(t.past) > 0: // the same identity with another payload
		old := t.old()
		s = *t.event()
		s.tenant, s.ids, s.ts, s.hasTS = old.tenant, old.ids, old.ts, old.hasTS
		if old.reason != "" || !old.hasTS {
			s = *t.event()
		}
		s.value = t.body(&s)
	case k < 34:
		s = t.bad()
	default:
		s = *t.event()
		s.value = t.body(&s)
	}
	t.produce(name, part, &s)
}

// old is something sent before, likely something new.
func (t *traffic) old() *sent {
	if t.r.IntN(3) > 0 {
		return t.past[max(0, len(t.past)-1-t.r.IntN(20))]
	}
	return t.past[t.r.IntN(len(t.past))]
}

// event is a new event; its tenant is drawn by Zipf's law.
func (t *traffic) event() *sent {
	r := t.r
	t.ids++
	s := &sent{tenant: t.tenant(), hasTS: true}
	s.ids = [2]string{fmt.Sprintf("e%d", t.ids), fmt.Sprintf("k%d", t.ids/(1+r.IntN(2)))}
	now := t.w.trueTime().UnixNano()
	switch k := r.IntN(20); {
	case k < 13:
		s.ts = now - int64(delay(r, time.Millisecond, time.Minute))
	case k < 15:
		s.ts = now - int64(delay(r, time.Minute, 72*time.Hour)) // late
	case k < 17:
		s.ts = now + int64(delay(r, time.Second, 9*time.Minute)) // early
	case k < 18:
		s.ts = now + int64(delay(r, 11*time.Minute, 90*time.Minute)) // too early
	case k < 19:
		if horizon := int64(t.w.watch.table.Horizon()); horizon > now && r.IntN(2) == 0 {
			s.ts = horizon // where a placement may begin
			break
		}
		s.hasTS = false
	default:
		s.ts = now/int64(time.Hour)*int64(time.Hour) - int64(r.IntN(2)) // at a bucket's edge
	}
	if r.IntN(15) == 0 {
		s.ids = [2]string{}
	}
	return s
}

func (t *traffic) tenant() string {
	n := len(t.w.plan.tenants)
	at := int(math.Exp(t.r.Float64()*math.Log(float64(n+1)))) - 1
	return t.w.plan.tenants[min(at, n-1)]
}

// body is a payload for s; its shape changes from event to event.
func (t *traffic) body(s *sent) []byte {
	r := t.r
	var b strings.Builder
	b.WriteByte('{')
	if s.ids[0] != "" {
		fmt.Fprintf(&b, `%q:%q,%q:%q,`, firstID, s.ids[0], secondID, s.ids[1])
	}
	if s.hasTS {
		at := time.Unix(0, s.ts).UTC()
		switch r.IntN(3) {
		case 0:
			fmt.Fprintf(&b, `"timestamp":%q,`, at.Format(time.RFC3339Nano))
		default:
			fmt.Fprintf(&b, `"timestamp":%d,`, s.ts)
		}
	}
	fmt.Fprintf(&b, `"service":"s%d","status":%d,"n":%d`, r.IntN(3), 200+r.IntN(3)*100, r.IntN(1000))
	values := []string{`1`, `"x"`, `1.5`, `true`, `null`, `{"b":1}`, `[1,"2"]`, `9007199254740993`, `{}`, `""`}
	for range r.IntN(3) {
		fmt.Fprintf(&b, `,"f%d":%s`, r.IntN(6), values[r.IntN(len(values))])
	}
	b.WriteByte('}')
	return []byte(b.String())
}

// bad is a record that no event can be made of.
func (t *traffic) bad() sent {
	s := sent{tenant: t.tenant()}
	switch t.r.IntN(6) {
	case 0:
		s.value, s.reason = nil, event.ReasonEmpty
	case 1:
		s.value, s.reason = []byte(`{"cut":`), event.ReasonMalformed
	case 2:
		s.value, s.reason = []byte(`[1,2]`), event.ReasonNotAnObject
	case 3:
		s.value, s.reason = []byte(`{"timestamp":"yesterday"}`), event.ReasonBadTimestamp
	case 4:
		s = *t.event()
		s.tenant, s.reason = "a tenant/../with no name", event.ReasonBadTenant
		s.value = t.body(&s)
	case 5:
		s = *t.event()
		s.hasTS, s.ts = true, time.Date(1969, 7, 20, 0, 0, t.r.IntN(60), 0, time.UTC).UnixNano()
		s.value = []byte(fmt.Sprintf(`{"timestamp":%q}`, time.Unix(0, s.ts).UTC().Format(time.RFC3339Nano)))
		s.ids = [2]string{}
	}
	return s
}

// produce appends the record, perhaps within a transaction.
func (t *traffic) produce(name string, part int32, s *sent) {
	w := t.w
	topic := w.broker.topics[name]
	p := topic.parts[part]
	if p.txn < 0 && t.r.IntN(25) == 0 {
		t.transaction(topic, part)
		return
	}
	t.append(topic, part, s, false)
}

func (t *traffic) append(topic *topic, part int32, s *sent, aborted bool) {
	p := topic.parts[part]
	r := &record{at: t.w.trueTime().Truncate(time.Millisecond), value: s.value, aborted: aborted}
	r.headers = []kafka.Header{{Key: "X-Scope-OrgID", Value: []byte(s.tenant)}}
	p.append(r)
	if aborted {
		return
	}
	s.topic, s.part, s.offset, s.epoch, s.at = topic, part, r.offset, r.epoch, r.at
	if !s.hasTS {
		s.ts = r.at.UnixNano()
	}
	r.sent = s
	t.w.ledger.sent = append(t.w.ledger.sent, s)
	if s.hasTS || s.reason != "" {
		t.past = append(t.past, s)
	}
	t.w.Note("sent %s", s)
}

// transaction sends some records that are settled together, after a while.
func (t *traffic) transaction(topic *topic, part int32) {
	aborted := t.r.IntN(2) == 0
	p := topic.parts[part]
	p.txn = p.end
	for range 1 + t.r.IntN(3) {
		s := t.event()
		s.value = t.body(s)
		t.append(topic, part, s, aborted)
	}
	epoch := p.epoch
	t.w.After(delay(t.r, 10*time.Millisecond, 5*time.Second), func() {
		if topic.gone || p.epoch != epoch && p.txn < 0 {
			return // cut off
		}
		p.append(&record{at: t.w.trueTime().Truncate(time.Millisecond), control: true})
		p.txn = -1
	})
}
