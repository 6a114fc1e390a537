package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"github.com/togodb/togo/internal/e2e/feed"
	"github.com/togodb/togo/internal/e2e/oracle"
)

//go:embed data/*.ndjson
var files embed.FS

// source says how the records of one file are sent.
type source struct {
	file, topic string
	tenant      string // fixed by the topic's mapping, or sent as header
	idField     string // "" : the record's key is the id
	tenantField string // "" : tenant
	copies      int    // distinct events made of each line, by its key
	header      bool   // the tenant travels as header
}

var sources = []source{
	{file: "web", topic: "web", tenant: "shop", idField: "uuid"},
	{file: "github", topic: "github", tenant: "github", idField: "id"},
	{file: "cloudtrail_es", topic: "cloudtrail", tenantField: "recipientAccountId", idField: "eventID"},
	{file: "k8s_audit", topic: "audit", tenant: "platform", idField: "auditID"},
	{file: "posthog", topic: "analytics", tenant: "product", idField: "uuid"},
	{file: "suricata", topic: "logs", tenant: "security", copies: 20, header: true},
	{file: "zeek", topic: "logs", tenant: "network", copies: 20, header: true},
	{file: "nginx", topic: "logs", tenant: "edge", copies: 20, header: true},
}

// bad records: kinds of input that no event can be made of.
var bad = []string{
	`{"timestamp":"2017-01-30T16:12:27.008466+0100","flow_id":18004625`, // cut off
	`{"timestamp":""2017-01-30T16:12:27.008466+0100"","event_type":"dns"}`,
	`{"timestamp":"yesterday","event_type":"dns"}`,
	`{"timestamp":"2117-01-30T16:12:27Z","event_type":"dns"}`,
	`{"timestamp":"1900-01-01T00:00:00Z","event_type":"dns"}`,
	"\xff\xfe{\"a\":1}",
	`[1,2,3]`,
	`"text"`,
	`{"a":NaN}`,
	`   `,
	`null`,
}

// messages returns everything the demo sends, in order: the events, a share of
// them again (exact copies, near and far), some with another payload, and bad
// records in between.
func messages(rng *rand.Rand, resend float64) ([]feed.Message, error) {
	var fresh []feed.Message
	for _, s := range sources {
		raw, err := files.ReadFile("data/" + s.file + ".ndjson")
		if err != nil {
			return nil, err
		}
		for i, line := range bytes.Split(bytes.TrimSpace(raw), []byte("\n")) {
			for c := range max(s.copies, 1) {
				m, err := s.message(line, i, c)
				if err != nil {
					return nil, err
				}
				fresh = append(fresh, m)
			}
		}
	}
	return feed.Mix(rng, fresh, feed.Plan{
		Copies: resend, ConflictEvery: 500, BadEvery: 1000,
		Bad: func(n int) feed.Message {
			const tenant = "security"
			return feed.Message{
				Topic: "logs", Tenant: tenant, Key: fmt.Sprintf("bad-%d", n), Value: []byte(bad[n%len(bad)]),
				Want: oracle.Key{Tenant: tenant}, Bad: true,
			}
		},
	}), nil
}

func (s source) message(line []byte, number, copy int) (feed.Message, error) {
	id := fmt.Sprintf("%s-%d-%d", s.file, number, copy)
	m := feed.Message{Topic: s.topic, Key: id, Value: line, Want: oracle.Key{Tenant: s.tenant, ID: id}}
	if s.header {
		m.Tenant = s.tenant
	}
	if s.idField == "" {
		return m, nil
	}
	var doc map[string]any
	if err := json.Unmarshal(line, &doc); err != nil {
		return m, fmt.Errorf("%s.ndjson line %d: %w", s.file, number+1, err)
	}
	m.Want.ID, _ = doc[s.idField].(string)
	if s.tenantField != "" {
		m.Want.Tenant, _ = doc[s.tenantField].(string)
	}
	if m.Want.ID == "" || m.Want.Tenant == "" {
		return m, fmt.Errorf("%s.ndjson line %d: no id or no tenant", s.file, number+1)
	}
	m.Key = m.Want.ID // copies of an event go to the same partition, in order
	return m, nil
}
