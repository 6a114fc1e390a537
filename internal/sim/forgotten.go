package sim

import (
	"bytes"
	"fmt"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/shardlog"
)

// forgotten says whether an identity lies below its tenant's floor in its shard.
func (g *ledger) forgotten(s *stored, k identity) bool {
	id, ok := s.view.Table.Shard(event.TenantID(k.tenant), event.Timestamp(k.ts), g.w.hasher.Routing([]byte(k.id)))
	if !ok {
		return false
	}
	floor, _ := s.view.Shards[id].Floor(event.TenantID(k.tenant), shardlog.TableEvents)
	return event.Timestamp(k.ts) < floor
}

// erased says whether a tenant was erased in some shard: its letters are gone there, and of later ones
// no payload is kept.
func (g *ledger) erased(s *stored, tenant string) bool {
	for _, shard := range s.view.Shards {
		if _, ok := shard.Erased(event.TenantID(tenant)); ok {
			return true
		}
	}
	return false
}

// letterForgotten says whether a record's letter, if it had one, may have gone.
func (g *ledger) letterForgotten(s *stored, r *sent) bool {
	if g.erased(s, r.tenant) {
		return true
	}
	for _, tenant := range []event.TenantID{event.TenantID(r.tenant), event.Unroutable} {
		for _, shard := range s.view.Shards {
			if floor, _ := shard.Floor(tenant, shardlog.TableDeadLetters); event.Timestamp(r.at.UnixNano()) < floor {
				return true
			}
		}
	}
	return false
}

// below holds the records of an identity below its floor: at most one row is left of them,
// and what came too late is a letter. Of an erased tenant no payload is kept.
func (g *ledger) below(s *stored, k identity, records []*sent, letters map[string]*sent, tally *Tally) error {
	tally.Forgotten++
	rows := s.events[k]
	if len(rows) > 1 {
		return fmt.Errorf("%v, below its floor, is stored %d times", k, len(rows))
	}
	matches := len(rows) == 0
	for _, r := range records {
		matches = matches || sameJSON(r.value, rows[0].payload)
		id := string(event.LetterID(r.origin()))
		letters[id] = r
		for i, l := range s.letters[id] {
			ok := i == 0
			switch l.reason {
			case event.ReasonTooOld, event.ReasonConflict:
				ok = ok && (bytes.Equal(l.payload, r.value) || len(l.payload) == 0)
			case event.ReasonErased:
				ok = ok && len(l.payload) == 0
			default:
				ok = false
			}
			if !ok {
				return fmt.Errorf("letter of %s, below its floor, is %s %.80q", r, l.reason, l.payload)
			}
		}
	}
	if !matches {
		return fmt.Errorf("%v, below its floor, is stored as %.200q; sent as %v", k, rows[0].payload, records)
	}
	return nil
}
