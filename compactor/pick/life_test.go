package pick

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// load is a bucket's hour.
type load struct {
	name    string
	flushes int
	bytes   func(r *rand.Rand, i int) int64
	writers int // that have ranges of keys of their own; 1: all have all keys
	skew    float64
}

func even(n int64) func(*rand.Rand, int) int64 {
	return func(r *rand.Rand, _ int) int64 { return n/2 + r.Int64N(n) }
}

const (
	kib = int64(1) << 10
	mib = int64(1) << 20
	gib = int64(1) << 30
)

var loads = []load{
	{"a flush of 10 KiB a minute", 60, even(10 * kib), 1, 1},
	{"of 100 KiB every 5 s", 720, even(100 * kib), 1, 1},
	{"of 1 MiB every 5 s", 720, even(mib), 1, 1},
	{"of 3 MiB every 5 s", 720, even(3 * mib), 1, 1},
	{"of 13 MiB every 5 s", 720, even(13 * mib), 1, 1},
	{"of 13 MiB every 5 s, skewed keys", 720, even(13 * mib), 1, 12},
	{"of 13 MiB every 5 s, four writers", 720, even(13 * mib), 4, 1},
	{"of 13 MiB every 3 s", 1200, even(13 * mib), 1, 1},
	{"of 13 MiB every 2 s", 1800, even(13 * mib), 1, 1},
	{"of 13 MiB a second", 3600, even(13 * mib), 1, 1},
	{"of 60 MiB every 10 s", 360, even(60 * mib), 1, 1},
	{"bursts: 20 MiB, then many of 50 KiB", 720, func(r *rand.Rand, i int) int64 {
		if i%60 < 5 {
			return 20 * mib
		}
		return 20*kib + r.Int64N(60*kib)
	}, 1, 3},
	{"any size from 10 KiB to 30 MiB", 720, func(r *rand.Rand, i int) int64 {
		return int64(float64(10*kib) * float64(int64(1)<<r.IntN(12)))
	}, 1, 2},
}

func (l *life) hour(in load) {
	every := time.Hour / time.Duration(in.flushes)
	for i := range in.flushes {
		w := i % in.writers
		l.flush(in.bytes(l.r, i), w*cells/in.writers, (w+1)*cells/in.writers, in.skew)
		for l.step() {
		}
		l.idle = every
	}
	l.bucket.Newest = false
	l.rest()
}

// promised is how much DefaultPolicy promises its write amplification for.
const promised = 62 * 256 * mib

// TestLife: an hour of steady load, then rest. What is written for each byte, what is left, and
// that it comes to rest.
func TestLife(t *testing.T) {
	for _, in := range loads {
		if testing.Short() && in.flushes > 1500 {
			continue
		}
		l := newLife(t, DefaultPolicy())
		l.hour(in)
		t.Logf("%-36s%v", in.name, l)
		s := l.shape()
		most := 4.0
		if l.flushed > promised {
			most = 4.5
		}
		if l.amplification() > most {
			t.Errorf("%s: %.2f written for each byte", in.name, l.amplification())
		}
		if s.small > 2 || s.overlapping > 0 {
			t.Errorf("%s: at rest %d small fragments in a level, %d pairs overlap", in.name, s.small, s.overlapping)
		}
		if l.flushed < l.policy.TargetBytes && s.fragments != 1 || l.flushed > 2*l.policy.TargetBytes && s.median < l.policy.TargetBytes/2 {
			t.Errorf("%s: %d fragments are left, median %d bytes", in.name, s.fragments, s.median)
		}
	}
}

// TestNoPile: flushes that are no tier among themselves (too few of them make a whole target, and too
// small to be done) do not pile up in level 0, whatever the target.
func TestNoPile(t *testing.T) {
	for _, target := range []int64{64 * mib, 128 * mib, 256 * mib} {
		for _, size := range []int64{5 * mib, 13 * mib, 40 * mib} {
			l := newLife(t, DefaultPolicy())
			l.policy.TargetBytes = target
			l.hour(load{"", 720, even(size), 1, 1})
			if most := l.policy.MaxInputs + int(2*l.flushed/target); l.most > most {
				t.Errorf("target %d MiB, flushes of %d MiB: %d fragments at a time, more than %d", target/mib, size/mib, l.most, most)
			}
			if l.amplification() > 5 {
				t.Errorf("target %d MiB, flushes of %d MiB: %.2f written for each byte", target/mib, size/mib, l.amplification())
			}
			t.Logf("target %d MiB, flushes of %d MiB: %v", target/mib, size/mib, l)
		}
	}
}

// TestNarrowerByLevel: fragments of later levels cover less of the sort key.
func TestNarrowerByLevel(t *testing.T) {
	l := newLife(t, DefaultPolicy())
	l.hour(load{"", 1200, even(13 * mib), 1, 1})
	width := map[int]float64{}
	n := map[int]float64{}
	for _, m := range l.objects {
		var from, to int
		fmt.Sscanf(m.KeyMin+m.KeyMax, "k%04dk%04d", &from, &to)
		width[m.Level] += float64(to-from+1) / cells
		n[m.Level]++
	}
	if len(n) < 3 {
		t.Fatalf("fragments by level: %v", n)
	}
	for level := 1; level <= 2; level++ {
		if width[level]/n[level] > width[level-1]/n[level-1]/1.5 {
			t.Errorf("a fragment of level %d covers %.0f%% of the keys, of level %d %.0f%%", level, 100*width[level]/n[level], level-1, 100*width[level-1]/n[level-1])
		}
	}
}

