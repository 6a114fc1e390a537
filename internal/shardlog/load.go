package shardlog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/objstore"
)

// maxRootTries bounds the checkpoints that one start tries before it reads the
// whole log.
const maxRootTries = 16

// maxLoadTries bounds how often one start begins again because records or checkpoints
// that it reads are deleted meanwhile.
const maxLoadTries = 8

var (
	// errMoved: what a checkpoint names is gone, and there are other checkpoints by now.
	errMoved = errors.New("the checkpoints were deleted while they were read")
	// errStore marks an answer of the store that says nothing of the object.
	errStore = errors.New("can't be read")
)

// Load returns the newest state: the newest checkpoint and every record after it.
// A checkpoint that cannot be used is passed over, with a line in the log of the
// process: the shard log is the truth, and an older checkpoint or none makes a start
// only slower. Where old records were deleted, one checkpoint above them must be
// usable: ErrCorrupt if none is, which names the place.
func (l *Log) Load(ctx context.Context) (*State, error) {
	var floor chain.Position // records up to here were deleted: what was made of older ones alone counts no more
	for try := 1; ; try++ {
		s, err := l.loadOnce(ctx, floor)
		var trimmed *chain.TrimmedError
		switch {
		case err == nil:
			return s, nil
		case try == maxLoadTries:
			return nil, err
		case errors.As(err, &trimmed):
			floor = max(floor, trimmed.Base)
		case !errors.Is(err, errMoved):
			return nil, err
		}
		l.log.Info("records or checkpoints were deleted during the start, beginning again", "reason", err)
	}
}

// Oldest is the first state that can be known, and base the position up to which records may be gone:
// the empty state and 0, or, where old records were deleted, the state of the oldest checkpoint above them that can be used.
func (l *Log) Oldest(ctx context.Context) (s *State, base chain.Position, err error) {
	markers, err := l.chain.Markers(ctx)
	if err != nil {
		return nil, 0, err
	}
	if len(markers) == 0 {
		return NewState(l.shard), 0, nil
	}
	base = markers[len(markers)-1]
	roots, err := l.listRoots(ctx, base-1)
	if err != nil {
		return nil, base, err
	}
	for _, at := range roots {
		s, err := l.loadRoot(ctx, at)
		if err == nil {
			return s, base, nil
		}
		if errors.Is(err, ErrCorrupt) || errors.Is(err, ErrNewerFormat) || errors.Is(err, errStore) {
			return nil, base, err
		}
	}
	return nil, base, corrupt(l.shard, base, refuse("the records up to here were deleted, and no checkpoint above them can be used"))
}

// loadOnce is one try of Load, from a checkpoint at floor or above.
func (l *Log) loadOnce(ctx context.Context, floor chain.Position) (*State, error) {
	roots, err := l.newestRoots(ctx)
	if err != nil {
		return nil, err
	}
	s, err := l.newestUsable(ctx, roots, floor)
	if err != nil {
		return nil, err
	}
	from := s.Position()
	if _, err := l.catchUp(ctx, s); err != nil {
		return nil, err
	}
	l.log.Info("loaded", "checkpoint", uint64(from), "position", uint64(s.Position()))
	return s, nil
}

// newestUsable is the state of the newest root that can be used, or of the empty log if
// none can and no record was deleted.
func (l *Log) newestUsable(ctx context.Context, roots []chain.Position, floor chain.Position) (*State, error) {
	var failed error // of the store
	for i := len(roots) - 1; i >= max(0, len(roots)-maxRootTries) && roots[i] >= floor; i-- {
		s, err := l.loadRoot(ctx, roots[i])
		switch {
		case err == nil:
			return s, nil
		case errors.Is(err, ErrNewerFormat) || errors.Is(err, ErrCorrupt) || errors.Is(err, chain.ErrTrimmed) || ctx.Err() != nil:
			return nil, err
		case errors.Is(err, objstore.ErrNotFound):
			if err := l.checkMoved(ctx, roots); err != nil {
				return nil, err
			}
		case errors.Is(err, errStore):
			failed = err
		}
		l.cfg.Metrics.fallbacks.Inc()
		l.log.Error("checkpoint cannot be used, going back to an older one", "position", uint64(roots[i]), "error", err)
	}
	markers, err := l.chain.Markers(ctx)
	if err != nil {
		return nil, err
	}
	if len(markers) > 0 {
		if failed != nil {
			return nil, failed
		}
		if err := l.checkMoved(ctx, roots); err != nil {
			return nil, err
		}
		return nil, corrupt(l.shard, markers[len(markers)-1], refuse("the records up to here were deleted, and no checkpoint above them can be used"))
	}
	if len(roots) > 0 {
		l.log.Error("no checkpoint can be used, reading the whole log", "checkpoints", len(roots))
	}
	return NewState(l.shard), nil
}

