package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/internal/e2e/feed"
	"github.com/togodb/togo/internal/e2e/oracle"
)

// small is a store with a few known events, made by a running `togo dev`.
type small struct {
	*world
	kafka string
	dev   *process
	send  *feed.Sender
	acks  *acks
	sent  int
}

// newSmall starts it; args are more of the process's.
func newSmall(t *testing.T, args ...string) *small {
	t.Helper()
	kafka := addr(t)
	w := newWorld(t, 2*time.Minute, fmt.Sprintf(`
kafka: {main: {brokers: [%q]}}
writer: {flush_age: 300ms, small_tenant_age: 300ms}
`, kafka))
	s := &small{world: w, kafka: kafka, acks: newAcks(), dev: w.process("dev", addr(t), append([]string{"dev", "--kafka-listen", kafka}, args...)...)}
	s.dev.start()
	s.send = w.sender(clusterAt(kafka), s.acks)
	return s
}

// event is one whose id says its number.
func (s *small) event(tenant string, n int, at time.Time) feed.Message {
	id := fmt.Sprint("e", n)
	return feed.Message{
		Topic: "events", Tenant: tenant, Key: id, Want: oracle.Key{Tenant: tenant, ID: id},
		Value: fmt.Appendf(nil, `{"event_id":%q,"timestamp":%q,"n":%d}`, id, at.Format(time.RFC3339Nano), n),
	}
}

// put sends messages and waits until they are stored.
func (s *small) put(msgs ...feed.Message) {
	s.t.Helper()
	for i := range msgs {
		msgs[i].Serial = s.sent
		s.sent++
	}
	s.must(s.send.SendAll(s.ctx, msgs, 0))
	s.done()
}

func TestCommands(t *testing.T) {
	s := newSmall(t)
	day := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	var msgs []feed.Message
	for n := range 30 {
		msgs = append(msgs, s.event("acme", n, day.Add(time.Duration(n)*10*time.Minute)))
	}
	changed := msgs[3]
	changed.Value = bytes.Replace(changed.Value, []byte(`"n":3`), []byte(`"n":-3`), 1)
	msgs = append(msgs, msgs[0], changed, s.event("beta", 1, day),
		feed.Message{Topic: "events", Tenant: "acme", Value: []byte("\xff{"), Bad: true, Want: oracle.Key{Tenant: "acme"}})
	s.put(msgs...)
	for _, c := range []struct {
		name string
		look func(*testing.T, *small, time.Time)
	}{
		{"status", lookAtStatus}, {"events", lookAtEvents}, {"letters", lookAtLetters}, {"files", lookAtFiles},
		{"log", lookAtLog}, {"help", lookAtHelp}, {"gap", gapRefused},
	} {
		t.Run(c.name, func(t *testing.T) {
			inner := *s.world
			inner.t = t
			sub := *s
			sub.world = &inner
			c.look(t, &sub, day)
		})
	}
	t.Run("placements", func(t *testing.T) { movePlacement(t, s, day, msgs) })
}

func lookAtStatus(t *testing.T, s *small, _ time.Time) {
	st, err := s.Status(s.ctx)
	s.must(err)
	if tt := st.Totals; tt.Events != 33+1 || tt.Stored != 31 || tt.Duplicate != 1 || tt.Conflict != 1 || tt.Dead != 1 || len(st.Shards) != 4 {
		t.Errorf("%d shards, %+v", len(st.Shards), tt)
	}
	out := s.output("status")
	contains(t, out, "SHARD", "OLDEST OPEN", fmt.Sprintf("/%d ", s.dev.Pid()), "ago", "events 34: stored 31, duplicate 1, conflict 1, dead 1; lost by Kafka 0; lag: router 0, writer 0")
	if _, body := s.dev.get("/status"); !strings.Contains(body, `"state": "reading"`) {
		t.Errorf("/status: %s", body)
	}
}

