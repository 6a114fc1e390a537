package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"math/rand/v2"
)

//go:embed data/*.ndjson
var files embed.FS

// message is one Kafka record that the demo sends.
type message struct {
	topic   string
	tenant  string // header X-Scope-OrgID, where the topic's mapping takes it from there
	key     string
	value   []byte
	wantID  string // as Togo should store it
	wantFor string // the tenant that should own it
	bad     bool   // no event: must end as a dead letter
}

// feed says how the records of one file are sent.
type feed struct {
	file, topic string
	tenant      string // fixed by the topic's mapping, or sent as header
	idField     string // "" : the record's key is the id
	tenantField string // "" : tenant
	copies      int    // distinct events made of each line, by its key
	header      bool   // the tenant travels as header
}

var feeds = []feed{
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
func messages(rng *rand.Rand, resend float64) ([]message, error) {
	var fresh []message
	for _, f := range feeds {
		raw, err := files.ReadFile("data/" + f.file + ".ndjson")
		if err != nil {
			return nil, err
		}
		for i, line := range bytes.Split(bytes.TrimSpace(raw), []byte("\n")) {
			for c := range max(f.copies, 1) {
				m, err := f.message(line, i, c)
				if err != nil {
					return nil, err
				}
				fresh = append(fresh, m)
			}
		}
	}
	rng.Shuffle(len(fresh), func(i, j int) { fresh[i], fresh[j] = fresh[j], fresh[i] })

	var out []message
	for i, m := range fresh {
		out = append(out, m)
		if rng.Float64() < resend {
			out = append(out, fresh[rng.IntN(i+1)])
		}
		if i%500 == 250 {
			other := fresh[rng.IntN(i+1)]
			other.value = bytes.Replace(other.value, []byte("{"), []byte(`{"changed":true,`), 1)
			out = append(out, other)
		}
		if i%1000 == 500 {
			text := bad[i/1000%len(bad)]
			out = append(out, message{topic: "logs", tenant: "security", key: fmt.Sprintf("bad-%d", i), value: []byte(text), wantFor: "security", bad: true})
		}
	}
	return out, nil
}

func (f feed) message(line []byte, number, copy int) (message, error) {
	m := message{topic: f.topic, value: line, wantFor: f.tenant}
	if f.header {
		m.tenant = f.tenant
	}
	m.key = fmt.Sprintf("%s-%d-%d", f.file, number, copy)
	m.wantID = m.key
	if f.idField == "" {
		return m, nil
	}
	var doc map[string]any
	if err := json.Unmarshal(line, &doc); err != nil {
		return m, fmt.Errorf("%s.ndjson line %d: %w", f.file, number+1, err)
	}
	m.wantID, _ = doc[f.idField].(string)
	if f.tenantField != "" {
		m.wantFor, _ = doc[f.tenantField].(string)
	}
	if m.wantID == "" || m.wantFor == "" {
		return m, fmt.Errorf("%s.ndjson line %d: no id or no tenant", f.file, number+1)
	}
	m.key = m.wantID // copies of an event go to the same partition, in order
	return m, nil
}
