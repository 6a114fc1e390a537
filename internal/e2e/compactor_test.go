package e2e

import (
	"fmt"
	"hash/fnv"
	"testing"
	"time"

	"github.com/togodb/togo/internal/e2e/feed"
	"github.com/togodb/togo/internal/e2e/tool"
)

// TestFault_double_count_by_processes: a compactor is killed again and again, as it starts, merges and collects what
// it has just replaced, while `togo events` is asked for count and sum. The answer never changes, and
// `togo verify` finds nothing, during and after.
func TestFault_double_count_by_processes(t *testing.T) {
	const lots, kills = 10, 6
	s := newSmall(t, "--set", "compactor.poll=1h")
	day := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	for lot := range lots {
		var msgs []feed.Message
		for n := range 20 {
			msgs = append(msgs, s.event([]string{"acme", "beta"}[n%2], lot*20+n, day.Add(time.Duration(n)*5*time.Minute)))
		}
		s.put(msgs...)
	}
	s.dev.stop()
	before, err := s.Status(s.ctx)
	s.must(err)

	ask := func() (answer string) {
		for _, tenant := range []string{"acme", "beta"} {
			rows, err := s.Events(s.ctx, tenant)
			s.must(err)
			sum := uint64(0)
			for _, r := range rows {
				h := fnv.New64a()
				fmt.Fprintf(h, "%+v %s", r.Seq, r.Event)
				sum += h.Sum64()
			}
			answer += fmt.Sprintf("%s: %d rows, sum %x; ", tenant, len(rows), sum)
		}
		return answer
	}
	want := ask()
	same := func(when string) {
		if got := ask(); got != want {
			t.Fatalf("%s: %s, it was %s", when, got, want)
		}
	}
	c := s.process("compactor", addr(t), "run", "--target", "compactor", "--set", "compactor.poll=50ms", "--set", "compactor.fan_in=3",
		"--set", "compactor.ratio=2", "--set", "compactor.quiet_after=2s", "--set", "compactor.quiet_newest_after=2s", "--set", "compactor.query_grace=500ms",
		"--set", "compactor.collect_every=200ms", "--set", "compactor.list_every=1s", "--set", "compactor.job_timeout=1s")
	for kill := range kills {
		c.begin()
		time.Sleep(time.Duration(s.rng.Int64N(int64(700 * time.Millisecond))))
		same(fmt.Sprint("before kill ", kill))
		c.Kill()
		same(fmt.Sprint("after kill ", kill))
	}
	c.start()
	after, err := s.Await(s.ctx, "everything is merged", func(st tool.Status) bool {
		same("meanwhile")
		contains(t, s.output("verify"), "failed=0")
		return st.Fragments <= before.Fragments/4 && st.IDSegments <= before.IDSegments/4
	})
	s.must(err)
	t.Logf("%d fragments and %d id segments became %d and %d", before.Fragments, before.IDSegments, after.Fragments, after.IDSegments)
	c.stop()
	same("in the end")
	contains(t, s.output("verify"), "failed=0")
}