func lookAtEvents(t *testing.T, s *small, day time.Time) {
	ids := func(args ...string) string {
		rows, err := s.Events(s.ctx, "acme", args...)
		s.must(err)
		var out []string
		for _, r := range rows {
			out = append(out, r.ID)
		}
		return strings.Join(out, " ")
	}
	for _, c := range [...]struct{ from, to, limit, want string }{
		{"2026-03-04T12:10:00Z", "2026-03-04T12:30:00Z", "0", "e1 e2"},
		{"2026-03-04 12:10:00", "2026-03-04T13:00:00+00:30", "0", "e1 e2"},
		{"2026-03-04T12:10:00.000000001Z", "2026-03-04T12:20:00.000000001Z", "0", "e2"},
		{"2026-03-04", "2026-03-05", "3", "e0 e1 e2"},
		{"2026-03-04T16:50:00Z", "2026-03-06", "9", "e29"},
		{"2026-03-05", "2026-03-06", "0", ""},
		{"2026-03-04T12:20:00Z", "2026-03-04T12:10:00Z", "0", ""},
	} {
		if got := ids("--from", c.from, "--to", c.to, "--limit", c.limit); got != c.want {
			t.Errorf("events from %s to %s, limit %s: %q, want %q", c.from, c.to, c.limit, got, c.want)
		}
	}
	if n := len(strings.Fields(ids())); n != 30 {
		t.Errorf("%d events without bounds", n)
	}
	out := s.output("events", "--tenant", "acme", "--limit", "1")
	if got, err := oracle.Canonical([]byte(out)); err != nil || got != `{"event_id":"e0","n":{"number":"0"},"timestamp":"2026-03-04T12:00:00Z"}` {
		t.Errorf("an event comes out as %q (%v)", out, err)
	}
	rows, err := s.Events(s.ctx, "acme", "--limit", "1")
	s.must(err)
	at, err := time.Parse(time.RFC3339Nano, rows[0].IngestedAt)
	if err != nil || time.Since(at) > time.Minute || rows[0].Timestamp != day.Format(time.RFC3339) || rows[0].Seq == 0 {
		t.Errorf("metadata is %+v (%v)", rows[0], err)
	}
	if out := s.output("events", "--tenant", "nobody"); out != "" {
		t.Errorf("events of nobody: %q", out)
	}
	contains(t, s.refused("events", "--tenant", "a/b"), "bad tenant")
	contains(t, s.refused("events", "--tenant", "acme", "--from", "soon"), "is no time")
	contains(t, s.refused("events"), "--tenant")
}

func lookAtLetters(t *testing.T, s *small, _ time.Time) {
	letters, err := s.Letters(s.ctx, "acme")
	s.must(err)
	got := map[string]string{}
	for _, l := range letters {
		got[l.Reason] = l.Body()
	}
	if len(letters) != 2 || got["malformed"] != "\xff{" || !strings.Contains(got["conflict"], `"n":-3`) {
		t.Errorf("letters are %+v", letters)
	}
	if out := s.output("dead-letters", "--tenant", "acme", "--limit", "1"); strings.Count(out, "\n") != 1 {
		t.Errorf("limit 1: %s", out)
	}
	if out := s.output("dead-letters", "--tenant", unroutable); out != "" {
		t.Errorf("letters without a tenant: %s", out)
	}
}

func lookAtFiles(t *testing.T, s *small, _ time.Time) {
	paths := strings.Fields(s.output("files", "--tenant", "acme"))
	if len(paths) < 5 { // one a bucket of an hour
		t.Errorf("acme has %d files", len(paths))
	}
	for _, p := range paths {
		if body, err := os.ReadFile(p); err != nil || !bytes.HasPrefix(body, []byte("PAR1")) {
			t.Errorf("%s is no Parquet file: %v", p, err)
		}
	}
	long := s.output("files", "--tenant", "acme", "-l", "--from", "2026-03-04T12:00:00Z", "--to", "2026-03-04T13:00:00Z")
	contains(t, long, "6 rows", "2026-03-04T12:00:00Z", "2026-03-04T12:50:00Z")
	if strings.Count(long, "\n") != 1 {
		t.Errorf("files of one hour: %s", long)
	}
	contains(t, s.output("files", "--tenant", "acme", "--dead-letters"), "/letters/acme/")
	contains(t, s.output("where"), "acme", "beta", "2026-03-04T16:50:00Z")
	one := s.output("where", "beta")
	if strings.Contains(one, "acme") {
		t.Errorf("where beta: %s", one)
	}
	contains(t, one, "placements:")
	contains(t, s.refused("where", "a/b"), "bad tenant")
}

