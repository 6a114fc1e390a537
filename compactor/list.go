package compactor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/togodb/togo/compactor/garbage"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
)

// A listing finds what no log has ever named. Its shares are the shards: a process lists what its own may have, and
// notes for each of them, in the store, when its share was begun. So processes with the same shards do not list the
// same again, and what one did not list before it died is due when its shards are looked at the next day, by whom ever.
// A note decides how often is listed, and nothing else: two that list at one time do no harm.

// listedKey is where it is noted when a shard's share of the store was last listed.
func listedKey(id event.ShardID) string { return "shards/" + id.String() + "/listed" }

// listDue lists the shares of those shards for which it is time. Their logs were just read.
func (c *Compactor) listDue(ctx context.Context, shards []event.ShardID) (garbage.Listed, error) {
	due, err := c.due(ctx, shards)
	if err != nil || len(due) == 0 {
		return garbage.Listed{}, err
	}
	begin := c.d.Clock()
	prefixes, err := c.prefixes(ctx, due)
	if err != nil {
		return garbage.Listed{}, err
	}
	listed, err := c.garbage.List(ctx, prefixes)
	if err != nil {
		err = errors.Join(err, c.note(ctx, due, time.Time{})) // due again
	}
	c.metrics.listed(listed, err)
	c.log.Info("listed for garbage", "shards", len(due), "prefixes", len(prefixes), "objects", listed.Objects, "named", listed.Named,
		"may_commit", listed.MayCommit, "garbage", listed.Garbage, "unknown", listed.Unknown, "took", c.d.Clock()-begin)
	return listed, err
}

// due are the shards whose shares are to be listed now; they are noted as begun.
func (c *Compactor) due(ctx context.Context, shards []event.ShardID) ([]event.ShardID, error) {
	if c.cfg.ListEvery == 0 || len(shards) == 0 {
		return nil, nil
	}
	now, err := c.d.Store.Date(ctx)
	if err != nil {
		return nil, fmt.Errorf("list for garbage: %w", err)
	}
	var due []event.ShardID
	for _, id := range shards {
		body, err := c.d.Store.Get(ctx, listedKey(id))
		if err != nil && !errors.Is(err, objstore.ErrNotFound) {
			return nil, fmt.Errorf("list for garbage: %w", err)
		}
		// A note that can't be read, or is of a time to come, is as good as none. A store's clock tells seconds.
		at, err := time.Parse(time.RFC3339, string(body))
		if age := now.Sub(at) + time.Second; err != nil || age < 0 || age >= c.cfg.ListEvery {
			due = append(due, id)
		}
	}
	return due, c.note(ctx, due, now)
}

func (c *Compactor) note(ctx context.Context, shards []event.ShardID, at time.Time) error {
	for _, id := range shards {
		if err := c.d.Store.Put(ctx, listedKey(id), []byte(at.UTC().Format(time.RFC3339))); err != nil {
			return fmt.Errorf("note that shard %s was listed: %w", id, err)
		}
	}
	return nil
}

// prefixes are those of all objects that the shards may have. A shard has objects of the tenants that its state names, or that have
// floors there: what a dead writer has uploaded of another, the next one commits, and then its state names that. Where it takes no more
// requests, they are those of all objects there are.
func (c *Compactor) prefixes(ctx context.Context, shards []event.ShardID) ([]string, error) {
	tenants := map[event.TenantID]bool{}
	var out []string
	objects := 0
	for _, id := range shards {
		s := c.of(id)
		err := s.alone(ctx, func() error {
			if s.state == nil {
				return nil // lost since; what it has is passed over, until the next day
			}
			fragments, segments := s.state.Counts()
			objects += fragments + segments
			for _, t := range slices.Concat(s.state.Tenants(), s.state.Floored()) {
				tenants[t] = true
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		out = append(out, fmt.Sprintf("%s/%s/", shardlog.IDsFolder, id))
	}
	all := objects * c.d.Shards() / len(shards)
	if all/listedKeys <= len(out)+2*len(tenants) {
		return garbage.Folders(), nil
	}
	return append(out, foldersOf(slices.Sorted(maps.Keys(tenants))...)...), nil
}

// foldersOf are the prefixes of all objects of tenants.
func foldersOf(tenants ...event.TenantID) (prefixes []string) {
	for _, t := range tenants {
		prefixes = append(prefixes, fmt.Sprintf("%s/%s/", shardlog.EventsFolder, t), fmt.Sprintf("%s/%s/", shardlog.LettersFolder, t))
	}
	return prefixes
}

// listedKeys is how many keys a store lists for one request.
const listedKeys = 1000
