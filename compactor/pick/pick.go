// Package pick says which fragments and id segments of a shard to merge. It is pure: what
// is live, what is busy and how long a bucket has rested go in, jobs come out. A wrong
// answer costs work and never an event: the shard log refuses what must not be.
//
// # Fragments
//
// Fragments of one tenant, table and bucket are merged in three steps, so that a row is written
// anew as seldom as can be, and is soon among its like:
//
//  1. Tiers. Fragments of level 0 wait until Fanin of them are of similar size, which
//     means: together at least Ratio times the largest. They become one of level 0.
//  2. Levels. What waits in level 0 goes on when it is Ratio times the target size, or
//     when it is more than one job may read. The fragments of a level from 1 on don't overlap in the
//     sort key, so a job takes the ones of the next level that its inputs overlap.
//     A level that has outgrown Ratio times the one above it goes on likewise, a piece at
//     a time. Fragments so cover narrower ranges level by level. Neither happens while
//     it would rewrite more than Overlap times what moves.
//  3. A last merge when the bucket rests: level 0 moves on, however little it is, unless it is little
//     beside what it would rewrite; then it becomes one fragment of level 0.
//
// A bucket that is smaller than the target so ends as one fragment. Late data opens a
// bucket again, by the same rules: a few rows wait until it rests, become one fragment, and
// move on when they are worth it.
//
// Fragments without a key span (dead letters, tenants without the sort key's
// columns) know step 1 and the last merge only. A fragment with another sort key than the tenant's present one is
// sorted anew, by itself, when the bucket rests; until then it waits.
//
// Each job either lowers the number of fragments or moves bytes to a later level, and
// nothing moves back; a bucket without commits so comes to rest.
//
// # Id segments
//
// See Segments.
package pick

import (
	"cmp"
	"slices"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/shardlog"
)

// Policy is what the picker goes by.
type Policy struct {
	TargetBytes int64 // of a fragment (or id segment) that is done
	Fanin       int   // fragments of similar size that make a merge
	Ratio       int64 // by which a merge of a tier makes its inputs larger; from level to level, too
	Levels      int   // the last level, 1 to shardlog's 7
	Overlap     int64 // how many times the bytes that move may be rewritten for it

	MaxInputs     int   // of one job
	MaxInputBytes int64 // of one job

	// QuietAfter is how long a bucket has no commit before its last merge; QuietNewestAfter, for
	// the newest one, to which more will come.
	QuietAfter, QuietNewestAfter time.Duration

	SortKey string // the tenant's present one, as records have it (fragment.SortKeyText)
}

// DefaultPolicy keeps write amplification below 4 for buckets of up to some 60 targets.
func DefaultPolicy() Policy {
	return Policy{
		TargetBytes: 256 << 20, Fanin: 24, Ratio: 10, Levels: 3, Overlap: 1,
		MaxInputs: 64, MaxInputBytes: 48 * 256 << 20,
		QuietAfter: 5 * time.Minute, QuietNewestAfter: 15 * time.Minute,
	}
}

// Bucket is all that is live in one bucket of a tenant's table.
type Bucket struct {
	Tenant    event.TenantID
	Table     shardlog.Table
	Bucket    int64 // its start, seconds since 1970
	Fragments []shardlog.Fragment
	Busy      func(key string) bool // says whether an open job has the fragment; nil: none has
	Idle      time.Duration         // for how long nothing was committed to it, by a monotonic clock
	Newest    bool                  // of the tenant's table
}

// Job is a merge to be done.
type Job struct {
	Inputs      []shardlog.Fragment // of one bucket; no two jobs have one in common
	Level       int                 // of the outputs
	TargetBytes int64               // of an output, so that they come out alike in size
	Why         Why
}

// Why says what a job is for. The names stand in logs and metrics.
type Why string

const (
	WhyTier   Why = "tier"   // many of similar size
	WhyLevel  Why = "level"  // on to the next level
	WhyLast   Why = "last"   // the bucket rests
	WhyResort Why = "resort" // another sort key
)

// Bytes that the job reads.
func (j Job) Bytes() int64 { return total(j.Inputs) }

