package e2e

import (
	"io/fs"
	"path/filepath"
	"testing"
	"time"

	"github.com/togodb/togo/internal/e2e/feed"
	"github.com/togodb/togo/internal/e2e/oracle"
)

// objects lists what lies in the store's folder under a prefix.
func (s *small) objects(prefix string) (out []string) {
	root := filepath.Join(s.dir, "store", filepath.FromSlash(prefix))
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out = append(out, path)
		}
		return nil
	})
	return out
}

// TestEraseATenant: all of a tenant goes, objects too, while others keep theirs; what comes late of it
// is kept out, and no payload of it is kept anywhere.
func TestEraseATenant(t *testing.T) {
	s := newSmall(t, "--set", "compactor.query_grace=500ms", "--set", "compactor.collect_every=300ms", "--set", "compactor.list_every=1s", "--set", "compactor.poll=100ms")
	day := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	secret := func(m feed.Message) feed.Message {
		m.Value = append(m.Value[:len(m.Value)-1], `,"secret":"xyzzy"}`...)
		return m
	}
	var msgs []feed.Message
	for n := range 20 {
		msgs = append(msgs, secret(s.event("acme", n, day.Add(time.Duration(n)*30*time.Minute))), s.event("beta", n, day))
	}
	bad := feed.Message{Topic: "events", Tenant: "acme", Value: []byte("\xff{xyzzy"), Bad: true, Want: oracle.Key{Tenant: "acme"}}
	s.put(append(msgs, bad)...)

	contains(t, s.refused("tenants", "erase", "acme"), "acme has ", "nothing was changed; --yes erases it")
	if rows, err := s.Events(s.ctx, "acme"); err != nil || len(rows) != 20 {
		t.Fatalf("%d events, %v", len(rows), err)
	}
	out := s.output("tenants", "erase", "acme", "--yes", "--wait", "--every", "100ms")
	contains(t, out, "erased in shard 0: all of acme below", "copies in Kafka's topic events ", "(retention.ms is 7d, ", "the last object of what was erased is gone")
	none := func(what string, live int) {
		t.Helper()
		rows, err := s.Events(s.ctx, "acme")
		s.must(err)
		if len(rows) != live {
			t.Errorf("%s: %d events of acme, want %d", what, len(rows), live)
		}
		letters, err := s.Letters(s.ctx, "acme")
		s.must(err)
		for _, l := range letters {
			if l.Reason != "erased" || l.Body() != "" || l.Detail != "" {
				t.Errorf("%s: letter %+v", what, l)
			}
		}
		if rows, err := s.Events(s.ctx, "beta"); err != nil || len(rows) != 20 {
			t.Errorf("%s: %d events of beta, %v", what, len(rows), err)
		}
	}
	none("erased", 0)
	if left := append(s.objects("data/acme"), s.objects("letters/acme")...); len(left) > 0 {
		t.Errorf("left in the store: %v", left)
	}

	// Copies, events that are new but too old, and a broken record come late; one event is of a time
	// that the erasure did not reach.
	before := s.done().Totals
	late := []feed.Message{msgs[0], msgs[2], secret(s.event("acme", 100, day)), secret(s.event("acme", 101, time.Now())), bad,
		s.event("acme", 102, time.Now().Add(8*time.Minute))}
	s.put(late...)
	after := s.done().Totals
	if got := [...]int64{after.Duplicate - before.Duplicate, after.Dead - before.Dead, after.Stored - before.Stored}; got != [...]int64{2, 3, 1} {
		t.Errorf("duplicates, dead and stored of what came late: %v", got)
	}
	none("late copies", 1)
	s.dev.stop()
	s.dev.start()
	s.put(late...)
	none("after a restart", 1)
	contains(t, s.output("tenants", "erase", "acme", "--yes", "--wait", "--every", "100ms"), "the last object of what was erased is gone")
	s.dev.stop()
	contains(t, s.output("verify"), "failed=0")
	if events, letters := len(s.objects("data/acme")), len(s.objects("letters/acme")); events+letters > 0 {
		t.Errorf("after an erasure of what came since: %d files of events, %d of letters", events, letters)
	}
}
