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

// loadRoot is the state that a checkpoint holds. It fails with ErrCorrupt if the
// log itself does not hold what the checkpoint was made of.
func (l *Log) loadRoot(ctx context.Context, at chain.Position) (*State, error) {
	r, err := l.readRoot(ctx, at)
	if err != nil {
		return nil, err
	}
	return l.stateOf(ctx, r)
}

func (l *Log) readRoot(ctx context.Context, at chain.Position) (*root, error) {
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
	return r, nil
}

// stateOf reads what a root names.
func (l *Log) stateOf(ctx context.Context, r *root) (*State, error) {
	if err := l.checkRecord(ctx, r); err != nil {
		return nil, err
	}
	s := NewState(l.shard)
	s.small, s.parent = r.State, r.State.Position
	if s.small.Floors == nil {
		s.small.Floors = NewState(l.shard).small.Floors
	}
	for _, src := range r.Sources {
		s.sources[src.Source] = src
	}
	if err := l.loadDays(ctx, s, r); err != nil {
		return nil, err
	}
	s.archive = r.objects()
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

// loadDays puts the manifests of all days into s, those of fragments packed.
func (l *Log) loadDays(ctx context.Context, s *State, r *root) error {
	var list []manifestRef
	for _, d := range r.Days {
		list = append(list, d.Manifests...)
	}
	bodies := make([][]byte, len(list))
	err := l.each(len(list), func(i int) (err error) {
		bodies[i], err = l.getPacked(ctx, list[i])
		return err
	})
	if err != nil {
		return err
	}
	for _, rd := range r.Days {
		if s.days[rd.Day] != nil || len(rd.Manifests) == 0 {
			return fmt.Errorf("day %d twice, or without a manifest", rd.Day)
		}
		d := &day{buckets: map[int64]bucketIndex{}, packed: slices.Clone(bodies[:len(rd.Manifests)])}
		bodies = bodies[len(rd.Manifests):]
		plain := true
		for _, ref := range rd.Manifests {
			d.runs = append(d.runs, &run{day: rd.Day, ref: ref})
			d.count += ref.Adds - ref.Removes
			plain = plain && ref.Plain
		}
		s.days[rd.Day] = d
		s.fragments += d.count
		if !plain {
			if err := s.unpackDay(d); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *State) loadEntries(entries map[string]*entry, m *manifest, made *run) error {
	add := func(e *entry, err error) error {
		switch {
		case err != nil:
			return err
		case !e.belongs(m.Day):
			return fmt.Errorf("%q does not belong to day %d", e.key(), m.Day)
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