// checkMoved is errMoved if the newest checkpoints are others than those listed before.
func (l *Log) checkMoved(ctx context.Context, roots []chain.Position) error {
	now, err := l.newestRoots(ctx)
	if err == nil && !slices.Equal(now, roots) {
		err = errMoved
	}
	return err
}

// rootPage is how many entries of a listing are read before we look for its end
// in another way: what a store gives for one request.
const rootPage = 1000

// newestRoots are the positions of the newest checkpoints, ascending: all, or the last
// of very many, found in a number of requests that grows with the logarithm of the position.
func (l *Log) newestRoots(ctx context.Context) ([]chain.Position, error) {
	page, err := l.listRoots(ctx, 0)
	if err != nil || len(page) < rootPage {
		return page, err
	}
	// Roots may lie in (low, high]; high is not known at first.
	low, high := page[len(page)-1], chain.Position(0)
	for high == 0 || high-low > 1 {
		at := 2 * low
		if high > 0 {
			at = low + (high-low)/2
		}
		next, err := l.listRoots(ctx, at)
		switch {
		case err != nil:
			return nil, err
		case len(next) == 0:
			high = at
		default:
			page, low = next, next[len(next)-1]
			if len(next) < rootPage {
				return next, nil
			}
		}
	}
	next, err := l.listRoots(ctx, low)
	return append(page, next...), err
}

// listRoots lists one page of the checkpoints behind a position.
func (l *Log) listRoots(ctx context.Context, after chain.Position) ([]chain.Position, error) {
	var out []chain.Position
	prefix := l.rootPrefix()
	for object, err := range l.store.List(ctx, prefix, prefix+after.String()) {
		if err != nil {
			return nil, fmt.Errorf("list the checkpoints of shard %s: %w", l.shard, err)
		}
		p, err := chain.ParsePosition(object.Key[len(prefix):])
		if err != nil {
			l.log.Warn("stray object among the checkpoints", "key", object.Key)
			continue
		}
		if out = append(out, p); len(out) == rootPage {
			break
		}
	}
	return out, nil
}

// loadRoot is the state that a checkpoint holds. It fails with ErrCorrupt if the
// log itself does not hold what the checkpoint was made of.
func (l *Log) loadRoot(ctx context.Context, at chain.Position) (*State, error) {
	body, err := l.getObject(ctx, l.rootPrefix()+at.String())
	if err != nil {
		return nil, err
	}
	r, err := decodeRoot(body)
	if err != nil {
		return nil, err
	}
	if r.State.Shard != l.shard || r.State.Position != at {
		return nil, fmt.Errorf("checkpoint of shard %s at %d under the wrong name", r.State.Shard, uint64(r.State.Position))
	}
	if err := l.checkRecord(ctx, r); err != nil {
		return nil, err
	}
	s := NewState(l.shard)
	s.small = r.State
	if s.small.Floors == nil {
		s.small.Floors = NewState(l.shard).small.Floors
	}
	for _, src := range r.Sources {
		s.sources[src.Source] = src
	}
	if err := l.loadDays(ctx, s, r); err != nil {
		return nil, err
	}
	if err := l.loadIntake(ctx, s, r); err != nil {
		return nil, err
	}
	if fragments, segments := s.Counts(); fragments != r.Fragments || segments != r.Segments {
		return nil, fmt.Errorf("checkpoint of %d fragments and %d id segments, but its manifests hold %d and %d", r.Fragments, r.Segments, fragments, segments)
	}
	return s, nil
}

// checkRecord: the log holds the record that a checkpoint was made of, unless it was deleted
// since.
func (l *Log) checkRecord(ctx context.Context, r *root) error {
	at := r.State.Position
	var what error
	record, err := l.getObject(ctx, l.chain.Key(at))
	switch {
	case errors.Is(err, objstore.ErrNotFound):
		what = refuse("there is a checkpoint, but the record is gone: the bucket was rolled back")
	case err != nil:
		return err
	case objstore.Sum(record) != r.State.Last.Sum:
		what = refuse("the record is not the one that the checkpoint was made of: the bucket was rolled back and gone on, or a record was changed")
	default:
		return nil
	}
	if err := l.chain.Confirm(ctx, at); err != nil {
		return err
	}
	return corrupt(l.shard, at, what)
}

