package compactor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/togodb/togo/compactor/pick"
	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/idseg"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/internal/tenants"
)

// task is a merge that was begun.
type task struct {
	job      string         // nonce of its merge-begin
	position chain.Position // of it
	why      string
	inputs   []string
	bytes    int64 // of the inputs

	fragments *fragmentTask
	segments  *segmentTask

	outputs *outputs // nil: nothing was uploaded
}

// fragmentTask merges fragments of one tenant, table and bucket.
type fragmentTask struct {
	pick.Job
	floor    event.Timestamp
	settings tenants.Settings // those by which it was picked
}

// segmentTask merges id segments.
type segmentTask struct {
	inputs   []shardlog.IDSegment
	target   int64 // bytes of an output
	idsBelow int64
}

// begin picks a job and opens it; nil if there is nothing to do.
func (s *shard) begin(ctx context.Context) (*task, error) {
	s.watch.turn++
	for range maxRaces {
		do := s.choose()
		if do == nil {
			return nil, nil
		}
		r := &shardlog.Record{Kind: shardlog.KindMergeBegin, MergeBegin: &shardlog.MergeBegin{Worker: s.c.d.Worker, Inputs: do.inputs}}
		won, err := s.append(ctx, r)
		if err != nil {
			s.watch.lookAgain()
			return nil, fmt.Errorf("begin a merge: %w", err)
		}
		if won {
			do.job, do.position = r.Nonce, r.Position
			s.tell(func(st *Status) {
				st.Doing = fmt.Sprintf("%s merge of %d objects, %d bytes, job %s", do.why, len(do.inputs), do.bytes, do.job)
			})
			return do, nil
		}
	}
	return nil, fmt.Errorf("begin a merge: shard %s: %w: %d", s.id, shardlog.ErrLostRaces, maxRaces)
}

// run merges, and ends the job one way or the other.
func (s *shard) run(ctx context.Context, do *task) error {
	begin := s.c.d.Clock()
	out := &outputs{c: s.c, ctx: ctx, creator: shardlog.Creator{Shard: s.id, Job: do.position, Nonce: do.job}}
	do.outputs = out
	end, err := s.merge(ctx, do, out)
	if err == nil {
		err = out.finish(ctx)
	}
	if err != nil && ctx.Err() != nil {
		return s.giveUp(ctx, do, out)
	}
	if err != nil {
		out.cancel(ctx)
		return s.fail(ctx, do, err)
	}
	done, refused, err := s.end(ctx, do, end)
	switch {
	case err != nil && ctx.Err() != nil:
		return s.giveUp(ctx, do, out)
	case err != nil:
		return fmt.Errorf("end merge %s: %w", do.job, err)
	case refused != nil:
		for _, key := range do.inputs {
			s.hold(key, false)
		}
		return errors.Join(fmt.Errorf("merge %s of shard %s: %w", do.job, s.id, refused), s.abort(ctx, do, "refused"))
	case !done:
		// Aborted by another, or its inputs are gone: a race that was lost after the work.
		s.log.Info("merge came too late", "job", do.job)
		return s.abort(ctx, do, "late")
	}
	took := s.c.d.Clock() - begin
	s.c.metrics.merged(do, end, took)
	s.tell(func(st *Status) { st.Merges++ })
	s.log.Debug("merged", "job", do.job, "why", do.why, "inputs", len(do.inputs), "outputs", len(end.Fragments)+len(end.IDs), "bytes", do.bytes, "took", took.Round(time.Millisecond))
	return nil
}

// end appends the end of a merge. If nobody may end it any more, done is false; if the fold
// refuses the end for another reason, refused says which.
func (s *shard) end(ctx context.Context, do *task, end *shardlog.MergeEnd) (done bool, refused, err error) {
	err = s.withState(ctx, func() (err error) {
		done, err = s.insist(ctx, func() *shardlog.Record {
			if refused = nil; !s.isOpen(do) {
				return nil
			}
			r := &shardlog.Record{Kind: shardlog.KindMergeEnd, MergeEnd: end}
			if refused = s.state.Check(r); refused != nil {
				return nil
			}
			return r
		})
		return err
	})
	return done, refused, err
}

