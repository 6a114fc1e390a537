package placements

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/objstore"
)

// maxTrimKeys bounds the objects of one kind that one trim deletes; the next goes on.
const maxTrimKeys = 10_000

// Trim is what can be deleted of the chain: old records and checkpoints. What makes it deletable stays
// true for ever, so Do may come as late as it likes, twice, or by several processes.
type Trim struct {
	keeper *Keeper

	// Why says why nothing goes; "": something does.
	Why string
	// Base is the marker that must stand before Records go; 0: none.
	Base chain.Position
	// Kept are the versions of the two checkpoints that stay.
	Kept []Version
	// The keys that go. Each at most 10,000.
	Records, Checkpoints, Markers []string
}

// Trimmed counts what Do deleted.
type Trimmed struct{ Records, Checkpoints, Markers int }

// Empty says whether there is nothing to do.
func (t *Trim) Empty() bool { return len(t.Records)+len(t.Checkpoints)+len(t.Markers) == 0 }

// Reason says why a key of Records, Checkpoints or Markers goes, for people.
func (t *Trim) Reason(key string) string {
	switch {
	case strings.HasPrefix(key, logPrefix+"/"):
		return fmt.Sprintf("record up to %d; the checkpoints of versions %d and %d hold what it said", uint64(t.Base), t.Kept[0], t.Kept[1])
	case strings.HasPrefix(key, checkpointPrefix+"/"):
		return fmt.Sprintf("checkpoint older than those of versions %d and %d", t.Kept[0], t.Kept[1])
	}
	return "base marker that later ones cover"
}

// PlanTrim finds what can be deleted of the chain, and deletes nothing. margin records stay below the
// older of the two newest checkpoints; both are read, and the newer must be what the older and the records
// between them give. It reads little as long as there is little to delete. chain.ErrTrimmed: another trim was faster.
func (k *Keeper) PlanTrim(ctx context.Context, margin int) (*Trim, error) {
	t := &Trim{keeper: k}
	markers, err := k.log.Markers(ctx)
	if err != nil {
		return nil, err
	}
	all, err := k.checkpoints(ctx)
	if err != nil {
		return nil, err
	}
	if len(all) < 2 {
		t.Why = fmt.Sprintf("%d checkpoints; two must stay", len(all))
		return t, nil
	}
	t.Kept = all[len(all)-2:]
	older := t.Kept[0].Position()
	var newest chain.Position
	if len(markers) > 0 {
		newest = markers[len(markers)-1]
	}
	if older <= newest {
		t.Why = fmt.Sprintf("the checkpoint of version %d came late: records are gone up to %d", t.Kept[0], uint64(newest))
		return t, nil
	}
	base := newest
	if older > chain.Position(margin)+1 {
		base = max(newest, older-1-chain.Position(margin))
	}
	due := base >= newest+chain.Position(max(1, margin/4))
	if !due && base > 0 { // perhaps an earlier trim has left something
		left, err := k.log.Old(ctx, newest, 1)
		if err != nil {
			return nil, err
		}
		due = len(left) > 0
	}
	if !due {
		t.Why = fmt.Sprintf("checkpoint of version %d, records gone up to %d, %d stay: there is little to delete", t.Kept[0], uint64(newest), margin)
		return t, nil
	}
	if err := k.checkKept(ctx, t); err != nil || t.Why != "" {
		return t, err
	}
	t.Base, t.Markers = base, k.log.Covered(markers, base)
	if t.Records, err = k.log.Old(ctx, base, maxTrimKeys); err != nil {
		return nil, err
	}
	for _, v := range all[:min(len(all)-2, maxTrimKeys)] {
		t.Checkpoints = append(t.Checkpoints, checkpointKey(v))
	}
	return t, nil
}

// checkpoints are the versions that have one, ascending.
func (k *Keeper) checkpoints(ctx context.Context) (out []Version, err error) {
	for object, err := range k.cfg.Store.List(ctx, checkpointPrefix+"/", "") {
		if err != nil {
			return nil, fmt.Errorf("list placement checkpoints: %w", err)
		}
		if p, err := chain.ParsePosition(strings.TrimPrefix(object.Key, checkpointPrefix+"/")); err == nil {
			out = append(out, Version(p))
		}
	}
	return out, nil
}

// checkKept reads both checkpoints, and compares the newer with what the older and the records give.
func (k *Keeper) checkKept(ctx context.Context, trim *Trim) error {
	bodies := make([][]byte, len(trim.Kept))
	for i, v := range trim.Kept {
		var err error
		if bodies[i], err = k.cfg.Store.Get(ctx, checkpointKey(v)); err != nil {
			if errors.Is(err, objstore.ErrNotFound) {
				trim.Why = fmt.Sprintf("the checkpoint of version %d is gone by now", v)
				return nil
			}
			return fmt.Errorf("read placement checkpoint %d: %w", v, err)
		}
	}
	t, err := DecodeCheckpoint(k.cfg.Hasher, bodies[0])
	if errors.Is(err, ErrFormat) {
		return err
	}
	if err != nil || t.version != trim.Kept[0] {
		trim.Why = fmt.Sprintf("the checkpoint of version %d can't be used: %v", trim.Kept[0], err)
		return nil
	}
	for entry, err := range k.log.Follow(ctx, t.version.Position()) {
		if err != nil {
			return fmt.Errorf("read placements: %w", err)
		}
		if t, err = t.read(entry.Body); err != nil {
			return err
		}
		if t.version == trim.Kept[1] {
			break
		}
	}
	if t.version != trim.Kept[1] {
		return fmt.Errorf("%w: there is a checkpoint of version %d, but the records end at %d", ErrCorrupt, trim.Kept[1], t.version)
	}
	if folded, err := t.Checkpoint(); err != nil {
		return err
	} else if !bytes.Equal(folded, bodies[1]) {
		trim.Why = fmt.Sprintf("the checkpoint of version %d is not what the one of version %d and the records give", trim.Kept[1], trim.Kept[0])
	}
	return nil
}

// Do deletes what was planned: the marker first, then checkpoints, then records, oldest first, so that a chain that was
// left at any point can be loaded. It stops at what it can't delete; a later trim goes on.
func (t *Trim) Do(ctx context.Context) (done Trimmed, err error) {
	if t.Empty() {
		return done, nil
	}
	k := t.keeper
	if err := k.log.Mark(ctx, t.Base, t.Kept[0].Position()); err != nil {
		return done, err
	}
	for _, step := range []struct {
		what string
		keys []string
		done *int
	}{
		{"checkpoints", t.Checkpoints, &done.Checkpoints},
		{"records", t.Records, &done.Records},
		{"base markers", t.Markers, &done.Markers},
	} {
		if *step.done, err = chain.Delete(ctx, k.cfg.Store, k.cfg.Backoff, step.keys); err != nil {
			return done, fmt.Errorf("delete old %s of the placements: %w", step.what, err)
		}
	}
	k.cfg.Logger.Info("old placement records deleted", "base", uint64(t.Base), "records", done.Records, "checkpoints", done.Checkpoints)
	return done, nil
}
