package shardlog

import (
	"slices"
	"testing"
)

// TestWhatAGapAccepts: all that Kafka no longer has, and nothing else.
func TestWhatAGapAccepts(t *testing.T) {
	s := NewState(0)
	source := testSource(0)
	src := SourceState{Source: source, Next: 100, LeaderEpoch: 3, Open: RangeSet{{10, 20}, {90, 95}}}
	s.sources[source] = src
	ranges := func(bounds ...int64) (set RangeSet) {
		for i := 0; i < len(bounds); i += 2 {
			set = append(set, Range{From: bounds[i], Next: bounds[i+1]})
		}
		return set
	}
	log := func(start, end, history int64, epoch int32, gone RangeSet) Kept {
		return Kept{Current: true, Start: start, End: end, History: history, Epoch: epoch, Gone: gone}
	}
	for name, tc := range map[string]struct {
		has   Kept
		lost  RangeSet
		next  int64
		epoch int32
	}{
		"all is there":                      {log(0, 200, 100, -1, nil), nil, 100, 3},
		"all that is open is there":         {log(10, 100, 100, -1, nil), nil, 100, 3},
		"retention took the open ones":      {log(15, 200, 100, -1, nil), ranges(10, 15), 100, 3},
		"retention went further":            {log(150, 200, 100, -1, nil), ranges(10, 20, 90, 95, 100, 150), 150, -1},
		"an open record is gone":            {log(0, 200, 100, -1, ranges(12, 13)), ranges(12, 13), 100, 3},
		"the log was cut":                   {log(0, 92, 92, 4, nil), ranges(92, 95), 92, 4},
		"it was cut, no epoch is known":     {log(0, 92, 100, -1, nil), ranges(92, 95), 92, -1},
		"it was cut and has grown since":    {log(0, 200, 92, 4, nil), ranges(92, 95), 92, 4},
		"cut, grown, cut by retention":      {log(93, 200, 92, 4, nil), ranges(10, 20, 90, 95), 93, 4},
		"cut, retention up to where it was": {log(100, 200, 92, 4, nil), ranges(10, 20, 90, 95), 100, 4},
		"all of another history":            {log(0, 200, 0, -1, nil), ranges(10, 20, 90, 95), 0, -1},
		"all of another history, and short": {log(0, 50, 0, -1, nil), ranges(10, 20, 90, 95), 0, -1},
		"the topic is another one":          {Kept{}, ranges(10, 20, 90, 95), 100, 3},
	} {
		gap := s.Accept(src, tc.has, -1, "r", "me")
		if !slices.Equal(gap.Lost, tc.lost) || gap.Next != tc.next || gap.LeaderEpoch != tc.epoch || gap.Operator != "me" {
			t.Errorf("%s: lost %v, next %d, epoch %d; want %v, %d, %d", name, gap.Lost, gap.Next, gap.LeaderEpoch, tc.lost, tc.next, tc.epoch)
		}
		if len(gap.Lost) > 0 {
			if err := s.Check(&Record{Kind: KindGap, Gap: gap}); err != nil {
				t.Errorf("%s: the log refuses it: %v", name, err)
			}
		}
	}
}

// TestWhatIsKept: which part of a log is the one that was read.
func TestWhatIsKept(t *testing.T) {
	ends := func(bounds ...int64) func(int32) (int64, error) {
		return func(epoch int32) (int64, error) { return bounds[min(int(epoch), len(bounds)-1)], nil }
	}
	for name, tc := range map[string]struct {
		next    int64
		epoch   int32
		start   int64
		ends    func(int32) (int64, error)
		history int64
		newer   int32
	}{
		"all of it":                           {100, 1, 0, ends(50, 200), 100, 2},
		"cut, and a later epoch goes on":      {100, 1, 0, ends(50, 92, 200), 92, 2},
		"the disk was taken back to an epoch": {100, 2, 0, ends(50, 50, 50), 50, 3},
		"the log knows no such epoch":         {100, 0, 0, ends(-1), 0, -1},
		"no epoch was known":                  {100, -1, 0, nil, 100, -1},
		"cut, and retention has passed it":    {100, 1, 100, ends(50, 92, 200), 92, 2},
		"retention is all that there was":     {100, 1, 150, ends(50, 140), 100, -1},
	} {
		k := Kept{Current: true, Start: tc.start, End: 200}
		if err := k.Ask(SourceState{Next: tc.next, LeaderEpoch: tc.epoch}, tc.ends); err != nil || k.History != tc.history || k.Epoch != tc.newer {
			t.Errorf("%s: history %d, epoch %d, %v; want %d, %d", name, k.History, k.Epoch, err, tc.history, tc.newer)
		}
	}
}
