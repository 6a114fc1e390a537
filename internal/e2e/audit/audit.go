// Package audit compares what Kafka's intake topics hold with what the program's
// commands say is stored. It believes the records alone, whatever processes were
// killed in between:
//
//  1. Each identity is stored once, with a payload that was sent under it; with the first
//     one, if all its records lie in one partition.
//  2. Each record with another payload than the stored one is a conflict, by the id of
//     its position, and each bad record a dead letter, whole; there are no other letters.
//  3. SQL finds the same rows and letters.
//  4. The counts of the classes are those of the records, but for duplicates: what
//     was read again counts again.
package audit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/togodb/togo/internal/e2e/feed"
	"github.com/togodb/togo/internal/e2e/oracle"
	"github.com/togodb/togo/internal/e2e/tool"
)

// Audit holds the records that were read from Kafka.
type Audit struct {
	ledger *oracle.Ledger
	events map[oracle.Key][]record
	dead   map[string]letter // by the letter's id
	serial map[int]bool
	seen   map[string]bool // positions
}

// record is one of an event.
type record struct {
	topic     string
	partition int32
	position  string
	canonical string
	payload   string
}

// letter is one that must be there.
type letter struct {
	tenant, payload string
	conflict        bool
}

// New is an audit of no records.
func New() *Audit {
	return &Audit{oracle.New(), map[oracle.Key][]record{}, map[string]letter{}, map[int]bool{}, map[string]bool{}}
}

// Add classes the records that were not added before; those of a partition come in
// their order.
func (a *Audit) Add(held ...feed.Held) error {
	for _, h := range held {
		if a.seen[h.Position] {
			continue
		}
		a.seen[h.Position], a.serial[h.Serial] = true, true
		if err := h.Note(a.ledger); err != nil {
			return err
		}
		if h.Bad {
			a.dead[h.Position+"/dead"] = letter{h.Want.Tenant, string(h.Value), false}
			continue
		}
		canonical, err := oracle.Canonical(h.Value)
		if err != nil {
			return err
		}
		a.events[h.Want] = append(a.events[h.Want], record{h.Topic, h.Partition, h.Position, canonical, string(h.Value)})
	}
	return nil
}

// Ledger counts the records.
func (a *Audit) Ledger() *oracle.Ledger { return a.ledger }

// Missing are the acknowledged serial numbers of which no record is there: the
// broker broke its word, and nothing else is proved.
func (a *Audit) Missing(acked map[int]bool) (out []int) {
	for n := range acked {
		if !a.serial[n] {
			out = append(out, n)
		}
	}
	sort.Ints(out)
	return out
}

// Found is what the program's commands say.
type Found struct {
	Stored  oracle.Stored
	Letters map[string][]tool.Letter // by tenant
	Totals  tool.Totals
	// What SQL says: the rows, and the ids of letters by tenant.
	Asked        oracle.Stored
	AskedLetters map[string][]string
}

// Find asks the commands for everything that the tenants of the records have.
func (a *Audit) Find(ctx context.Context, t tool.Tool) (Found, error) {
	f := Found{Letters: map[string][]tool.Letter{}}
	tenants := map[string]bool{}
	for _, name := range a.ledger.Tenants() {
		tenants[name] = true
	}
	for _, l := range a.dead {
		tenants[l.tenant] = true
	}
	var err error
	if f.Stored, err = t.Stored(ctx, a.ledger.Tenants()); err != nil {
		return f, err
	}
	if f.Asked, f.AskedLetters, err = t.Asked(ctx, slices.Sorted(maps.Keys(tenants))); err != nil {
		return f, err
	}
	for name := range tenants {
		if f.Letters[name], err = t.Letters(ctx, name); err != nil {
			return f, err
		}
	}
	s, err := t.Status(ctx)
	f.Totals = s.Totals
	return f, err
}

// Verdict is empty if everything is as it must be.
type Verdict struct {
	Lost  []string // events and letters that are missing, damaged or not the first
	Extra []string // rows and letters that should not be there
	Wrong []string // counts
}

// OK says that it is empty.
func (v Verdict) OK() bool { return len(v.Lost)+len(v.Extra)+len(v.Wrong) == 0 }

// Lines are all findings, each with its kind; at most so many of a kind.
func (v Verdict) Lines(most int) (out []string) {
	for _, k := range []struct {
		name  string
		lines []string
	}{{"lost", v.Lost}, {"extra", v.Extra}, {"wrong", v.Wrong}} {
		for i, l := range k.lines {
			if i == most {
				out = append(out, fmt.Sprintf("%s: and %d more", k.name, len(k.lines)-most))
				break
			}
			out = append(out, k.name+": "+l)
		}
	}
	return out
}

