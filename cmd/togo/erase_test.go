package main

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/internal/kafka/kafkatest"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/placements"
)

// TestEraseATenant: nothing without --yes; then its shards, what remains, and the wait for the last object.
func TestEraseATenant(t *testing.T) {
	a := planStore(t, placements.UnknownAccept)
	cluster := kafkatest.New(t)
	cluster.Topic("events", 1, map[string]string{"retention.ms": "604800000"})
	args := func(more ...string) []string {
		return append([]string{"--set", "kafka={main: {brokers: [\"" + strings.Join(cluster.ListenAddrs(), ",") + "\"]}}", "tenants", "erase"}, more...)
	}
	store, err := objstore.OpenDir(filepath.Join(a.cli.Dir, "store"))
	if err != nil {
		t.Fatal(err)
	}
	log := shardlog.OpenWith(store, 0, shardlog.Config{Logger: quiet})
	s, err := log.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// An object of acme that no log names, of an owner that is gone.
	stray := shardlog.Creator{Shard: 0, Epoch: s.Epoch(), Nonce: s.ClaimNonce(), Number: 7}.FragmentKey(shardlog.TableEvents, "acme", 0)
	if err := store.Put(t.Context(), stray, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := log.Release(t.Context(), s, s.Epoch()); err != nil {
		t.Fatal(err)
	}
	position := s.Position()

	out, err := command(t, a, args("acme")...)
	if !errors.Is(err, errFailed) {
		t.Fatalf("without --yes: %v", err)
	}
	wantText(t, out, "0 2 2 120000 - placed there\n", "1 0 0 0 - dead letters go there\n", "acme has 2 fragments, 2 rows, 120000 bytes\n", "nothing was changed; --yes erases it")
	if _, err := log.Follow(t.Context(), s); err != nil || s.Position() != position {
		t.Fatalf("without --yes the log grew: %v", err)
	}
	if _, err := command(t, a, args("a/b", "--yes")...); err == nil || !strings.Contains(err.Error(), "bad tenant") {
		t.Errorf("no tenant: %v", err)
	}
	mustCommand(t, a, "tenants", "set", "acme", "retention=1d")
	out = mustCommand(t, a, args("acme", "--yes")...)
	wantText(t, out, "erased in shard 0: all of acme below", "erased in shard 1:", "erased in shard 2:",
		"1 objects, 1 bytes, out of every answer", "copies in Kafka's topic events about ", "(retention.ms is 7d, and whole segments go)",
		"copies in Kafka's topic togo-shards unknown: ", "its identities, as keyed hashes", "its name in placements and settings (togo tenants unset)")
	if strings.Contains(out, "older versions") || strings.Contains(out, "live objects") {
		t.Errorf("a folder has neither versions nor live objects of acme:\n%s", out)
	}
	if _, err := log.Follow(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if _, erased := s.Erased("acme"); !erased || s.Position() != position+1 {
		t.Errorf("erased %v, position %d after %d", erased, s.Position(), position)
	}
	// The wait ends with the last object, and an erasure that is done again finds nothing.
	removed := time.AfterFunc(50*time.Millisecond, func() { _ = store.Delete(t.Context(), stray) })
	defer removed.Stop()
	out = mustCommand(t, a, args("acme", "--yes", "--wait", "--every", "10ms")...)
	wantText(t, out, "acme has 0 fragments, 0 rows, 0 bytes\n", "the last object of what was erased is gone\n")
}

func TestHowLongKafkaKeeps(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, tc := range []struct{ retention, policy, want string }{
		{"604800000", "delete", "about 2026-01-08T00:00:00Z (retention.ms is 7d, and whole segments go)"},
		{"3600000", "compact,delete", "about 2026-01-01T01:00:00Z (retention.ms is 1h, and whole segments go); it is compacted"},
		{"-1", "delete", "for ever"},
		{"9223372036854775807", "delete", "about 2125-"},
		{"", "", `unknown: its retention.ms is ""`},
	} {
		got := kafkaKeeps(kafka.TopicInfo{Configs: map[string]string{"retention.ms": tc.retention, "cleanup.policy": tc.policy}}, now)
		if !strings.HasPrefix(got, tc.want) {
			t.Errorf("%s, %s: %s", tc.retention, tc.policy, got)
		}
	}
}