func lookAtLog(t *testing.T, s *small, _ time.Time) {
	shard := s.shardOf("acme")
	lines := strings.Split(strings.TrimSpace(s.output("log", shard)), "\n")
	contains(t, lines[0], "1  ", "claim", "epoch 1", fmt.Sprintf("/%d", s.dev.Pid()))
	contains(t, lines[len(lines)-1], "append")
	records := strings.Split(strings.TrimSpace(s.output("log", shard, "--json")), "\n")
	if len(records) != len(lines) {
		t.Errorf("%d lines, %d records", len(lines), len(records))
	}
	for _, r := range records {
		if !json.Valid([]byte(r)) {
			t.Errorf("no JSON: %s", r)
		}
	}
	if from := s.output("log", shard, "--from", "2"); strings.Count(from, "\n") != len(lines)-1 {
		t.Errorf("from position 2: %s", from)
	}
	if far := s.output("log", shard, "--from", "1000"); far != "" {
		t.Errorf("from position 1000: %s", far)
	}
	contains(t, s.refused("log", "99"), "99")
	contains(t, s.refused("log", "-1"), "-1")
}

// shardOf is the only shard that holds events of a tenant.
func (s *small) shardOf(tenant string) string {
	s.t.Helper()
	m := regexp.MustCompile(`(?m)^`+tenant+` +([0-9]+) +[0-9]+ +[1-9]`).FindAllStringSubmatch(s.output("where", tenant), -1)
	if len(m) != 1 {
		s.t.Fatalf("%s is on %d shards", tenant, len(m))
	}
	return m[0][1]
}

func lookAtHelp(t *testing.T, s *small, _ time.Time) {
	contains(t, s.output("--help"), "verify", "dead-letters")
	contains(t, s.output("version"), "(devel)")
	contains(t, s.output("config"), "writer:\n", "flush_age: 300ms", "TOGO_WRITER_FLUSH_AGE", "TOGO_STORE_DIR")
	contains(t, s.output("placements", "show"), "horizon", "X-Scope-OrgID")
	contains(t, s.output("placements", "show", "beta"), "beta")
	contains(t, s.output("placements", "sync"), "already")
	contains(t, s.refused("placements", "set", "acme", "9"), "9")
	contains(t, s.refused("placements", "set", "acme", "x"), "x")
	contains(t, s.refused("placements", "set", "acme", "0", "--from", "2026-01-01"), "horizon")
	contains(t, s.refused("placements", "set", "a/b", "0"), "bad tenant")
}

func gapRefused(t *testing.T, s *small, _ time.Time) {
	contains(t, s.refused("gap", s.shardOf("acme"), "--reason", "test", "--by", "me"), "there is nothing to accept")
	contains(t, s.refused("gap", "0"), "--reason")
	contains(t, s.refused("gap", "77", "--reason", "test", "--by", "me"), "77")
}

// movePlacement moves a tenant: events below the horizon stay, copies of them
// stay copies, and what is later goes elsewhere.
func movePlacement(t *testing.T, s *small, day time.Time, before []feed.Message) {
	old := s.shardOf("acme")
	to := "0"
	if old == to {
		to = "1"
	}
	s.output("placements", "set", "acme", to)
	m := regexp.MustCompile(`from (\S+): shards ` + to + `\n`).FindStringSubmatch(s.output("where", "acme"))
	if m == nil {
		t.Fatalf("no placement on shard %s: %s", to, s.output("where", "acme"))
	}
	from, err := time.Parse(time.RFC3339Nano, m[1])
	s.must(err)
	later := []feed.Message{s.event("acme", 100, day), s.event("acme", 101, from.Add(-1)), s.event("acme", 102, from), s.event("acme", 103, from.Add(time.Second))}
	s.put(append(append([]feed.Message{}, before...), append(later, later...)...)...)
	out := s.output("where", "acme")
	contains(t, out, "acme    "+old+"      ", "acme    "+to+"      ")
	if rows := regexp.MustCompile(`acme +` + to + ` +[0-9]+ +2 `); !rows.MatchString(out) {
		t.Errorf("shard %s does not hold 2 rows: %s", to, out)
	}
	s.check(s.expect(s.send, s.acks, []string{"events"}))
	s.dev.stop()
	contains(t, s.output("verify"), "not checked", "failed=0") // without a broker
	contains(t, s.output("status"), "lag unknown", "lag: router -, writer -")
}

func contains(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("no %q in: %s", w, text)
		}
	}
}

