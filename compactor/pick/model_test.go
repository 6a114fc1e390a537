package pick

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/togodb/togo/internal/shardlog"
)

// cells are the values that the sort key takes in a modelled bucket.
const cells = 256

// modelled is a fragment of the model: its bytes by the value of the sort key.
type modelled struct {
	shardlog.Fragment
	bytes [cells]int64
}

// life is a bucket whose merges are modelled.
type life struct {
	t       testing.TB
	policy  Policy
	r       *rand.Rand
	bucket  Bucket
	objects map[string]*modelled
	serial  int
	idle    time.Duration

	flushed, merged int64 // bytes written by flushes and by merges
	jobs            map[Why]int
	most            int // fragments at any time
	largest         int64
}

func newLife(t testing.TB, p Policy) *life {
	return &life{t: t, policy: p, r: rand.New(rand.NewPCG(1, 2)), objects: map[string]*modelled{}, jobs: map[Why]int{},
		bucket: Bucket{Tenant: "a", Table: shardlog.TableEvents, Newest: true}}
}

func (l *life) add(m *modelled) *modelled {
	l.serial++
	m.Key = fmt.Sprintf("f%06d", l.serial)
	m.Tenant, m.Table, m.Bucket = l.bucket.Tenant, l.bucket.Table, l.bucket.Bucket
	first := true
	for i, n := range m.bytes {
		if n == 0 {
			continue
		}
		if m.Bytes += n; first {
			m.KeyMin, first = fmt.Sprintf("k%04d", i), false
		}
		m.KeyMax = fmt.Sprintf("k%04d", i)
	}
	m.Rows = m.Bytes/100 + 1
	l.objects[m.Key] = m
	return m
}

// flush adds a fragment of about n bytes. Keys are those of a writer; skew is how much
// more often the first are than the last.
func (l *life) flush(n int64, from, to int, skew float64) {
	m := &modelled{}
	m.SortKey = l.policy.SortKey
	weights := make([]float64, to-from)
	var sum float64
	for i := range weights {
		weights[i] = l.r.ExpFloat64()
		for range int(skew) {
			weights[i] *= float64(len(weights)-i) / float64(len(weights))
		}
		sum += weights[i]
	}
	for i, w := range weights {
		m.bytes[from+i] = int64(float64(n) * w / sum)
	}
	m.bytes[from]++
	l.add(m)
	l.flushed += m.Bytes
	l.idle = 0
}

// step picks, and does the first job at once.
func (l *life) step() bool {
	jobs := l.pick()
	if len(jobs) == 0 {
		return false
	}
	l.merge(jobs[0])
	return true
}

func (l *life) pick() []Job {
	b := l.bucket
	b.Idle = l.idle
	for _, key := range slices.Sorted(maps.Keys(l.objects)) {
		b.Fragments = append(b.Fragments, l.objects[key].Fragment)
	}
	l.most = max(l.most, len(b.Fragments))
	jobs := Pick(b, l.policy)
	check(l.t, b, l.policy, jobs)
	return jobs
}

// merge is what a merge does: all bytes by key, cut near the target, at a change of the key
// where one is near.
func (l *life) merge(j Job) {
	var all [cells]int64
	for _, f := range j.Inputs {
		for i, n := range l.objects[f.Key].bytes {
			all[i] += n
		}
		delete(l.objects, f.Key)
	}
	l.jobs[j.Why]++
	l.largest = max(l.largest, j.Bytes())
	out := &modelled{}
	var sum int64
	cut := func() {
		if sum > 0 {
			out.Level, out.SortKey = j.Level, l.policy.SortKey
			l.add(out)
			l.merged += out.Bytes
			out, sum = &modelled{}, 0
		}
	}
	for i, n := range all {
		if sum > 0 && sum+n/2 > j.TargetBytes {
			cut()
		}
		for n > 0 {
			take := min(n, max(0, j.TargetBytes*5/4-sum))
			if take == 0 {
				cut()
				continue
			}
			out.bytes[i] += take
			sum, n = sum+take, n-take
		}
	}
	cut()
}

