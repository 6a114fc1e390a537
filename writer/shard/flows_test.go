package shard

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/shardlog"
)

// TestFault_late: three days of a tenant's old data, half of it stored before
// and none of it in memory, come beside live traffic.
func TestFault_late(t *testing.T) {
	const buckets = 3 * 24 * 6 // of ten minutes
	old := func(n int) []ev {
		var events []ev
		for i := range 10 {
			k := n*10 + i
			events = append(events, ev{start.Add(-96*time.Hour + time.Duration(k%buckets)*10*time.Minute), fmt.Sprint("old", k), []byte("late data")})
		}
		return events
	}
	measure := func(late bool) *flow {
		f := newFlow(t, func(c *Config) { c.SmallTenantBytes = 0; c.DedupBytes, c.DedupTenantBytes = 1<<20, 512<<10 })
		if late {
			n := 0
			f.run(20*time.Second, func(time.Duration) { // what was stored then
				for range 5 {
					f.arrive("late", old(n)...)
					n += 2
				}
			})
			f.drain(2 * time.Minute)
			f.fresh = map[event.TenantID][]time.Duration{}
			f.wr = nil // a restart: nothing is in memory
			f.due = nil
		}
		live, n := f.live("live", 200, 200), 0
		f.run(60*time.Second, func(at time.Duration) {
			live(at)
			for i := 0; late && i < 3 && at < 40*time.Second; i++ {
				f.arrive("late", old(n)...)
				n++
			}
		})
		f.drain(5 * time.Minute)
		return f
	}
	alone, beside := measure(false), measure(true)
	for _, share := range []float64{0.5, 0.99, 1} {
		a, b := alone.worst("live", share), beside.worst("live", share)
		t.Logf("live data, %.0f%% within: %s alone, %s beside late data", share*100, a, b)
		if b > a+2*time.Second {
			t.Errorf("%.0f%% of the live data: %s alone, %s beside late data", share*100, a, b)
		}
	}
	s := beside.totals()
	t.Logf("late data within %s; %d id reads, %d stored, %d duplicates, %d commits", beside.worst("late", 1), beside.idReads, s.Stored, s.Duplicate, beside.commits)
	if s.Events != beside.sent || s.Duplicate == 0 {
		t.Errorf("%+v of %d events", s, beside.sent)
	}
}

// TestFault_noisy_tenant: one tenant sends nine tenths of the traffic, all new ids.
func TestFault_noisy_tenant(t *testing.T) {
	measure := func(noise int) *flow {
		f := newFlow(t, func(c *Config) { c.DedupBytes, c.DedupTenantBytes = 1<<20, 256<<10 })
		quiet, noisy := f.live("quiet", 100, 200), func(time.Duration) {}
		if noise > 0 {
			noisy = f.live("noisy", noise, 200)
		}
		f.run(75*time.Second, func(at time.Duration) { quiet(at); noisy(at) })
		f.drain(2 * time.Minute)
		return f
	}
	alone, beside := measure(0), measure(1000)
	for _, share := range []float64{0.5, 0.99, 1} {
		a, b := alone.worst("quiet", share), beside.worst("quiet", share)
		t.Logf("the quiet tenant, %.0f%% within: %s alone, %s beside the noisy one", share*100, a, b)
		if b > a+time.Second {
			t.Errorf("%.0f%%: %s alone, %s beside the noisy tenant", share*100, a, b)
		}
	}
	st := beside.wr.core.Status(beside.now)
	t.Logf("identities: %d bytes; id reads %d (%d alone); memory at most %d", st.DedupBytes, beside.idReads, alone.idReads, beside.memory)
	if st.DedupBytes > beside.config.DedupBytes*5/4 {
		t.Errorf("%d bytes of identities, the budget is %d", st.DedupBytes, beside.config.DedupBytes)
	}
}

// The store's requests, by which a bill is made. A tenant that sends less than a
// large file's worth in a minute makes a file each time that three quarters of a minute
// have passed at the most, however often it sends.
const (
	maxFilesPerTenantHour  = 3600/45 + 3      // the ends of the measured part count
	maxWritesPerHourCommon = 3600 / 5 * 2 * 2 // a commit is a record and an id segment; twice in flush_age at most
)

