package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/placements"
)

// collect runs togo gc and returns what it printed.
func collect(t *testing.T, a *app, c gcCmd) string {
	t.Helper()
	var out bytes.Buffer
	a.out = &out
	if err := c.Run(a); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestGC: a dry run names what would go and why, and touches nothing; the other deletes
// exactly that, after the grace.
func TestGC(t *testing.T) {
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
	put := func(number uint64) string {
		c := shardlog.Creator{Shard: 0, Epoch: s.Epoch(), Nonce: s.ClaimNonce(), Number: number}
		key := c.FragmentKey(shardlog.TableEvents, "acme", 3600)
		if err := store.Put(t.Context(), key, []byte("rows")); err != nil {
			t.Fatal(err)
		}
		return key
	}
	orphan := put(7)
	if _, _, err := log.Claim(t.Context(), s, "next", "2"); err != nil {
		t.Fatal(err)
	}
	fresh := put(0)
	if err := store.Put(t.Context(), "data/acme/notes.txt", []byte("not ours")); err != nil {
		t.Fatal(err)
	}

	dry := collect(t, a, gcCmd{DryRun: true})
	wantText(t, dry, orphan+"  4 bytes: never committed by the owner of epoch 1", "RESULT objects=3 named=0 may_commit=1 garbage=1 garbage_bytes=4 unknown=1 uploads=0 deleted=0 ")
	if lines := strings.Count(dry, "\n"); lines != 2 {
		t.Errorf("%d lines:\n%s", lines, dry)
	}
	wantText(t, collect(t, a, gcCmd{DryRun: true, JSON: true}), `{"key":"`+orphan+`","bytes":4,"why":"never committed`)
	if _, err := store.Get(t.Context(), orphan); err != nil {
		t.Fatalf("a dry run deleted something: %v", err)
	}

	wantText(t, collect(t, a, gcCmd{Grace: time.Millisecond}), "deleting it in 1ms", "garbage=1 garbage_bytes=4 unknown=1 uploads=0 deleted=1 deleted_bytes=4 ")
	if _, err := store.Get(t.Context(), orphan); err == nil {
		t.Error("garbage is still there")
	}
	for _, key := range []string{fresh, "data/acme/notes.txt"} {
		if _, err := store.Get(t.Context(), key); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	wantText(t, collect(t, a, gcCmd{}), "RESULT objects=2 named=0 may_commit=1 garbage=0 ")
}

// TestGCBesideAnotherTrim: that another process trims a log while the command looks at it is no reason to stop.
func TestGCBesideAnotherTrim(t *testing.T) {
	a := planStore(t, placements.UnknownAccept)
	a.cli.Set = []string{"compactor.keep_records=0"}
	cfg, inner, err := a.existing()
	if err != nil {
		t.Fatal(err)
	}
	log := shardlog.OpenWith(inner, 0, shardlog.Config{Logger: quiet})
	s, err := log.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	twice := func() {
		for range 2 {
			_, _, err := log.Claim(t.Context(), s, "test", "1")
			if err == nil {
				err = log.Checkpoint(t.Context(), s)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	twice()
	store := objstore.NewFault(inner)
	newest := "shards/0/log/" + s.Position().String()
	other := 0
	store.Add(objstore.Rule{Op: objstore.OpGet, Key: newest, Times: 1, Effect: objstore.Pass, Before: func(objstore.Call) {
		twice()
		plan, err := log.PlanTrim(t.Context(), 0)
		if err == nil {
			_, err = plan.Do(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		other++
	}})
	v, err := a.view()
	if err != nil {
		t.Fatal(err)
	}
	v.Objects = store
	if trims, err := planTrims(a, cfg, v); err != nil || len(trims) == 0 || other != 1 {
		t.Errorf("%d trims, %v; the other trimmed %d times", len(trims), err, other)
	}
}
