package load

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

const (
	idDigits = 32
	timeForm = "2006-01-02T15:04:05.000000Z"
	// usualKeys is how many attributes every event has, time and id among them; a test counts them.
	usualKeys = 24
)

// template is a payload with places that differ in each event.
type template struct {
	body           []byte
	id, time       int
	trace, span    int
	user, duration int
	bytes, number  int
}

// Marks stand for the places while a template is made; none of them occurs elsewhere.
const (
	markTime     = "\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01"
	markID       = "\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02"
	markTrace    = "\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03"
	markSpan     = "\x04\x04\x04\x04\x04\x04\x04\x04\x04\x04\x04\x04\x04\x04\x04\x04"
	markUser     = "\x05\x05\x05\x05\x05\x05"
	markDuration = "\x06\x06\x06"
	markBytes    = "\x07\x07\x07\x07\x07"
	markNumber   = "\x08\x08\x08\x08\x08\x08\x08"
)

var (
	services  = []string{"frontend", "api-gateway", "checkout", "cart", "search", "payment", "catalog", "auth", "shipping", "email", "ads", "inventory"}
	routes    = []string{"/api/v1/items/:id", "/api/v1/cart", "/api/v1/checkout", "/api/v2/search", "/login", "/api/v1/users/:id", "/health"}
	countries = []string{"DE", "US", "FR", "JP", "BR", "IN", "GB", "PL", "SE", "KE"}
	levels    = []string{"info", "info", "info", "info", "warn", "error"}
	statuses  = []int{200, 200, 200, 200, 200, 201, 204, 302, 404, 500, 503}
	methods   = []string{"GET", "GET", "GET", "POST", "PUT"}
	plans     = []string{"free", "free", "pro", "team"}
)

func pick[T any](r *rand.Rand, of []T) T { return of[r.IntN(len(of))] }

// skewed picks low indexes more often.
func skewed(r *rand.Rand, n int) int {
	u := r.Float64()
	return int(u * u * float64(n))
}

func newTemplate(r *rand.Rand, shape Shape) template {
	route := pick(r, routes)
	level, outcome := pick(r, levels), "finished"
	switch r.IntN(200) {
	case 0:
		level, outcome = "fatal", "failed: overload"
	case 1, 2:
		level, outcome = "error", "failed: timeout"
	}
	var b strings.Builder
	b.WriteString(`{"timestamp":"` + markTime + `","event_id":"` + markID + `",`)
	fmt.Fprintf(&b, `"service":"%s","level":"%s","status":%d,"host":"host-%03d","region":"eu-west-%d","env":"prod","version":"1.%d.%d",`,
		services[skewed(r, len(services))], level, pick(r, statuses), skewed(r, 200), 1+r.IntN(3), r.IntN(4), r.IntN(9))
	fmt.Fprintf(&b, `"http":{"method":"%s","path":"%s","route":"%s","bytes":%s,"duration_ms":%s.%03d},`,
		pick(r, methods), strings.ReplaceAll(route, ":id", strconv.Itoa(skewed(r, 100_000))), route, markBytes, markDuration, r.IntN(1000))
	fmt.Fprintf(&b, `"user":{"id":%s,"plan":"%s","country":"%s"},"trace_id":"%s","span_id":"%s",`,
		markUser, pick(r, plans), countries[skewed(r, len(countries))], markTrace, markSpan)
	fmt.Fprintf(&b, `"cached":%t,"retries":%d,"queue":"q%d","pod":"web-%x-%d","message":"request %s %s`,
		r.IntN(2) == 0, r.IntN(3), r.IntN(16), r.IntN(4096), r.IntN(9), markNumber, outcome)
	extra := extraAttributes(r, shape)
	const filling = " in time for the user, and nobody had to wait for what came after it;"
	for room := shape.Bytes - b.Len() - len(extra) - len(`"}`); room > 0; room -= len(filling) {
		b.WriteString(filling[:min(room, len(filling))])
	}
	return compile(b.String() + `"` + extra + `}`)
}

// extraAttributes are some of extra_keys, of all types; one key always has the same type.
func extraAttributes(r *rand.Rand, shape Shape) string {
	if shape.ExtraEach == 0 {
		return ""
	}
	var b []byte
	for _, c := range r.Perm(shape.ExtraKeys)[:shape.ExtraEach] {
		b = fmt.Appendf(b, `,"attribute_%d":`, c)
		switch c % 5 {
		case 0:
			b = strconv.AppendInt(b, r.Int64N(1e6), 10)
		case 1:
			b = strconv.AppendFloat(b, float64(r.IntN(1e6))/1000, 'f', 3, 64)
		case 2:
			b = fmt.Appendf(b, `"value-%d"`, skewed(r, 50))
		case 3:
			b = strconv.AppendBool(b, r.IntN(2) == 0)
		default:
			b = fmt.Appendf(b, `"%016x"`, r.Uint64())
		}
	}
	return string(b)
}

func compile(text string) template {
	place := func(mark string) int { return strings.Index(text, mark) }
	return template{
		body: []byte(text), time: place(markTime), id: place(markID), trace: place(markTrace), span: place(markSpan),
		user: place(markUser), duration: place(markDuration), bytes: place(markBytes), number: place(markNumber),
	}
}

// fill writes what is the n-th event's own. A trace has some events, and so has a user.
func (t *template) fill(b []byte, r *source, n uint64, at int64) {
	putTime(b[t.time:t.time+len(timeForm)], at)
	putHex(b[t.id:t.id+16], r.next())
	putHex(b[t.id+16:t.id+32], mix(n+1)) // n stands in it: no two are the same
	trace := source(n / 8)
	putHex(b[t.trace:t.trace+16], trace.next())
	putHex(b[t.trace+16:t.trace+32], trace.next())
	x := r.next()
	putHex(b[t.span:t.span+16], x)
	u := unit(r.next())
	putDigits(b[t.user:t.user+len(markUser)], 100_000+uint64(u*u*900_000))
	putDigits(b[t.duration:t.duration+3], 100+x%900)
	putDigits(b[t.bytes:t.bytes+len(markBytes)], 10_000+x>>32%90_000)
	putDigits(b[t.number:t.number+len(markNumber)], 1_000_000+x>>20%9_000_000)
}

func putHex(to []byte, v uint64) {
	const digits = "0123456789abcdef"
	for i := range to {
		to[i] = digits[v>>60]
		v <<= 4
	}
}

func putDigits(to []byte, v uint64) {
	for i := len(to) - 1; i >= 0; i-- {
		to[i] = byte('0' + v%10)
		v /= 10
	}
}

// putTime writes nanoseconds since 1970 as timeForm.
func putTime(to []byte, at int64) {
	t := time.Unix(0, at).UTC()
	year, month, day := t.Date()
	putDigits(to[0:4], uint64(year))
	to[4], to[7], to[10], to[13], to[16], to[19], to[26] = '-', '-', 'T', ':', ':', '.', 'Z'
	putDigits(to[5:7], uint64(month))
	putDigits(to[8:10], uint64(day))
	putDigits(to[11:13], uint64(t.Hour()))
	putDigits(to[14:16], uint64(t.Minute()))
	putDigits(to[17:19], uint64(t.Second()))
	putDigits(to[20:26], uint64(t.Nanosecond()/1000))
}
