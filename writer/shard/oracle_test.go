package shard

import (
	"fmt"
	"slices"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
)

// expected is what the records of a partition say must be stored.
type expected struct {
	rows                   []string
	next, records, events  int64
	stored, dead, conflict int
}

// oracle reads the whole partition once, in order, with nothing but maps: the
// first payload of an identity is stored, a different one is a letter, and each letter
// counts once for each origin.
func (w *world) oracle() expected {
	p := w.part()
	var x expected
	first := map[string]string{}
	letters := map[string]bool{}
	for _, r := range p.records {
		x.next = r.Offset + 1
		if r.Control {
			continue
		}
		x.records++
		var env event.Envelope
		w.must(event.DecodeEnvelope(r.Value, &env))
		for _, it := range env.Items {
			if it.Kind == event.KindSkipped {
				continue
			}
			x.events++
			letter := func(reason event.Reason, n *int) {
				key := fmt.Sprintf("%s %s", env.Tenant, event.LetterID(it.Origin))
				if letters[key] {
					return
				}
				letters[key] = true
				*n++
				x.rows = append(x.rows, rowText(env.Tenant, fragment.DeadLetters, fragment.Row{Offset: it.Origin.Offset, Letter: &fragment.Letter{Reason: reason}, Payload: it.Payload}))
			}
			if it.Kind == event.KindDead {
				letter(it.Reason, &x.dead)
				continue
			}
			key := fmt.Sprintf("%s %d %s", env.Tenant, it.Timestamp, it.ID)
			old, seen := first[key]
			switch {
			case !seen:
				first[key] = string(it.Payload)
				x.stored++
				x.rows = append(x.rows, rowText(env.Tenant, fragment.Events, fragment.Row{ID: it.ID, Timestamp: it.Timestamp, Payload: it.Payload}))
			case old != string(it.Payload):
				letter(event.ReasonConflict, &x.conflict)
			}
		}
	}
	slices.Sort(x.rows)
	return x
}
