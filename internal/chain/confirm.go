package chain

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// ErrTrimmed: records were deleted from the chain at or above a position that was read or
// written, so that what was found there may be no part of the history. Whoever meets it
// drops all state of the chain and starts from the newest checkpoint. The error is a
// *TrimmedError.
var ErrTrimmed = errors.New("records of the chain were deleted")

// TrimmedError is ErrTrimmed with its place.
type TrimmedError struct {
	Prefix   string   // of the chain
	Position Position // that was read or written
	Base     Position // a marker: records up to here may be gone
}

func (e *TrimmedError) Error() string {
	return fmt.Sprintf("position %d of %s: %s up to %d: what was known of it counts no more; start from the newest checkpoint",
		uint64(e.Position), e.Prefix, ErrTrimmed, uint64(e.Base))
}

// Is says that the error is ErrTrimmed.
func (e *TrimmedError) Is(target error) bool { return target == ErrTrimmed }

// BaseKey is the marker by which the records up to p may be deleted.
func (l *Log) BaseKey(p Position) string { return l.Base + "/" + p.String() }

// Confirm says whether what was read or written at p and above, before this call, is
// what the chain holds there: nil, or ErrTrimmed, or the error of a store that could
// not be asked. It costs one listing of one entry; none for a chain that is never trimmed.
func (l *Log) Confirm(ctx context.Context, p Position) error {
	if l.Base == "" {
		return nil
	}
	prefix := l.Base + "/"
	for object, err := range l.Store.List(ctx, prefix, prefix+(max(p, 1)-1).String()) {
		if err != nil {
			return fmt.Errorf("confirm position %d of %s: %w", uint64(p), l.Prefix, err)
		}
		base, err := ParsePosition(strings.TrimPrefix(object.Key, prefix))
		if err != nil {
			continue // no marker of ours
		}
		return &TrimmedError{l.Prefix, p, base}
	}
	return nil
}

// Markers lists all base markers, ascending.
func (l *Log) Markers(ctx context.Context) ([]Position, error) {
	if l.Base == "" {
		return nil, nil
	}
	var out []Position
	prefix := l.Base + "/"
	for object, err := range l.Store.List(ctx, prefix, "") {
		if err != nil {
			return nil, fmt.Errorf("list the base markers of %s: %w", l.Prefix, err)
		}
		if p, err := ParsePosition(strings.TrimPrefix(object.Key, prefix)); err == nil {
			out = append(out, p)
		}
	}
	return out, nil
}
