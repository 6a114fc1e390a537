package shardlog

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/togodb/togo/internal/chain"
)

// DefaultTrimMargin is how many records stay below the older of the kept checkpoints, so that
// followers of the log seldom meet a deleted one.
const DefaultTrimMargin = 1000

// maxTrimKeys bounds the objects of one kind that one trim deletes; the next goes on.
const maxTrimKeys = 10_000

// Trim is what can be deleted of one shard's log: old records, checkpoints and manifests. What makes it
// deletable stays true for ever, so Do may come as late as it likes, twice, or by several processes.
type Trim struct {
	log *Log
	at  chain.Position // the kept checkpoint that the marker rests on

	// Why says why nothing, or not everything, goes; "": nothing is held back.
	Why string
	// Base is the marker that must stand before Records go; 0: none.
	Base chain.Position
	// Kept are the positions of the two checkpoints that stay.
	Kept []chain.Position
	// The keys that go: records, checkpoints and manifests that nothing needs, markers that a later
	// one covers. Each at most 10,000.
	Records, Checkpoints, Manifests, Markers []string
}

// Trimmed counts what Do deleted.
type Trimmed struct{ Records, Checkpoints, Manifests, Markers int }

// Empty says whether there is nothing to do.
func (t *Trim) Empty() bool {
	return len(t.Records)+len(t.Checkpoints)+len(t.Manifests)+len(t.Markers) == 0
}

// Reason says why a key of Records, Checkpoints, Manifests or Markers goes, for people.
func (t *Trim) Reason(key string) string {
	switch {
	case strings.HasPrefix(key, t.log.chain.Prefix+"/"):
		return fmt.Sprintf("record up to %d; the checkpoints at %d and %d hold what it said", uint64(t.Base), uint64(t.Kept[0]), uint64(t.Kept[1]))
	case strings.HasPrefix(key, t.log.rootPrefix()):
		return fmt.Sprintf("checkpoint older than those at %d and %d", uint64(t.Kept[0]), uint64(t.Kept[1]))
	case strings.HasPrefix(key, t.log.manifestKey("")):
		return fmt.Sprintf("manifest that no checkpoint from %d on names", uint64(t.Kept[0]))
	}
	return "base marker that later ones cover"
}

// PlanTrim finds what can be deleted of the log, and deletes nothing. margin records stay below the
// older of the two newest checkpoints; both are read whole, and the newer must be what the older and the
// records between them give. It reads little as long as there is little to delete.
//
// An error means that the log could not be read, or is corrupt; chain.ErrTrimmed that another trim was
// faster.
func (l *Log) PlanTrim(ctx context.Context, margin int) (*Trim, error) {
	t := &Trim{log: l}
	markers, err := l.chain.Markers(ctx)
	if err != nil {
		return nil, err
	}
	roots, err := l.newestRoots(ctx)
	if err != nil {
		return nil, err
	}
	if len(roots) < 2 {
		t.Why = fmt.Sprintf("%d checkpoints; two must stay", len(roots))
		return t, nil
	}
	t.Kept = roots[len(roots)-2:]
	t.at = t.Kept[0]
	var newest chain.Position
	if len(markers) > 0 {
		newest = markers[len(markers)-1]
	}
	if t.at <= newest {
		t.Why = fmt.Sprintf("the checkpoint at %d came late: records are gone up to %d", uint64(t.at), uint64(newest))
		return t, nil
	}
	if t.at > chain.Position(margin)+1 {
		t.Base = max(newest, t.at-1-chain.Position(margin))
	}
	due, err := l.trimDue(ctx, t.Base, newest, margin)
	if err != nil || !due {
		t.Why = fmt.Sprintf("checkpoint at %d, records gone up to %d, %d stay: there is little to delete", uint64(t.at), uint64(newest), margin)
		return t, err
	}
	if err := l.planTrim(ctx, t, newest); err != nil || t.Base == 0 {
		return t, err
	}
	t.Markers = l.chain.Covered(markers, t.Base)
	return t, nil
}

// trimDue says whether the trim is worth reading two checkpoints: a quarter of the margin can go, or an
// earlier trim has left something.
func (l *Log) trimDue(ctx context.Context, base, newest chain.Position, margin int) (bool, error) {
	if base == 0 {
		return false, nil
	}
	if base >= newest+chain.Position(max(1, margin/4)) {
		return true, nil
	}
	left, err := l.chain.Old(ctx, newest, 1)
	return len(left) > 0, err
}

