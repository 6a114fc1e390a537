package objstore

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// DeleteError is a Delete that left some of its keys in place (or does not know).
type DeleteError struct {
	Left map[string]error // why, by key
}

// Error names one of the keys that are left, and their number.
func (e *DeleteError) Error() string {
	keys := slices.Sorted(maps.Keys(e.Left))
	if len(keys) == 0 {
		return "delete: no key is left"
	}
	return fmt.Sprintf("delete: %d keys are left, the first is %q: %v", len(keys), keys[0], e.Left[keys[0]])
}

// Unwrap lets errors.Is look at the reasons of all keys.
func (e *DeleteError) Unwrap() []error {
	errs := make([]error, 0, len(e.Left))
	for _, key := range slices.Sorted(maps.Keys(e.Left)) {
		errs = append(errs, e.Left[key])
	}
	return errs
}

// Keys are the keys that are left, in order.
func (e *DeleteError) Keys() []string { return slices.Sorted(maps.Keys(e.Left)) }

// LeftOf is why each of the keys that a Delete was asked for may still be there, by key,
// for callers that go on key by key: none if err is nil, those that a *DeleteError names,
// and all of them after any other error, which settles nothing.
func LeftOf(err error, keys []string) map[string]error {
	if err == nil {
		return nil
	}
	var partial *DeleteError
	if errors.As(err, &partial) {
		return partial.Left
	}
	left := make(map[string]error, len(keys))
	for _, key := range keys {
		left[key] = err
	}
	return left
}

// Name is how messages name a store: its String method, or its type.
func Name(s Store) string {
	if n, ok := s.(fmt.Stringer); ok {
		return n.String()
	}
	return fmt.Sprintf("%T", s)
}
