package e2e

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/internal/e2e/oracle"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/inspect"
	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/internal/kafka/kafkatest"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/placements"
	"github.com/togodb/togo/router"
	"github.com/togodb/togo/writer"
)

// path is the whole way of an event inside this process, from the bytes in an
// intake topic to what an operator reads out of the store.
type path struct {
	t      *testing.T
	kafka  *kafkatest.Cluster
	client *kafka.Client
	store  objstore.Store
	meta   objstore.Meta
	keeper *placements.Keeper
	sent   int64 // records in the intake
	again  int64 // of them, those that a router reads again
}

const (
	pathTopic  = "events"
	pathShards = 2
	// pathLimit is above the poison of 10 MB.
	pathLimit = 24 << 20
)

func newPath(t *testing.T, m event.Mapping) *path {
	t.Helper()
	return newPathAt(t, m, time.Now)
}

// newPathAt is a path whose store and placements have a clock of their own.
func newPathAt(t *testing.T, m event.Mapping, clock func() time.Time) *path {
	t.Helper()
	store := objstore.NewMemory()
	store.Now = clock
	p := &path{t: t, kafka: kafkatest.New(t), store: store}
	p.kafka.Topic(pathTopic, 1, map[string]string{"max.message.bytes": fmt.Sprint(pathLimit)})
	p.kafka.Topic("shards", pathShards, router.ShardTopicConfigs(pathLimit, false))
	p.client = p.kafka.Client()
	var err error
	p.meta, err = objstore.OpenMeta(t.Context(), p.store, objstore.MetaDefaults{})
	p.must(err)
	p.keeper, err = placements.NewKeeper(placements.Config{Store: p.store, Hasher: event.NewHasher(event.Seed(p.meta.Seed)), Logger: kafkatest.Quiet(), Now: clock})
	p.must(err)
	g := placements.NewGenesis(pathShards)
	_, err = p.keeper.Init(t.Context(), g)
	p.must(err)
	_, err = p.keeper.Propose(t.Context(), placements.SetMapping(pathTopic, m, nil))
	p.must(err)
	return p
}

func (p *path) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// send puts values into the intake as a tenant's.
func (p *path) send(tenant string, at time.Time, values ...[]byte) {
	p.t.Helper()
	var records []*kafka.Record
	for _, v := range values {
		r := &kafka.Record{Topic: pathTopic, Value: v, Timestamp: at}
		r.Headers = append(r.Headers, kafka.Header{Key: "X-Scope-OrgID", Value: []byte(tenant)})
		records = append(records, r)
	}
	p.kafka.Produce(records...)
	p.sent += int64(len(values))
}

// run routes and stores everything, and stops in good order.
func (p *path) run() *inspect.View {
	p.t.Helper()
	ctx, stop := context.WithCancel(p.t.Context())
	defer stop()
	rc := router.DefaultConfig()
	rc.CommitEvery = 50 * time.Millisecond
	r, err := router.New(rc, router.Deps{
		Intake: p.client, Topics: []string{pathTopic}, Shards: p.client, ShardTopic: "shards", Placements: p.keeper,
		Hasher: event.NewHasher(event.Seed(p.meta.Seed)),
		Limits: event.Limits{MinTime: event.Timestamp(p.meta.MinTime.UnixNano()), MaxFuture: p.meta.MaxFuture},
		Log:    kafkatest.Quiet(), Read: kafka.ReaderConfig{MaxWait: 50 * time.Millisecond},
	})
	p.must(err)
	wc := writer.DefaultConfig()
	wc.FlushAge, wc.SmallTenantAge = 100*time.Millisecond, 200*time.Millisecond
	w, err := writer.New(wc, writer.Deps{Store: p.store, Meta: p.meta, Kafka: p.client, Topic: "shards", Placements: p.keeper, Owner: "test", Logger: kafkatest.Quiet()})
	p.must(err)
	done := make(chan error, 2)
	go func() { done <- r.Run(ctx) }()
	go func() { done <- w.Run(ctx) }()
	deadline, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	p.kafka.AwaitCommit(deadline, rc.Group, pathTopic, 0, p.sent)
	for {
		v, err := inspect.Open(p.t.Context(), p.store, kafkatest.Quiet())
		p.must(err)
		if t := v.Totals(); t.Events >= p.sent+p.again {
			stop()
			p.must(<-done)
			p.must(<-done)
			break
		}
		select {
		case <-deadline.Done():
			p.t.Fatalf("%d of %d events are in a commit: %+v", v.Totals().Events, p.sent+p.again, w.Status())
		case <-time.After(20 * time.Millisecond):
		}
	}
	v, err := inspect.Open(p.t.Context(), p.store, kafkatest.Quiet())
	p.must(err)
	report, err := v.Verify(p.t.Context(), nil, "not asked")
	p.must(err)
	if report.Failed() > 0 {
		var b bytes.Buffer
		p.must(report.Write(&b))
		p.t.Errorf("verify:\n%s", &b)
	}
	return v
}