// planTrim checks what the deletion rests on, and lists what goes; newest is the marker that stands.
func (l *Log) planTrim(ctx context.Context, t *Trim, newest chain.Position) error {
	older, err := l.readRoot(ctx, t.Kept[0])
	if err != nil {
		return t.unusable(err)
	}
	newer, err := l.readRoot(ctx, t.Kept[1])
	if err != nil {
		return t.unusable(err)
	}
	s, err := l.checkKept(ctx, older, newer, newest)
	if err != nil {
		return t.unusable(err)
	}
	// s is that of the head now, confirmed: a claim that it does not show comes later than both checkpoints.
	if t.Records, err = l.chain.Old(ctx, t.Base, maxTrimKeys); err != nil {
		return err
	}
	switch {
	case newer.Parent != t.Kept[0]:
		t.Why = fmt.Sprintf("the checkpoint at %d was not built on the one at %d: their manifests stay", uint64(t.Kept[1]), uint64(t.Kept[0]))
		return nil
	case t.Kept[0] <= s.ClaimPosition():
		t.Why = fmt.Sprintf("the checkpoint at %d is older than the claim at %d: manifests stay", uint64(t.Kept[0]), uint64(s.ClaimPosition()))
		return nil
	}
	if t.Checkpoints, err = chain.Keys(ctx, l.store, l.rootPrefix(), l.rootPrefix()+(t.Kept[0]-1).String(), maxTrimKeys); err != nil {
		return err
	}
	named := map[string]bool{}
	for _, r := range []*root{older, newer} {
		for _, name := range r.named() {
			named[l.manifestKey(name)] = true
		}
	}
	// A manifest's name begins with its position.
	manifests, err := chain.Keys(ctx, l.store, l.manifestKey(""), l.manifestKey(t.Kept[0].String()), maxTrimKeys+len(named))
	for _, key := range manifests {
		if !named[key] {
			t.Manifests = append(t.Manifests, key)
		}
	}
	return err
}

// named are the names of the manifests that a root needs.
func (r *root) named() (names []string) {
	for _, d := range r.Days {
		for _, m := range d.Manifests {
			names = append(names, m.Name)
		}
	}
	for _, in := range r.Intake {
		names = append(names, in.Object.Name)
	}
	return names
}

// unusable makes of a checkpoint that is gone or damaged a reason to delete nothing.
func (t *Trim) unusable(err error) error {
	if errors.Is(err, ErrCorrupt) || errors.Is(err, ErrNewerFormat) || errors.Is(err, chain.ErrTrimmed) || errors.Is(err, errStore) {
		return err
	}
	t.Base, t.Why = 0, fmt.Sprintf("the checkpoints at %d and %d can't be used: %v", uint64(t.Kept[0]), uint64(t.Kept[1]), err)
	return nil
}

// checkKept reads both checkpoints, compares the newer with what the older and the records give,
// and returns the confirmed state of the head. Of the objects with intake offsets that both name it reads those
// whose records may still be there, behind the marker at base: of the others there is nothing left to compare them with.
func (l *Log) checkKept(ctx context.Context, older, newer *root, base chain.Position) (*State, error) {
	folded, err := l.stateOf(ctx, older)
	if err != nil {
		return nil, err
	}
	to := newer.State.Position
	for folded.Position() < to {
		records, err := l.ReadAfter(ctx, folded.Position(), int(min(followBatch, to-folded.Position())))
		if err != nil {
			return nil, err
		}
		if len(records) == 0 {
			return nil, corrupt(l.shard, folded.Position()+1, refuse("the record is gone, but there is a checkpoint at %d", uint64(to)))
		}
		for _, r := range records {
			if err := folded.Apply(r.Record, r.Bytes); err != nil {
				return nil, err
			}
		}
	}
	s, err := l.stateOf(ctx, newer)
	if err != nil {
		return nil, err
	}
	if newer.Format == 1 {
		base = 0 // an object may have what was in others, too
	}
	if err := l.checkSame(ctx, base, folded, s); err != nil {
		return nil, err
	}
	_, err = l.catchUp(ctx, s)
	return s, err
}

// Do deletes what was planned: the marker first, then what the kept checkpoints replace, the records
// last, oldest first, so that a log that was left at any point can be loaded. It stops at what it can't
// delete; a later trim goes on.
func (t *Trim) Do(ctx context.Context) (done Trimmed, err error) {
	if t.Empty() {
		return done, nil
	}
	if err := t.log.chain.Mark(ctx, t.Base, t.at); err != nil {
		return done, fmt.Errorf("shard %s: %w", t.log.shard, err)
	}
	for _, step := range []struct {
		what string
		keys []string
		done *int
	}{
		{"checkpoints", t.Checkpoints, &done.Checkpoints},
		{"manifests", t.Manifests, &done.Manifests},
		{"records", t.Records, &done.Records},
		{"base markers", t.Markers, &done.Markers},
	} {
		*step.done, err = chain.Delete(ctx, t.log.store, t.log.cfg.Backoff, step.keys)
		t.log.cfg.Metrics.trimmed.WithLabelValues(step.what).Add(float64(*step.done))
		if err != nil {
			return done, fmt.Errorf("shard %s: delete old %s: %w", t.log.shard, step.what, err)
		}
	}
	t.log.log.Info("old records deleted", "base", uint64(t.Base), "records", done.Records, "checkpoints", done.Checkpoints, "manifests", done.Manifests)
	return done, nil
}
