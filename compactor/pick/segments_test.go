package pick

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/togodb/togo/internal/shardlog"
)

func segment(key string, bytes int64, buckets ...int64) shardlog.IDSegment {
	s := shardlog.IDSegment{Key: key, Bytes: bytes}
	for _, b := range buckets {
		s.Buckets = append(s.Buckets, shardlog.IDBucket{Bucket: b, IDs: 10})
	}
	return s
}

func TestSegmentRules(t *testing.T) {
	p := testPolicy()
	four := func(bytes int64, bucket int64) (out []shardlog.IDSegment) {
		for i := range 4 {
			out = append(out, segment(fmt.Sprintf("%d-%d", bucket, i), bytes, bucket))
		}
		return out
	}
	for _, c := range []struct {
		name string
		in   Segments
		want string
	}{
		{"three wait", Segments{Live: four(10, 0)[:3]}, ""},
		{"four of a window", Segments{Live: four(10, 0)}, "tier 0-0 0-1 0-2 0-3"},
		{"two windows", Segments{Live: slices.Concat(four(10, 0)[:2], four(10, 3600)[:2])}, ""},
		{"the newest window first", Segments{Live: slices.Concat(four(10, 0), four(10, 3600))}, "tier 3600-0 3600-1 3600-2 3600-3; tier 0-0 0-1 0-2 0-3"},
		{"below the floor", Segments{Live: four(10, 0), IDsBelow: 600}, ""},
		{"at the floor", Segments{Live: four(10, 600), IDsBelow: 600}, "tier 600-0 600-1 600-2 600-3"},
		{"busy", Segments{Live: four(10, 0), Busy: func(key string) bool { return key == "0-2" }}, ""},
		{"done", Segments{Live: four(500, 0)}, ""},
		{"a window that is over", Segments{Live: append(four(10, 0)[:2], segment("x", 10, 3600+600))}, "last 0-0 0-1"},
		{"not yet", Segments{Live: append(four(10, 0)[:2], segment("x", 10, 3600))}, ""},
		{"the shard rests", Segments{Live: four(10, 0)[:2], Idle: time.Minute}, "last 0-0 0-1"},
		{"windows that are over go by tiers", Segments{Live: []shardlog.IDSegment{segment("a", 10, 0), segment("b", 10, 3600), segment("c", 10, 7200), segment("d", 10, 10800), segment("e", 10, 36000+3600)}},
			"tier a b c d"},
		{"late identities don't count", Segments{Live: []shardlog.IDSegment{
			{Key: "a", Bytes: 10, Buckets: []shardlog.IDBucket{{Bucket: 0, IDs: 1}, {Bucket: 36000, IDs: 2}}},
			segment("b", 10, 36000), segment("c", 10, 36000), segment("d", 10, 36600)}}, "tier a b c d"},
	} {
		in := c.in
		in.BucketSeconds = 600
		got := ""
		for _, j := range PickSegments(in, p) {
			keys := j.Keys()
			slices.Sort(keys)
			got += fmt.Sprintf("; %s %s", j.Why, keys)
		}
		want := ""
		if c.want != "" {
			want = "; " + c.want
		}
		if got = fmt.Sprint(dropBrackets(got)); got != want {
			t.Errorf("%s: got %q, want %q", c.name, got, want)
		}
	}
}

func dropBrackets(s string) string {
	out := []rune{}
	for _, r := range s {
		if r != '[' && r != ']' {
			out = append(out, r)
		}
	}
	return string(out)
}

// TestSegmentsOfADay: a segment every five seconds for a day, each with some late identities: few
// segments are asked for any bucket, at any time; each byte is written few times; and it comes to rest.
func TestSegmentsOfADay(t *testing.T) {
	p := DefaultPolicy()
	r := rand.New(rand.NewPCG(3, 4))
	type seg struct{ shardlog.IDSegment }
	live := map[string]seg{}
	var serial int
	var written, flushed int64
	put := func(ids map[int64]int64) {
		serial++
		s := seg{shardlog.IDSegment{Key: fmt.Sprintf("s%06d", serial)}}
		for b, n := range ids {
			s.Buckets = append(s.Buckets, shardlog.IDBucket{Bucket: b, IDs: n})
			s.IDs += n
		}
		slices.SortFunc(s.Buckets, func(a, b shardlog.IDBucket) int { return int(a.Bucket - b.Bucket) })
		s.Bytes = 21*s.IDs + 100
		written += s.Bytes
		live[s.Key] = s
	}
	step := func(idle time.Duration) bool {
		in := Segments{Idle: idle, BucketSeconds: 600}
		for _, s := range live {
			in.Live = append(in.Live, s.IDSegment)
		}
		jobs := PickSegments(in, p)
		if len(jobs) == 0 {
			return false
		}
		taken := map[string]bool{}
		for _, j := range jobs {
			if len(j.Inputs) < 2 || len(j.Inputs) > p.MaxInputs || j.Bytes() > p.MaxInputBytes {
				t.Fatalf("a job of %d inputs, %d bytes", len(j.Inputs), j.Bytes())
			}
			for _, s := range j.Inputs {
				if _, ok := live[s.Key]; !ok || taken[s.Key] {
					t.Fatalf("segment %s is taken twice, or not live", s.Key)
				}
				taken[s.Key] = true
			}
		}
		ids := map[int64]int64{}
		for _, s := range jobs[0].Inputs {
			for _, b := range s.Buckets {
				ids[b.Bucket] += b.IDs
			}
			delete(live, s.Key)
		}
		put(ids)
		return true
	}
	mostOf := func() (most int) {
		n := map[int64]int{}
		for _, s := range live {
			for _, b := range s.Buckets {
				n[b.Bucket]++
				most = max(most, n[b.Bucket])
			}
		}
		return most
	}
	most := 0
	for at := int64(86400); at < 2*86400; at += 5 {
		ids := map[int64]int64{at / 600 * 600: 2000 + r.Int64N(2000)}
		for range r.IntN(4) { // late, by up to a day
			ids[(at-r.Int64N(86400))/600*600]++
		}
		put(ids)
		flushed += 21 * 3000
		for step(0) {
		}
		if at%3600 == 0 {
			most = max(most, mostOf())
		}
	}
	for n := 0; step(time.Hour); n++ {
		if n > 100 {
			t.Fatal("no rest")
		}
	}
	amplification := float64(written) / float64(flushed)
	t.Logf("17280 segments of 63 KB: %.2f written for each byte; at most %d segments are asked for a bucket, at rest %d; %d segments are left", amplification, most, mostOf(), len(live))
	if amplification > 5 || most > 3*p.Fanin || mostOf() > p.Fanin {
		t.Error("more than is promised")
	}
}
