package shard

import (
	"fmt"
	"strings"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/idseg"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/internal/tenants"
	"github.com/togodb/togo/placements"
	"github.com/togodb/togo/writer/dedup"
)

// Effect is what the core asks the shell to do.
type Effect interface{ isEffect() }

// Inspect asks for the source's log, and whether Offset, after a record of
// LeaderEpoch (-1: unknown), still lies in the history that was read. Offset -1
// asks for the log alone. Answer: Inspected.
type Inspect struct {
	Gen         Generation
	Source      event.Source
	Offset      int64
	LeaderEpoch int32
}

// ReadFrom begins the reading of the source at Offset, or moves it there; it is
// not paused then.
type ReadFrom struct {
	Gen         Generation
	Source      event.Source
	Offset      int64
	LeaderEpoch int32
}

// Pause and Resume hold reading back and let it go on.
type (
	Pause  struct{}
	Resume struct{}
)

// ReadIDs asks for identities of the store. Answer: IDsRead.
type ReadIDs struct {
	Gen  Generation
	Load dedup.Load
}

// NeedPlacements asks for a table of at least Version. Answer: Placements.
type NeedPlacements struct{ Version placements.Version }

// FilePlan is a fragment to be.
type FilePlan struct {
	Key   string
	Table shardlog.Table
	Input fragment.Input
}

// InputFor is the plan's input, encoded as the tenant's settings of now want it.
func (p *FilePlan) InputFor(s tenants.Settings) fragment.Input {
	in := p.Input
	in.SortKey, in.KeyColumns, in.BloomColumns = s.SortKey, s.KeyColumns, s.BloomColumns
	return in
}

// IDPlan is an id segment to be.
type IDPlan struct {
	Key     string
	Entries []idseg.Entry
}

// Encode asks for the encoding and upload of a flight. Answer: Encoded.
type Encode struct {
	Gen    Generation
	Flight uint64
	Files  []FilePlan
	IDs    *IDPlan // nil if the flight has no identities
}

// Append asks for the record to be put at the position behind Head and settled.
// Answer: Appended.
type Append struct {
	Gen    Generation
	Head   shardlog.Head
	Record *shardlog.Record
}

// Checkpoint asks for a checkpoint. Answer: Checkpointed.
type Checkpoint struct {
	Gen  Generation
	Plan *shardlog.CheckpointPlan
}

// CommitGroup tells lag exporters how far the shard is; nobody reads it back.
type CommitGroup struct {
	Source event.Source
	Name   string
	Offset int64
}

// Reload asks the shell to end all work for this shard, to read the log anew and
// to come back with Loaded and Topic.
type Reload struct {
	Gen Generation // the one that ended
	Why string
}

// StopReason says why a shard stopped.
type StopReason string

const (
	Fenced     StopReason = "fenced"     // another owner claimed the shard
	Released   StopReason = "released"   // handed over in good order
	Lost       StopReason = "lost"       // Kafka no longer has what it should; an operator accepts it with a gap
	Corruption StopReason = "corruption" // the store or the topic is not as we left it
	Newer      StopReason = "newer"      // written by a newer version of Togo
)

// Stop ends all work for this shard. After Lost the shell goes on with Loaded
// when the log holds a gap record.
type Stop struct {
	Reason StopReason
	Err    error
	Loss   *Loss // with Lost
}

// Loss says what Kafka lost.
type Loss struct {
	Source event.Source
	Kind   string           // out_of_range, history_cut, record_gone, topic_recreated
	Ranges []shardlog.Range // offsets that were not committed and are gone
	// Next is where the commits stand. If the log ends, or its history was cut, below it,
	// the offsets from there to Next are other records now, or none yet.
	Next       int64
	Start, End int64 // the log as it is
	EpochEnd   int64
}

// Offsets is the number of uncommitted offsets that are gone.
func (l *Loss) Offsets() int64 {
	var n int64
	for _, r := range l.Ranges {
		n += r.Next - r.From
	}
	return n
}

func (l *Loss) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s: log [%d,%d), next %d: %d uncommitted offsets are lost", l.Source, l.Kind, l.Start, l.End, l.Next, l.Offsets())
	for i, r := range l.Ranges {
		if i == maxRangesShown {
			fmt.Fprintf(&b, " and %d more ranges", len(l.Ranges)-i)
			break
		}
		fmt.Fprintf(&b, " [%d,%d)", r.From, r.Next)
	}
	if cut := l.cutAt(); cut < l.Next {
		fmt.Fprintf(&b, "; offsets [%d,%d) were committed and are no longer in the log, or are other records now", cut, l.Next)
	}
	b.WriteString("; accept it with a gap record")
	return b.String()
}

// cutAt is where the history that was committed ends; Next if all of it is there.
func (l *Loss) cutAt() int64 {
	switch TroubleKind(l.Kind) {
	case HistoryCut:
		return min(max(l.EpochEnd, 0), l.Next)
	case OutOfRange:
		return min(l.End, l.Next)
	}
	return l.Next
}

// maxRangesShown keeps a message readable; the whole list is in the status.
const maxRangesShown = 10

func (Inspect) isEffect()        {}
func (ReadFrom) isEffect()       {}
func (Pause) isEffect()          {}
func (Resume) isEffect()         {}
func (ReadIDs) isEffect()        {}
func (NeedPlacements) isEffect() {}
func (Encode) isEffect()         {}
func (Append) isEffect()         {}
func (Checkpoint) isEffect()     {}
func (CommitGroup) isEffect()    {}
func (Reload) isEffect()         {}
func (Stop) isEffect()           {}