// isOpen says that a task's job is open and its inputs are live.
func (s *shard) isOpen(do *task) bool {
	if s.abortOf(do.job) == nil {
		return false
	}
	for _, key := range do.inputs {
		if !s.state.Live(key) {
			return false
		}
	}
	return true
}

// merge does the work of a task into uploads that are not finished yet.
func (s *shard) merge(ctx context.Context, do *task, out *outputs) (*shardlog.MergeEnd, error) {
	end := &shardlog.MergeEnd{Job: do.job, Inputs: do.inputs}
	if do.segments != nil {
		return end, s.mergeSegments(ctx, do.segments, out, end)
	}
	return end, s.mergeFragments(ctx, do.fragments, out, end)
}

// mergeReads hides the round trips of a merge's reads behind each other.
const mergeReads = 8

// reads is how many reads of a merge may be under way at one time.
func (c *Compactor) reads() int {
	if c.d.Parallel > 0 {
		return c.d.Parallel
	}
	return mergeReads
}

func (s *shard) mergeFragments(ctx context.Context, do *fragmentTask, out *outputs, end *shardlog.MergeEnd) error {
	first := &do.Inputs[0]
	settings := do.settings
	kind := fragment.Events
	if first.Table == shardlog.TableDeadLetters {
		kind = fragment.DeadLetters
	}
	inputs := make([]fragment.MergeInput, len(do.Inputs))
	for i, f := range do.Inputs {
		inputs[i] = fragment.MergeInput{Key: f.Key, Bytes: f.Bytes}
	}
	out.key = func(c shardlog.Creator) string { return c.FragmentKey(first.Table, first.Tenant, first.Bucket) }
	merged, err := fragment.Merge(ctx, s.c.d.Store, inputs, fragment.MergeSpec{
		Tenant: first.Tenant, Kind: kind, Bucket: first.Bucket,
		SortKey: settings.SortKey, KeyColumns: settings.KeyColumns, BloomColumns: settings.BloomColumns,
		TargetBytes: do.TargetBytes, MemoryBytes: s.c.cfg.MergeMemory, Floor: do.floor,
		Parallel: s.c.reads(),
	}, out.create)
	if err != nil {
		return err
	}
	for i, f := range merged.Files {
		r := shardlog.Fragment{
			Key: out.keys[i], Tenant: first.Tenant, Table: first.Table, Bucket: first.Bucket, Rows: f.Rows, Bytes: f.Bytes, Sum: f.Sum,
			Min: f.Min, Max: f.Max, SeqMin: f.SeqMin, SeqMax: f.SeqMax, Level: do.Level, SortKey: f.SortKey, KeyMin: f.KeyMin, KeyMax: f.KeyMax,
		}
		for _, c := range f.Ranges {
			r.Ranges = append(r.Ranges, shardlog.ColumnRange{Column: c.Column, Min: c.Min, Max: c.Max, Nulls: c.Nulls})
		}
		end.Fragments = append(end.Fragments, r)
	}
	return nil
}

func (s *shard) mergeSegments(ctx context.Context, do *segmentTask, out *outputs, end *shardlog.MergeEnd) error {
	inputs := make([]idseg.MergeInput, len(do.inputs))
	for i, seg := range do.inputs {
		inputs[i] = idseg.MergeInput{Key: seg.Key, Bytes: seg.Bytes}
		for _, b := range seg.Buckets {
			inputs[i].Buckets = append(inputs[i].Buckets, idseg.Bucket(b))
		}
	}
	out.key = shardlog.Creator.SegmentKey
	merged, err := idseg.Merge(ctx, s.c.d.Store, inputs, idseg.MergeSpec{
		TargetBytes: do.target, MemoryBytes: s.c.cfg.MergeMemory, Below: do.idsBelow,
	}, out.create)
	if err != nil {
		return err
	}
	for i, f := range merged.Segments {
		r := shardlog.IDSegment{Key: out.keys[i], Bytes: f.Bytes, Sum: f.Sum, IDs: f.IDs}
		for _, b := range f.Buckets {
			r.Buckets = append(r.Buckets, shardlog.IDBucket(b))
		}
		end.IDs = append(end.IDs, r)
	}
	return nil
}

