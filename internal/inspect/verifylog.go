package inspect

import (
	"context"
	"errors"
	"fmt"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/shardlog"
)

// maxLogTries bounds how often the check of a log begins again because records are
// deleted while it reads them.
const maxLogTries = 5

// verifyLog folds a shard's records from the first one on, or from the oldest checkpoint where old ones were
// deleted, and compares the outcome with the state that came from the newest checkpoint.
func (v *View) verifyLog(ctx context.Context, r *Report, loaded *shardlog.State) error {
	id := loaded.Shard()
	if err := v.damage[id]; err != nil {
		r.fail(CheckLog, "%v", err)
	}
	for try := 1; ; try++ {
		checked := r.Results[CheckLog].Checked
		err := v.verifyFold(ctx, r, loaded)
		if !errors.Is(err, chain.ErrTrimmed) {
			return err
		}
		r.Results[CheckLog].Checked = checked
		if try == maxLogTries {
			r.Results[CheckLog].Note = fmt.Sprintf("shard %d: not checked, as records were deleted while they were read", id)
			return nil
		}
	}
}

func (v *View) verifyFold(ctx context.Context, r *Report, loaded *shardlog.State) error {
	id := loaded.Shard()
	log := v.logs[id]
	s, base, err := log.Oldest(ctx)
	if isFinding(err) {
		if v.damage[id] == nil {
			r.fail(CheckLog, "%v", err)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("shard %d: %w", id, err)
	}
	if s.Position() > loaded.Position() {
		return fmt.Errorf("shard %d: the view is older than what is left of the log: %w", id, chain.ErrTrimmed)
	}
	if whole, err := v.verifyLinks(ctx, r, log, base, s.Head()); err != nil || !whole {
		return err
	}
	whole, err := v.readLog(ctx, r, log, s.Position(), loaded.Position(), func(rec shardlog.Stored) error { return s.Apply(rec.Record, rec.Bytes) })
	if err != nil || !whole {
		return err
	}
	if v.damage[id] != nil {
		return nil // the state is that of the records
	}
	inLog, err := log.Intake(ctx, s)
	if err != nil {
		return fmt.Errorf("shard %d: %w", id, err)
	}
	inCheckpoint, err := log.Intake(ctx, loaded)
	if err != nil {
		return fmt.Errorf("shard %d: %w", id, err)
	}
	r.Results[CheckCheckpoint].Checked++
	what, a, b := difference(s, loaded)
	if x, y := intakeSums(inLog), intakeSums(inCheckpoint); what == "" && x != y {
		what, a, b = "intake offsets", x, y
	}
	if what != "" {
		r.fail(CheckCheckpoint, "shard %d at %d: %s: the records say %s, the checkpoint led to %s", id, uint64(s.Position()), what, a, b)
	}
	return nil
}

// verifyLinks looks at the records that are still there below the oldest checkpoint: they can't be
// folded, but each names the one before it.
func (v *View) verifyLinks(ctx context.Context, r *Report, log *shardlog.Log, base chain.Position, end shardlog.Head) (whole bool, err error) {
	if base >= end.Position {
		return true, nil
	}
	var last shardlog.Link
	whole, err = v.readLog(ctx, r, log, base, end.Position, func(rec shardlog.Stored) error {
		if rec.Record.Position > base+1 && (rec.Record.Prev == nil || *rec.Record.Prev != last) {
			return fmt.Errorf("position %d: history broken: the record does not follow the one before it", uint64(rec.Record.Position))
		}
		last = rec.Link()
		return nil
	})
	if err == nil && whole && last != end.Link {
		r.fail(CheckLog, "shard %s, position %d: the record is not the one that the oldest checkpoint was made of", log.Shard(), uint64(end.Position))
		whole = false
	}
	return whole, err
}

// readLog hands the records of (from, to] to each, and puts what is wrong into the report.
func (v *View) readLog(ctx context.Context, r *Report, log *shardlog.Log, from, to chain.Position, each func(shardlog.Stored) error) (whole bool, err error) {
	id := log.Shard()
	for at := from; at < to; {
		records, err := log.ReadAfter(ctx, at, int(min(readBatch, to-at)))
		if isFinding(err) {
			r.fail(CheckLog, "shard %d after position %d: %v", id, uint64(at), err)
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("shard %d: %w", id, err)
		}
		if len(records) == 0 {
			r.fail(CheckLog, "shard %d: record %d is missing, though the state is at %d", id, uint64(at)+1, uint64(to))
			return false, nil
		}
		for _, rec := range records {
			r.Results[CheckLog].Checked++
			if err := each(rec); err != nil {
				r.fail(CheckLog, "shard %d: %v", id, err)
				return false, nil
			}
			at = rec.Record.Position
		}
	}
	return true, nil
}
