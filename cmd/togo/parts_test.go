package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/togodb/togo/cmd/togo/config"
	"github.com/togodb/togo/internal/access"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/inspect"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
)

func TestRoles(t *testing.T) {
	for text, want := range map[string][]string{
		"all": allRoles, "router": {"router"}, "writer,intake": {"writer", "intake"}, "compactor": {"compactor"}, "": nil,
	} {
		var targets []string
		if text != "" {
			targets = strings.Split(text, ",")
		}
		if got, err := parseRoles(targets); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	if _, err := parseRoles([]string{"reader"}); err == nil || !strings.Contains(err.Error(), "router, writer, compactor, intake, query, and all") {
		t.Errorf("an unknown role: %v", err)
	}
}

func TestASpanOnTheCommandLine(t *testing.T) {
	noon := event.Timestamp(1_772_366_400_000_000_000)
	for _, tc := range []struct {
		args []string
		want inspect.Span
	}{
		{nil, inspect.Always},
		{[]string{"--from=2026-03-01T12:00:00Z"}, inspect.Span{From: noon, To: inspect.Always.To}},
		{[]string{"--to=2026-03-01T13:00:00.000000001+01:00"}, inspect.Span{From: inspect.Always.From, To: noon + 1}},
		{[]string{"--from=2026-03-01", "--to=2026-03-01 12:00:00"}, inspect.Span{From: noon - 12*3600e9, To: noon}},
		{[]string{"--from=1970-01-01"}, inspect.Span{From: 0, To: inspect.Always.To}},
		{[]string{"--to=1970-01-01"}, inspect.Span{From: inspect.Always.From, To: 0}},
		{[]string{"--from=0001-01-01", "--to=9999-12-31"}, inspect.Always},
	} {
		var flags struct {
			tenantFlags `embed:""`
		}
		k, err := kong.New(&flags)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := k.Parse(append([]string{"--tenant=acme"}, tc.args...)); err != nil {
			t.Errorf("%v: %v", tc.args, err)
			continue
		}
		if tenant, span, err := flags.parse(); err != nil || tenant != "acme" || span != tc.want {
			t.Errorf("%v: %s, %v, %v", tc.args, tenant, span, err)
		}
	}
	var at timestamp
	if err := at.UnmarshalText([]byte("noon")); err == nil {
		t.Error("noon is a time")
	}
}

// TestWhatAGapAccepts: what Kafka no longer has, and nothing that it has.
func TestWhatAGapAccepts(t *testing.T) {
	log := shardlog.OpenWith(objstore.NewMemory(), 0, shardlog.Config{Logger: quiet})
	s := shardlog.NewState(0)
	if _, _, err := log.Claim(t.Context(), s, "test", "1"); err != nil {
		t.Fatal(err)
	}
	topic := event.TopicID{7}
	source := shardlog.Source{Cluster: "c", Topic: topic.String(), Partition: 0}
	// [0, 100) was read; [10, 20) and [90, 95) are open.
	won, _, err := log.Append(t.Context(), s, &shardlog.Record{Kind: shardlog.KindAppend, Append: &shardlog.Append{Epoch: s.Epoch(), Seq: 1, Progress: []shardlog.Progress{{
		Source: source, From: 0, Next: 100, LeaderEpoch: 3, Opened: []shardlog.Range{{From: 10, Next: 20}, {From: 90, Next: 95}}, Control: 85,
	}}}})
	if err != nil || !won {
		t.Fatal(won, err)
	}
	if src, err := (gapCmd{}).source(s); err != nil || src.Source != source || src.Next != 100 {
		t.Fatal(src, err)
	}
	if _, err := (gapCmd{Topic: "another"}).source(s); err == nil {
		t.Error("a source that the shard has not read")
	}
}

func get(t *testing.T, h http.Handler, path string) (int, string) {
	t.Helper()
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, path, nil))
	return rec.Code, rec.Body.String()
}

