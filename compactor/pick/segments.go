package pick

import (
	"cmp"
	"slices"
	"time"

	"github.com/togodb/togo/internal/shardlog"
)

// Segments are the id segments of a shard. Whoever asks for an identity asks every segment that
// lists its id bucket, so there should be few of them; and a segment leaves only as a whole,
// so one that holds identities of weeks stays for weeks.
//
// A segment belongs to the window (Window id buckets, an hour) of the bucket of which it
// has the most identities. Within a window segments are merged by tiers, like fragments, and
// once more when the window is over: a later one is written to, or the shard rests. What
// is small then is merged with that of other windows, by tiers again. Segments of about the
// target size are done. Those that lie wholly below IDsBelow are left to the garbage.
type Segments struct {
	Live          []shardlog.IDSegment
	Busy          func(key string) bool // says whether an open job has the segment; nil: none has
	IDsBelow      int64                 // the state's
	Idle          time.Duration         // for how long nothing was committed to the shard, by a monotonic clock
	BucketSeconds int64                 // of an id bucket
}

// Window is how many id buckets one window has.
const Window = 6

// SegmentJob is a merge of id segments.
type SegmentJob struct {
	Inputs      []shardlog.IDSegment // no two jobs have one in common
	TargetBytes int64                // of an output
	Why         Why                  // WhyTier or WhyLast
}

// Keys of the inputs.
func (j SegmentJob) Keys() []string {
	out := make([]string, len(j.Inputs))
	for i, s := range j.Inputs {
		out[i] = s.Key
	}
	return out
}

// Bytes that the job reads.
func (j SegmentJob) Bytes() int64 {
	var n int64
	for _, s := range j.Inputs {
		n += s.Bytes
	}
	return n
}

// PickSegments returns the merges of id segments that are worth doing now, the newest window's first.
// Of the policy it takes TargetBytes, Fanin, Ratio, MaxInputs, MaxInputBytes and QuietAfter.
func PickSegments(in Segments, p Policy) []SegmentJob {
	windows := map[int64][]shardlog.IDSegment{}
	newest := int64(-1 << 62) // bucket that is written to
	for _, s := range in.Live {
		main := mainBucket(s)
		newest = max(newest, main)
		if s.Buckets[len(s.Buckets)-1].Bucket < in.IDsBelow || in.Busy != nil && in.Busy(s.Key) || !p.small(s.Bytes) {
			continue
		}
		w := floorDiv(main, Window*in.BucketSeconds)
		windows[w] = append(windows[w], s)
	}
	var jobs []SegmentJob
	var left []shardlog.IDSegment // of windows that are over, and have nothing to merge
	nums := make([]int64, 0, len(windows))
	for w := range windows {
		nums = append(nums, w)
	}
	slices.SortFunc(nums, func(a, b int64) int { return cmp.Compare(b, a) })
	for _, w := range nums {
		list := windows[w]
		found := p.segmentTiers(&list)
		// One more bucket, for what is in the buffers of writers at its end.
		over := newest >= ((w+1)*Window+1)*in.BucketSeconds || in.Idle >= p.QuietAfter
		if len(found) == 0 && over {
			if n := p.rest(segmentSizes(list)); n >= 2 {
				found = append(found, p.segmentJob(list[:n:n], WhyLast))
				list = list[n:]
			}
		}
		if over && len(found) == 0 {
			left = append(left, list...)
		}
		jobs = append(jobs, found...)
	}
	return append(jobs, p.segmentTiers(&left)...)
}

// segmentTiers takes the merges of similar size out of a list.
func (p Policy) segmentTiers(list *[]shardlog.IDSegment) []SegmentJob {
	slices.SortFunc(*list, func(a, b shardlog.IDSegment) int {
		return cmp.Or(cmp.Compare(a.Bytes, b.Bytes), cmp.Compare(a.Key, b.Key))
	})
	var jobs []SegmentJob
	for {
		n := p.tier(segmentSizes(*list))
		if n == 0 {
			return jobs
		}
		jobs = append(jobs, p.segmentJob((*list)[:n:n], WhyTier))
		*list = (*list)[n:]
	}
}

func (p Policy) segmentJob(inputs []shardlog.IDSegment, why Why) SegmentJob {
	j := SegmentJob{Inputs: inputs, Why: why}
	n := p.outputs(j.Bytes())
	j.TargetBytes = max(1, (j.Bytes()+n-1)/n)
	return j
}

func segmentSizes(list []shardlog.IDSegment) []int64 {
	out := make([]int64, len(list))
	for i, s := range list {
		out[i] = s.Bytes
	}
	return out
}

// mainBucket is the id bucket of which a segment has the most identities, the newest of equals.
func mainBucket(s shardlog.IDSegment) int64 {
	best := s.Buckets[0]
	for _, b := range s.Buckets {
		if b.IDs >= best.IDs {
			best = b
		}
	}
	return best.Bucket
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
