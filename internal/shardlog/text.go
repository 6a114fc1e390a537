package shardlog

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/togodb/togo/internal/event"
)

// Text is all that a state holds, as text: two states are equal if their texts
// are, and what Log.Intake gives. How checkpoints hold it is no part of it.
func (s *State) Text() string {
	var b strings.Builder
	s.writeText(&b)
	return b.String()
}

func (s *State) writeText(b io.Writer) {
	sm := s.small
	fmt.Fprintf(b, "shard %s position %d seq %d epoch %d low-water %d last %s/%s\n", sm.Shard, uint64(sm.Position), sm.Seq, sm.Epoch, sm.LowWater, sm.Last.Nonce, sm.Last.Sum)
	if sm.Owner != nil {
		fmt.Fprintf(b, "owner %s/%s ", sm.Owner.Owner, sm.Owner.Incarnation)
	}
	fmt.Fprintf(b, "claim %s at %d\n", sm.ClaimNonce, uint64(sm.ClaimPosition))
	for _, src := range s.Sources() {
		fmt.Fprintf(b, "source %s (%s) next %d leader-epoch %d open %v\n", src.Source, src.TopicName, src.Next, src.LeaderEpoch, src.Open)
	}
	for _, t := range slices.Sorted(maps.Keys(sm.Floors)) {
		fmt.Fprintf(b, "floors %q %+v\n", t, sm.Floors[t])
	}
	fmt.Fprintf(b, "ids below %d\n", sm.IDsBelow)
	for _, j := range sm.Jobs {
		fmt.Fprintf(b, "job %s at %d by %s of %v\n", j.Nonce, uint64(j.Position), j.Worker, j.Inputs)
	}
	for _, f := range sm.Quarantined {
		fmt.Fprintf(b, "quarantined %+v\n", f)
	}
	s.Fragments(event.TenantID(""), -maxSecond, maxSecond, func(f Fragment) bool {
		fmt.Fprintf(b, "fragment %+v\n", f)
		return true
	})
	s.Segments(func(seg IDSegment) bool {
		fmt.Fprintf(b, "segment %+v\n", seg)
		return true
	})
	for _, bucket := range s.IDBuckets() {
		fmt.Fprintf(b, "ids %d in %d segments\n", bucket, len(s.ids[bucket]))
	}
	fmt.Fprintf(b, "totals %+v, last append at %d ms\n", sm.Totals, sm.LastAppendMS)
}