// Keys of the inputs.
func (j Job) Keys() []string {
	out := make([]string, len(j.Inputs))
	for i, f := range j.Inputs {
		out[i] = f.Key
	}
	return out
}

// Quiet says whether a bucket has rested for long enough for its last merge.
func (p Policy) Quiet(b Bucket) bool {
	if b.Newest {
		return b.Idle >= p.QuietNewestAfter
	}
	return b.Idle >= p.QuietAfter
}

// Pick returns the jobs that are worth doing now in a bucket, the best first. At most one of them
// is between levels, and none while a fragment of the bucket is busy: an open
// job's outputs could overlap with its own.
func Pick(b Bucket, p Policy) []Job {
	s := sortOut(b, p)
	quiet := p.Quiet(b)
	var jobs []Job
	jobs = append(jobs, s.tiers(s.fresh)...)
	jobs = append(jobs, s.tiers(s.spanless)...)
	// What a tier takes is gone: a last merge of the rest would be followed by another one.
	if len(jobs) == 0 {
		jobs = append(jobs, s.levels(quiet)...)
		if quiet {
			jobs = append(jobs, s.gather(s.spanless)...)
		}
	}
	if quiet {
		for _, f := range s.foreign {
			jobs = append(jobs, Job{Inputs: []shardlog.Fragment{f}, TargetBytes: p.TargetBytes, Why: WhyResort})
		}
	}
	return jobs
}

// sorted is a bucket by what can be done with its fragments.
type sorted struct {
	Policy
	fresh    []shardlog.Fragment   // level 0, ascending in size
	level    [][]shardlog.Fragment // from 1 on, ascending in the key; [0] is empty
	spanless []shardlog.Fragment   // without a key span, ascending in size
	foreign  []shardlog.Fragment   // of another sort key
	busy     bool                  // an open job has some fragment of the bucket
}

func sortOut(b Bucket, p Policy) *sorted {
	s := &sorted{Policy: p, level: make([][]shardlog.Fragment, p.Levels+1)}
	for _, f := range b.Fragments {
		switch {
		case b.Busy != nil && b.Busy(f.Key):
			s.busy = true
		case f.Table == shardlog.TableEvents && f.SortKey != p.SortKey:
			s.foreign = append(s.foreign, f)
		case f.KeyMin == "" && f.KeyMax == "":
			s.spanless = append(s.spanless, f)
		case f.Level == 0:
			s.fresh = append(s.fresh, f)
		default:
			at := min(f.Level, p.Levels) // more, if the policy had more of them once
			s.level[at] = append(s.level[at], f)
		}
	}
	bySize(s.fresh)
	bySize(s.spanless)
	bySize(s.foreign)
	for _, list := range s.level {
		slices.SortFunc(list, func(a, b shardlog.Fragment) int {
			return cmp.Or(cmp.Compare(a.KeyMin, b.KeyMin), cmp.Compare(a.KeyMax, b.KeyMax), cmp.Compare(a.Key, b.Key))
		})
	}
	return s
}

// small says whether so many bytes are less than about the target size.
func (p Policy) small(bytes int64) bool { return bytes < p.TargetBytes/2 }

func bySize(list []shardlog.Fragment) {
	slices.SortFunc(list, func(a, b shardlog.Fragment) int {
		return cmp.Or(cmp.Compare(a.Bytes, b.Bytes), cmp.Compare(a.Key, b.Key))
	})
}

func total(list []shardlog.Fragment) int64 {
	var n int64
	for _, f := range list {
		n += f.Bytes
	}
	return n
}

// job makes a job of inputs, its outputs alike in size.
func (p Policy) job(inputs []shardlog.Fragment, level int, why Why) Job {
	bytes := total(inputs)
	n := p.outputs(bytes)
	return Job{Inputs: inputs, Level: level, TargetBytes: max(1, (bytes+n-1)/n), Why: why}
}

// outputs is the number of fragments that bytes make.
func (p Policy) outputs(bytes int64) int64 {
	return max(1, (bytes+p.TargetBytes/2)/p.TargetBytes)
}