// getObject reads an object of the log; errors but ErrNotFound are errStore too.
func (l *Log) getObject(ctx context.Context, key string) ([]byte, error) {
	body, err := l.store.Get(ctx, key)
	if err != nil && !errors.Is(err, objstore.ErrNotFound) {
		return nil, fmt.Errorf("%w: %w", errStore, err)
	}
	return body, err
}

// each runs one load for each of n objects, some at a time.
func (l *Log) each(n int, load func(i int) error) error {
	errs := make([]error, n)
	l.parallel(n, func(i int) { errs[i] = load(i) })
	return errors.Join(errs...)
}

// parallel does n requests, as many at a time as the settings allow; with one, in their
// order and on the caller's goroutine.
func (l *Log) parallel(n int, do func(i int)) {
	if l.cfg.Parallel == 1 || n == 1 {
		for i := range n {
			do(i)
		}
		return
	}
	slots := make(chan struct{}, l.cfg.Parallel)
	var wait sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			do(i)
		})
	}
	wait.Wait()
}

// loadDays folds the manifests of all days into s.
func (l *Log) loadDays(ctx context.Context, s *State, r *root) error {
	var list []manifestRef
	for _, d := range r.Days {
		list = append(list, d.Manifests...)
	}
	contents := make([]manifest, len(list))
	err := l.each(len(list), func(i int) error { return l.getManifest(ctx, list[i], &contents[i]) })
	if err != nil {
		return err
	}
	for _, d := range r.Days {
		if err := s.loadDay(d, contents[:len(d.Manifests)]); err != nil {
			return err
		}
		contents = contents[len(d.Manifests):]
	}
	return nil
}

func (s *State) loadDay(d rootDay, contents []manifest) error {
	into := s.day(d.Day)
	entries := map[string]*entry{}
	for i := range contents {
		m := &contents[i]
		if m.Shard != s.small.Shard || m.Day != d.Day {
			return fmt.Errorf("manifest %s is of shard %s, day %d", d.Manifests[i].Name, m.Shard, m.Day)
		}
		made := &run{ref: d.Manifests[i]}
		into.runs = append(into.runs, made)
		for _, key := range m.Removed {
			gone := entries[key]
			if gone == nil {
				return fmt.Errorf("manifest %s removes %q, which is not there", d.Manifests[i].Name, key)
			}
			made.removed = append(made.removed, removal{key, gone.run})
			delete(entries, key)
		}
		if err := s.loadEntries(entries, m, made); err != nil {
			return fmt.Errorf("manifest %s: %w", d.Manifests[i].Name, err)
		}
	}
	for _, e := range entries {
		s.insert(e)
	}
	return nil
}

func (s *State) loadEntries(entries map[string]*entry, m *manifest, made *run) error {
	add := func(e *entry, err error) error {
		switch {
		case err != nil:
			return err
		case e.home() != m.Day:
			return fmt.Errorf("%q belongs to day %d", e.key(), e.home())
		case entries[e.key()] != nil || s.live[e.key()] != nil:
			return fmt.Errorf("%q twice", e.key())
		}
		entries[e.key()] = e
		return nil
	}
	for i := range m.Fragments {
		if err := add(s.fragmentEntry(m.Fragments[i], made), checkFragment(&m.Fragments[i])); err != nil {
			return err
		}
	}
	for i := range m.Segments {
		seg := &m.Segments[i]
		err := checkSegment(seg)
		if err == nil {
			err = add(&entry{segment: seg, run: made}, nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// loadIntake folds the objects with intake bitmaps into s.
func (l *Log) loadIntake(ctx context.Context, s *State, r *root) error {
	contents := make([]intakeManifest, len(r.Intake))
	err := l.each(len(r.Intake), func(i int) error { return l.getManifest(ctx, r.Intake[i].Object, &contents[i]) })
	if err != nil {
		return err
	}
	for i, in := range r.Intake {
		object := &intakeObject{ref: in.Object, serial: i + 1}
		for _, c := range contents[i].Chunks {
			object.chunks = append(object.chunks, chunkKey{c.Source, c.Chunk})
		}
		held := in.Chunks
		if held == nil {
			held = upTo(len(object.chunks))
		}
		for _, at := range held {
			if contents[i].Shard != s.small.Shard || at < 0 || at >= len(object.chunks) {
				return fmt.Errorf("manifest %s has no piece %d of this shard", in.Object.Name, at)
			}
			bits, err := readBitmap(contents[i].Chunks[at].Bitmap)
			if err != nil {
				return fmt.Errorf("manifest %s: %w", in.Object.Name, err)
			}
			s.intake[object.chunks[at]] = &intakeChunk{bits: bits, object: object}
		}
	}
	s.intakeSerial = len(r.Intake)
	return nil
}
