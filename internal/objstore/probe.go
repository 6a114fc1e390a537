package objstore

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ProbeError is a store that breaks a promise that Togo rests on.
type ProbeError struct {
	Store string // its name
	Check string // what was asked of it
	Found string // what it did
}

// Error says all three, for an operator.
func (e *ProbeError) Error() string {
	return fmt.Sprintf("object store %s cannot be used: the check %q failed: %s", e.Store, e.Check, e.Found)
}

const (
	// probeRacers is enough that a store that checks and then writes lets two win.
	probeRacers = 32
	// probeRounds is how often a race without a winner is run again.
	probeRounds = 5
	// probeCleanup bounds the removal of the probe's objects after its context ended.
	probeCleanup = 10 * time.Second
)

// Probe checks at start that the store honours conditional writes and lists what was written, under fresh
// keys below probe/ that it removes. A *ProbeError says that it does not; any other error,
// that it could not be asked. A store that passes may still be broken; one that
// fails must not be used.
func Probe(ctx context.Context, s Store) (err error) {
	var nonce [16]byte
	rand.Read(nonce[:]) // never fails
	keys := []string{"probe/" + hex.EncodeToString(nonce[:]) + "-create"}
	defer func() {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeCleanup)
		defer cancel()
		if failed := s.Delete(clean, keys...); failed != nil && err == nil {
			err = fmt.Errorf("probe %s: remove the probe's objects: %w", Name(s), failed)
		}
	}()
	if err := probeCreate(ctx, s, keys[0]); err != nil {
		return err
	}
	if err := probeListed(ctx, s, keys[0]); err != nil {
		return err
	}
	for round := range probeRounds {
		key := fmt.Sprintf("probe/%s-race-%d", hex.EncodeToString(nonce[:]), round)
		keys = append(keys, key)
		if settled, err := probeRace(ctx, s, key); settled || err != nil {
			return err
		}
	}
	return &ProbeError{Name(s), "of many racing creates one wins", fmt.Sprintf("nobody won in %d races of %d", probeRounds, probeRacers)}
}

// probeCreate checks without a race that a second create fails and changes nothing.
func probeCreate(ctx context.Context, s Store, key string) error {
	const check = "a create of an object that exists fails"
	first := []byte("the first create")
	// ErrExists from a fresh key is our own write, repeated after a lost answer.
	if err := retryConflict(func() error { return s.PutIfAbsent(ctx, key, first) }); err != nil && !errors.Is(err, ErrExists) {
		return fmt.Errorf("probe %s: %w", Name(s), err)
	}
	err := retryConflict(func() error { return s.PutIfAbsent(ctx, key, []byte("the second create")) })
	if err == nil {
		return &ProbeError{Name(s), check, "the second create (If-None-Match: *) was accepted"}
	}
	if !errors.Is(err, ErrExists) {
		return fmt.Errorf("probe %s: second create: %w", Name(s), err)
	}
	return probeBody(ctx, s, key, first, check)
}

// probeListed checks that a listing shows at once what was created: by one a process finds out whether
// what it has read counts any more.
func probeListed(ctx context.Context, s Store, key string) error {
	for object, err := range s.List(ctx, key, "") {
		if err != nil {
			return fmt.Errorf("probe %s: list: %w", Name(s), err)
		}
		if object.Key == key {
			return nil
		}
	}
	return &ProbeError{Name(s), "a listing shows what was created before it", "the object was not listed"}
}

// retryConflict asks again a few times as long as the answer settles nothing.
func retryConflict(write func() error) (err error) {
	for range probeRounds {
		if err = write(); !errors.Is(err, ErrConflict) {
			return err
		}
	}
	return err
}

func probeBody(ctx context.Context, s Store, key string, want []byte, check string) error {
	got, err := s.Get(ctx, key)
	if errors.Is(err, ErrNotFound) {
		return &ProbeError{Name(s), "an object that was created is there", err.Error()}
	}
	if err != nil {
		return fmt.Errorf("probe %s: %w", Name(s), err)
	}
	if !bytes.Equal(got, want) {
		return &ProbeError{Name(s), check, fmt.Sprintf("the object holds %.40q, but %.40q was created", got, want)}
	}
	return nil
}

// probeRace lets many writers create one key. It is not settled if all were refused:
// by conflicts, or because the winner's answer was lost and its retry found the object.
func probeRace(ctx context.Context, s Store, key string) (settled bool, err error) {
	const check = "of many racing creates one wins"
	var errs [probeRacers]error
	var wg sync.WaitGroup
	start := make(chan struct{})
	body := func(i int) []byte { return fmt.Appendf(nil, "racer %d", i) }
	for i := range errs {
		wg.Go(func() {
			<-start
			errs[i] = s.PutIfAbsent(ctx, key, body(i))
		})
	}
	close(start)
	wg.Wait()
	var winners []int
	var other error // an answer that is none of the three expected
	for i, err := range errs {
		switch {
		case err == nil:
			winners = append(winners, i)
		case !errors.Is(err, ErrExists) && !errors.Is(err, ErrConflict):
			other = err
		}
	}
	switch {
	case len(winners) > 1:
		return true, &ProbeError{Name(s), check, fmt.Sprintf("%d of %d writers were told that they created it", len(winners), probeRacers)}
	case len(winners) == 1:
		return true, probeBody(ctx, s, key, body(winners[0]), check)
	case other != nil:
		return true, fmt.Errorf("probe %s: %w", Name(s), other)
	}
	return false, nil
}