// TestFault_request_budget: a thousand tenants in a shard, ten of them large, as in an hour.
func TestFault_request_budget(t *testing.T) {
	const tenants, large = 1010, 20 // half of the large ones send little, each second
	const part = 20 * time.Minute   // of the hour
	f := newFlow(t, func(c *Config) {})
	var busy []func(time.Duration)
	for i := range large / 2 {
		busy = append(busy, f.live(event.TenantID(fmt.Sprint("large-", i)), 20, 1000), f.live(event.TenantID(fmt.Sprint("steady-", i)), 1, 1000))
	}
	next := 0
	f.run(part, func(at time.Duration) {
		for _, b := range busy {
			b(at)
		}
		// Each small tenant once a minute, each at its own second.
		for want := int((at + arrivalTime).Seconds() * (tenants - large) / 60); next < want; next++ {
			f.arrive(event.TenantID(fmt.Sprint("small-", next%(tenants-large))), ev{start.Add(at - 2*time.Hour), fmt.Sprint(next), []byte("small")})
		}
	})
	f.drain(3 * time.Minute)
	small, most := 0, 0
	for tenant, n := range f.files {
		n *= int(time.Hour / part)
		if strings.HasPrefix(string(tenant), "small-") {
			small += n
		}
		most = max(most, n)
	}
	events := f.totals().Events
	t.Logf("%d events, %d writes: %.4f an event; %d commits; a tenant's hour: %.1f files if small, at most %d; small tenants' data within %s", events, f.puts,
		float64(f.puts)/float64(events), f.commits, float64(small)/(tenants-large), most, f.worst("small-1", 1))
	if most > maxFilesPerTenantHour {
		t.Errorf("%d files of a tenant in an hour", most)
	}
	files := 0
	for _, n := range f.files {
		files += n
	}
	if common := (f.puts - files) * int(time.Hour/part); common > maxWritesPerHourCommon {
		t.Errorf("%d writes beside files in an hour", common)
	}
	if f.idReads > 0 {
		t.Errorf("%d reads of identities that were all seen here", f.idReads)
	}
}

// TestFault_many_tenants: 2,000 tenants send a day's data in little memory.
func TestFault_many_tenants(t *testing.T) {
	const tenants, hours = 2000, 24
	f := newFlow(t, func(c *Config) { c.MemoryBytes, c.ParkedBytes = 8<<20, 2<<20 })
	payload := make([]byte, 500)
	n := 0
	f.run(40*time.Second, func(time.Duration) {
		for i := 0; i < 100 && n < tenants*hours; i++ {
			tenant := event.TenantID(fmt.Sprint("tenant-", n%tenants))
			f.arrive(tenant, ev{start.Add(-time.Duration(1+n/tenants) * time.Hour), fmt.Sprint(n), payload})
			n++
		}
	})
	f.drain(30 * time.Minute)
	t.Logf("at most %d bytes held; %d commits, %d files of %d events", f.memory, f.commits, f.puts, f.sent)
	if s := f.totals(); s.Stored != tenants*hours || f.sent != s.Stored {
		t.Errorf("%d sent, %+v", f.sent, s)
	}
	if f.memory > f.config.MemoryBytes*5/4 {
		t.Errorf("%d bytes held, the budget is %d", f.memory, f.config.MemoryBytes)
	}
}

// TestFault_503: nothing can be written for five minutes.
func TestFault_503(t *testing.T) {
	fiveMinutes(t, func(f *flow, failing func(time.Time) bool) { f.down = failing })
}

// TestFault_silent_nothing: every commit fails for five minutes, and all else goes well.
func TestFault_silent_nothing(t *testing.T) {
	fiveMinutes(t, func(f *flow, failing func(time.Time) bool) { f.stuck = failing })
}

