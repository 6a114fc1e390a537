package query_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/query"
	"github.com/togodb/togo/query/exec"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/queryset"
	"github.com/togodb/togo/query/value"
	"github.com/togodb/togo/query/vec"
)

// sheet is an answer as text: a line a row, fields behind tabs.
type sheet struct {
	names []string
	rows  []string
}

func (s *sheet) Columns(o []exec.Output) error {
	for _, c := range o {
		s.names = append(s.names, c.Name)
	}
	return nil
}

func (s *sheet) Batch(b *vec.Batch) error {
	for i := range b.Len {
		var fields []string
		for _, v := range b.Cols {
			if v.IsNull(i) {
				fields = append(fields, "NULL")
			} else {
				fields = append(fields, value.Format(v.At(i)))
			}
		}
		s.rows = append(s.rows, strings.Join(fields, "\t"))
	}
	return nil
}

type bed struct {
	t   *testing.T
	set *queryset.Set
	*query.Node
}

func newBed(t *testing.T, shards int) *bed {
	t.Helper()
	set, err := queryset.New(t.Context(), objstore.NewMemory(), queryset.Config{Shards: shards, Spread: shards})
	if err != nil {
		t.Fatal(err)
	}
	cfg := query.DefaultConfig()
	cfg.MaxAge = 1
	node, err := query.Open(cfg, query.Parts{Store: set.Store, Meta: set.Meta, Placements: set.Placements})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(node.Close)
	return &bed{t, set, node}
}

const noon = event.Timestamp(1767182400e9) // 2025-12-31 12:00 UTC

func (b *bed) commit(tenant event.TenantID, from, n int) {
	b.t.Helper()
	var rows []queryset.Row
	for i := from; i < from+n; i++ {
		rows = append(rows, queryset.Row{
			Tenant: tenant, Timestamp: noon + event.Timestamp(i)*1e9, ID: fmt.Sprintf("id-%04d", i),
			Payload: fmt.Sprintf(`{"service":"s%d","status":%d,"user":{"id":%d},"message":"line %d"}`, i%3, 200+i%2*300, i%7, i),
		})
	}
	if err := b.set.Commit(b.t.Context(), rows...); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) ask(r query.Request) (*sheet, *query.Summary, error) {
	if r.Tenant == "" {
		r.Tenant = "acme"
	}
	var s sheet
	sum, err := b.Query(b.t.Context(), r, &s)
	return &s, sum, err
}

func (b *bed) expect(text string, want ...string) *query.Summary {
	b.t.Helper()
	s, sum, err := b.ask(query.Request{SQL: text})
	if err != nil {
		b.t.Fatalf("%s: %v", text, err)
	}
	if got := strings.Join(s.rows, "\n"); got != strings.Join(want, "\n") {
		b.t.Errorf("%s:\n%s\nwant\n%s", text, got, strings.Join(want, "\n"))
	}
	return sum
}

func TestAnEventIsInOneAnswerOnce(t *testing.T) {
	b := newBed(t, 3)
	b.commit("acme", 0, 60)
	b.commit("globex", 0, 25)
	b.commit("acme", 60, 30)
	b.expect("SELECT count(*) FROM events", "90")
	b.expect(`SELECT service, count(*), sum(status), min("user.id") FROM events GROUP BY 1 ORDER BY 1`, "s0\t30\t10500\t0", "s1\t30\t10500\t0", "s2\t30\t10500\t0")
	b.expect("SELECT id FROM events WHERE status = 500 AND service = 's1' ORDER BY timestamp DESC LIMIT 2", "id-0085", "id-0079")
	b.expect("SELECT * FROM events WHERE id = 'id-0003'", `2025-12-31 12:00:03+00	id-0003	{"service":"s0","status":500,"user":{"id":3},"message":"line 3"}`)
	b.expect("SELECT count(*), max(timestamp) FROM events WHERE timestamp >= '2025-12-31 12:00:10' AND timestamp < '2025-12-31 12:00:20'", "10\t2025-12-31 12:00:19+00")
	b.expect("SELECT 1 + 1", "2")
	b.expect("SELECT count(*) FROM dead_letters", "0")
}

func TestASnapshotSeesTheSameAgain(t *testing.T) {
	b := newBed(t, 2)
	b.commit("acme", 0, 10)
	sum := b.expect("SELECT count(*) FROM events", "10")
	b.commit("acme", 10, 5)
	b.expect("SELECT count(*) FROM events", "15")
	s, again, err := b.ask(query.Request{SQL: "SELECT count(*) FROM events", Snapshot: sum.Snapshot})
	if err != nil || len(s.rows) != 1 || s.rows[0] != "10" || again.Snapshot != sum.Snapshot {
		t.Errorf("%v %v", s.rows, err)
	}
	if _, _, err := b.ask(query.Request{Tenant: "globex", SQL: "SELECT count(*) FROM events", Snapshot: sum.Snapshot}); fail.CodeOf(err) != fail.Request {
		t.Errorf("another tenant's snapshot: %v", err)
	}
}

func TestBoundsOfARequest(t *testing.T) {
	b := newBed(t, 2)
	b.commit("acme", 0, 20)
	from, to := noon+5e9, noon+8e9
	s, _, err := b.ask(query.Request{SQL: "SELECT id FROM events WHERE status > 0 OR true ORDER BY id", From: &from, To: &to})
	if err != nil || strings.Join(s.rows, " ") != "id-0005 id-0006 id-0007" {
		t.Errorf("%v %v", s.rows, err)
	}
	for _, text := range []string{"SELECT id FROM events ORDER BY id", "SELECT id FROM events ORDER BY id LIMIT 10"} {
		s, sum, err := b.ask(query.Request{SQL: text, Limit: 3})
		if err != nil || len(s.rows) != 3 || !sum.More || sum.Rows != 3 {
			t.Errorf("%s: %v %+v %v", text, s.rows, sum, err)
		}
	}
	if _, sum, err := b.ask(query.Request{SQL: "SELECT id FROM events", Limit: 20}); err != nil || sum.More {
		t.Errorf("%+v %v", sum, err)
	}
}