func TestHTTPTellsHowTheRolesAre(t *testing.T) {
	var sick error
	c := config.Default()
	c.HTTP.Tokens = access.Tokens{"hush": {Tenants: []string{"acme"}, Roles: []access.Role{access.Ingest}}}
	h := handler(c, prometheus.NewRegistry(), map[string]role{
		"router": {func() error { return nil }, func() any { return "routes" }},
		"writer": {func() error { return sick }, func() any { return []int{1} }},
	})
	for _, tc := range []struct {
		path string
		sick error
		code int
		body string
	}{
		{"/healthz", errors.New("shard 3 stopped"), 200, "ok"},
		{"/ready", nil, 200, "ready"},
		{"/ready", errors.New("shard 3 stopped"), 503, "writer: shard 3 stopped"},
		{"/status", nil, 200, `"router": "routes"`},
		{"/config", nil, 200, `"***"`},
		{"/metrics", nil, 200, "promhttp"},
		{"/nothing", nil, 404, ""},
	} {
		sick = tc.sick
		code, body := get(t, h, tc.path)
		if code != tc.code || !strings.Contains(body, tc.body) || strings.Contains(body, "hush") {
			t.Errorf("%s: %d %q", tc.path, code, body)
		}
	}
}

// TestPartsEndInReverseOrder, and one that ends by itself ends the process.
func TestPartsEndInReverseOrder(t *testing.T) {
	p := newProcess(config.Default(), objstore.NewMemory(), slog.New(slog.DiscardHandler))
	var ended []string
	part := func(name string) {
		p.spawn(name, func(ctx context.Context) error {
			<-ctx.Done()
			ended = append(ended, name)
			return ctx.Err()
		})
	}
	part("placements")
	part("writer")
	p.spawn("router", func(context.Context) error { return errors.New("no group") })
	p.spawn("idle", func(context.Context) error { return nil })
	if err := p.wait(t.Context()); err == nil || !strings.Contains(err.Error(), "router: no group") && !strings.Contains(err.Error(), "idle: it ended by itself") {
		t.Errorf("got %v", err)
	}
	p.stop()
	if !slices.Equal(ended, []string{"writer", "placements"}) {
		t.Errorf("ended in the order %v", ended)
	}
	p.stop() // again does nothing
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := newProcess(config.Default(), objstore.NewMemory(), quiet).wait(ctx); err != nil {
		t.Errorf("asked to end: %v", err)
	}
}

// TestSyncTakesWhatIsConfigured: the rule for unknown tenants and mappings reach the
// store when an operator says so, for records from the horizon on, and once.
func TestSyncTakesWhatIsConfigured(t *testing.T) {
	dir := t.TempDir()
	store, err := objstore.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	p := newProcess(config.Default(), store, quiet)
	p.cfg.Store.Dir = dir
	if err := p.openStore(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.openPlacements(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.stop()
	sync := func(set ...string) string {
		var out strings.Builder
		a := &app{cli: &cli{Set: append([]string{"store.dir=" + dir}, set...)}, out: &out, log: quiet, ctx: t.Context()}
		if err := (placementsSyncCmd{}).Run(a); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if got := sync(); !strings.Contains(got, "already") {
		t.Errorf("nothing differs, and it says %q", got)
	}
	mapping := `intake.topics=[{cluster: main, name: events, mapping: {format: json, tenant: [{field: org}]}}]`
	got := sync("placements.unknown_tenants=deny", mapping)
	if !strings.Contains(got, "rule for unknown tenants") || !strings.Contains(got, "mapping of topic events") || !strings.Contains(got, "version") {
		t.Errorf("got %q", got)
	}
	if got := sync("placements.unknown_tenants=deny", mapping); !strings.Contains(got, "already") {
		t.Errorf("a second time it says %q", got)
	}
	v, err := inspect.Open(t.Context(), store, quiet)
	if err != nil {
		t.Fatal(err)
	}
	if m, ok := v.Table.NewestMapping("events"); !ok || m.Tenant[0].Field != "org" {
		t.Errorf("mapping %+v, %t", m, ok)
	}
	at := max(v.Table.Horizon(), event.Timestamp(time.Now().UnixNano()))
	a := &app{cli: &cli{Set: []string{"store.dir=" + dir}}, log: quiet, ctx: t.Context()}
	k, err := a.keeper()
	if err != nil {
		t.Fatal(err)
	}
	table, err := k.Extend(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	if got := table.Admits("nobody", at); got.String() != "refused" {
		t.Errorf("behind the change: %s", got)
	}
}