// rest merges until nothing is left to do.
func (l *life) rest() {
	l.idle = time.Hour
	for n := 0; l.step(); n++ {
		if n > 1000 {
			l.t.Fatalf("no rest after %d jobs: %v", n, l)
		}
	}
}

// shape is what is left.
type shape struct {
	fragments, small int // small: the most of one level that are not of about the target size
	median           int64
	perLevel         map[int]int
	overlapping      int // pairs of one level from 1 on
}

func (l *life) shape() shape {
	out := shape{fragments: len(l.objects), perLevel: map[int]int{}}
	small := map[int]int{}
	var sizes []int64
	var list []shardlog.Fragment
	for _, m := range l.objects {
		list = append(list, m.Fragment)
		sizes = append(sizes, m.Bytes)
		out.perLevel[m.Level]++
		if m.Bytes < l.policy.TargetBytes/2 || m.Bytes > 2*l.policy.TargetBytes {
			small[m.Level]++
			out.small = max(out.small, small[m.Level])
		}
	}
	slices.Sort(sizes)
	if len(sizes) > 0 {
		out.median = sizes[len(sizes)/2]
	}
	s := sortOut(Bucket{}, l.policy)
	for i, a := range list {
		for _, b := range list[:i] {
			if a.Level > 0 && a.Level == b.Level && a.KeyMin < b.KeyMax && b.KeyMin < a.KeyMax && s.overlaps(&a, spanOf([]shardlog.Fragment{b})) {
				out.overlapping++
			}
		}
	}
	return out
}

// amplification is all that was written, for each byte that was flushed.
func (l *life) amplification() float64 {
	return float64(l.flushed+l.merged) / float64(max(1, l.flushed))
}

func (l *life) String() string {
	s := l.shape()
	return fmt.Sprintf("%7.1f MiB in: %.2f written for each byte; at most %d fragments, at rest %d (by level %v), %d small, median %.0f%% of the target; jobs %v, largest %.1f GiB",
		float64(l.flushed)/(1<<20), l.amplification(), l.most, s.fragments, s.perLevel, s.small, 100*float64(s.median)/float64(l.policy.TargetBytes), l.jobs, float64(l.largest)/(1<<30))
}

// check holds the jobs against what the fold asks, and against each other.
func check(t testing.TB, b Bucket, p Policy, jobs []Job) {
	t.Helper()
	live := map[string]shardlog.Fragment{}
	for _, f := range b.Fragments {
		live[f.Key] = f
	}
	taken := map[string]bool{}
	for _, j := range jobs {
		if len(j.Inputs) == 0 || len(j.Inputs) == 1 && j.Why != WhyResort || len(j.Inputs) > p.MaxInputs && p.MaxInputs > 1 {
			t.Fatalf("a job %q of %d inputs", j.Why, len(j.Inputs))
		}
		if len(j.Inputs) > 1 && j.Bytes() > p.MaxInputBytes {
			t.Fatalf("a job %q of %d bytes", j.Why, j.Bytes())
		}
		if j.TargetBytes <= 0 || j.Level < 0 || j.Level > p.Levels {
			t.Fatalf("a job into level %d, target %d", j.Level, j.TargetBytes)
		}
		for _, f := range j.Inputs {
			got, ok := live[f.Key]
			switch {
			case !ok || got.Bytes != f.Bytes:
				t.Fatalf("job %q takes %q, which is not live", j.Why, f.Key)
			case taken[f.Key]:
				t.Fatalf("%q is taken twice", f.Key)
			case b.Busy != nil && b.Busy(f.Key):
				t.Fatalf("%q is busy, and taken", f.Key)
			case len(j.Inputs) > 1 && b.Table == shardlog.TableEvents && f.SortKey != p.SortKey:
				t.Fatalf("%q of another sort key is merged", f.Key)
			case j.Level < f.Level && f.KeyMax != "" && f.Level <= p.Levels && j.Why != WhyResort:
				t.Fatalf("job %q takes %q from level %d back to %d", j.Why, f.Key, f.Level, j.Level)
			}
			taken[f.Key] = true
		}
	}
}
