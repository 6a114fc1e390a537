package shardlog

import (
	"context"
	"maps"
	"slices"

	"github.com/togodb/togo/internal/chain"
)

const (
	// intakeFanout objects with pieces of bitmaps become one of the next level, and
	// maxIntakeLevel ends that: the largest have 512 pieces, 8 MiB.
	intakeFanout, maxIntakeLevel = 8, 3
	maxIntakePieces              = 512
)

// intakeObject is an object that holds pieces of bitmaps.
type intakeObject struct {
	ref    manifestRef
	serial int // order in which they were written
	chunks []chunkKey
}

// intakePlan is a new object with pieces of the intake bitmaps.
type intakePlan struct {
	content intakeManifest
	changes []uint64 // of each piece when planned
	object  *intakeObject
}

// planIntake takes the changed pieces into one new object, and perhaps those of
// the oldest objects of a level into another; the root goes on naming the others. A whole
// checkpoint has all pieces in new objects.
func (s *State) planIntake(p *CheckpointPlan, whole bool) {
	if whole {
		keys := slices.SortedFunc(maps.Keys(s.intake), compareChunks)
		for part := range slices.Chunk(keys, maxIntakePieces) {
			p.intake = append(p.intake, s.planObject(part, maxIntakeLevel))
		}
		return
	}
	var changed []chunkKey
	kept := map[*intakeObject][]int{} // by place
	for key, c := range s.intake {
		if c.saved != c.changes {
			changed = append(changed, key)
		}
	}
	for _, o := range s.intakeObjects() {
		for i, key := range o.chunks {
			if c := s.intake[key]; c.object == o && c.saved == c.changes {
				kept[o] = append(kept[o], i)
			}
		}
	}
	if len(changed) > 0 {
		slices.SortFunc(changed, compareChunks)
		p.intake = append(p.intake, s.planObject(changed, 0))
	}
	merged := mergeable(kept)
	if len(merged) > 0 {
		var keys []chunkKey
		for _, o := range merged {
			for _, i := range kept[o] {
				keys = append(keys, o.chunks[i])
			}
			delete(kept, o)
		}
		p.intake = append(p.intake, s.planObject(keys, merged[0].ref.Level+1))
	}
	for _, o := range bySerial(kept) {
		in := rootIntake{Object: o.ref, Chunks: kept[o]}
		if len(in.Chunks) == len(o.chunks) {
			in.Chunks = nil
		}
		p.root.Intake = append(p.root.Intake, in)
	}
}

// intakeObjects are the objects that hold any piece of the state.
func (s *State) intakeObjects() []*intakeObject {
	set := map[*intakeObject][]int{}
	for _, c := range s.intake {
		if c.object != nil {
			set[c.object] = nil
		}
	}
	return bySerial(set)
}

func bySerial(set map[*intakeObject][]int) []*intakeObject {
	return slices.SortedFunc(maps.Keys(set), func(a, b *intakeObject) int { return a.serial - b.serial })
}

// mergeable are the oldest objects of the lowest level that has enough of them.
func mergeable(kept map[*intakeObject][]int) []*intakeObject {
	var levels [maxIntakeLevel][]*intakeObject
	for _, o := range bySerial(kept) {
		if o.ref.Level < maxIntakeLevel {
			levels[o.ref.Level] = append(levels[o.ref.Level], o)
		}
	}
	for _, list := range levels {
		if len(list) >= intakeFanout {
			return list[:intakeFanout]
		}
	}
	return nil
}

func (s *State) planObject(keys []chunkKey, level int) intakePlan {
	s.intakeSerial++
	p := intakePlan{object: &intakeObject{serial: s.intakeSerial, chunks: keys, ref: manifestRef{Level: level}}}
	p.content.Format, p.content.Shard = Format, s.small.Shard
	for _, key := range keys {
		c := s.intake[key]
		p.changes = append(p.changes, c.changes)
		p.content.Chunks = append(p.content.Chunks, chunkBitmap{key.source, key.chunk, bitmapBytes(c.bits)})
	}
	return p
}

// writeIntake writes the planned objects, and names them in the root.
func (l *Log) writeIntake(ctx context.Context, at chain.Position, p *CheckpointPlan) error {
	for i := range p.intake {
		plan := &p.intake[i]
		ref, err := l.putManifest(ctx, at, "intake", plan.content)
		if err != nil {
			return err
		}
		ref.Level = plan.object.ref.Level
		plan.object.ref = ref
		p.root.Intake = append(p.root.Intake, rootIntake{Object: ref})
	}
	return nil
}

// intakeWritten moves the planned pieces to their new objects.
func (s *State) intakeWritten(p *CheckpointPlan) {
	for _, plan := range p.intake {
		for i, key := range plan.object.chunks {
			c := s.intake[key]
			c.saved, c.object = plan.changes[i], plan.object
		}
	}
}

// upTo is 0, 1, ... n-1.
func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}
