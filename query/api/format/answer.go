package format

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/togodb/togo/query"
	"github.com/togodb/togo/query/exec"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/scan"
)

// Headers of an answer, or trailers where it was too long to be known in its headers.
const (
	SnapshotHeader   = "Togo-Snapshot"
	StatisticsHeader = "Togo-Statistics"
)

// Statistics are what an answer cost, as clients get them.
type Statistics struct {
	Rows      int64   `json:"rows"`
	More      bool    `json:"more"` // the request's limit cut the answer
	ElapsedMS float64 `json:"elapsed_ms"`
	QueuedMS  float64 `json:"queued_ms"`
	CPUMS     float64 `json:"cpu_ms"`

	Fragments Fragments `json:"fragments"`
	RowGroups Pruned    `json:"row_groups"`
	Pages     Pruned    `json:"pages"`

	RowsScanned   int64 `json:"rows_scanned"`
	RowsMatched   int64 `json:"rows_matched"`
	StoreBytes    int64 `json:"store_bytes"`
	StoreRequests int64 `json:"store_requests"`
	CacheBytes    int64 `json:"cache_bytes"`

	Positions []query.Position `json:"positions"`
}

// Fragments are the files of an answer: each is in exactly one of the counts but Considered, which is all.
type Fragments struct {
	Considered         int64 `json:"considered"`
	PrunedByTime       int64 `json:"pruned_by_time"`
	PrunedByRange      int64 `json:"pruned_by_range"`
	PrunedByFilter     int64 `json:"pruned_by_filter"`
	AnsweredByMetadata int64 `json:"answered_by_metadata"`
	Read               int64 `json:"read"`
}

// Pruned are the parts of files that were read, and those that did not have to be.
type Pruned struct {
	Read   int64 `json:"read"`
	Pruned int64 `json:"pruned"`
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// StatisticsOf sums up; s may be nil.
func StatisticsOf(s *query.Summary) Statistics {
	out := Statistics{Positions: []query.Position{}}
	if s == nil {
		return out
	}
	out.Rows, out.More, out.ElapsedMS = s.Rows, s.More, ms(s.Elapsed)
	if s.Positions != nil {
		out.Positions = s.Positions
	}
	n := s.Stats
	if n == nil {
		return out
	}
	out.CPUMS = ms(time.Duration(n.CPU.Load()))
	out.Fragments = Fragments{
		Considered: n.Fragments.Load(), PrunedByTime: n.PrunedByTime.Load(), PrunedByRange: n.PrunedByRange.Load(),
		PrunedByFilter: n.PrunedByFilter.Load(), AnsweredByMetadata: n.AnsweredByMeta.Load(),
	}
	out.Fragments.Read = max(n.Read.Load()-out.Fragments.PrunedByFilter, 0) // those were opened, too
	groups, pruned := n.RowGroups.Load(), n.RowGroupsPruned.Load()
	out.RowGroups = Pruned{Read: max(groups-pruned, 0), Pruned: pruned}
	out.Pages = Pruned{Read: n.Pages.Load(), Pruned: n.PagesPruned.Load()}
	out.RowsScanned, out.RowsMatched = n.Rows.Load(), n.RowsOut.Load()
	out.StoreBytes, out.StoreRequests, out.CacheBytes = n.StoreBytes.Load(), n.StoreRequests.Load(), n.CacheBytes.Load()
	return out
}

// Queued says how long the query waited for its turn.
func (s *Statistics) Queued(d time.Duration) { s.QueuedMS = ms(d) }

// Summary is what StatisticsOf was given.
func (s Statistics) Summary(snapshot string) *query.Summary {
	n := &scan.Stats{}
	n.CPU.Store(int64(s.CPUMS * 1e6))
	n.Fragments.Store(s.Fragments.Considered)
	n.PrunedByTime.Store(s.Fragments.PrunedByTime)
	n.PrunedByRange.Store(s.Fragments.PrunedByRange)
	n.PrunedByFilter.Store(s.Fragments.PrunedByFilter)
	n.AnsweredByMeta.Store(s.Fragments.AnsweredByMetadata)
	n.Read.Store(s.Fragments.Read + s.Fragments.PrunedByFilter)
	n.RowGroups.Store(s.RowGroups.Read + s.RowGroups.Pruned)
	n.RowGroupsPruned.Store(s.RowGroups.Pruned)
	n.Pages.Store(s.Pages.Read)
	n.PagesPruned.Store(s.Pages.Pruned)
	n.Rows.Store(s.RowsScanned)
	n.RowsOut.Store(s.RowsMatched)
	n.StoreBytes.Store(s.StoreBytes)
	n.StoreRequests.Store(s.StoreRequests)
	n.CacheBytes.Store(s.CacheBytes)
	return &query.Summary{
		Rows: s.Rows, More: s.More, Elapsed: time.Duration(s.ElapsedMS * 1e6), Snapshot: snapshot, Positions: s.Positions, Stats: n,
	}
}

// Line is the statistics as JSON on one line.
func (s Statistics) Line() []byte {
	text, err := json.Marshal(s)
	if err != nil {
		panic("bug: statistics that are no JSON: " + err.Error())
	}
	return text
}

// Error is the body of an answer that failed.
type Error struct {
	Code     fail.Code `json:"code"`
	Message  string    `json:"message"`
	Position *Position `json:"position,omitempty"`
}

// Position is a place in the text of a query, in lines and characters from 1.
type Position struct {
	Line   int `json:"line"`
	Column int `json:"column"`
}

func errorOf(e *fail.Error) Error {
	out := Error{Code: e.Code, Message: e.Message}
	if e.Line > 0 {
		out.Position = &Position{e.Line, e.Column}
	}
	return out
}

// line is the error as JSON on one line.
func (e Error) line() []byte {
	text, err := json.Marshal(e)
	if err != nil {
		panic("bug: an error that is no JSON: " + err.Error())
	}
	return text
}

// member is `"error":{...}`.
func (e Error) member() []byte { return append([]byte(`"error":`), e.line()...) }

// Fail is the error again.
func (e Error) Fail() *fail.Error {
	out := fail.New(e.Code, "%s", e.Message)
	if e.Position != nil {
		out.Line, out.Column = e.Position.Line, e.Position.Column
	}
	return out
}

// ErrorBody is an error as the whole body of an answer, in every format.
func ErrorBody(e *fail.Error) []byte {
	return append(append([]byte{'{'}, errorOf(e).member()...), '}', '\n')
}

// distinct gives each column a name of its own: of equal ones the later get _1, _2 and so on.
func distinct(columns []exec.Output) []string {
	taken := map[string]bool{}
	for _, c := range columns {
		taken[c.Name] = true
	}
	used := map[string]bool{}
	out := make([]string, len(columns))
	for i, c := range columns {
		name := c.Name
		for n := 1; used[name]; n++ {
			if next := fmt.Sprintf("%s_%d", c.Name, n); !taken[next] {
				name = next
			}
		}
		used[name] = true
		out[i] = name
	}
	return out
}
