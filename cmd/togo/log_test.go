package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/placements"
)

// TestLogOfATrimmedShard: togo log begins at the first record that is left; togo gap and the like go on as ever.
func TestLogOfATrimmedShard(t *testing.T) {
	a := planStore(t, placements.UnknownAccept)
	store, err := objstore.OpenDir(filepath.Join(a.cli.Dir, "store"))
	if err != nil {
		t.Fatal(err)
	}
	log := shardlog.OpenWith(store, 0, shardlog.Config{Logger: quiet})
	s, err := log.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	show := func() []string {
		t.Helper()
		var out bytes.Buffer
		a.out = &out
		if err := (logCmd{From: 1}).Run(a); err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
	}
	if _, _, err := log.Claim(t.Context(), s, "next", "2"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if won, _, err := log.Append(t.Context(), s, &shardlog.Record{Kind: shardlog.KindErase, Erase: &shardlog.Erase{Tenant: "nobody"}}); !won || err != nil {
			t.Fatal(won, err)
		}
		if err := log.Checkpoint(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	before := show()
	plan, err := log.PlanTrim(t.Context(), 0)
	if err == nil {
		_, err = plan.Do(t.Context())
	}
	if err != nil || len(plan.Records) == 0 {
		t.Fatal(plan, err)
	}
	after := show()
	if len(after) != len(before)-len(plan.Records) || after[0] != before[len(plan.Records)] {
		t.Errorf("before:\n%s\nafter %d records were deleted:\n%s", strings.Join(before, "\n"), len(plan.Records), strings.Join(after, "\n"))
	}
}
