package sim

import (
	"bytes"
	"context"
	"fmt"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/inspect"
	"github.com/togodb/togo/internal/shardlog"
)

// identity is an event's.
type identity struct {
	tenant, id string
	ts         int64
}

// row is an event or a letter that the store holds.
type row struct {
	payload []byte
	reason  event.Reason
	part    int32
	offset  int64
}

// stored is what the store holds.
type stored struct {
	events  map[identity][]row
	letters map[string][]row // by letter id
	classed *shardlog.IntakeSet
	view    *inspect.View
}

func (w *world) readStore() (*stored, error) {
	ctx := context.Background()
	view, err := inspect.Open(ctx, w.objects, quiet)
	if err != nil {
		return nil, err
	}
	out := &stored{events: map[identity][]row{}, letters: map[string][]row{}, classed: shardlog.NewIntake(), view: view}
	for _, tenant := range view.Tenants() {
		if err := stableColumns(ctx, view, tenant); err != nil {
			return nil, err
		}
		for e, err := range view.Events(ctx, tenant, inspect.Always) {
			if err != nil {
				return nil, err
			}
			text, err := e.AppendJSON(nil)
			if err != nil {
				return nil, err
			}
			k := identity{string(tenant), string(e.ID), int64(e.Timestamp)}
			out.events[k] = append(out.events[k], row{payload: text, part: e.SourcePartition, offset: e.SourceOffset})
		}
		for l, err := range view.Letters(ctx, tenant, inspect.Always) {
			if err != nil {
				return nil, err
			}
			out.letters[string(l.ID)] = append(out.letters[string(l.ID)], row{payload: bytes.Clone(l.Payload), reason: l.Reason, part: l.SourcePartition, offset: l.SourceOffset})
		}
	}
	for _, s := range view.Shards {
		classed, err := shardlog.OpenWith(w.objects, s.Shard(), shardlog.Config{Parallel: 1, Logger: quiet}).Intake(ctx, s)
		if err == nil {
			err = out.classed.Merge(classed)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// stableColumns: a column of a tenant is one path and one type in all files.
func stableColumns(ctx context.Context, view *inspect.View, tenant event.TenantID) error {
	columns := map[string]fragment.Column{}
	for _, f := range view.Files(tenant, shardlog.TableEvents, inspect.Always) {
		r, err := fragment.Open(ctx, view.Objects, f.Key, f.Bytes)
		if err != nil {
			return err
		}
		for _, c := range r.Attributes() {
			if old, ok := columns[c.Name]; ok && old != c {
				return fmt.Errorf("column %s of tenant %s is %v in %s and %v in another file", c.Name, tenant, c, f.Key, old)
			}
			columns[c.Name] = c
		}
	}
	return nil
}
