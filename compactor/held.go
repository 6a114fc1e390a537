package compactor

import (
	"math"
	"time"
)

// held is an object that a merge had trouble with: it is left out of merges for a while, so that the rest goes on
// and the log does not fill with merges that are begun and given up. The pauses grow. Of a fragment that seems damaged
// all of its bucket waits: merges that leave it out would leave nothing to try it with again.
type held struct {
	failed int           // merges that could not read it, or whose end was refused
	bad    int           // of them those that say that the object is damaged or missing
	until  time.Duration // by the monotonic clock
	over   bool          // the pause is over, and was seen to be
}

const (
	// badPause is the first pause of an object that seems damaged or missing. A store, or
	// what stands before it, may say so of everything for some minutes: what is set aside for that would be
	// missing from all answers.
	badPause = 10 * time.Minute
	// failPause is that of an object whose merge failed for another reason.
	failPause = time.Minute
	// longestPauses is how often a pause doubles.
	longestPauses = 3
	forEver       = time.Duration(math.MaxInt64)
)

// hold leaves an object out of merges for a while.
func (s *shard) hold(key string, bad bool) *held {
	h := s.held[key]
	if h == nil {
		h = &held{}
		s.held[key] = h
	}
	pause, n := failPause, h.failed
	if h.failed++; bad {
		pause, n = badPause, h.bad
		h.bad++
	}
	h.until, h.over = s.c.d.Clock()+pause<<min(n, longestPauses), false
	return h
}

// holdForEver leaves objects out of the merges of this process.
func (s *shard) holdForEver(keys ...string) {
	for _, key := range keys {
		s.held[key] = &held{until: forEver}
	}
}

// addHeld adds the objects that are left out now, and forgets those that are gone. The
// buckets that wait are returned.
func (s *shard) addHeld(busy map[string]bool) (waiting map[slot]bool) {
	now := s.c.d.Clock()
	waiting = map[slot]bool{}
	for key, h := range s.held {
		switch {
		case !s.state.Live(key):
			delete(s.held, key)
		case now < h.until:
			if f, live := s.state.Fragment(key); live && h.bad > 0 {
				waiting[slotOf(&f)] = true
			} else {
				busy[key] = true
			}
		case !h.over:
			h.over, s.watch.segments.look = true, true // buckets of fragments are looked at by due
		}
	}
	return waiting
}
