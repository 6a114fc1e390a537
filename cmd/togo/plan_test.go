package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/placements"
)

// planNow is when the tests plan.
var planNow = time.UnixMilli(1_800_000_000_000)

// planStore is a store of three shards, with acme on shard 0, globex on 0 and 1, and
// a default rule that puts everybody on both 0 and 1. In the last minute acme wrote 60,000 bytes, stranger 30,000.
func planStore(t *testing.T, unknown placements.Unknown) *app {
	t.Helper()
	dir := t.TempDir()
	store, err := objstore.OpenDir(filepath.Join(dir, "store"))
	if err != nil {
		t.Fatal(err)
	}
	meta, err := objstore.OpenMeta(t.Context(), store, objstore.MetaDefaults{})
	if err != nil {
		t.Fatal(err)
	}
	k, err := placements.NewKeeper(placements.Config{Store: store, Hasher: event.NewHasher(event.Seed(meta.Seed)), Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	g := placements.NewGenesis(3)
	g.Default.Shards, g.Default.Spread, g.Admission.Unknown = placements.Shards{0, 1}, 2, unknown
	g.Tenants = map[event.TenantID]placements.Shards{"acme": {0}, "globex": {0, 1}}
	if _, err := k.Init(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Extend(t.Context(), event.Timestamp(time.Now().UnixNano())); err != nil {
		t.Fatal(err)
	}
	commitBytes(t, store, 0, "acme", 60_000)
	commitBytes(t, store, 1, "stranger", 30_000)
	return &app{cli: &cli{Dir: dir}, log: slog.Default(), ctx: t.Context()}
}

// commitBytes appends two commits of files of the size, a minute ago and now.
func commitBytes(t *testing.T, store objstore.Store, shard event.ShardID, tenant event.TenantID, size int64) {
	now := planNow.Add(-time.Minute)
	log := shardlog.OpenWith(store, shard, shardlog.Config{Now: func() time.Time { return now }, Logger: quiet})
	s := shardlog.NewState(shard)
	if _, _, err := log.Claim(t.Context(), s, "test", "1"); err != nil {
		t.Fatal(err)
	}
	for seq := range int64(2) {
		key, ids := fmt.Sprintf("data/%s/%d", tenant, seq), fmt.Sprintf("ids/%d", seq)
		a := &shardlog.Append{
			Epoch: 1, Seq: uint64(seq + 1), Ledger: shardlog.Ledger{Events: 1, Stored: 1},
			Fragments: []shardlog.Fragment{{
				Key: key, Tenant: tenant, Table: shardlog.TableEvents, Rows: 1, Bytes: size, Sum: objstore.Sum([]byte(key)), SeqMin: uint64(seq + 1), SeqMax: uint64(seq + 1),
			}},
			IDs: &shardlog.IDSegment{Key: ids, Bytes: 20, Sum: objstore.Sum(nil), IDs: 1, Buckets: []shardlog.IDBucket{{IDs: 1, Length: 20}}},
			Progress: []shardlog.Progress{{
				Source: shardlog.Source{Cluster: "c", Topic: strings.Repeat("ab", 16)}, From: seq, Next: seq + 1, LeaderEpoch: -1, Records: 1,
			}},
		}
		if _, _, err := log.Append(t.Context(), s, &shardlog.Record{Kind: shardlog.KindAppend, Append: a}); err != nil {
			t.Fatal(err)
		}
		now = planNow
	}
}

// plan runs the command without asking Kafka, and returns what it printed with single spaces.
func plan(t *testing.T, a *app, c placementsPlanCmd) string {
	t.Helper()
	var out bytes.Buffer
	a.out = &out
	v, err := a.view()
	if err == nil {
		err = c.plan(a, v, planNow, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(` +`).ReplaceAllString(out.String(), " ")
}

func wantText(t *testing.T, got string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("no %q in\n%s", w, got)
		}
	}
}

func TestPlacementsPlan(t *testing.T) {
	a := planStore(t, placements.UnknownAccept)
	roomy := placementsPlanCmd{Window: 5 * time.Minute, Capacity: 2000, MaxShards: 4, MaxMoves: 10, MaxLag: time.Minute}
	wantText(t, plan(t, a, roomy), "\nacme 1 kB/s 0\nstranger 500 B/s ", "\n2 0 0 B/s 0% 0s 0 0 B/s 0%\n", "\nno tenant needs other shards\n")

	tight := roomy
	tight.Capacity = 1200
	want := "\nacme 0 0,2 1 kB/s is more than 960 B/s a shard\n"
	wantText(t, plan(t, a, tight), want, "\nnothing is changed; --apply does it\n")
	tight.Apply = true
	wantText(t, plan(t, a, tight), want, "\nversion 3: holds for events from ")
	wantText(t, plan(t, a, tight), "\nacme 1 kB/s 0,2\n", "\nno tenant needs other shards\n")

	drain := tight
	drain.Drain = "0"
	wantText(t, plan(t, a, drain), "\ndefault rule: shards 1 instead of 0-1\n", "\nacme 0,2 1-2 shard 0 is drained\n",
		"\nglobex 0-1 2,1 shard 0 is drained\n", "\nversion 4: ", "\nversion 5: ")
	k, err := a.keeper()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []event.TenantID{"acme", "globex", "stranger"} {
		for _, s := range k.Current().Latest(name) {
			if s == 0 {
				t.Errorf("%s is still placed on shard 0", name)
			}
		}
	}
	drain.Drain = "1"
	v, err := a.view()
	if err != nil {
		t.Fatal(err)
	}
	if err := drain.plan(a, v, planNow, nil); err == nil || !strings.Contains(err.Error(), "default rule") {
		t.Errorf("draining all shards of the default rule: %v", err)
	}
}

// TestPlacementsPlanIsNotStale: what was planned for one table is not done to another.
func TestPlacementsPlanIsNotStale(t *testing.T) {
	a := planStore(t, placements.UnknownAccept)
	v, err := a.view()
	if err != nil {
		t.Fatal(err)
	}
	k, err := a.keeper()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Propose(a.ctx, placements.SetTenant("acme", placements.Shards{1}, nil)); err != nil {
		t.Fatal(err)
	}
	a.out = new(bytes.Buffer)
	c := placementsPlanCmd{Apply: true, Window: 5 * time.Minute, Capacity: 800, MaxShards: 4, MaxMoves: 10}
	if err := c.plan(a, v, planNow, nil); err == nil || !strings.Contains(err.Error(), "plan again") {
		t.Errorf("a stale plan: %v", err)
	}
}

// TestPlacementsPlanAdmitsNobody: a placement makes a tenant known, so a plan has none
// for a tenant that is denied by now.
func TestPlacementsPlanAdmitsNobody(t *testing.T) {
	a := planStore(t, placements.UnknownDeny)
	got := plan(t, a, placementsPlanCmd{Window: 5 * time.Minute, Capacity: 300, MaxShards: 4, MaxMoves: 10, MaxLag: time.Minute})
	wantText(t, got, "\nacme 0 ")
	if strings.Contains(got, "stranger") {
		t.Errorf("plans for a tenant that is denied:\n%s", got)
	}
}
