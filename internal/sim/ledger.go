package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/inspect"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/placements"
)

// ledger is a plain list of what reached Kafka, and the oracle: what the store must
// therefore hold.
type ledger struct {
	w     *world
	sent  []*sent
	holes bool // Kafka lost word of intake offsets without a record, too
}

// sent is one record of an intake topic.
type sent struct {
	tenant string
	value  []byte
	reason event.Reason // why no event can be made of it; "": one can
	hasTS  bool
	ts     int64     // of the event; Kafka's if it has none
	ids    [2]string // by the first and by the second mapping; "": none

	topic   *topic
	part    int32
	offset  int64
	epoch   int32
	at      time.Time // Kafka's timestamp
	excused string    // why it may be lost: Kafka lost it before it was safe
}

func (s *sent) origin() event.Origin {
	return event.Origin{Source: s.topic.source(s.part), LeaderEpoch: s.epoch, Offset: s.offset}
}

func (s *sent) String() string {
	return fmt.Sprintf("%s[%d]@%d/%d %s %.80q", s.topic.name, s.part, s.offset, s.epoch, s.tenant, s.value)
}

// verdict is what must become of a record, by the rules that hold for its time.
func (s *sent) verdict(w *world, table *placements.Table) (tenant string, id []byte, reason event.Reason) {
	kafka := event.Timestamp(s.at.UnixNano())
	m, _ := table.Mapping(s.topic.name, kafka)
	name := s.ids[0]
	if m.ID[0].Field == secondID {
		name = s.ids[1]
	}
	id = event.PositionID(s.origin())
	if name != "" {
		id = event.AppendUserID(nil, []byte(name))
	}
	reason = s.reason
	if reason == "" {
		switch {
		case s.ts > int64(kafka)+int64(w.limits.MaxFuture):
			reason = event.ReasonTooFarInFuture
		case s.ts < int64(w.limits.MinTime):
			reason = event.ReasonTooFarInPast
		}
	}
	if reason != event.ReasonBadTenant && table.Admits(event.TenantID(s.tenant), kafka) != placements.Accepted {
		if reason == "" {
			reason = event.ReasonUnknownTenant
		}
	}
	return s.tenant, id, reason
}

// compare holds the store against the ledger. Every record is exactly one of stored,
// duplicate, conflict and dead; what may be missing is only what Kafka lost.
func (g *ledger) compare(s *stored, tally *Tally) error {
	groups := map[identity][]*sent{}
	var order []identity
	letters := map[string]*sent{} // that must be there, or may
	may := map[string]bool{}
	for _, r := range g.sent {
		tenant, id, reason := r.verdict(g.w, s.view.Table)
		if reason != "" {
			if err := g.dead(s, r, reason); err != nil {
				return err
			}
			letters[string(event.LetterID(r.origin()))] = r
			tally.Dead++
			continue
		}
		k := identity{tenant, string(id), r.ts}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], r)
	}
	for _, k := range order {
		if g.forgotten(s, k) {
			if err := g.below(s, k, groups[k], letters, tally); err != nil {
				return err
			}
			continue
		}
		if err := g.one(s, k, groups[k], letters, may, tally); err != nil {
			return err
		}
	}
	for k := range s.events {
		if groups[k] == nil {
			return fmt.Errorf("stored and never sent: %v", k)
		}
	}
	for id := range s.letters {
		if letters[id] == nil && !may[id] {
			return fmt.Errorf("a letter that nothing was sent for: %s (%s)", id, s.letters[id][0].reason)
		}
	}
	return g.accounted(s, groups)
}

// dead holds a record that must have become a letter.
func (g *ledger) dead(s *stored, r *sent, reason event.Reason) error {
	found := s.letters[string(event.LetterID(r.origin()))]
	switch {
	case len(found) == 0 && (r.excused != "" || g.letterForgotten(s, r)):
		return nil
	case len(found) != 1:
		return fmt.Errorf("%d letters of %s, want 1 (%s)", len(found), r, reason)
	case found[0].reason == event.ReasonErased && len(found[0].payload) == 0 && g.erased(s, r.tenant):
	case found[0].reason != reason || !bytes.Equal(found[0].payload, r.value):
		return fmt.Errorf("letter of %s is %s %.80q, want %s", r, found[0].reason, found[0].payload, reason)
	}
	return nil
}

// one holds all records of one identity.
func (g *ledger) one(s *stored, k identity, records []*sent, letters map[string]*sent, may map[string]bool, tally *Tally) error {
	rows := s.events[k]
	excused := true
	for _, r := range records {
		excused = excused && r.excused != ""
	}
	if len(rows) == 0 && excused {
		tally.Lost++
		for _, r := range records {
			may[string(event.LetterID(r.origin()))] = true
		}
		return nil
	}
	if len(rows) != 1 {
		return fmt.Errorf("%v is stored %d times; sent as %v", k, len(rows), records)
	}
	tally.Stored++
	first := -1
	for i, r := range records {
		if r.part == rows[0].part && r.offset == rows[0].offset && sameJSON(r.value, rows[0].payload) {
			first = i
		}
	}
	if first < 0 {
		return fmt.Errorf("%v is stored as %.200q of [%d]@%d; sent as %v", k, rows[0].payload, rows[0].part, rows[0].offset, records)
	}
	for i, r := range records {
		id := string(event.LetterID(r.origin()))
		found := s.letters[id]
		if bytes.Equal(r.value, records[first].value) {
			if len(found) > 0 {
				return fmt.Errorf("%s equals what is stored, and has a letter (%s)", r, found[0].reason)
			}
			if i != first {
				tally.Duplicates++
			}
			continue
		}
		letters[id] = r
		tally.Conflicts++
		if len(found) == 0 && (r.excused != "" || g.letterForgotten(s, r)) {
			continue
		}
		if len(found) == 1 && found[0].reason == event.ReasonErased && len(found[0].payload) == 0 && g.erased(s, r.tenant) {
			continue
		}
		if len(found) != 1 || found[0].reason != event.ReasonConflict || !bytes.Equal(found[0].payload, r.value) {
			return fmt.Errorf("%s has another payload than what is stored, and %d letters", r, len(found))
		}
	}
	return nil
}

