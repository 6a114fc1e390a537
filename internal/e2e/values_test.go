package e2e

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/togodb/togo/internal/e2e/oracle"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/inspect"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/placements"
)

// comeBack sends documents as one tenant's events over two shards, in as many lots as there are lists, each to
// processes of its own, and wants each back with equal values: numbers by all their digits. What is no JSON to others is
// a letter, whole. Merging all files changes nothing.
func comeBack(t *testing.T, lots ...[][]byte) {
	t.Helper()
	p := newPath(t, event.Mapping{Format: event.JSON, Tenant: byHeader()})
	_, err := p.keeper.Propose(t.Context(), placements.SetTenant("acme", placements.Shards{0, 1}, nil))
	p.must(err)
	var docs [][]byte
	rows := map[int64]found{}
	for _, lot := range lots {
		docs = append(docs, lot...)
		for len(docs) > int(p.sent) {
			p.send("acme", time.Now(), docs[p.sent:min(len(docs), int(p.sent)+500)]...)
		}
		v := p.run()
		rows = p.all(v)
		p.commitsAreWhole(v)
	}
	v := p.compact()
	p.oneFileEach(v)
	if merged := p.all(v); !maps.Equal(merged, rows) {
		t.Errorf("%d rows before the files were merged, %d afterwards, and not the same", len(rows), len(merged))
	}
	if len(rows) != len(docs) {
		t.Errorf("%d rows of %d documents", len(rows), len(docs))
	}
	dead := 0
	for i, doc := range docs {
		got := rows[int64(i)]
		want, err := oracle.Canonical(bytes.TrimPrefix(doc, []byte("\ufeff"))) // a byte order mark says nothing
		if !utf8.Valid(doc) {
			err = errors.New("not UTF-8") // which encoding/json mends
		}
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
	t.Logf("%d documents, %d of them dead", len(docs), dead)
}

// odd are documents that stores of columns get wrong, in lots: each document alone and first, and all of them
// together in several orders.
func odd(documents ...string) (lots [][][]byte) {
	rng := rand.New(rand.NewPCG(1, 1))
	for lot := range 3 {
		var docs [][]byte
		for range 1 + 3*lot {
			for _, d := range rng.Perm(len(documents)) {
				docs = append(docs, []byte(documents[d]))
			}
		}
		lots = append(lots, docs)
	}
	return lots
}

func TestRealEventsComeBack(t *testing.T) {
	var docs [][]byte
	for _, file := range documentFiles(t) {
		docs = append(docs, lines(t, file)...)
	}
	comeBack(t, docs)
}

func TestFault_type_conflict(t *testing.T) {
	comeBack(t, odd(
		`{"f":1}`, `{"f":"x"}`, `{"f":1.5}`, `{"f":true}`, `{"f":null}`, `{"f":{"b":1}}`, `{"f":[1,"2"]}`,
		`{"f":{"b":"x"}}`, `{"f":{"b":{"c":1}}}`, `{"f":[]}`, `{"f":""}`, `{"f":"1"}`, `{"f":"true"}`, `{"f":"null"}`, `{"f":[{"b":1}]}`, `{}`,
		`{"timestamp":"mine","id":1,"_rest":{},"_raw":"x","_seq":"s","nanos":-1}`, `{"timestamp":7,"id":{"a":1},"_rest":"r","_raw":[1],"_seq":null,"nanos":"n","_keys":1}`,
	)...)
}

func TestFault_big_numbers(t *testing.T) {
	comeBack(t, odd(
		`{"f":9007199254740993}`, `{"f":18446744073709551615}`, `{"f":-9223372036854775808}`, `{"f":1e400}`, `{"f":0.1}`,
		`{"f":9223372036854775807}`, `{"f":9223372036854775808}`, `{"f":-9223372036854775809}`, `{"f":9007199254740992}`, `{"f":9007199254740992.5}`,
		`{"f":-0}`, `{"f":-0.0}`, `{"f":0}`, `{"f":123456789012345678901234567890.123456789}`, `{"f":1E-400}`, `{"f":5e-324}`, `{"f":1.7976931348623157e308}`, `{"f":1.7976931348623159e308}`,
		`{"f":0.1000000000000000055511151231257827}`, `{"f":1.0}`, `{"f":1e2}`, `{"f":[18446744073709551615,1e400,0.10]}`,
	)...)
}

func TestFault_nesting(t *testing.T) {
	deep := func(open, close string) string { return strings.Repeat(open, 200) + `1` + strings.Repeat(close, 200) }
	comeBack(t, odd(
		`{"f":{}}`, `{"f":[]}`, `{"f":[{}]}`, `{"f":[null]}`, `{"f":[{"b":1}]}`, `{"f":[[],[[]]]}`, `{"f":{"b":{}}}`, `{"f":{"b":[]}}`, `{"f":null}`, `{}`,
		`{"f":`+deep(`{"b":`, `}`)+`}`, `{"f":`+deep(`[`, `]`)+`}`, `{"f":`+deep(`[{"b":`, `}]`)+`}`,
		`{"f.b":1,"f":{"b":2}}`, `{"f":{"b":2},"f.b":1}`, `{"f":1,"f.b":2}`, `{"f":{"b.c":{"d":1}}}`, `{"f.b.c":{"d":1}}`,
	)...)
}

func TestFault_text(t *testing.T) {
	comeBack(t, odd(
		`{"lone":"\ud800x"}`, `{"\ud800":"lone key"}`, `{"low":"\udc00\ud800"}`, `{"pair":"\ud83d\ude00"}`, `{"nul":"a\u0000b","\u0000":1}`, `{"rtl":"\u202eabc\u200f"}`,
		"{\"rtl\u202e\":\"\u2067abc\u2069\"}", `{"😀.🐕":"🐕"}`, `{"e\u0301":1,"\u00e9":2}`, `{"":""}`, `{".":1,"..":2,"a.":3,".a":4}`, `{"F":1,"f":2}`,
		"{\"tab\":\"\u007f\u2028\ufeff\"}", "\xef\xbb\xbf{\"bom\":1}", `{"%41":1,"A":2,"%":3,"%%":4}`, "{\"long\":\""+strings.Repeat("🐕", 5000)+"\"}",
		"{\"overlong\":\"\xc0\xaf\"}", "{\"\xc0\x80\":1}", "{\"surrogate\":\"\xed\xa0\x80\"}", "{\"cut\":\"\xf0\x9f\x90\"}", "{\"raw\":\"a\x00b\"}", "{\"beyond\":\"\xf4\x90\x80\x80\"}",
	)...)
}

// TestFault_many_columns: a tenant whose field names are data fills its list of columns and goes on in _rest; all comes back,
// and its neighbour has the columns that it has alone.
func TestFault_many_columns(t *testing.T) {
	p := newPath(t, event.Mapping{Format: event.JSON, Tenant: byHeader()})
	p.columns = 40
	rng := rand.New(rand.NewPCG(2, 2))
	want := map[int64]string{}
	send := func(tenant string, doc func(i int) string) {
		var docs [][]byte
		for i := range 50 {
			docs = append(docs, []byte(doc(i)))
			want[p.sent+int64(i)] = doc(i)
		}
		p.send(tenant, time.Now(), docs...)
	}
	for round := range 2 { // the second time the list is full from the start
		for lot := range 4 {
			salt := rng.Uint64()
			send("noisy", func(i int) string {
				return fmt.Sprintf(`{"%016x-%d":%d,"service":"s%d","deep":{"%016x-%d":[1]}}`, salt, i, i, i%3, salt, i)
			})
			send("quiet", func(i int) string { return fmt.Sprintf(`{"service":"s%d","n":%d}`, i%5, i+lot+round) })
		}
		v := p.run()
		p.commitsAreWhole(v)
		rows := p.all(v)
		for offset, doc := range want {
			sent, _ := oracle.Canonical([]byte(doc))
			if back, err := oracle.Canonical([]byte(rows[offset].payload)); err != nil || back != sent {
				t.Fatalf("offset %d came back otherwise (%v):\n%s\n%s", offset, err, doc, rows[offset].payload)
			}
		}
		columns := p.columnsOf(v)
		if n := len(columns["noisy"]); n != p.columns {
			t.Errorf("the noisy tenant has %d columns, want %d", n, p.columns)
		}
		if got := fmt.Sprint(columns["quiet"]); got != "map[n:true service:true]" {
			t.Errorf("the quiet tenant has columns %s", got)
		}
	}
}

// columnsOf are the attributes' columns in the files of each tenant.
func (p *path) columnsOf(v *inspect.View) map[event.TenantID]map[string]bool {
	p.t.Helper()
	out := map[event.TenantID]map[string]bool{}
	for _, s := range v.Shards {
		s.Fragments("", -1<<40, 1<<40, func(f shardlog.Fragment) bool {
			r, err := fragment.Open(p.t.Context(), p.store, f.Key, f.Bytes)
			p.must(err)
			if out[f.Tenant] == nil {
				out[f.Tenant] = map[string]bool{}
			}
			for _, c := range r.Attributes() {
				out[f.Tenant][c.Name] = true
			}
			return true
		})
	}
	return out
}

// documentFiles are real events; TOGO_TEST_DATA names a folder with more.
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
