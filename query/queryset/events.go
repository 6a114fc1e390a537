package queryset

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/togodb/togo/internal/event"
)

// Events makes events as services log them, with what goes wrong in such logs: fields that are absent, null or of several types, numbers at
// and beyond the edges of their types, keys with dots, names that differ in case, text of all kinds.
type Events struct {
	Tenant event.TenantID
	// Nanos: times have nanoseconds; without it they are whole microseconds.
	Nanos bool
	// Span is how far times spread from Begin; 0 is three hours.
	Span time.Duration

	r *rand.Rand
	n int
}

// NewEvents makes the same events for the same seed.
func NewEvents(tenant event.TenantID, seed uint64) *Events {
	return &Events{Tenant: tenant, r: rand.New(rand.NewPCG(seed, 77))}
}

// Next makes n more.
func (g *Events) Next(n int) []Row {
	out := make([]Row, n)
	for i := range out {
		out[i] = g.row()
	}
	return out
}

func (g *Events) pick(list ...string) string { return list[g.r.IntN(len(list))] }

// often tells true in n of 100 calls.
func (g *Events) often(n int) bool { return g.r.IntN(100) < n }

func (g *Events) row() Row {
	span := g.Span
	if span == 0 {
		span = 3 * time.Hour
	}
	at := Begin.UnixNano() + g.r.Int64N(int64(span))
	switch {
	case !g.Nanos:
		at = at / 1000 * 1000
		if g.often(20) {
			at = at / 1e9 * 1e9
		}
	case g.often(20): // several in one microsecond
		at = at/1000*1000 + int64(g.r.IntN(3))
	}
	g.n++
	id := fmt.Sprintf("e%05d", g.n)
	if g.often(2) {
		id = g.pick("ä", "😀", "%", "E", "'") + id
	}
	return Row{Tenant: g.Tenant, Timestamp: event.Timestamp(at), ID: id, Payload: g.payload()}
}

// words of messages; the odd ones are there for LIKE, for case folding and for what is counted in bytes or in characters.
var words = []string{
	"timeout", "connection", "refused", "user", "GET", "/api/v1/items", "took", "ms", "error", "Error", "ERROR", "retry", "100%", "a_b", `back\slash`, "naïve", "ΣΊΣΥΦΟΣ",
	"Straße", "日本語", "😀", "İstanbul", "cafe\u0301", "tab\there", "line\nbreak", `"quoted"`, "it's", "null", "0", "-1", "x",
}