// TestNamesOfTablesHaveNoCase, as SQL's.
func TestNamesOfTablesHaveNoCase(t *testing.T) {
	b := newBed(t, 1)
	b.commit("acme", 0, 2)
	for _, text := range []string{"SELECT EVENTS.ID FROM EVENTS", `SELECT id FROM "Events" AS E WHERE e.ID = id`} {
		s, _, err := b.ask(query.Request{SQL: text})
		if err != nil || len(s.rows) != 2 {
			t.Errorf("%s: %v, %v", text, s.rows, err)
		}
	}
	if s, _, err := b.ask(query.Request{SQL: "SELECT * FROM EVENTS"}); err != nil || len(s.rows) != 2 {
		t.Errorf("*: %v, %v", s.rows, err)
	}
}

func TestMistakesAreNamed(t *testing.T) {
	b := newBed(t, 1)
	b.commit("acme", 0, 2)
	for text, want := range map[string]fail.Code{
		"SELEC 1":                                         fail.Syntax,
		"SELECT * FROM secrets":                           fail.UnknownTable,
		"SELECT servce FROM events":                       fail.UnknownColumn,
		"SELECT frob(id) FROM events":                     fail.UnknownFunction,
		"SELECT id + 1 FROM events":                       fail.Type,
		"SELECT 9223372036854775807 + status FROM events": fail.OutOfRange,
	} {
		if _, _, err := b.ask(query.Request{SQL: text}); fail.CodeOf(err) != want {
			t.Errorf("%s: %v (%s), want %s", text, err, fail.CodeOf(err), want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Query(ctx, query.Request{Tenant: "acme", SQL: "SELECT count(*) FROM events"}, &sheet{}); fail.CodeOf(err) != fail.Cancelled {
		t.Errorf("cancelled: %v", err)
	}
}

func TestSchemaTellsWhatFilesHave(t *testing.T) {
	b := newBed(t, 2)
	b.commit("acme", 0, 20)
	got, err := b.Schema(t.Context(), "acme", "", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, c := range got.Columns {
		if c.Name != "ingested_at" {
			lines = append(lines, fmt.Sprintf("%s %s %v", c.Name, c.Type, c.Examples[:2]))
		}
	}
	want := `timestamp TIMESTAMPTZ [2025-12-31 12:00:00+00 2025-12-31 12:00:19+00]
id VARCHAR [id-0000 id-0019]
service VARCHAR [s0 s2]
status BIGINT [200 500]
user.id BIGINT [0 6]
message VARCHAR [line 0 line 9]`
	if strings.Join(lines, "\n") != want {
		t.Errorf("%s\nwant\n%s", strings.Join(lines, "\n"), want)
	}
	long := strings.Repeat("x", 200)
	if err := b.set.Commit(t.Context(), queryset.Row{Tenant: "acme", Timestamp: noon, ID: "long", Payload: `{"text":"` + long + `"}`}); err != nil {
		t.Fatal(err)
	}
	got, err = b.Schema(t.Context(), "acme", "", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := got.Columns[len(got.Columns)-1]
	if len(c.Examples) != 1 || !strings.HasSuffix(c.Examples[0], "…") || !strings.HasPrefix(long, strings.TrimSuffix(c.Examples[0], "…")) {
		t.Errorf("a long text: %+v", c)
	}
	before := noon - 1
	if got, err := b.Schema(t.Context(), "acme", "events", nil, &before); err != nil || len(got.Columns) != 0 {
		t.Errorf("before all events: %+v %v", got, err)
	}
	if got, err := b.Schema(t.Context(), "globex", "events", nil, nil); err != nil || len(got.Columns) != 0 {
		t.Errorf("another tenant: %+v %v", got, err)
	}
}

func TestExplainTellsWhatIsPruned(t *testing.T) {
	b := newBed(t, 1)
	b.commit("acme", 0, 20)
	b.commit("acme", 3600, 20)
	b.commit("acme", 7200, 20)
	for text, want := range map[string][]string{
		"EXPLAIN SELECT id FROM events WHERE timestamp < '2025-12-31 12:30:00' AND status = 500":         {"fragments: 3, 2 pruned by time", "to be opened: 1"},
		"EXPLAIN SELECT id FROM events WHERE service = 's7'":                                             {"3 by range", "to be opened: 0"},
		"EXPLAIN ANALYZE SELECT id FROM events WHERE timestamp < '2025-12-31 12:30:00' AND status = 500": {"2 pruned by time", "1 read", "rows: 20 scanned, 10 passed", "time: "},
		"EXPLAIN ANALYZE SELECT count(*) FROM events":                                                    {"3 answered by their record, 0 read"},
		"EXPLAIN SELECT count(*) FROM events":                                                            {"to be opened: at most 3, but"},
		"EXPLAIN ANALYZE SELECT 1":                                                                       {"time: "},
	} {
		s, _, err := b.ask(query.Request{SQL: text})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		plan := strings.Join(s.rows, "\n")
		for _, w := range want {
			if !strings.Contains(plan, w) {
				t.Errorf("%s: no %q in\n%s", text, w, plan)
			}
		}
	}
}
