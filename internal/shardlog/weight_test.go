package shardlog

import (
	"fmt"
	"runtime"
	"testing"
)

// Weight is what the heap says, to a factor of two.
func TestWeight(t *testing.T) {
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	s := NewState(0)
	if err := tryAppend(s, "claim", &Record{Kind: KindClaim, Claim: &Claim{Owner: "w", Incarnation: "i", Epoch: 1}}); err != nil {
		t.Fatal(err)
	}
	const commits = 5000
	for i := range int64(commits) {
		r := makeAppend(s, commit{source: testSource(0), from: 10 * i, next: 10*i + 10, dead: 1, bucket: testDay + i/20*3600, intake: RangeSet{{10 * i, 10*i + 10}}})
		if err := tryAppend(s, fmt.Sprint(i), r); err != nil {
			t.Fatal(err)
		}
	}
	grown := heap() - before
	if weight := s.Weight(); weight < grown/2 || weight > grown*2 {
		t.Errorf("%d fragments and %d id segments weigh %d, and take %d bytes", 2*commits, commits, weight, grown)
	} else {
		t.Logf("weight %d, heap %d", weight, grown)
	}
	runtime.KeepAlive(s)
}
