package shardlog

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/togodb/togo/internal/event"
)

// Sets of ranges against sets of numbers.
func TestRangeSets(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	random := func() (RangeSet, map[int64]bool) {
		var list []Range
		in := map[int64]bool{}
		for range rnd.IntN(6) {
			from := rnd.Int64N(30)
			r := Range{from, from + rnd.Int64N(6)}
			list = append(list, r)
			for o := r.From; o < r.Next; o++ {
				in[o] = true
			}
		}
		return NormalRanges(list), in
	}
	check := func(what string, a, b, got RangeSet, want func(o int64) bool) {
		t.Helper()
		var n int64
		for o := int64(-1); o < 40; o++ {
			if ContainsOffset(got, o) != want(o) {
				t.Fatalf("%s of %v and %v is %v: wrong at %d", what, a, b, got, o)
			}
			if want(o) {
				n++
			}
		}
		if len(got) > 0 && !IsRangeSet(got) || CountRanges(got) != n {
			t.Fatalf("%s of %v and %v is %v: no set of %d", what, a, b, got, n)
		}
	}
	for range 5000 {
		a, inA := random()
		b, inB := random()
		beforeA, beforeB := slices.Clone(a), slices.Clone(b)
		check("form", a, nil, a, func(o int64) bool { return inA[o] })
		check("sum", a, b, AddRanges(a, b), func(o int64) bool { return inA[o] || inB[o] })
		check("difference", a, b, SubtractRanges(a, b), func(o int64) bool { return inA[o] && !inB[o] })
		both := IntersectRanges(a, b)
		check("intersection", a, b, both, func(o int64) bool { return inA[o] && inB[o] })
		if CoversRanges(a, b) != (CountRanges(both) == CountRanges(b)) {
			t.Fatalf("%v covers %v: %v", a, b, CoversRanges(a, b))
		}
		if !slices.Equal(a, beforeA) || !slices.Equal(b, beforeB) {
			t.Fatal("an argument was changed")
		}
	}
}

func TestIsRangeSet(t *testing.T) {
	for _, bad := range [][]Range{{{-1, 2}}, {{1, 1}}, {{2, 1}}, {{1, 2}, {2, 3}}, {{5, 6}, {1, 2}}, {{1, 5}, {3, 8}}} {
		if IsRangeSet(bad) {
			t.Errorf("%v is taken for a set", bad)
		}
	}
}

func TestSourceConversion(t *testing.T) {
	src := event.Source{Cluster: "c", Topic: event.TopicID{1, 2, 0xff}, Partition: 7}
	back, err := SourceFrom(src).Event()
	if err != nil || back != src {
		t.Errorf("%v, %v", back, err)
	}
	for _, topic := range []string{"", "xyz", SourceFrom(src).Topic[1:], "0102FF" + SourceFrom(src).Topic[6:]} {
		if _, err := (Source{Topic: topic}).Event(); err == nil {
			t.Errorf("topic id %q is taken", topic)
		}
	}
}

func TestIntakeSet(t *testing.T) {
	set := NewIntake()
	a, b := testSource(1), testSource(0)
	set.AddRange(a, 10, 20)
	set.Add(a, 25)
	set.Add(b, 1<<33)
	other := NewIntake()
	if err := other.Merge(set.ToIntake()); err != nil {
		t.Fatal(err)
	}
	other.AddRange(a, 20, 22)
	if got := other.Sources(); !slices.Equal(got, []Source{b, a}) {
		t.Errorf("sources %v", got)
	}
	if got, want := other.Holes(a, 8, 30), (RangeSet{{8, 10}, {22, 25}, {26, 30}}); !slices.Equal(got, want) {
		t.Errorf("holes %v, not %v", got, want)
	}
	if other.Count(a) != 13 || set.Count(a) != 11 || set.Count(testSource(9)) != 0 {
		t.Errorf("counts %d, %d", other.Count(a), set.Count(a))
	}
	if err := set.Merge([]Intake{{Source: a, Bitmap: []byte{1}}}); err == nil {
		t.Error("a damaged bitmap is taken")
	}
	set.Reset()
	if !set.Empty() || len(set.ToIntake()) != 0 {
		t.Error("not empty")
	}
}
