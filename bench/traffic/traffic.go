// Package traffic makes the events of the benchmarks: web-like JSON of 566 bytes and
// 25 attributes, or wide ones whose attributes are some of several hundred.
//
// Payloads are made from a pool of templates by copying and by patching id and time,
// so that making them costs little beside what is measured, and that
// values still differ as real ones do.
package traffic

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"
)

// EventBytes is the size of a plain event.
const EventBytes = 566

// Start is the time of the first event, in the second half of an hour.
var Start = time.Date(2026, 3, 1, 12, 30, 0, 0, time.UTC)

// Source makes events, the same ones for the same settings.
type Source struct {
	rng       *rand.Rand
	templates []template
	made      uint64
	scratch   []byte
	// recent are ids of events to be sent again.
	recent [1024]Event
	every  uint64 // one of so many is a repeat
}

// template is a payload with room for an id and a time.
type template struct {
	body     []byte
	id, time int // where they stand
}

// Event is one event.
type Event struct {
	Tenant  int
	Time    time.Time
	ID      []byte
	Payload []byte
	Repeat  bool // of an earlier one, byte for byte
}

const (
	idDigits = 32
	timeForm = "2006-01-02T15:04:05.000000Z"
)

// templates in the pool: more than a dictionary page holds of most columns
const poolSize = 5000

// Plain makes events of EventBytes; one of every repeatEvery (0: none) is an exact
// repeat of a recent one.
func Plain(seed uint64, repeatEvery int) *Source {
	s := &Source{rng: rand.New(rand.NewPCG(seed, 0)), every: uint64(repeatEvery)}
	for i := range poolSize {
		s.add(plain(s.rng, i))
	}
	return s
}

// Wide makes events of some attributes (used) out of columns.
func Wide(seed uint64, columns, used int) *Source {
	s := &Source{rng: rand.New(rand.NewPCG(seed, 0))}
	for range poolSize {
		s.add(wide(s.rng, columns, used))
	}
	return s
}

// head is the start of every payload; add relies on it.
const head = `{"timestamp":"` + timeForm + `","event_id":"00000000000000000000000000000000",`

func (s *Source) add(rest string) {
	s.templates = append(s.templates, template{
		body: []byte(head + rest), time: len(`{"timestamp":"`), id: len(`{"timestamp":"` + timeForm + `","event_id":"`),
	})
}

// Next is the next event of one of so many tenants, at a time, its payload
// appended to room (which may be nil).
func (s *Source) Next(tenants int, at time.Time, room []byte) Event {
	s.made++
	if s.every > 0 && s.made%s.every == 0 && s.made > s.every {
		e := s.recent[s.rng.IntN(len(s.recent))]
		e.Repeat = e.Payload != nil
		if e.Repeat {
			return e
		}
	}
	t := &s.templates[s.rng.IntN(len(s.templates))]
	body := append(room, t.body...)
	s.scratch = at.AppendFormat(s.scratch[:0], timeForm)
	copy(body[t.time:], s.scratch)
	id := body[t.id : t.id+idDigits]
	putHex(id[:16], s.made*0x9e3779b97f4a7c15)
	putHex(id[16:], s.rng.Uint64())
	e := Event{Tenant: s.rng.IntN(tenants), Time: at, ID: id, Payload: body}
	slots := uint64(len(s.recent))
	switch {
	case s.every == 0:
	case s.made <= slots:
		s.recent[s.made-1] = e
	case s.made%7 == 0:
		s.recent[s.rng.Uint64N(slots)] = e
	}
	return e
}

func putHex(to []byte, v uint64) {
	const digits = "0123456789abcdef"
	for i := range to {
		to[i] = digits[v>>(60-4*i)&15]
	}
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func plain(r *rand.Rand, i int) string {
	s := fmt.Sprintf(`"service":"%s","status":%d,"level":"%s","host":"host-%03d","region":"eu-west-%d","env":"prod","version":"1.%d.%d",`+
		`"http":{"method":"%s","path":"/api/v1/items/%d","route":"/api/v1/items/:id","bytes":%d,"duration_ms":%.3f},"user":{"id":%d,"plan":"%s","country":"%s"},"trace_id":"%016x%016x","span_id":"%016x",`+
		`"cached":%t,"retries":%d,"queue":"q%d","pod":"web-%x-%d","message":"request %d finished`,
		pick(r, "checkout", "cart", "frontend", "payment", "search", "shipping", "email", "ads"), pick(r, 200, 200, 200, 201, 404, 500),
		pick(r, "info", "info", "warn", "error"), r.IntN(200), 1+r.IntN(3), r.IntN(4), r.IntN(9),
		pick(r, "GET", "POST", "PUT"), r.IntN(1e6), r.IntN(1e5), r.Float64()*100, r.IntN(1e6),
		pick(r, "free", "pro", "team"), pick(r, "DE", "FR", "US", "JP", "BR"), r.Uint64(), r.Uint64(), r.Uint64(),
		r.IntN(2) == 0, r.IntN(3), r.IntN(16), r.IntN(4096), r.IntN(9), i)
	const filling = " in time for the user, and nobody had to wait for what came after it"
	return s + filling[:min(max(EventBytes-len(head)-len(s)-len(`"}`), 0), len(filling))] + `"}`
}

func wide(r *rand.Rand, columns, used int) string {
	var b []byte
	for n, c := range r.Perm(columns)[:used] {
		if n > 0 {
			b = append(b, ',')
		}
		b = append(b, `"attribute_`...)
		b = strconv.AppendInt(b, int64(c), 10)
		b = append(b, `":`...)
		switch c % 4 {
		case 0:
			b = strconv.AppendInt(b, r.Int64N(1e6), 10)
		case 1:
			b = strconv.AppendFloat(b, r.Float64()*1000, 'f', 3, 64)
		case 2:
			b = fmt.Appendf(b, `"value-%d"`, r.IntN(50))
		default:
			b = fmt.Appendf(b, `"%016x"`, r.Uint64())
		}
	}
	return string(append(b, '}'))
}