// reread has the next router read all of the intake once more.
func (p *path) reread() {
	p.t.Helper()
	p.must(p.client.CommitGroup(p.t.Context(), router.DefaultConfig().Group, pathTopic, map[int32]int64{0: 0}, ""))
	p.again += p.sent
}

// found is what became of an intake offset.
type found struct {
	at      event.Timestamp
	id      string
	payload string
	reason  event.Reason // of a letter
}

// all reads everything back, by intake offset; an offset that is there twice fails.
func (p *path) all(v *inspect.View) map[int64]found {
	p.t.Helper()
	out := map[int64]found{}
	add := func(offset int64, f found) {
		if was, twice := out[offset]; twice {
			p.t.Errorf("offset %d is there twice: %.100v and %.100v", offset, was, f)
		}
		out[offset] = f
	}
	span := inspect.Always
	for _, tenant := range v.Tenants() {
		for e, err := range v.Events(p.t.Context(), tenant, span) {
			p.must(err)
			payload, err := e.AppendJSON(nil)
			p.must(err)
			add(e.SourceOffset, found{e.Timestamp, string(e.ID), string(payload), ""})
		}
		for l, err := range v.Letters(p.t.Context(), tenant, span) {
			p.must(err)
			add(l.SourceOffset, found{l.Timestamp, string(l.ID), string(l.Payload), l.Reason})
		}
	}
	return out
}

func byHeader() []event.Rule { return []event.Rule{{Header: "X-Scope-OrgID"}} }

// TestValuesComeBack sends real and odd documents as one tenant's events, so that fields have
// every type, and wants each back with equal values: numbers by all their digits. TOGO_TEST_DATA names
// a folder with more.
func TestValuesComeBack(t *testing.T) {
	p := newPath(t, event.Mapping{Format: event.JSON, Tenant: byHeader()})
	var docs [][]byte
	for _, d := range oddDocuments {
		docs = append(docs, []byte(d))
	}
	for _, file := range documentFiles(t) {
		docs = append(docs, lines(t, file)...)
	}
	for len(docs) > int(p.sent) {
		p.send("acme", time.Now(), docs[p.sent:min(len(docs), int(p.sent)+500)]...)
	}
	rows := p.all(p.run())
	t.Logf("%d documents", len(docs))
	if len(rows) != len(docs) {
		t.Errorf("%d rows of %d documents", len(rows), len(docs))
	}
	dead := 0
	for i, doc := range docs {
		got := rows[int64(i)]
		want, err := oracle.Canonical(doc)
		if got.reason != "" {
			dead++
			if got.payload != string(doc) || err == nil && bytes.HasPrefix(bytes.TrimSpace(doc), []byte("{")) {
				t.Errorf("document %d is dead (%s): %.200q, letter %.200q", i, got.reason, doc, got.payload)
			}
			continue
		}
		if err != nil {
			t.Errorf("document %d is no JSON to others (%v), and was stored: %.200q", i, err, doc)
			continue
		}
		if back, err := oracle.Canonical([]byte(got.payload)); err != nil || back != want {
			t.Errorf("document %d came back otherwise (%v):\n%.300s\n%.300s", i, err, doc, got.payload)
		}
	}
	t.Logf("%d of them dead", dead)
}

