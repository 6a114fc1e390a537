package query_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"testing"
	"time"

	"log/slog"

	"github.com/togodb/togo/compactor"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/query"
	"github.com/togodb/togo/query/queryset"
	"github.com/togodb/togo/query/queryset/answer"
	"github.com/togodb/togo/query/queryset/ask"
	"github.com/togodb/togo/query/scan"
)

// The seed and the size of the world that testdata/recorded.ndjson.gz was made of, by
//
//	go run . -seed 5 -rows 840 -n 600 -record ../query/testdata/recorded.ndjson.gz
//
// in the module sqldiff.
const (
	recordedSeed = 5
	recordedRows = 840
)

// Queries of a generator have the answers that DuckDB gave for the same files, before and after compaction, with and without what
// makes a scan fast.
func TestAnswersThatDuckDBGave(t *testing.T) {
	ctx := t.Context()
	w, err := queryset.NewWorld(ctx, objstore.NewMemory(), queryset.WorldConfig{Seed: recordedSeed, Rows: recordedRows, Folder: "../internal/fragment/testdata"})
	if err != nil {
		t.Fatal(err)
	}
	queries := readRecorded(t)
	for _, stage := range []string{"before compaction", "after compaction"} {
		if stage == "after compaction" {
			compactAll(t, w)
		}
		e, err := ask.Open(ctx, w.Store, func(c *query.Config) { c.Workers = 2 })
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		plain := scan.Options{NoPruning: true, NoDictionaries: true, NoLateReading: true}
		for i, q := range queries {
			r := query.Request{Tenant: event.TenantID(q.Tenant), SQL: q.SQL}
			if i%2 == 0 {
				r.Options = plain
			}
			got, _ := ask.Ask(ctx, e, r)
			if d := answer.Difference(&q.Answer, got, q.Rules); d != "" {
				t.Errorf("%s, tenant %s, options %+v: %s\n%s\n%s", stage, q.Tenant, r.Options, q.SQL, d, got.Error)
			}
		}
	}
}

func readRecorded(t *testing.T) (out []answer.Recorded) {
	t.Helper()
	f, err := os.Open("testdata/recorded.ndjson.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	s := bufio.NewScanner(z)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		var r answer.Recorded
		if err := json.Unmarshal(s.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	if err := s.Err(); err != nil || len(out) < 300 {
		t.Fatalf("%d queries: %v", len(out), err)
	}
	return out
}

// compactAll merges until there is nothing more to do.
func compactAll(t *testing.T, w *queryset.World) {
	t.Helper()
	cfg := compactor.DefaultConfig()
	cfg.FanIn, cfg.Ratio, cfg.MaxInputs = 3, 2, 6
	var clock time.Duration
	c, err := compactor.New(cfg, compactor.Deps{
		Store: w.Store, Meta: w.Meta, Shards: func() int { return queryset.WorldShards }, Tenants: w.Tenants, Worker: "test",
		Now: func() time.Time { return queryset.Begin.Add(6*time.Hour + clock) }, Clock: func() time.Duration { return clock }, Parallel: 1,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	merges := 0
	for idle := 0; idle < 2*queryset.WorldShards; {
		for id := range queryset.WorldShards {
			worked, err := c.Turn(t.Context(), event.ShardID(id))
			if err != nil {
				t.Fatal(err)
			}
			if idle++; worked {
				idle, merges = 0, merges+1
			}
			if idle == queryset.WorldShards {
				clock += 24 * time.Hour
			}
		}
	}
	if merges < 5 {
		t.Fatalf("%d merges show nothing", merges)
	}
}