func TestRefusedConfigurations(t *testing.T) {
	dir := t.TempDir()
	w := newWorld(t, time.Minute, "")
	for name, c := range map[string]struct {
		yaml string
		args []string
		said []string
	}{
		"unknown setting":       {"log: {level: warn}\nwriter:\n  flush_age: 1s\n  flush_aeg: 2s\n", nil, []string{"flush_aeg", "[4:3]"}},
		"repeated setting":      {"writer: {flush_age: 1s}\nwriter: {flush_age: 2s}\n", nil, []string{"writer", "[2:1]"}},
		"unset variable":        {"a: 1\nstore:\n  dir: ${TOGO_TEST_UNSET}\n", nil, []string{"line 3", "TOGO_TEST_UNSET"}},
		"no number":             {"writer:\n  flush_bytes: many\n", nil, []string{"[2:16]", "writer.flush_bytes", "many"}},
		"no duration":           {"writer:\n  flush_age: soon\n", nil, []string{"[2:14]", "flush_age", "soon"}},
		"--set no number":       {"", []string{"--set", "writer.flush_bytes=many"}, []string{"writer.flush_bytes", "many"}},
		"no such unit":          {"writer: {flush_bytes: 5 parsec}\n", nil, []string{"flush_bytes", "parsec"}},
		"two stores":            {"store: {dir: x, s3: {bucket: y}}\n", nil, []string{"exactly one"}},
		"several mistakes":      {"writer: {flush_age: -1s}\nlog: {format: xml}\nplacements: {spread: 9}\n", nil, []string{"flush_age", "xml", "spread"}},
		"unsafe lateness":       {"store: {max_future: 0s}\n", nil, []string{"max_future"}},
		"no topic":              {"intake: {topics: []}\n", nil, []string{"intake.topics"}},
		"a topic twice":         {"intake: {topics: [{cluster: main, name: events}, {cluster: main, name: events}]}\n", nil, []string{"twice"}},
		"the shard topic":       {"intake: {http_topic: '', topics: [{cluster: main, name: togo-shards}]}\n", nil, []string{"is the shard topic"}},
		"no such cluster":       {"shard_topic: {cluster: other}\n", nil, []string{"other"}},
		"bad mapping":           {"intake: {topics: [{cluster: main, name: events, mapping: {format: csv}}]}\n", nil, []string{"csv"}},
		"bad token":             {"http: {tokens: {x: a/b}}\n", nil, []string{"tokens"}},
		"shards twice":          {"writer: {shards: [1, 1]}\n", nil, []string{"twice"}},
		"--set unknown":         {"", []string{"--set", "writer.flush=1s"}, []string{"no setting"}},
		"--set without value":   {"", []string{"--set", "writer.flush_age"}, []string{"PATH=VALUE"}},
		"no store":              {"", []string{"--dir", filepath.Join(dir, "nothing")}, []string{"holds no Togo store"}},
		"a bucket without name": {"store: {s3: {endpoint: 'http://localhost:1'}}\n", []string{"--dir", filepath.Join(dir, "nothing")}, []string{"s3"}},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "togo.yaml")
			if err := os.WriteFile(file, []byte(c.yaml), 0o600); err != nil {
				t.Fatal(err)
			}
			args := append(append([]string{"--config", file}, c.args...), "status")
			out, err := exec.Command(binary, args...).CombinedOutput()
			if err == nil {
				t.Fatalf("accepted: %s", out)
			}
			contains(t, string(out), c.said...)
		})
	}
	contains(t, w.refused("run", "--target", "cook"), "no such role")
	out, err := exec.Command(binary, "--config", filepath.Join(dir, "none.yaml"), "status").CombinedOutput()
	if err == nil {
		t.Error("a configuration that is not there is accepted")
	}
	contains(t, string(out), "none.yaml")
	if _, err := os.Stat(filepath.Join(w.dir, "store")); err == nil {
		t.Error("a command that only looks has made a store")
	}
	// A store of a program that is newer, and one that was damaged, are left alone.
	meta := filepath.Join(w.dir, "store", "togo.json")
	w.must(os.MkdirAll(filepath.Dir(meta), 0o700))
	for _, text := range []string{"{}", "damaged"} {
		w.must(os.WriteFile(meta, []byte(text), 0o600))
		contains(t, w.refused("status"), "togo.json")
		kafka := addr(t)
		contains(t, w.refused("dev", "--kafka-listen", kafka, "--http-listen", addr(t)), "togo.json")
	}
}
