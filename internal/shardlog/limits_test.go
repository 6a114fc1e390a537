package shardlog

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/togodb/togo/internal/objstore"
)

// The open offsets of a source are bounded, in number and in ranges.
func TestOpenOffsetsAreBounded(t *testing.T) {
	var scattered RangeSet
	for o := int64(0); o < 2*MaxOpenRanges; o += 2 {
		scattered = append(scattered, Range{o, o + 1})
	}
	end := scattered[len(scattered)-1].Next
	for name, c := range map[string]struct {
		opened RangeSet
		next   int64
		ok     bool
	}{
		"as many as may be":      {RangeSet{{0, MaxOpenOffsets}}, MaxOpenOffsets, true},
		"one more":               {RangeSet{{0, MaxOpenOffsets + 1}}, MaxOpenOffsets + 1, false},
		"as many ranges":         {scattered, end, true},
		"one more of the ranges": {append(scattered[:len(scattered):len(scattered)], Range{end + 1, end + 2}), end + 2, false},
	} {
		s := benchState()
		err := tryAppend(s, "n", makeAppend(s, commit{source: testSource(0), from: 0, next: c.next, opened: c.opened}))
		if (err == nil) != c.ok || err != nil && !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Beginning one job more than may be open gives the oldest up.
func TestOldestJobIsAborted(t *testing.T) {
	s := benchState()
	if err := tryAppend(s, "n", makeAppend(s, commit{source: testSource(0), from: 0, next: 10})); err != nil {
		t.Fatal(err)
	}
	for i := range MaxJobs + 2 {
		begin := &MergeBegin{Worker: "m", Inputs: []string{"data/acme/2023-11-15T00/0-1-1.parquet"}}
		if err := tryAppend(s, fmt.Sprintf("job%d", i), &Record{Kind: KindMergeBegin, MergeBegin: begin}); err != nil {
			t.Fatal(err)
		}
	}
	if jobs := s.Jobs(); len(jobs) != MaxJobs || jobs[0].Nonce != "job2" {
		t.Errorf("%d jobs, the oldest %s", len(jobs), jobs[0].Nonce)
	}
	if err := tryAppend(s, "n", &Record{Kind: KindMergeAbort, MergeAbort: &MergeAbort{Job: "job1"}}); err == nil {
		t.Error("a job that was given up is still open")
	}
}

// What merges remove leaves the manifests too: what a start reads follows what is
// live, not what once was.
func TestRemovedFragmentsLeaveTheManifests(t *testing.T) {
	l := OpenWith(objstore.NewMemory(), 0, testConfig("w", noSleep))
	s := benchState()
	apply := func(r *Record) {
		t.Helper()
		if err := tryAppend(s, fmt.Sprintf("n%d", uint64(s.Position())), r); err != nil {
			t.Fatal(err)
		}
	}
	// Each round adds 60 fragments and merges all there are into one.
	for round := range 40 {
		for range 60 {
			next := int64(s.Seq()) * 10
			apply(makeAppend(s, commit{source: testSource(0), from: next, next: next + 10}))
		}
		d := func(n int, what string) int { return map[string]int{"inputs": n - 1, "abort": 1}[what] }
		var inputs []string
		s.Fragments("acme", testDay, testDay+1, func(f Fragment) bool { inputs = append(inputs, f.Key); return true })
		s.Own(s.ClaimNonce())
		if err := l.Checkpoint(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		apply(&Record{Kind: KindMergeBegin, MergeBegin: &MergeBegin{Worker: "m", Inputs: inputs}})
		apply(randomMergeEnd(s, d))
		var segments []string
		s.Segments(func(seg IDSegment) bool { segments = append(segments, seg.Key); return true })
		apply(&Record{Kind: KindMergeBegin, MergeBegin: &MergeBegin{Worker: "m", Inputs: segments}})
		apply(randomMergeEnd(s, d))
		s.Own(s.ClaimNonce())
		p := s.PlanCheckpoint()
		if err := l.WriteCheckpoint(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		s.CheckpointWritten(p)
		listed := 0
		for _, m := range p.root.Days[0].Manifests {
			listed += m.Adds + m.Removes
		}
		if limit := s.layout.garbageSlack + s.layout.garbageFactor*2; listed > limit {
			t.Fatalf("round %d: %d entries listed for %d that live", round, listed, s.days[dayOf(testDay)].count)
		}
	}
	if f, g := s.Counts(); f != 1 || g != 1 {
		t.Errorf("%d fragments, %d segments", f, g)
	}
}

func TestManifestChecksum(t *testing.T) {
	store := objstore.NewMemory()
	l := OpenWith(store, 0, testConfig("w", noSleep))
	good, err := l.putManifest(t.Context(), 1, "x", manifest{Format: Format, Day: 1})
	if err != nil {
		t.Fatal(err)
	}
	other, err := l.putManifest(t.Context(), 1, "x", manifest{Format: Format, Day: 2})
	if err != nil {
		t.Fatal(err)
	}
	body, _ := store.Get(t.Context(), l.manifestKey(other.Name))
	if err := store.Put(t.Context(), l.manifestKey(good.Name), body); err != nil {
		t.Fatal(err)
	}
	var m manifest
	if err := l.getManifest(t.Context(), good, &m); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("another object under the name is taken: %v", err)
	}
}
