package shardlog

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"github.com/togodb/togo/internal/chain"
)

// The intake offsets that were ever classed are needed by those who look for holes, and by nobody else. So a state has in
// memory only those that no checkpoint holds, and names the objects that have the others: each has the offsets of some
// records, and the union of all is what was classed. A checkpoint adds an object with what came since the one before;
// intakeFanout objects of a level become one of the next. Neither a start nor a checkpoint grows with what was ever read.
const (
	intakeFanout = 8
	// maxIntakeBytes bounds an object that is made of others, packed. One that is larger than its share stays as it is.
	maxIntakeBytes = 32 << 20
	// pieceBits is the span of one bitmap in an object, in bits: at most 512 KiB each.
	pieceBits = 22
)

// intakePlan is how a checkpoint will hold the intake offsets.
type intakePlan struct {
	keep  []manifestRef // objects that stay, oldest first
	merge []manifestRef // those that become one; of a checkpoint that is whole all
	level int           // of that one
	fresh []chunkBitmap // what no object has yet
}

// planIntake takes what no object has into a new one, and perhaps some objects into another. A checkpoint that is whole has all
// in new objects.
func (s *State) planIntake(p *CheckpointPlan, whole bool) {
	s.settling.or(s.fresh)
	s.fresh.Reset()
	p.intake.fresh = pieces(s.settling)
	if whole {
		p.intake.merge = s.archive
		for _, ref := range s.archive {
			p.intake.level = max(p.intake.level, ref.Level)
		}
		return
	}
	p.intake.keep = s.archive
	levels := map[int][]manifestRef{}
	for _, ref := range s.archive {
		if ref.Bytes > maxIntakeBytes/intakeFanout {
			continue
		}
		list := append(levels[ref.Level], ref)
		if levels[ref.Level] = list; len(list) == intakeFanout {
			p.intake.merge, p.intake.level = list, ref.Level+1
			p.intake.keep = slices.DeleteFunc(slices.Clone(s.archive), func(r manifestRef) bool { return slices.Contains(list, r) })
			return
		}
	}
}

// pieces are the offsets of a set as objects have them.
func pieces(set *IntakeSet) []chunkBitmap {
	var out []chunkBitmap
	for _, src := range set.Sources() {
		bm := set.sources[src]
		for it := bm.Iterator(); it.HasNext(); {
			chunk := it.PeekNext() >> pieceBits
			piece := roaring64.New()
			piece.AddRange(chunk<<pieceBits, (chunk+1)<<pieceBits)
			piece.And(bm)
			out = append(out, chunkBitmap{src, chunk, bitmapBytes(piece)})
			it.AdvanceIfNeeded((chunk + 1) << pieceBits)
		}
	}
	return out
}

// writeIntake writes the planned objects, and names them in the root.
func (l *Log) writeIntake(ctx context.Context, at chain.Position, p *CheckpointPlan) error {
	plan := &p.intake
	refs := slices.Clone(plan.keep)
	if len(plan.merge) > 0 {
		merged, err := l.mergeIntake(ctx, at, p)
		if err != nil {
			return err
		}
		refs = append(refs, merged...)
	}
	refs, err := l.putIntake(ctx, at, plan.fresh, 0, refs)
	if err != nil {
		return err
	}
	p.root.Intake = make([]rootIntake, len(refs))
	for i, ref := range refs {
		p.root.Intake[i].Object = ref
	}
	return nil
}

// mergeIntake makes one object of several; as many as it takes if that is too large.
func (l *Log) mergeIntake(ctx context.Context, at chain.Position, p *CheckpointPlan) ([]manifestRef, error) {
	plan := &p.intake
	set := NewIntake()
	err := l.readIntake(ctx, plan.merge, set)
	if err != nil && !errors.Is(err, errStore) && ctx.Err() == nil {
		set, err = l.intakeAt(ctx, at, err)
	}
	switch {
	case err == nil:
		return l.putIntake(ctx, at, pieces(set), plan.level, nil)
	case p.root.Parent == 0 || ctx.Err() != nil:
		return nil, err
	}
	// They stay for those who look for holes, who find what is wrong with them, and out of the way of later ones.
	l.log.Error("objects with intake offsets can't be merged", "error", err)
	refs := slices.Clone(plan.merge)
	for i := range refs {
		refs[i].Level++
	}
	return refs, nil
}