// fail ends a task that could not be done: an input that cannot be read counts against it,
// and is set aside in the end.
func (s *shard) fail(ctx context.Context, do *task, err error) error {
	result := "failed"
	if key, bad := unreadable(err); bad {
		result = "unreadable"
		h := s.hold(key, true)
		s.log.Error("an input of a merge cannot be read", "key", key, "tries", h.bad, "error", err)
		if aside := s.setAside(ctx, do, key, err); aside != nil {
			err = errors.Join(err, aside) // the next try sets it aside
		}
	} else if alarm := alarmOf(err); alarm != "" {
		result = alarm
		s.log.Error("a merge was refused; its inputs stay as they are, and are not merged again by this process; run togo verify", "why", alarm, "job", do.job, "inputs", do.inputs, "error", err)
		s.holdForEver(do.inputs...)
	} else if key != "" && errors.Is(err, fragment.ErrUnsorted) {
		result = "unsorted"
		s.log.Error("the rows of a fragment are not in the order of its sort key; it is as good to read as any, and is not merged by this process", "key", key, "job", do.job, "error", err)
		s.holdForEver(key)
	} else if key != "" {
		s.hold(key, false)
	}
	if aborted := s.abort(ctx, do, result); aborted != nil {
		return errors.Join(err, aborted)
	}
	return fmt.Errorf("merge %s of shard %s: %w", do.job, s.id, err)
}

// alarmOf names what must never be: outputs that do not hold what the inputs hold, and an
// identity in two commits.
func alarmOf(err error) string {
	switch {
	case errors.Is(err, fragment.ErrMergeDiffers), errors.Is(err, idseg.ErrMergeDiffers):
		return "differs"
	case errors.Is(err, idseg.ErrTwice):
		return "twice"
	}
	return ""
}

// unreadable says which input a merge failed at, if at any, and whether the object is to blame: the
// store's other errors pass, and what is not in order can be read.
func unreadable(err error) (key string, bad bool) {
	var f *fragment.InputError
	var i *idseg.InputError
	switch {
	case errors.As(err, &f):
		key = f.Key
	case errors.As(err, &i):
		key = i.Key
	default:
		return "", false
	}
	return key, errors.Is(err, fragment.ErrCorrupt) || errors.Is(err, idseg.ErrCorrupt) || errors.Is(err, objstore.ErrNotFound) || errors.Is(err, objstore.ErrRange)
}

// setAside puts a fragment into quarantine that could not be read often enough.
func (s *shard) setAside(ctx context.Context, do *task, key string, why error) error {
	if do.segments != nil || s.held[key].bad < s.c.cfg.ReadTries {
		return nil
	}
	return s.withState(ctx, func() error {
		done, err := s.insist(ctx, func() *shardlog.Record {
			if _, live := s.state.Fragment(key); !live {
				return nil // removed meanwhile: that is why it could not be read
			}
			return &shardlog.Record{Kind: shardlog.KindQuarantine, Quarantine: &shardlog.Quarantine{Key: key, Reason: why.Error()}}
		})
		if done {
			s.c.metrics.quarantined.Inc()
			s.log.Error("fragment set aside: queries no longer see it; it stays in the store", "key", key, "reason", why)
		}
		delete(s.held, key)
		return err
	})
}

// giveUp ends a task whose process is stopped, so that nobody has to wait until the job is taken for abandoned.
// Where nothing waits for it, the job stays open until then.
func (s *shard) giveUp(ctx context.Context, do *task, out *outputs) error {
	if s.c.stopGrace == 0 {
		return ctx.Err()
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.c.stopGrace)
	defer cancel()
	out.cancel(stop)
	return errors.Join(ctx.Err(), s.abort(stop, do, "stopped"))
}

// abort ends a job without a result. No log will ever name what it uploaded.
func (s *shard) abort(ctx context.Context, do *task, result string) error {
	s.c.metrics.jobs.WithLabelValues(result).Inc()
	s.tell(func(st *Status) { st.Aborted++ })
	return s.withState(ctx, func() error {
		_, err := s.insist(ctx, func() *shardlog.Record { return s.abortOf(do.job) })
		if err != nil || do.outputs == nil {
			return err
		}
		for _, key := range do.outputs.keys {
			if !s.state.Names(key) { // its end may have landed without an answer
				s.c.garbage.Removed(key, 0)
			}
		}
		return nil
	})
}