// TestLateData: rows that come late, a few a time, do not rewrite the bucket each time.
func TestLateData(t *testing.T) {
	for _, c := range []struct {
		name      string
		before    int64
		late      int64
		times     int
		fragments int
		amplified float64 // of what is late
	}{
		{"few rows to a large bucket", 2 * gib, 10 * kib, 100, 11, 13},
		{"few rows to a small one", 10 * mib, 10 * kib, 100, 3, 13},
		{"as much again, in pieces", 300 * mib, 3 * mib, 100, 5, 14},
		{"once, a tenth", gib, 100 * mib, 1, 6, 1},
		{"once, as much again", gib, gib, 1, 8, 3},
	} {
		l := newLife(t, DefaultPolicy())
		for range 20 {
			l.flush(c.before/20, 0, cells, 1)
		}
		l.bucket.Newest = false
		l.rest()
		flushed, merged := l.flushed, l.merged
		for i := range c.times {
			from := i * 37 % (cells - 40)
			l.flush(c.late, from, from+40, 1)
			l.rest()
		}
		amplified := float64(l.flushed+l.merged-flushed-merged) / float64(l.flushed-flushed)
		s := l.shape()
		t.Logf("%-28s %d times %.1f MiB: %.1f written for each late byte, %d fragments at rest, %d small", c.name, c.times, float64(c.late)/float64(mib), amplified, s.fragments, s.small)
		if amplified > c.amplified || s.fragments > c.fragments || s.small > 2 || s.overlapping > 0 {
			t.Errorf("%s: more than is promised", c.name)
		}
	}
}

// TestTinyTenants: a thousand tenants with a few rows a minute.
func TestTinyTenants(t *testing.T) {
	var flushed, merged int64
	fragments, jobs := 0, 0
	const tenants = 1000
	for i := range tenants {
		l := newLife(t, DefaultPolicy())
		l.r = rand.New(rand.NewPCG(uint64(i), 9))
		for range 60 {
			l.idle += time.Minute
			if l.r.IntN(3) == 0 {
				l.flush(500+l.r.Int64N(4000), 0, 8, 1)
			}
			for l.step() {
			}
		}
		l.bucket.Newest = false
		l.rest()
		flushed, merged = flushed+l.flushed, merged+l.merged
		fragments += len(l.objects)
		for _, n := range l.jobs {
			jobs += n
		}
	}
	t.Logf("%d tenants: %.2f written for each byte, %d fragments at rest, %.1f merges a tenant", tenants, float64(flushed+merged)/float64(flushed), fragments, float64(jobs)/tenants)
	if fragments > tenants+tenants/50 || jobs > 2*tenants {
		t.Errorf("%d fragments at rest, %d merges", fragments, jobs)
	}
}

// TestAnotherSortKey: after a change of the sort key a bucket is sorted anew, and comes to rest.
func TestAnotherSortKey(t *testing.T) {
	l := newLife(t, DefaultPolicy())
	l.hour(load{"", 720, even(3 * mib), 1, 1})
	l.policy.SortKey = "another"
	merged := l.merged
	l.rest()
	s := l.shape()
	for _, m := range l.objects {
		if m.SortKey != "another" {
			t.Errorf("%s still has the sort key %q", m.Key, m.SortKey)
		}
	}
	if again := float64(l.merged-merged) / float64(l.flushed); again > 2.2 || s.small > 2 || s.overlapping > 0 {
		t.Errorf("%.2f of it written anew; %v", again, l)
	}
}

// TestAnyBucket: whatever a bucket holds, by whatever policy, the jobs are valid, and
// it comes to rest.
func TestAnyBucket(t *testing.T) {
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 5))
		target := 1 + r.Int64N(2000)
		p := Policy{TargetBytes: target, Fanin: 2 + r.IntN(6), Ratio: 1 + r.Int64N(6), Levels: 1 + r.IntN(4), Overlap: 1 + r.Int64N(3),
			MaxInputs: 2 + r.IntN(20), MaxInputBytes: target * (1 + r.Int64N(40)), QuietAfter: time.Minute, QuietNewestAfter: time.Hour}
		l := newLife(t, p)
		l.r = r
		l.bucket.Newest = r.IntN(2) == 0
		for range r.IntN(60) {
			m := &modelled{}
			at, n := r.IntN(cells), 1+r.IntN(40)
			for i := at; i < min(cells, at+n); i++ {
				m.bytes[i] = 1 + r.Int64N(1+target/int64(n)*2)
			}
			m.Level, m.SortKey = r.IntN(6)*r.IntN(2), []string{"", "", "", "k"}[r.IntN(4)]
			l.add(m)
			if r.IntN(8) == 0 {
				m.KeyMin, m.KeyMax = "", ""
			}
		}
		busy := map[string]bool{}
		for _, key := range slices.Sorted(maps.Keys(l.objects)) {
			busy[key] = r.IntN(10) == 0
		}
		l.bucket.Busy = func(key string) bool { return busy[key] }
		for range 20 { // lived in, by jobs of any place in the list
			l.idle = []time.Duration{0, 2 * time.Minute, 2 * time.Hour}[r.IntN(3)]
			if jobs := l.pick(); len(jobs) > 0 {
				l.merge(jobs[r.IntN(len(jobs))])
			}
			if r.IntN(3) == 0 {
				l.flush(1+r.Int64N(target), 0, cells, 1)
			}
		}
		clear(busy)
		l.rest()
	}
}
