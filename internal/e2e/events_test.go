package e2e

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/togodb/togo/internal/e2e/feed"
	"github.com/togodb/togo/internal/e2e/oracle"
)

// topics is the configuration of the intake topics that messages go to.
const topics = `
intake:
  http_topic: events
  topics:
    - {cluster: main, name: events, partitions: 4}
    - cluster: main
      name: orders
      partitions: 3
      mapping:
        format: json
        tenant: [{field: shop.name}]
        timestamp: [{field: at, unit: ms}]
        id: [{field: number}]
`

var intakeTopics = []string{"events", "orders"}

// unroutable owns the dead letters of records whose tenant cannot be told.
const unroutable = "_unroutable"

// tenants of the topic events: names at the edges of what is allowed, a large
// one and small ones. The empty one sends no header.
var tenants = []struct {
	name  string
	share int
}{
	{"acme", 50}, {"beta-2.eu", 20}, {"Acme", 5}, {"o'neil_(x)*!", 5}, {strings.Repeat("long-", 30), 3}, {"7", 2}, {"", 5},
}

// oddities are members of a payload that are easily lost on the way through a
// column store.
var oddities = []string{
	`"big":18446744073709551615`,
	`"big":-9223372036854775809`,
	`"big":123456789012345678901234567890.5`,
	`"tiny":4.9e-324`,
	`"precise":0.1000000000000000055511151231257827`,
	`"exp":1E+2,"neg0":-0`,
	`"n":null,"e":{},"l":[],"ll":[[],{}]`,
	`"":"empty name"`,
	`"a.b":1,"a":{"b":2}`,
	`"http.status":200`,
	`"list":[1,"two",{"three":[3.0]}]`,
	`"uni\u0000code":"\u20ac \ud83d\ude00 \u0000"`,
	`"UPPER":1,"upper":2,"Upper":3`,
	`"mixed":"text"`,
	`"mixed":1`,
	`"mixed":1.5`,
	`"mixed":true`,
	`"_id":"mine","_rest":{"a":1},"_seq":5,"timestamp_":1`,
	`"id":"own","source_offset":"own","ingested_at":3`,
	`"deep":{"a":{"b":{"c":{"d":{"e":[{"f":{}}]}}}}}`,
}

// bad records, for the topic events.
var bad = []string{
	``, ` `, `null`, `[1]`, `"text"`, `{`, `{"a":1}x`, `{"a":01}`, "{\"a\":\"\xff\"}",
	`{"event_id":{"a":1}}`, `{"event_id":true}`, `{"timestamp":"soon"}`, `{"timestamp":"2199-01-01T00:00:00Z"}`,
	`{"timestamp":"1969-12-31T23:59:59Z"}`, `{"timestamp":9223372036854775807}`,
	`{"deep":` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `}`,
}

// messages makes so many distinct events and what Plan adds, in the order of sending.
func messages(rng *rand.Rand, distinct int) []feed.Message {
	fresh := make([]feed.Message, 0, distinct)
	for n := range distinct {
		if n%8 == 0 {
			fresh = append(fresh, order(rng, n))
		} else {
			fresh = append(fresh, plain(rng, n))
		}
	}
	out := feed.Mix(rng, fresh, feed.Plan{Copies: 0.1, Elsewhere: 0.2, ConflictEvery: 300, BadEvery: 200, Bad: badMessage})
	for i := range out {
		out[i].Serial = i
	}
	return out
}

func badMessage(n int) feed.Message {
	m := feed.Message{Topic: "events", Key: fmt.Sprint("bad", n), Bad: true}
	switch n % 3 {
	case 0: // the tenant is no name
		m.Tenant, m.Want.Tenant, m.Value = "a/b", unroutable, []byte(`{"event_id":"1"}`)
	default:
		m.Tenant, m.Want.Tenant, m.Value = "acme", "acme", []byte(bad[n/3*2%len(bad)+n%3-1])
	}
	return m
}

// plain is an event of the topic with the default mapping; one in ten has no id.
func plain(rng *rand.Rand, n int) feed.Message {
	tenant := pick(rng)
	m := feed.Message{Topic: "events", Tenant: tenant, Key: fmt.Sprint("k", n)}
	m.Want.Tenant = tenant
	if tenant == "" {
		m.Want.Tenant = "anonymous"
	}
	members := []string{fmt.Sprintf(`"timestamp":%q`, eventTime(rng).Format(time.RFC3339Nano)), fmt.Sprintf(`"n":%d`, n), oddities[rng.IntN(len(oddities))]}
	switch rng.IntN(10) {
	case 0:
		m.Key = ""
	case 1: // looks like an id made of a position, and must not become one
		id := fmt.Sprintf("@togo-embedded/0/%d", n)
		members, m.Want.ID = append(members, fmt.Sprintf(`"event_id":%q`, id)), "@"+id
	case 2: // a number is an id by its digits
		m.Want.ID = fmt.Sprintf("%d.50", n)
		members = append(members, `"event_id":`+m.Want.ID)
	case 3:
		m.Want.ID = fmt.Sprintf("ünï/%d \"quoted\"\n", n)
		members = append(members, fmt.Sprintf(`"event_id":"ünï/%d \"quoted\"\u000a"`, n))
	default:
		m.Want.ID = fmt.Sprint("event-", n)
		members = append(members, fmt.Sprintf(`"event_id":%q`, m.Want.ID))
	}
	rng.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	m.Value = []byte("{" + strings.Join(members, ",") + "}")
	return m
}

// order is an event of the topic with a mapping of its own.
func order(rng *rand.Rand, n int) feed.Message {
	shop := fmt.Sprint("shop", n%3)
	id := fmt.Sprintf("900719925474099%d", 10000+n) // beyond what a float holds
	return feed.Message{
		Topic: "orders", Key: id, Want: oracle.Key{Tenant: shop, ID: id},
		Value: fmt.Appendf(nil, `{"shop":{"name":%q,"till":%d},"at":%d,"number":%s,"total":%d.10}`, shop, n%7, eventTime(rng).UnixMilli(), id, n),
	}
}

func pick(rng *rand.Rand) string {
	sum := 0
	for _, t := range tenants {
		sum += t.share
	}
	at := rng.IntN(sum)
	for _, t := range tenants {
		if at -= t.share; at < 0 {
			return t.name
		}
	}
	panic("bug: the shares do not add up")
}

// eventTime is mostly of one day, sometimes of years ago.
func eventTime(rng *rand.Rand) time.Time {
	day := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	if rng.IntN(50) == 0 {
		day = day.AddDate(-rng.IntN(20), 0, 0)
	}
	return day.Add(time.Duration(rng.Int64N(int64(90 * time.Minute))))
}
