package shardlog

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"slices"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/objstore"
)

// Which manifests a later checkpoint may name.
//
// A checkpoint shares manifests with the one it is built on, its parent, and a trim deletes
// manifests that the checkpoints it keeps do not name. So that no newest checkpoint ever names a
// deleted one:
//
//  1. Only a shard's owner builds on a parent. All others write a checkpoint that is whole: it names nothing but
//     manifests of its own position.
//  2. An owner builds on the newest checkpoint of a listing that was begun after its claim was
//     confirmed (at the claim, or by a Load since), if that is the one it loaded, else on none; and then on
//     its own, each once it knows that it stands.
//  3. A trim reads the two newest checkpoints, K1 < K2, whole; then the log to its head, confirmed. It deletes
//     manifests only if K2 was built on K1 and both lie behind the newest claim, and then those that neither
//     names and whose own position lies below K1.
//
// Let R be a checkpoint that lands after the trim has listed K1 and K2, with R > K1. It names none that the trim
// deletes, or it lies below K2, so that it is never the newest (the search of model.SearchLineage finds no other case):
//
//   - R of the owner of K1 and K2, planned after K2: then the owner knew, when it planned K2, that K1 stood. If R comes from
//     the same load, it is built on K1, K2 or what was built on them. If from a later load, that listed K1 or a
//     newer one; a newer one than K1 that was there before K2 would have been seen by the trim beside K2, and K2 was not
//     built on it; one that came after K2 is a case of this list itself.
//   - R of that owner, planned before K2: then R < K2, as an owner's positions only rise.
//   - R of a later claim: the trim has not seen that claim, so it came after K1 and K2 were there, and its owner
//     listed them: R is whole, or built on K2 or on a case of this list.
//   - R of an earlier claim lies below that of K1.
//
// A manifest that is uploaded late, or whose checkpoint never lands, is deleted by a later trim: none is
// needed that lies below K1 and that neither K1 nor K2 names.

// Own tells s that the caller made the claim with this nonce, and that s was loaded after that claim was
// confirmed, or is the state that Claim left. Checkpoints of another's state are whole.
func (s *State) Own(nonce string) { s.own = nonce }

// standsAlone says whether the next checkpoint must be whole.
func (s *State) standsAlone() bool {
	return s.own != s.small.ClaimNonce || s.parent == 0
}

// claimed: the checkpoint that s builds on is the newest after the claim, or s builds on none.
func (l *Log) claimed(ctx context.Context, s *State) {
	s.own = s.small.ClaimNonce
	if s.parent == 0 {
		return
	}
	newer, err := l.listRoots(ctx, s.parent-1)
	if err == nil && len(newer) == 1 && newer[0] == s.parent {
		return
	}
	l.log.Info("the next checkpoint is written whole", "built_on", uint64(s.parent), "newer", len(newer), "error", err)
	s.parent = 0
}

// putRoot writes a checkpoint's root. After an error it may stand, now or later.
func (l *Log) putRoot(ctx context.Context, p *CheckpointPlan, body []byte) error {
	key := l.rootPrefix() + p.root.State.Position.String()
	err := l.store.PutIfAbsent(ctx, key, body)
	if errors.Is(err, objstore.ErrExists) {
		// Another's, or ours of a try whose answer was lost.
		var found []byte
		if found, err = l.store.Get(ctx, key); err == nil && !bytes.Equal(found, body) {
			return nil
		}
	}
	if err != nil {
		return err
	}
	p.stored = true
	l.cfg.Metrics.ckptBytes.Add(float64(len(body)))
	return nil
}

// checkSame: two states that must be one are. Objects with intake offsets up to base that both name are left out.
func (l *Log) checkSame(ctx context.Context, base chain.Position, folded, loaded *State) error {
	differ := corrupt(l.shard, folded.Position(), refuse("the checkpoint is not what the one before it and the records give"))
	a, b := sha256.New(), sha256.New()
	folded.writeText(a)
	loaded.writeText(b)
	if !bytes.Equal(a.Sum(nil), b.Sum(nil)) {
		return differ
	}
	intake := func(s, other *State) (*IntakeSet, error) {
		set := s.unsaved()
		list := slices.DeleteFunc(slices.Clone(s.archive), func(ref manifestRef) bool {
			// A manifest's name begins with its position.
			return ref.Name <= base.String() && slices.ContainsFunc(other.archive, func(o manifestRef) bool { return o.Name == ref.Name })
		})
		return set, l.readIntake(ctx, list, set)
	}
	inFolded, err := intake(folded, loaded)
	if err != nil {
		return err
	}
	inLoaded, err := intake(loaded, folded)
	if err == nil && !inFolded.equal(inLoaded) {
		return differ
	}
	return err
}
