package sim

import (
	"slices"
	"strings"
	"unicode"
)

// maxShrinkSteps bounds the work for one failing seed, in steps of the loop: half a minute
// or so.
const maxShrinkSteps = 5_000_000

// Shrink looks for the least that still fails of a run that failed: first the shortest
// prefix of what was sent, then the shortest of the faults, then the faults without which it
// does not fail. The last run of it is returned, with the options that repeat it.
func Shrink(opt Options, failed Result) (Options, Result) {
	opt.Trace = nil
	left := int64(maxShrinkSteps)
	kind := failureKind(failed.Failure)
	try := func(o Options) bool {
		if left < 0 {
			return false
		}
		res := Run(o)
		left -= res.Steps
		if failureKind(res.Failure) != kind {
			return false
		}
		opt, failed = o, res
		return true
	}
	shortest(failed.Tally.Sent, func(n int) bool { o := opt; o.MaxEvents = n; return try(o) })
	ids := func() []string {
		var out []string
		for _, f := range failed.Faults {
			out = append(out, f.ID)
		}
		return out
	}
	faults := ids()
	with := func(keep []string) Options {
		o := opt
		o.Only = map[string]bool{}
		for _, id := range keep {
			o.Only[id] = true
		}
		return o
	}
	shortest(len(faults), func(n int) bool { return try(with(faults[:n])) })
	// Without some of them, in ever smaller pieces.
	faults = ids()
	for size := len(faults) / 2; size > 0; size /= 2 {
		for at := 0; at < len(faults); {
			keep := slices.Delete(slices.Clone(faults), at, min(at+size, len(faults)))
			if try(with(keep)) {
				faults = keep
				continue
			}
			at += size
		}
	}
	return opt, failed
}

// shortest looks for a small n in [1, all) for which fails holds, by halving. What it
// finds fails; that nothing smaller does is not sure.
func shortest(all int, fails func(n int) bool) {
	low, high := 0, all
	for low+1 < high {
		if mid := (low + high) / 2; fails(mid) {
			high = mid
		} else {
			low = mid
		}
	}
}

// failureKind is the part of a failure that is the same for runs that fail alike.
func failureKind(failure string) string {
	_, what, _ := strings.Cut(failure, ": ")
	what = strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, what)
	return what[:min(len(what), 24)]
}