// putIntake writes pieces to as many objects as it takes, and adds these to refs.
func (l *Log) putIntake(ctx context.Context, at chain.Position, list []chunkBitmap, level int, refs []manifestRef) ([]manifestRef, error) {
	for len(list) > 0 {
		n, size := 0, 0
		for ; n < len(list) && (n == 0 || size+len(list[n].Bitmap) <= maxIntakeBytes); n++ {
			size += len(list[n].Bitmap)
		}
		ref, err := l.putManifest(ctx, at, "intake", intakeManifest{Format: Format, Shard: l.shard, Chunks: list[:n]})
		if err != nil {
			return nil, err
		}
		ref.Level = level
		refs, list = append(refs, ref), list[n:]
	}
	return refs, nil
}

// readIntake puts the offsets of all objects into a set.
func (l *Log) readIntake(ctx context.Context, objects []manifestRef, into *IntakeSet) error {
	for part := range slices.Chunk(objects, l.cfg.Parallel) {
		contents := make([]intakeManifest, len(part))
		if err := l.each(len(part), func(i int) error { return l.getManifest(ctx, part[i], &contents[i]) }); err != nil {
			return err
		}
		for i, content := range contents {
			list := make([]Intake, len(content.Chunks))
			for n, c := range content.Chunks {
				list[n] = Intake{c.Source, c.Bitmap}
			}
			err := into.Merge(list)
			if content.Shard != l.shard {
				err = fmt.Errorf("of shard %s", content.Shard)
			}
			if err != nil {
				return fmt.Errorf("manifest %s: %w", part[i].Name, err)
			}
		}
	}
	return nil
}

// Intake is the union of the intake offsets that s has classed, per source. What checkpoints hold is read from the store; if
// that can't be read any more, the newest older checkpoint whose objects can, and the records after it. chain.ErrTrimmed if
// that was deleted meanwhile: a state that is loaded anew has them.
func (l *Log) Intake(ctx context.Context, s *State) ([]Intake, error) {
	set := s.unsaved()
	err := l.readIntake(ctx, s.archive, set)
	if err != nil && !errors.Is(err, errStore) && ctx.Err() == nil {
		l.log.Error("intake offsets of a checkpoint cannot be used, going back to an older one", "position", uint64(s.parent), "error", err)
		set, err = l.intakeAt(ctx, s.Position(), err)
	}
	if errors.Is(err, chain.ErrTrimmed) {
		if roots, failed := l.newestRoots(ctx); failed == nil && len(roots) > 0 && roots[len(roots)-1] == s.parent {
			return nil, corrupt(l.shard, s.parent, refuse("intake offsets of the newest checkpoint cannot be read, and the records were deleted: %v", err))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("shard %s, intake offsets up to %d: %w", l.shard, uint64(s.Position()), err)
	}
	return set.ToIntake(), nil
}

// unsaved are the intake offsets that no checkpoint holds.
func (s *State) unsaved() *IntakeSet {
	set := NewIntake()
	set.or(s.settling)
	set.or(s.fresh)
	return set
}

// intakeAt is what was classed up to a confirmed position, without the objects that failed.
func (l *Log) intakeAt(ctx context.Context, at chain.Position, failed error) (*IntakeSet, error) {
	roots, err := l.newestRoots(ctx)
	if err != nil {
		return nil, err
	}
	for _, from := range slices.Backward(append([]chain.Position{0}, roots...)) {
		if from > at {
			continue
		}
		set := NewIntake()
		if from > 0 {
			r, err := l.readRoot(ctx, from)
			if err == nil {
				err = l.readIntake(ctx, r.objects(), set)
			}
			if errors.Is(err, errStore) || ctx.Err() != nil {
				return nil, err
			}
			if err != nil {
				continue
			}
		}
		for from < at {
			batch, err := l.ReadAfter(ctx, from, int(min(followBatch, at-from)))
			for i := 0; err == nil && i < len(batch); i++ {
				if a := batch[i].Record.Append; a != nil {
					err = set.Merge(a.Intake)
				}
			}
			switch {
			case errors.Is(err, chain.ErrTrimmed):
				return nil, errors.Join(failed, err)
			case err != nil:
				return nil, err
			case len(batch) == 0:
				return nil, corrupt(l.shard, at, refuse("the record was there, and is gone: the bucket was rolled back"))
			}
			from = batch[len(batch)-1].Record.Position
		}
		return set, nil
	}
	panic("shardlog: no log begins at 0")
}

// objects are those that the root names for intake offsets.
func (r *root) objects() []manifestRef {
	out := make([]manifestRef, len(r.Intake))
	for i, in := range r.Intake {
		out[i] = in.Object
	}
	return out
}
