package shardlog

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
)

// What a caller acts on.
var (
	// ErrCorrupt: the log is not as we left it; stop the shard and say where.
	ErrCorrupt = errors.New("shard log is corrupt")
	// ErrNewerFormat: written by a newer Togo; stop, and change nothing.
	ErrNewerFormat = errors.New("written in a newer format")
	// ErrRefused: our own record would break the fold; nothing was written.
	ErrRefused = errors.New("record refused")
	// ErrFenced: the record's epoch is no longer the shard's owner's (also ErrRefused).
	ErrFenced = errors.New("fenced by a newer claim")
)

// Config of a Log; the zero value is ready.
type Config struct {
	Now               func() time.Time // for TimeMS only; time.Now
	NewNonce          func() string    // 128 random bits in hex; crypto/rand
	Logger            *slog.Logger     // slog.Default
	Registerer        prometheus.Registerer
	CheckpointRecords int   // a checkpoint is due after so many records; 64
	CheckpointBytes   int64 // or so many bytes of records; 8 MiB
}

// OpenWith is Open with settings.
func OpenWith(store objstore.Store, shard event.ShardID, cfg Config) *Log {
	panic("shardlog: not built")
}

// Claim reads to the head and appends a claim; on a lost race it reads on and
// tries again, a bounded number of times. nonce is the claim's, as it stands in
// the keys of this owner's uploads.
func (l *Log) Claim(ctx context.Context, s *State, owner, incarnation string) (e Epoch, nonce string, err error) {
	panic("shardlog: not built")
}

// Release hands the shard over; it appends until the release stands or the owner is fenced.
func (l *Log) Release(ctx context.Context, s *State) error { panic("shardlog: not built") }

// CheckpointDue says whether so much was folded since the last checkpoint that
// the owner should write one.
func (l *Log) CheckpointDue(s *State) bool { panic("shardlog: not built") }

// PlanCheckpoint collects what a checkpoint of s must write; it does no I/O and
// shares nothing with s that Apply changes.
func (s *State) PlanCheckpoint() *CheckpointPlan { panic("shardlog: not built") }

// WriteCheckpoint does the I/O of a plan; s may go on meanwhile.
func (l *Log) WriteCheckpoint(ctx context.Context, p *CheckpointPlan) error {
	panic("shardlog: not built")
}

// CheckpointWritten tells s that the plan's checkpoint is in the store.
func (s *State) CheckpointWritten(p *CheckpointPlan) { panic("shardlog: not built") }

// CheckpointPlan is one checkpoint on its way to the store.
type CheckpointPlan struct{}

// Clone is an independent copy.
func (s *State) Clone() *State { panic("shardlog: not built") }

func (s *State) Shard() event.ShardID { panic("shardlog: not built") }

// Last is the link to the record at Position.
func (s *State) Last() Link { panic("shardlog: not built") }

// ClaimNonce is the nonce of the newest claim, and ClaimPosition where it stands.
func (s *State) ClaimNonce() string            { panic("shardlog: not built") }
func (s *State) ClaimPosition() chain.Position { panic("shardlog: not built") }

// LowWater of the current epoch.
func (s *State) LowWater() uint64 { panic("shardlog: not built") }

// Erased is the floor below which a tenant was erased.
func (s *State) Erased(t event.TenantID) (event.Timestamp, bool) { panic("shardlog: not built") }

// Job is an open merge.
type Job struct {
	Nonce    string
	Position chain.Position
	Worker   string
	Inputs   []string
}

// Jobs are the open merges, oldest first.
func (s *State) Jobs() []Job { panic("shardlog: not built") }

// Quarantined are the fragments that were set aside.
func (s *State) Quarantined() []Fragment { panic("shardlog: not built") }

// Fragment is the live fragment under key.
func (s *State) Fragment(key string) (Fragment, bool) { panic("shardlog: not built") }

// Segments calls yield for each live id segment.
func (s *State) Segments(yield func(IDSegment) bool) { panic("shardlog: not built") }

// Encode is the record's canonical form.
func Encode(r *Record) ([]byte, error) { panic("shardlog: not built") }

// Decode reads a record strictly: ErrNewerFormat or ErrCorrupt.
func Decode(b []byte) (Record, error) { panic("shardlog: not built") }

// Line is the record for people, in one line.
func (r Record) Line() string { panic("shardlog: not built") }

// IntakeSet gathers intake offsets per source.
type IntakeSet struct{}

func NewIntake() *IntakeSet                                     { panic("shardlog: not built") }
func (s *IntakeSet) Add(src Source, offset int64)               { panic("shardlog: not built") }
func (s *IntakeSet) AddRange(src Source, from, next int64)      { panic("shardlog: not built") }
func (s *IntakeSet) ToIntake() []Intake                         { panic("shardlog: not built") }
func (s *IntakeSet) Merge(in []Intake) error                    { panic("shardlog: not built") }
func (s *IntakeSet) Holes(src Source, from, next int64) []Range { panic("shardlog: not built") }
func (s *IntakeSet) Sources() []Source                          { panic("shardlog: not built") }
