package chaos

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/togodb/togo/internal/e2e/feed"
	"github.com/togodb/togo/internal/e2e/oracle"
)

const (
	kafkaTopic = "events" // that producers write to themselves
	httpTopic  = "http"   // that POST /v1/ingest writes to
	// unroutable owns the dead letters of records whose tenant cannot be told.
	unroutable = "_unroutable"
	// httpSerials are the serial numbers of events that went over HTTP, so that an
	// event that went both ways has two.
	httpSerials = 1 << 40
)

// traffic makes records: many tenants, few of them large; copies near and far;
// other payloads under a known identity; bad records; events that are late, and ahead.
type traffic struct {
	mu      sync.Mutex // guards all below
	rng     *rand.Rand
	tenants *rand.Zipf
	began   time.Time
	serial  int
	sent    []feed.Message // events with an id, in the order in which they were made
}

func newTraffic(seed uint64, tenants int) *traffic {
	rng := rand.New(rand.NewPCG(seed, 2))
	return &traffic{rng: rng, tenants: rand.NewZipf(rng, 1.3, 2, uint64(tenants-1)), began: time.Now()}
}

// near is how far back a near copy may lie.
const near = 20

// take makes so many records for a topic.
func (t *traffic) take(topic string, count int) []feed.Message {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([]feed.Message, count)
	for i := range out {
		out[i] = t.next(topic)
		out[i].Topic = topic
		t.serial++
		out[i].Serial = t.serial
	}
	return out
}

func (t *traffic) tenant() string { return fmt.Sprint("tenant-", t.tenants.Uint64()) }

// request makes the records of one request over HTTP, which are one tenant's: the
// others of a handful are left to come again as copies.
func (t *traffic) request() (tenant string, lines []feed.Message) {
	made := t.take(httpTopic, 40)
	tenant = made[0].Tenant
	for _, m := range made {
		if m.Tenant == tenant {
			lines = append(lines, m)
		}
	}
	return tenant, lines
}

// next makes a record.
func (t *traffic) next(topic string) feed.Message {
	switch p := t.rng.Float64(); {
	case p < 0.15 && len(t.sent) > 0:
		return t.again()
	case p < 0.18 && len(t.sent) > 0: // another payload under the same identity
		m := t.again()
		m.Value = []byte(fmt.Sprintf(`{"changed":%d,`, t.serial) + strings.TrimPrefix(string(m.Value), "{"))
		return m
	case p < 0.19:
		return t.bad(topic)
	}
	m := t.event()
	if m.Want.ID != "" {
		t.sent = append(t.sent, m)
	}
	return m
}

// again is a copy, one time in two of a recent event, at times for another partition.
func (t *traffic) again() feed.Message {
	back := t.rng.IntN(len(t.sent))
	if t.rng.IntN(2) == 0 {
		back = t.rng.IntN(min(near, len(t.sent)))
	}
	m := t.sent[len(t.sent)-1-back]
	if t.rng.IntN(5) == 0 {
		m.Key += "/elsewhere"
	}
	return m
}

// event is a fresh one; one in twenty has no id of its own.
func (t *traffic) event() feed.Message {
	tenant := t.tenant()
	n := t.serial
	id := fmt.Sprint("event-", n)
	m := feed.Message{Tenant: tenant, Key: id, Want: oracle.Key{Tenant: tenant, ID: id}}
	member := fmt.Sprintf(`"event_id":%q,`, id)
	if t.rng.IntN(20) == 0 {
		m.Want.ID, member = "", ""
	}
	m.Value = fmt.Appendf(nil, `{%s"timestamp":%q,"n":%d,"service":"s%d","status":%d,"took_ms":%.3f,"user":{"id":%d},"text":%q}`,
		member, t.eventTime().UTC().Format(time.RFC3339Nano), n, t.rng.IntN(20), 200+100*t.rng.IntN(4), t.rng.ExpFloat64()*20,
		t.rng.Uint64(), strings.Repeat("lorem ", t.rng.IntN(40)))
	return m
}

// eventTime is about now, at times weeks ago, and at times ahead: the more, the
// longer the traffic lasts, so that placements that hold from the future on are
// soon those of some events.
func (t *traffic) eventTime() time.Time {
	now := time.Now()
	switch p := t.rng.Float64(); {
	case p < 0.05:
		return now.Add(-time.Duration(t.rng.Int64N(int64(20 * 24 * time.Hour))))
	case p < 0.15:
		most := min(9*time.Minute, 2*time.Minute+5*now.Sub(t.began))
		return now.Add(time.Duration(t.rng.Int64N(int64(most))))
	}
	return now.Add(-time.Duration(t.rng.Int64N(int64(time.Minute))))
}

// bad is a record that no event can be made of. Its payload says so, too: over HTTP no
// header can.
func (t *traffic) bad(topic string) feed.Message {
	tenant := t.tenant()
	m := feed.Message{Tenant: tenant, Key: fmt.Sprint("bad-", t.serial), Bad: true, Want: oracle.Key{Tenant: tenant}}
	kinds := []string{`{"n":%d,`, `[%d]`, `{"n":%d}x`, `{"n":%d,"bad":true,"timestamp":"soon"}`, `{"n":%d,"bad":true,"timestamp":"2199-01-01T00:00:00Z"}`,
		`{"n":%d,"bad":true,"timestamp":"1969-12-31T23:59:59Z"}`, `{"n":%d,"bad":true,"event_id":{}}`}
	m.Value = fmt.Appendf(nil, kinds[t.rng.IntN(len(kinds))], t.serial)
	if topic == kafkaTopic && t.rng.IntN(5) == 0 { // the tenant is no name
		m.Tenant, m.Want.Tenant, m.Value = "a/b", unroutable, fmt.Appendf(nil, `{"n":%d,"bad":true}`, t.serial)
	}
	return m
}

var number = regexp.MustCompile(`"n":(\d+)`)

// httpSerial is what a line says of itself; 0: nothing.
func httpSerial(line []byte) int {
	found := number.FindSubmatch(line)
	if found == nil {
		return 0
	}
	n, _ := strconv.Atoi(string(found[1]))
	return httpSerials + n
}

// overHTTP is what must become of a record that came over HTTP, by its payload.
func overHTTP(h feed.Held) feed.Held {
	var e struct {
		ID  json.RawMessage `json:"event_id"`
		Bad bool            `json:"bad"`
	}
	h.Serial = httpSerial(h.Value)
	h.Want.Tenant, h.Want.ID = h.Tenant, h.Position
	if err := json.Unmarshal(h.Value, &e); err != nil || e.Bad {
		h.Bad = true
		return h
	}
	var id string
	if json.Unmarshal(e.ID, &id) == nil && id != "" {
		h.Want.ID = id
	}
	return h
}

// anyTenant is one by the same law.
func (t *traffic) anyTenant() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.tenant()
}