// oddDocuments: numbers, shapes and text that stores of columns get wrong, all in fields of the same names.
var oddDocuments = []string{
	`{"f":1}`, `{"f":"x"}`, `{"f":1.5}`, `{"f":true}`, `{"f":null}`, `{"f":{"b":1}}`, `{"f":[1,"2"]}`,
	`{"f":9007199254740993}`, `{"f":18446744073709551615}`, `{"f":-9223372036854775808}`, `{"f":1e400}`, `{"f":0.1}`,
	`{"f":-0}`, `{"f":-0.0}`, `{"f":123456789012345678901234567890.123456789}`, `{"f":1E-400}`,
	`{"f":{}}`, `{"f":[]}`, `{"f":[{}]}`, `{"f":[null]}`, `{"f":[{"b":1}]}`, `{}`,
	`{"f":` + strings.Repeat(`{"b":`, 200) + `1` + strings.Repeat(`}`, 200) + `}`,
	`{"f":` + strings.Repeat(`[`, 200) + strings.Repeat(`]`, 200) + `}`,
	`{"lone":"\ud800x"}`, `{"\ud800":"lone key"}`, `{"nul":"a\u0000b","\u0000":1}`, `{"rtl":"\u202eabc\u200f"}`,
	`{"😀.🐕":"🐕"}`, `{"e\u0301":1,"\u00e9":2}`, `{"":""}`, `{".":1,"..":2,"a.":3,".a":4}`,
	`{"f.b":1,"f":{"b":2}}`, `{"F":1,"f":2}`, `{"timestamp":"mine","id":1,"_rest":{},"_raw":"x","_seq":"s","nanos":-1}`,
	"{\"tab\":\"\u007f\u2028\ufeff\"}",
}

func documentFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../fragment/testdata/*.ndjson")
	if err != nil || len(files) == 0 {
		t.Fatalf("no documents: %v", err)
	}
	if more := os.Getenv("TOGO_TEST_DATA"); more != "" {
		for _, pattern := range []string{"*/*.ndjson", "*/*.ndjson.gz"} {
			found, err := filepath.Glob(filepath.Join(more, pattern))
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, found...)
		}
	}
	return files
}

// lines are a file's documents; what is no object is put into one.
func lines(t *testing.T, file string) (out [][]byte) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var in io.Reader = f
	if strings.HasSuffix(file, ".gz") {
		if in, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	s := bufio.NewScanner(in)
	s.Buffer(nil, 8<<20)
	for s.Scan() {
		line := bytes.Clone(s.Bytes())
		if trimmed := bytes.TrimSpace(line); len(trimmed) > 0 && trimmed[0] != '{' {
			line = fmt.Appendf(nil, `{"v":%s}`, line)
		}
		out = append(out, line)
	}
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	return out
}

// TestFault_timestamps: each way to write a time has one meaning, on the whole
// way to the file; what has none is a letter, never a lost row.
func TestFault_timestamps(t *testing.T) {
	sent := time.Date(2026, 3, 1, 12, 0, 0, 123_456_789, time.UTC).Truncate(time.Millisecond)
	// The broker takes timestamps as they come; the horizon must lie above.
	ns := func(s string) int64 {
		at, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		return at.UnixNano()
	}
	const (
		past   = string(event.ReasonTooFarInPast)
		future = string(event.ReasonTooFarInFuture)
		bad    = string(event.ReasonBadTimestamp)
	)
	cases := []struct {
		value string // of the field; empty: missing
		want  int64
		dead  string
	}{
		{`1767225600`, ns("2026-01-01T00:00:00Z"), ""},
		{`1767225600123`, ns("2026-01-01T00:00:00.123Z"), ""},
		{`1767225600123456`, ns("2026-01-01T00:00:00.123456Z"), ""},
		{`1767225600123456789`, ns("2026-01-01T00:00:00.123456789Z"), ""},
		{`"1767225600"`, ns("2026-01-01T00:00:00Z"), ""},
		{`"1767225600123"`, ns("2026-01-01T00:00:00.123Z"), ""},
		{`"1767225600123456"`, ns("2026-01-01T00:00:00.123456Z"), ""},
		{`"1767225600123456789"`, ns("2026-01-01T00:00:00.123456789Z"), ""},
		{`1767225600.123456789`, ns("2026-01-01T00:00:00.123456789Z"), ""},
		{`0`, 0, past}, {`-1`, 0, past}, {`9223372036854775807`, 0, future},
		{`"0001-01-01T00:00:00Z"`, 0, past}, {`"1969-12-31T23:59:59Z"`, 0, past}, {`"1900-01-01T00:00:00Z"`, 0, past},
		{`"2036-03-01T12:00:00Z"`, 0, future}, {`"2106-02-07T06:28:16Z"`, 0, future}, {`"9999-12-31T23:59:59Z"`, 0, future},
		{``, sent.UnixNano(), ""},
		{`"2026-01-01T01:00:00+01:00"`, ns("2026-01-01T00:00:00Z"), ""},
		{`"2016-12-31T23:59:60Z"`, ns("2017-01-01T00:00:00Z"), ""},
		{`"2026-01-01 00:00:00.5Z"`, ns("2026-01-01T00:00:00.5Z"), ""},
		{`"soon"`, 0, bad}, {`true`, 0, bad}, {`{}`, 0, bad}, {`[1]`, 0, bad}, {`1e400`, 0, future},
		{`""`, sent.UnixNano(), ""}, // counts as missing
	}
	p := newPath(t, event.DefaultMapping())
	for i, c := range cases {
		value := fmt.Sprintf(`{"n":%d}`, i)
		if c.value != "" {
			value = fmt.Sprintf(`{"n":%d,"timestamp":%s}`, i, c.value)
		}
		p.send("acme", sent, []byte(value))
	}
	rows := p.all(p.run())
	for i, c := range cases {
		got, there := rows[int64(i)]
		switch {
		case !there:
			t.Errorf("%s: no row", c.value)
		case string(got.reason) != c.dead:
			t.Errorf("%s: dead %q, want %q (%s)", c.value, got.reason, c.dead, time.Unix(0, int64(got.at)).UTC())
		case c.dead == "" && int64(got.at) != c.want:
			t.Errorf("%s: is %s, want %s", c.value, time.Unix(0, int64(got.at)).UTC().Format(time.RFC3339Nano), time.Unix(0, c.want).UTC().Format(time.RFC3339Nano))
		}
	}
}

// TestFault_poison: records that break decoders, each between
// good ones; what is dead is there whole.
func TestFault_poison(t *testing.T) {
	p := newPath(t, event.DefaultMapping())
	big := strings.Repeat("x", 10<<20)
	poison := []struct {
		value string
		dead  event.Reason // "": an event
	}{
		{`{"cut":`, event.ReasonMalformed},
		{`{"n":` + strings.Repeat("7", 1_000_000) + `}`, ""},
		{`{"n":1e` + strings.Repeat("9", 1_000_000) + `}`, ""},
		{`{"n":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + `}`, event.ReasonTooDeep},
		{strings.Repeat(`{"n":`, 10_000) + "1" + strings.Repeat("}", 10_000), event.ReasonTooDeep},
		{"\x00\x00\x00\x00\x01\x02", event.ReasonMalformed},
		{"{\"n\":\"\xff\xc0\xaf\"}", event.ReasonMalformed},
		{`{"text":"` + big + `"}`, ""},
		{`{"text":"` + big, event.ReasonMalformed},
		{`{"` + big[:1<<20] + `":1}`, ""},
	}
	var values []string
	for i, q := range poison {
		values = append(values, fmt.Sprintf(`{"good":%d}`, i), q.value)
	}
	values = append(values, `{"good":"last"}`)
	for _, v := range values {
		p.send("acme", time.Now(), []byte(v))
	}
	rows := p.all(p.run())
	for i, v := range values {
		got := rows[int64(i)]
		var want event.Reason
		if i%2 == 1 {
			want = poison[i/2].dead
		}
		if got.reason != want || got.payload != v {
			t.Errorf("offset %d: dead %q, want %q; %d bytes of %d, %.60q", i, got.reason, want, len(got.payload), len(v), got.payload)
		}
	}
}
