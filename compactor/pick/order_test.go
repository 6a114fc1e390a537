package pick

import (
	"fmt"
	"testing"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/shardlog"
)

func jobOf(tenant string, bucket int64, inputs int) Job {
	var j Job
	for i := range inputs {
		j.Inputs = append(j.Inputs, shardlog.Fragment{Key: fmt.Sprintf("%s%d-%d", tenant, bucket, i), Tenant: event.TenantID(tenant), Bucket: bucket})
	}
	return j
}

func TestOrder(t *testing.T) {
	jobs := []Job{jobOf("a", 1, 2), jobOf("a", 3, 2), jobOf("b", 3, 9), jobOf("b", 3, 3), jobOf("a", 2, 5)}
	for turn, want := range map[int]string{
		0:  "b3/9 b3/3 a3/2 a2/5 a1/2", // newest first; of those the one with most to gain
		1:  "b3/9 b3/3 a3/2 a2/5 a1/2",
		3:  "a1/2 b3/9 b3/3 a3/2 a2/5", // the oldest
		7:  "a1/2 b3/9 b3/3 a3/2 a2/5", // and in turns
		15: "a2/5 b3/9 b3/3 a3/2 a1/2",
		23: "a3/2 b3/9 b3/3 a2/5 a1/2",
		31: "b3/9 b3/3 a3/2 a2/5 a1/2",
		39: "a1/2 b3/9 b3/3 a3/2 a2/5",
	} {
		got := ""
		for _, j := range Order(jobs, turn) {
			got += fmt.Sprintf(" %s%d/%d", j.Inputs[0].Tenant, j.Inputs[0].Bucket, len(j.Inputs))
		}
		if got[1:] != want {
			t.Errorf("turn %d: %s, want %s", turn, got[1:], want)
		}
	}
	if len(Order(nil, 3)) != 0 {
		t.Error("jobs out of nothing")
	}
}

// TestBacklog: after six hours without a compactor, with traffic that goes on, one job a turn
// makes the backlog smaller all the time, the newest hours first, and reaches every bucket; even
// while the job of one bucket fails for ever.
func TestBacklog(t *testing.T) {
	p := DefaultPolicy()
	const tenants, hours = 8, 6
	lives := map[string]*life{}
	name := func(tenant, hour int) string { return fmt.Sprintf("t%d/%d", tenant, hour) }
	for tenant := range tenants {
		for hour := range hours {
			l := newLife(t, p)
			l.bucket.Tenant, l.bucket.Bucket, l.bucket.Newest = event.TenantID(fmt.Sprintf("t%d", tenant)), int64(hour), hour == hours-1
			for range 720 {
				l.flush(200*kib, 0, cells, 1)
			}
			if hour < hours-1 {
				l.idle = time.Hour
			}
			lives[name(tenant, hour)] = l
		}
	}
	left := func() (n int) {
		for _, l := range lives {
			n += len(l.objects)
		}
		return n
	}
	const stubborn = "t3/2"
	visited, firstOld, before := map[string]int{}, 0, left()
	known := map[string][]Job{} // of buckets that have not changed since they were asked
	for turn := range 2000 {
		if turn%20 == 0 { // two jobs' worth of new data every 20 turns
			for tenant := range 2 {
				for range 24 {
					lives[name(tenant, hours-1)].flush(200*kib, 0, cells, 1)
				}
				delete(known, name(tenant, hours-1))
			}
		}
		var jobs []Job
		for tenant := range tenants {
			for hour := range hours {
				key := name(tenant, hour)
				if _, ok := known[key]; !ok {
					known[key] = lives[key].pick()
				}
				jobs = append(jobs, known[key]...)
			}
		}
		if len(jobs) == 0 {
			break
		}
		j := Order(jobs, turn)[0]
		key := fmt.Sprintf("%s/%d", j.Inputs[0].Tenant, j.Inputs[0].Bucket)
		if visited[key]++; key == stubborn {
			continue // it fails, each time
		}
		lives[key].merge(j)
		delete(known, key)
		if j.Inputs[0].Bucket == 0 && firstOld == 0 {
			firstOld = turn + 1
		}
		if turn%50 == 49 {
			now := left()
			if now >= before && now > tenants*hours*30+720 {
				t.Fatalf("turn %d: %d fragments, %d fifty turns before", turn, now, before)
			}
			before = now
		}
		if turn == 299 {
			t.Logf("after %d turns %d of %d fragments are left; the oldest hour was first visited at turn %d", turn+1, left(), tenants*hours*720, firstOld)
			if visited[name(0, hours-1)] == 0 || visited[name(0, 0)] > visited[name(0, hours-1)] {
				t.Errorf("the newest hour was not preferred: %v", visited)
			}
		}
	}
	for key, l := range lives {
		if visited[key] == 0 {
			t.Errorf("bucket %s was never visited", key)
		}
		if n := len(l.objects); key != stubborn && l.bucket.Bucket < hours-1 && n != 1 {
			t.Errorf("bucket %s is left with %d fragments", key, n)
		}
	}
}
