package e2e

import (
	"testing"
	"time"

	"github.com/togodb/togo/internal/e2e/feed"
)

// TestRetention: what is older than a tenant's retention goes, row and object; what others keep
// longer stays, and so do the identities that keep its copies out.
func TestRetention(t *testing.T) {
	s := newSmall(t, "--set", "compactor.query_grace=300ms", "--set", "compactor.collect_every=200ms",
		"--set", "compactor.poll=100ms", "--set", "compactor.expire_every=200ms")
	begin := time.Now()
	var msgs []feed.Message
	for n := range 12 { // from twelve hours ago to an hour ago
		at := begin.Add(-time.Duration(12-n) * time.Hour)
		msgs = append(msgs, s.event("acme", n, at), s.event("beta", n, at))
	}
	s.put(msgs...)
	events := func(tenant string) int {
		t.Helper()
		rows, err := s.Events(s.ctx, tenant)
		s.must(err)
		return len(rows)
	}
	// await waits until a tenant has so many events and no more files.
	await := func(tenant string, number func() int) {
		t.Helper()
		for {
			got, files, want := events(tenant), len(s.objects("data/"+tenant)), number()
			if got == want && files <= want {
				return
			}
			select {
			case <-s.ctx.Done():
				t.Fatalf("%s has %d events in %d files, want %d", tenant, got, files, want)
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
	// Floors go down to the hour: of 6 hours what is in the hour of then, or later, stays.
	kept := func() (n int) {
		floor := time.Now().Add(-6 * time.Hour).Truncate(time.Hour)
		for i := range 12 {
			if !begin.Add(-time.Duration(12-i) * time.Hour).Before(floor) {
				n++
			}
		}
		return n
	}
	contains(t, s.output("tenants", "set", "acme", "retention=6h"), "retention", "forever (built-in)", "6h (tenant)")
	await("acme", kept)
	if n := events("beta"); n != 12 {
		t.Errorf("beta has %d events of 12", n)
	}
	before := s.done().Totals
	s.put(msgs...)
	after := s.done().Totals
	if dup, dead, stored := after.Duplicate-before.Duplicate, after.Dead-before.Dead, after.Stored-before.Stored; dup != 24 || dead != 0 || stored != 0 {
		t.Errorf("of copies of everything: %d duplicates, %d dead, %d stored", dup, dead, stored)
	}
	// A retention that is made longer brings nothing back.
	left := events("acme")
	s.output("tenants", "set", "acme", "retention=10h")
	late := s.event("acme", 100, begin.Add(-9*time.Hour))
	s.put(late)
	letters, err := s.Letters(s.ctx, "acme")
	s.must(err)
	if len(letters) != 1 || letters[0].Reason != "too_old" || letters[0].Body() != string(late.Value) {
		t.Errorf("below a floor that was: %+v", letters)
	}
	if n := events("acme"); n != left {
		t.Errorf("acme has %d events, and had %d", n, left)
	}
	// Everybody: identities of what nobody has any more go, too, and their copies are too old.
	s.output("tenants", "set", "--default", "retention=6h")
	s.output("tenants", "unset", "acme", "retention")
	await("beta", kept)
	s.put(msgs[0], msgs[1], msgs[22]) // with the commit of these the owners see the record
	before = s.done().Totals
	s.put(msgs[0], msgs[1], msgs[22])
	after = s.done().Totals
	if dup, dead := after.Duplicate-before.Duplicate, after.Dead-before.Dead; dup != 1 || dead != 2 {
		t.Errorf("of two copies of old events and one of a new one: %d duplicates, %d dead", dup, dead)
	}
	s.dev.stop()
	contains(t, s.output("verify"), "failed=0")
	contains(t, s.output("tenants", "show"), "(default)  retention", "6h")
}