// accounted: every record's intake offset is classed by some shard. One that Kafka lost
// may be a hole, but must not be classed without a trace.
func (g *ledger) accounted(s *stored, groups map[identity][]*sent) error {
	for _, r := range g.sent {
		holes := s.classed.Holes(shardlog.SourceFrom(r.topic.source(r.part)), r.offset, r.offset+1)
		if len(holes) > 0 && r.excused == "" {
			return fmt.Errorf("%s: no shard has classed its offset", r)
		}
		if len(holes) > 0 || r.excused == "" || r.topic.parts[r.part].epoch > 0 {
			continue // (after a cut another record may have the offset)
		}
		tenant, id, reason := r.verdict(g.w, s.view.Table)
		if k := (identity{tenant, string(id), r.ts}); reason == "" && g.forgotten(s, k) || g.letterForgotten(s, r) {
			continue
		}
		if reason == "" && len(s.events[identity{tenant, string(id), r.ts}]) == 0 || reason != "" && len(s.letters[string(event.LetterID(r.origin()))]) == 0 {
			return fmt.Errorf("%s was lost (%s), but its offset is classed", r, r.excused)
		}
	}
	return nil
}

// sameJSON compares values.
func sameJSON(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var x, y any
	for text, into := range map[*[]byte]*any{&a: &x, &b: &y} {
		d := json.NewDecoder(bytes.NewReader(*text))
		d.UseNumber()
		if d.Decode(into) != nil {
			return false
		}
	}
	return reflect.DeepEqual(x, y)
}

// excuse notes that Kafka lost intake records: those that the group's position tells to be
// in the shard topic are safe. A record of a later leader epoch than the position's was not
// there when it was made.
func (g *ledger) excuse(t *topic, part int32, records []*record, why string) {
	c := g.w.broker.group.committed[kafkaTP{Topic: t.name, Partition: part}]
	for _, r := range records {
		safe := c.topic == t.id && r.offset < c.Offset && r.epoch <= c.LeaderEpoch
		if r.sent != nil && !safe {
			r.sent.excused = why
		}
	}
}

// excuseShard notes that Kafka lost records of the shard topic: what a commit has closed
// is safe.
func (g *ledger) excuseShard(t *topic, part int32, records []*record, why string) {
	var env event.Envelope
	origins := map[event.Origin]bool{}
	for _, r := range records {
		if g.w.watch.closed(event.ShardID(part), t.source(part), r) {
			continue
		}
		if err := event.DecodeEnvelope(r.value, &env); err != nil {
			g.w.fail("envelope at %s[%d]@%d: %v", t.name, part, r.offset, err)
			continue
		}
		for _, it := range env.Items {
			origins[it.Origin] = true
			g.holes = g.holes || it.Kind == event.KindSkipped
		}
	}
	for _, s := range g.sent {
		if origins[s.origin()] {
			s.excused = why
		}
	}
}

// Tally counts what became of what was sent.
type Tally struct{ Sent, Stored, Duplicates, Conflicts, Dead, Lost, Forgotten int }

// check compares, and verifies every promise on the store.
func (w *world) check() {
	w.checkLoads()
	s, err := w.readStore()
	if err != nil {
		w.fail("read the store: %v", err)
		return
	}
	var tally Tally
	if err := w.ledger.compare(s, &tally); err != nil {
		w.fail("%v", err)
		return
	}
	w.tally = tally
	report, err := s.view.Verify(context.Background(), w.intakeRanges(), "")
	if err != nil {
		w.fail("verify: %v", err)
		return
	}
	if report.Failed() > 0 {
		var text bytes.Buffer
		_ = report.Write(&text)
		w.fail("verify: %s", text.String())
	}
}

// intakeRanges are what must be covered, where nothing was lost.
func (w *world) intakeRanges() []inspect.IntakeRange {
	var out []inspect.IntakeRange
	if w.ledger.holes || slices.ContainsFunc(w.ledger.sent, func(s *sent) bool { return s.excused != "" }) {
		return nil
	}
	for _, name := range w.plan.intakes {
		t := w.broker.topics[name]
		for p, part := range t.parts {
			out = append(out, inspect.IntakeRange{Topic: name, Source: t.source(int32(p)), From: part.start, Committed: part.readable()})
		}
	}
	return out
}

// Add sums up.
func (t *Tally) Add(o Tally) {
	t.Sent += o.Sent
	t.Stored += o.Stored
	t.Duplicates += o.Duplicates
	t.Conflicts += o.Conflicts
	t.Dead += o.Dead
	t.Lost += o.Lost
	t.Forgotten += o.Forgotten
}