func (g *Events) payload() string {
	var fields []string
	add := func(key, value string) { fields = append(fields, strconv.Quote(key)+":"+value) }
	text := func(key, value string) { b, _ := json.Marshal(value); add(key, string(b)) }
	if g.often(92) {
		text("service", g.pick("web", "web", "web", "api", "db", "auth", "Übersicht", "", "web-2"))
	}
	switch {
	case g.often(85):
		add("status", g.pick("200", "200", "200", "201", "204", "301", "404", "500", "503"))
	case g.often(40):
		text("status", g.pick("200", "ok", "timeout", "5xx"))
	case g.often(50):
		add("status", "null")
	}
	// A path whose first column may be any of its types.
	switch g.r.IntN(12) {
	case 0, 1, 2:
		add("duration", strconv.Itoa(g.r.IntN(500)))
	case 3, 4, 5, 6:
		add("duration", strconv.FormatFloat(g.r.ExpFloat64()*100, 'f', 1+g.r.IntN(4), 64))
	case 7:
		text("duration", g.pick("12ms", "1.5", "", "slow"))
	case 8:
		add("duration", g.pick("true", "false", "[1,2]", "1e400", "18446744073709551615"))
	}
	if g.often(80) { // as an OpenTelemetry exporter may send it: whole numbers and fractions
		add("ratio", g.pick("0", "1", "0.5", "0.25", "-0.0", "1e-7", "2", "-1.5", "3", "1e15"))
	}
	if g.often(70) {
		add("n", strconv.Itoa(g.r.IntN(40)-10))
	}
	if g.often(60) {
		add("bytes", g.pick("0", "1", "512", "1048576", "9007199254740993", "-9223372036854775808", "9223372036854775807", "4611686018427387904", strconv.Itoa(g.r.IntN(1e6))))
	}
	if g.often(60) {
		add("load", g.pick("0.1", "0.2", "0.30000000000000004", "1e308", "-1e308", "5e-324", "123456.789", strconv.FormatFloat(g.r.NormFloat64(), 'g', -1, 64)))
	}
	if g.often(50) {
		add("ok", g.pick("true", "true", "false"))
	}
	if g.often(95) {
		list := make([]string, g.r.IntN(7))
		for i := range list {
			list[i] = words[g.r.IntN(len(words))]
		}
		text("message", strings.Join(list, " "))
	}
	if g.often(70) {
		text("trace_id", fmt.Sprintf("%016x", g.r.Uint64()))
	}
	if g.often(60) {
		text("host", fmt.Sprintf("host-%02d", g.r.IntN(30)))
	}
	switch {
	case g.often(40):
		add("user", fmt.Sprintf(`{"id":%d,"name":%q}`, g.r.IntN(50), g.pick("ada", "Bob", "çelik", "dora")))
	case g.often(30):
		add("user", fmt.Sprintf(`{"id":"u%d"}`, g.r.IntN(20)))
	case g.often(20):
		text("user", g.pick("anonymous", "root"))
	}
	if g.often(40) {
		add("http.status_code", g.pick("200", "404", "500"))
		if g.often(50) {
			add("http", fmt.Sprintf(`{"method":%q,"path":"/v1/%d"}`, g.pick("GET", "POST", "get"), g.r.IntN(9)))
		}
	}
	if g.often(30) {
		add("tags", g.pick(`["a","b"]`, `[]`, `[1,2.5,null,true]`, `[{"k":"v","n":1},{"k":"w"}]`, `["ä","a b"]`, `[[1],[2,[3]]]`))
	}
	if g.often(25) {
		text("doc", g.pick(`{"a":1,"b":{"c":"x"}}`, `{"a":"1","l":[10,20,30]}`, `[1,2]`, `not json`, `{"a":null}`, `"text"`, `{"a":1.50,"b":{"c":true}}`, ``))
	}
	if g.often(30) {
		text("when", g.pick("2025-07-01T00:00:00Z", "2025-06-30 23:59:59.123456", "2024-02-29", "2025-07-01T02:00:00+02:00"))
	}
	if g.often(30) {
		text("num", g.pick("1", "-20", "3.5", " 7 ", "1e3", "0"))
	}
	if g.often(1) {
		text("rare", g.pick("needle", "pin"))
	}
	if g.often(20) {
		add("Level", g.pick(`"INFO"`, `"WARN"`, `"info"`))
	}
	if g.often(20) {
		add("level", g.pick(`"debug"`, "3"))
	}
	if g.often(3) {
		add("id", g.pick("1", `"own"`))
	}
	if g.often(3) {
		add("empty", g.pick("{}", "null", `{"x":{}}`))
	}
	g.r.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	return "{" + strings.Join(fields, ",") + "}"
}

// Letters makes n dead letters.
func (g *Events) Letters(n int) []Row {
	out := g.Next(n)
	for i := range out {
		out[i].ID = fmt.Sprintf("@c/%032x/0/0/%d/0/dead", 1, g.n+i)
		out[i].Reason = []event.Reason{event.ReasonMalformed, event.ReasonTooOld, event.ReasonBadID}[g.r.IntN(3)]
		out[i].Detail = g.pick("byte 7", "", "no ä")
		if out[i].Reason == event.ReasonMalformed {
			out[i].Payload = g.pick("{", "\xff\x00\xfe", "plain text", "[1]", "ä")
		}
	}
	return out
}