// fiveMinutes: meanwhile reading pauses, memory stays flat, the lag grows and the shard says that it is not
// ready; all is stored afterwards, once.
func fiveMinutes(t *testing.T, fail func(*flow, func(time.Time) bool)) {
	f := newFlow(t, func(c *Config) { c.MemoryBytes, c.ParkedBytes = 8<<20, 2<<20 })
	fail(f, func(now time.Time) bool {
		d := now.Sub(start)
		return d >= time.Minute && d < 6*time.Minute
	})
	live := f.live("a", 200, 1000)
	var unready, paused bool
	var lags []int64
	f.run(7*time.Minute, func(at time.Duration) {
		live(at)
		if at > 2*time.Minute && at < 6*time.Minute {
			unready = unready || f.wr.core.Ready(f.now) != nil
			paused = paused || f.wr.paused
			if !f.wr.paused && f.wr.core.Ready(f.now) == nil {
				t.Errorf("ready, and reading, %s after the start", at)
			}
			lags = append(lags, f.part().end-f.wr.core.Status(f.now).Committed)
		}
	})
	f.drain(5 * time.Minute)
	if !unready || !paused || f.wr.core.Ready(f.now) != nil {
		t.Errorf("not ready %t, paused %t; ready afterwards: %v", unready, paused, f.wr.core.Ready(f.now))
	}
	if !slices.IsSorted(lags) || lags[len(lags)-1] < 2*lags[0] {
		t.Errorf("the lag is %d after two minutes, and %d in the end", lags[0], lags[len(lags)-1])
	}
	if f.memory > f.config.MemoryBytes*5/4 {
		t.Errorf("%d bytes held, the budget is %d", f.memory, f.config.MemoryBytes)
	}
	if s := f.totals(); s.Stored != f.sent || s.Events != f.sent {
		t.Errorf("%d sent, %+v", f.sent, s)
	}
}

// TestFault_catch_up: ten times what memory holds waits at the start, in one partition, and nothing comes after it.
func TestFault_catch_up(t *testing.T) {
	f := newFlow(t, func(c *Config) { c.MemoryBytes, c.ParkedBytes = 4<<20, 1<<20 })
	payload := make([]byte, 1000)
	for n := range 4000 {
		var events []ev
		for i := range 10 {
			events = append(events, ev{start.Add(-time.Duration(n) * time.Second), fmt.Sprint(n, "-", i), payload})
		}
		f.arrive(event.TenantID(fmt.Sprint("t", n%3)), events...)
	}
	began := f.now
	f.run(time.Second, func(time.Duration) {})
	f.drain(10 * time.Minute)
	t.Logf("%d events, %d bytes held at most, in %d commits within %s", f.sent, f.memory, f.commits, f.now.Sub(began))
	if f.memory > f.config.MemoryBytes*5/4 {
		t.Errorf("%d bytes held, the budget is %d", f.memory, f.config.MemoryBytes)
	}
	if s := f.totals(); s.Stored != f.sent || f.commits < 10 {
		t.Errorf("%+v of %d events in %d commits", s, f.sent, f.commits)
	}
}

// TestACommitNamesABoundedNumberOfFiles: a backfill in which each event has a file of its own, in
// much memory. A record of the log that named them all would be refused, and the shard would
// never get past it.
func TestACommitNamesABoundedNumberOfFiles(t *testing.T) {
	const tenants, hours = 1000, 120
	f := newFlow(t, func(c *Config) { c.MemoryBytes = 1 << 30 })
	n := 0
	most := 0
	f.onCommit = func(a *shardlog.Append) { most = max(most, len(a.Fragments)) }
	f.run(30*time.Second, func(time.Duration) {
		for i := 0; i < 40 && n < tenants*hours/20; i++ {
			var events []ev
			for h := range 20 {
				k := n/tenants*20 + h
				events = append(events, ev{start.Add(-time.Duration(1+k) * time.Hour), fmt.Sprint(n, h), []byte("x")})
			}
			f.arrive(event.TenantID(fmt.Sprintf("tenant-with-a-rather-long-name-%d", n%tenants)), events...)
			n++
		}
	})
	f.drain(2 * time.Hour)
	t.Logf("%d events in %d commits, at most %d files in one", f.sent, f.commits, most)
	if most > maxFiles+20 || most < maxFiles/4 {
		t.Errorf("%d files in a commit", most)
	}
	if f.wr.core.slots != 0 || f.wr.core.parkedItems != 0 {
		t.Errorf("%d files and %d parked items are left", f.wr.core.slots, f.wr.core.parkedItems)
	}
	if s := f.totals(); s.Stored != tenants*hours {
		t.Errorf("%+v of %d events", s, f.sent)
	}
}
