package shard

import (
	"fmt"
	"time"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/writer/dedup"
)

// Counts are running totals under one claim, for metrics.
type Counts struct {
	Records, Control, Items, Parked     int64
	Commits, Fragments, LostRaces       int64
	Stored, Duplicates, Conflicts, Dead int64
	Bytes                               int64 // of committed objects
	Reloads                             int64
	CommitSeconds                       float64 // from plan to commit, summed
	LastCommitSeconds                   float64
	LastFreshnessSeconds                float64 // age of the oldest record of the last commit
}

func (n *Counts) commit(a *shardlog.Append, f *flight, now time.Time) {
	n.Commits++
	n.Fragments += int64(len(a.Fragments))
	n.Stored += a.Ledger.Stored
	n.Duplicates += a.Ledger.Duplicate
	n.Conflicts += a.Ledger.Conflict
	n.Dead += a.Ledger.Dead
	for _, fr := range a.Fragments {
		n.Bytes += fr.Bytes
	}
	if a.IDs != nil {
		n.Bytes += a.IDs.Bytes
	}
	n.LastCommitSeconds = now.Sub(f.started).Seconds()
	n.CommitSeconds += n.LastCommitSeconds
	n.LastFreshnessSeconds = now.Sub(f.oldest).Seconds()
}

// Status describes a shard to people and to `togo status`.
type Status struct {
	Shard         event.ShardID    `json:"shard"`
	State         string           `json:"state"` // loading, waiting, reading, paused, releasing, or a StopReason
	Reason        string           `json:"reason,omitempty"`
	Owner         string           `json:"owner"`
	Epoch         shardlog.Epoch   `json:"epoch"`
	Position      chain.Position   `json:"position"` // of the shard log
	Source        string           `json:"source,omitempty"`
	Committed     int64            `json:"committed"`      // offset before which all but the open offsets are committed
	OldestOpen    int64            `json:"oldest_open"`    // offset before which all are committed
	OpenOffsets   int              `json:"open_offsets"`   // read and not committed
	LogEnd        int64            `json:"log_end"`        // of the Kafka partition
	Lag           int64            `json:"lag"`            // offsets from oldest_open to log_end
	LastCommitMS  int64            `json:"last_commit_ms"` // its time; 0: none under this claim
	LastCommitAge float64          `json:"last_commit_age_seconds"`
	FlushAge      float64          `json:"flush_age_seconds"` // of the flush under way
	MemoryBytes   int64            `json:"memory_bytes"`
	ParkedBytes   int64            `json:"parked_bytes"`
	DedupBytes    int64            `json:"dedup_bytes"`
	Tenants       int              `json:"tenants"` // with something in memory
	Dedup         dedup.Stats      `json:"-"`
	LostOffsets   int64            `json:"lost_offsets,omitempty"`
	LostRanges    []shardlog.Range `json:"lost_ranges,omitempty"`
}

// Counts are the totals under this claim.
func (c *Core) Counts() Counts { return c.counts }

// Status is the shard as of now.
func (c *Core) Status(now time.Time) Status {
	s := Status{Shard: c.p.Shard, State: c.word(), Owner: c.p.Owner, Epoch: c.p.Epoch,
		MemoryBytes: c.memory(), ParkedBytes: c.parkedBytes, Tenants: len(c.tenants)}
	if st := c.stopped; st != nil {
		f := c.frozen
		s.Position, s.Source, s.Committed, s.OldestOpen, s.OpenOffsets, s.LogEnd, s.Lag =
			f.Position, f.Source, f.Committed, f.OldestOpen, f.OpenOffsets, f.LogEnd, f.Lag
		if st.Err != nil {
			s.Reason = st.Err.Error()
		}
		if st.Loss != nil {
			s.LostOffsets, s.LostRanges = st.Loss.Offsets(), st.Loss.Ranges
		}
	}
	if c.state != nil {
		s.Position = c.state.Position()
		s.DedupBytes, s.Dedup = c.index.Bytes(), c.index.Stats()
	}
	if f := c.feed; f != nil {
		s.Source, s.Committed, s.OldestOpen = f.source.String(), f.next, f.oldestOpen()
		_, s.OpenOffsets = f.open()
		s.LogEnd = f.end
		if c.flight != nil {
			s.OldestOpen = min(s.OldestOpen, firstClosed(f, c.flight))
			s.OpenOffsets += int(c.flight.cut.progress.Records)
		}
		s.Lag = max(0, f.end-s.OldestOpen)
	}
	if !c.lastCommit.IsZero() {
		s.LastCommitMS = c.lastCommit.UnixMilli()
		s.LastCommitAge = now.Sub(c.lastCommit).Seconds()
	}
	if c.flight != nil {
		s.FlushAge = now.Sub(c.flight.started).Seconds()
	}
	return s
}

// firstClosed is the first offset that the flight will close.
func firstClosed(f *feed, fl *flight) int64 {
	if closed := fl.cut.progress.Closed; len(closed) > 0 {
		return closed[0].From
	}
	return f.next
}

func (c *Core) word() string {
	switch {
	case c.stopped != nil:
		return string(c.stopped.Reason)
	case c.state == nil:
		return "loading"
	case c.ending == release:
		return "releasing"
	case !c.reading:
		return "waiting"
	case c.paused:
		return "paused"
	}
	return "reading"
}

// Ready is nil if the shard does its work: it reads, and no commit is late.
func (c *Core) Ready(now time.Time) error {
	late := c.p.Config.LateAfter
	switch {
	case c.stopped != nil:
		return fmt.Errorf("shard %s stopped (%s): %w", c.p.Shard, c.stopped.Reason, c.stopped.Err)
	case c.flight != nil && now.Sub(c.flight.started) > late:
		return fmt.Errorf("shard %s: a flush has waited for its commit for %s", c.p.Shard, now.Sub(c.flight.started).Round(time.Second))
	case !c.reading && now.Sub(c.since) > late:
		return fmt.Errorf("shard %s: has not begun to read after %s", c.p.Shard, now.Sub(c.since).Round(time.Second))
	case c.wanted != 0 && now.Sub(c.since) > late:
		return fmt.Errorf("shard %s: waits for placement version %d", c.p.Shard, c.wanted)
	}
	return nil
}

// Add sums up the totals of two claims, and keeps the newer's last values.
func (n *Counts) Add(m Counts) {
	n.Records += m.Records
	n.Control += m.Control
	n.Items += m.Items
	n.Parked += m.Parked
	n.Commits += m.Commits
	n.Fragments += m.Fragments
	n.LostRaces += m.LostRaces
	n.Stored += m.Stored
	n.Duplicates += m.Duplicates
	n.Conflicts += m.Conflicts
	n.Dead += m.Dead
	n.Bytes += m.Bytes
	n.Reloads += m.Reloads
	n.CommitSeconds += m.CommitSeconds
	n.LastCommitSeconds, n.LastFreshnessSeconds = m.LastCommitSeconds, m.LastFreshnessSeconds
}