// Compare judges what was found.
func (a *Audit) Compare(f Found) Verdict {
	var v Verdict
	v.Lost, v.Extra = a.ledger.Compare(f.Stored)
	letters := map[string]letter{}
	for id, l := range a.dead {
		letters[id] = l
	}
	conflicts, duplicates := 0, 0
	for key, records := range a.events {
		rows := f.Stored[key]
		if len(rows) == 0 {
			continue // lost, as the ledger says
		}
		winner := firstWith(records, rows[0])
		if winner > 0 && samePartition(records) {
			v.Lost = append(v.Lost, fmt.Sprintf("%s/%s is stored with a later payload: %s", key.Tenant, key.ID, rows[0]))
		}
		duplicates--
		for _, r := range records {
			if r.payload == records[max(winner, 0)].payload {
				duplicates++
				continue
			}
			letters[r.position+"/dead"] = letter{key.Tenant, r.payload, true}
			conflicts++
		}
	}
	v.compareLetters(letters, f.Letters)
	v.compareAsked(f)
	_, unique, _, _, dead := a.ledger.Counts()
	if t := f.Totals; t.Stored != int64(unique) || t.Conflict != int64(conflicts) || t.Dead != int64(dead) ||
		t.Duplicate < int64(duplicates) || t.Events != t.Stored+t.Duplicate+t.Conflict+t.Dead {
		v.Wrong = append(v.Wrong, fmt.Sprintf("classes are %+v; want stored %d, conflict %d, dead %d, duplicate at least %d, and events their sum", t, unique, conflicts, dead, duplicates))
	}
	return v
}

// firstWith is the first record with the payload, -1 if none has it.
func firstWith(records []record, canonical string) int {
	for i, r := range records {
		if r.canonical == canonical {
			return i
		}
	}
	return -1
}

func samePartition(records []record) bool {
	for _, r := range records {
		if r.topic != records[0].topic || r.partition != records[0].partition {
			return false
		}
	}
	return true
}

// compareAsked: what SQL finds is what the other commands find, row by row.
func (v *Verdict) compareAsked(f Found) {
	ask := func(s oracle.Stored, k oracle.Key) string {
		return strings.Join(slices.Sorted(slices.Values(s[k])), " ")
	}
	for _, s := range []oracle.Stored{f.Stored, f.Asked} {
		for k := range s {
			if stored, asked := ask(f.Stored, k), ask(f.Asked, k); stored != asked {
				v.Wrong = append(v.Wrong, fmt.Sprintf("SQL finds %s/%s as %q, stored is %q", k.Tenant, k.ID, asked, stored))
			}
		}
	}
	for tenant, letters := range f.Letters {
		var ids []string
		for _, l := range letters {
			ids = append(ids, l.ID)
		}
		slices.Sort(ids)
		if asked := slices.Sorted(slices.Values(f.AskedLetters[tenant])); !slices.Equal(ids, asked) {
			v.Wrong = append(v.Wrong, fmt.Sprintf("SQL finds %d letters of %s, there are %d", len(asked), tenant, len(ids)))
		}
	}
	slices.Sort(v.Wrong)
	v.Wrong = slices.Compact(v.Wrong)
}

func (v *Verdict) compareLetters(want map[string]letter, found map[string][]tool.Letter) {
	seen := map[string]bool{}
	for tenant, letters := range found {
		for _, got := range letters {
			w, ok := want[got.ID]
			switch {
			case !ok:
				v.Extra = append(v.Extra, fmt.Sprintf("letter %s of %s (%s) is of no such record: %s", got.ID, tenant, got.Reason, got.Body()))
			case seen[got.ID]:
				v.Extra = append(v.Extra, fmt.Sprintf("letter %s of %s is there twice", got.ID, tenant))
			case w != (letter{tenant, got.Body(), got.Reason == "conflict"}):
				v.Lost = append(v.Lost, fmt.Sprintf("letter %s of %s is %s, %q; want %+v", got.ID, tenant, got.Reason, got.Body(), w))
			}
			seen[got.ID] = true
		}
	}
	for id, w := range want {
		if !seen[id] {
			v.Lost = append(v.Lost, fmt.Sprintf("letter %s of %s is not there: %+v", id, w.tenant, w))
		}
	}
	sort.Strings(v.Lost)
	sort.Strings(v.Extra)
}
