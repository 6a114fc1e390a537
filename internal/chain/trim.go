package chain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/togodb/togo/internal/objstore"
)

// KeptMarkers is how many base markers stay. One is enough for a listing that shows a moment, or that
// goes through the keys in their order; three for one that does neither.
const KeptMarkers = 3

// marker is the content of a base marker, for people.
type marker struct {
	Base       Position `json:"base"`       // records up to here are deleted
	Checkpoint Position `json:"checkpoint"` // that holds what they said
}

// Mark puts the base marker p until it stands: from then on records up to p may be deleted. The checkpoint, at p
// or behind it, stands already. An error only if ctx ended, and then it may stand, too.
func (l *Log) Mark(ctx context.Context, p, checkpoint Position) error {
	if l.Base == "" || p == 0 || checkpoint < p {
		panic(fmt.Sprintf("chain: base marker %d of %s with a checkpoint at %d", uint64(p), l.Prefix, uint64(checkpoint)))
	}
	body, err := json.Marshal(marker{p, checkpoint})
	if err != nil {
		return err
	}
	for attempt := 1; ; attempt++ {
		err := l.Store.PutIfAbsent(ctx, l.BaseKey(p), body)
		if err == nil || errors.Is(err, objstore.ErrExists) {
			return nil
		}
		if wait := l.Backoff.Wait(ctx, attempt); wait != nil {
			return fmt.Errorf("put the base marker %d of %s: %w: %w", uint64(p), l.Prefix, err, wait)
		}
	}
}

// Covered are the markers that go once p stands, of those that are there (ascending).
func (l *Log) Covered(markers []Position, p Position) (keys []string) {
	if len(markers) == 0 || p > markers[len(markers)-1] {
		markers = append(markers[:len(markers):len(markers)], p)
	}
	for _, m := range markers[:max(0, len(markers)-KeptMarkers)] {
		keys = append(keys, l.BaseKey(m))
	}
	return keys
}

// Old lists at most n records up to a position, those first that were written first.
func (l *Log) Old(ctx context.Context, last Position, n int) ([]string, error) {
	return Keys(ctx, l.Store, l.Prefix+"/", l.Key(last), n)
}

// Keys lists at most n keys with a prefix, up to and with last.
func Keys(ctx context.Context, store objstore.Store, prefix, last string, n int) ([]string, error) {
	var out []string
	for object, err := range store.List(ctx, prefix, "") {
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", prefix, err)
		}
		if len(out) == n || object.Key > last {
			break
		}
		out = append(out, object.Key)
	}
	return out, nil
}

const (
	deleteBatch    = 1000 // keys of one request
	maxDeleteTries = 3    // of one key
)

// Delete removes keys in their order, and tries those that are left again, a few times; it returns how many are
// gone, and with an error the first that is not ends it.
func Delete(ctx context.Context, store objstore.Store, pause Backoff, keys []string) (gone int, err error) {
	for len(keys) > 0 {
		batch := keys[:min(len(keys), deleteBatch)]
		keys = keys[len(batch):]
		for attempt := 1; ; attempt++ {
			err := store.Delete(ctx, batch...)
			left := objstore.LeftOf(err, batch)
			var still []string
			for _, key := range batch {
				if left[key] != nil {
					still = append(still, key)
				}
			}
			gone += len(batch) - len(still)
			if batch = still; len(batch) == 0 {
				break
			}
			if attempt == maxDeleteTries {
				return gone, err
			}
			if wait := pause.Wait(ctx, attempt); wait != nil {
				return gone, errors.Join(err, wait)
			}
		}
	}
	return gone, nil
}
