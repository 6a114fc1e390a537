package chain

import (
	"context"
	crand "crypto/rand"
	"encoding/hex"
	"math/rand/v2"
	"time"
)

// The default pauses: the shortest is about two round trips of an object store, so
// that a 409 is asked again soon; the longest keeps a store that is down from
// being asked more than a dozen times a minute by each chain.
const (
	defaultBackoffMin = 50 * time.Millisecond
	defaultBackoffMax = 5 * time.Second
)

// Backoff is the pause between tries: it doubles from Min to Max, and each is
// shortened by a random part of up to a half, so that racers spread out.
type Backoff struct {
	Min time.Duration // 0: 50 ms
	Max time.Duration // 0: 5 s

	// Jitter gives numbers in [0, 1); nil means a random source of its own. A
	// simulation passes its seeded one.
	Jitter func() float64
	// Sleep waits, and returns early with the reason if ctx ends; nil means a
	// timer (which testing/synctest runs at once).
	Sleep func(ctx context.Context, d time.Duration) error
}

// Pause is the pause after the attempt-th try (from 1).
func (b Backoff) Pause(attempt int) time.Duration {
	lowest, highest := b.Min, b.Max
	if lowest <= 0 {
		lowest = defaultBackoffMin
	}
	if highest <= 0 {
		highest = defaultBackoffMax
	}
	highest = max(highest, lowest)
	pause := lowest
	for i := 1; i < attempt && pause < highest; i++ {
		pause = min(2*pause, highest)
	}
	jitter := b.Jitter
	if jitter == nil {
		jitter = rand.Float64
	}
	return pause - time.Duration(jitter()*float64(pause/2))
}

// Wait pauses after the attempt-th try, and returns early with the reason if ctx ends.
func (b Backoff) Wait(ctx context.Context, attempt int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	pause := b.Pause(attempt)
	if b.Sleep != nil {
		return b.Sleep(ctx, pause)
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// NewNonce is 128 random bits in hex: what tells one's own record from another's.
func NewNonce() string {
	var b [16]byte
	crand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
