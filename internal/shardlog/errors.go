package shardlog

import (
	"errors"
	"fmt"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
)

// What a caller acts on.
var (
	// ErrCorrupt: the log is not as we left it; stop the shard and say where.
	ErrCorrupt = errors.New("shard log is corrupt")
	// ErrNewerFormat: written by a newer Togo; stop, and change nothing.
	ErrNewerFormat = errors.New("written in a newer format")
	// ErrRefused: our own record would break the fold; nothing was written.
	ErrRefused = errors.New("record refused")
	// ErrFenced: the record's epoch is not the one of the shard's owner any more.
	// A refusal of our own record that is ErrFenced is ErrRefused too.
	ErrFenced = errors.New("fenced by a newer claim")
	// ErrLostRaces: a bounded number of tries lost against other writers.
	ErrLostRaces = errors.New("lost too many races")
)

// fault is one reason why the fold refuses a record.
type fault struct {
	what   string
	fenced bool
}

func (f *fault) Error() string { return f.what }
func (f *fault) Is(target error) bool {
	return target == ErrFenced && f.fenced
}

func refuse(format string, args ...any) error {
	return &fault{what: fmt.Sprintf(format, args...)}
}

func refuseFenced(format string, args ...any) error {
	return &fault{what: fmt.Sprintf(format, args...), fenced: true}
}

// corrupt names the place of a refusal on reading.
func corrupt(shard event.ShardID, p chain.Position, err error) error {
	return fmt.Errorf("%w: shard %s, position %d: %w", ErrCorrupt, shard, uint64(p), err)
}
