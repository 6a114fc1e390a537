package e2e

import (
	"regexp"
	"strings"
	"sync"

	"github.com/togodb/togo/internal/e2e/feed"
	"github.com/togodb/togo/internal/e2e/oracle"
	"github.com/togodb/togo/internal/kafka"
)

// acks are the serial numbers of acknowledged messages.
type acks struct {
	mu  sync.Mutex
	set map[int]bool // guarded by mu
}

func newAcks() *acks { return &acks{set: map[int]bool{}} }

func (a *acks) add(m feed.Message) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.set[m.Serial] = true
	return nil
}

// sender connects to a cluster until the test ends.
func (w *world) sender(cluster kafka.ClusterConfig, a *acks) *feed.Sender {
	w.t.Helper()
	s, err := feed.NewSender(w.ctx, cluster, a.add)
	w.must(err)
	w.t.Cleanup(s.Close)
	return s
}

// letter is a dead letter that must be there.
type letter struct {
	tenant, payload string
	conflict        bool
}

// expectation is what must be stored, by the records that Kafka holds.
type expectation struct {
	ledger  *oracle.Ledger
	letters map[string]letter     // by id
	first   map[oracle.Key]string // payload of each event
	there   map[int]bool          // serial numbers
	seen    map[string]bool       // positions
}

func newExpectation() *expectation {
	return &expectation{oracle.New(), map[string]letter{}, map[oracle.Key]string{}, map[int]bool{}, map[string]bool{}}
}

// expect is what the topics hold.
func (w *world) expect(s *feed.Sender, a *acks, topics []string) *expectation {
	w.t.Helper()
	e := newExpectation()
	w.add(e, s, topics)
	w.kept(e, a)
	return e
}

// add reads the topics and classes each record that it has not seen.
func (w *world) add(e *expectation, s *feed.Sender, topics []string) {
	w.t.Helper()
	for _, topic := range topics {
		held, err := s.Read(w.ctx, topic)
		w.must(err)
		for _, h := range held {
			if e.seen[h.Position] {
				continue
			}
			e.there[h.Serial], e.seen[h.Position] = true, true
			w.must(h.Note(e.ledger))
			payload, again := e.first[h.Want]
			switch {
			case h.Bad:
				e.letters[h.Want.ID+"/dead"] = letter{h.Want.Tenant, string(h.Value), false}
			case !again:
				e.first[h.Want] = string(h.Value)
			case payload != string(h.Value):
				e.letters[h.Position+"/dead"] = letter{h.Want.Tenant, string(h.Value), true}
			}
		}
	}
}

// kept wants everything that was acknowledged to have been in Kafka.
func (w *world) kept(e *expectation, a *acks) {
	w.t.Helper()
	for serial := range a.set {
		if !e.there[serial] {
			w.t.Errorf("message %d was acknowledged, and is not in Kafka: the broker broke its word, the rest proves nothing", serial)
		}
	}
}

// check compares what must be stored with what the commands say is stored.
func (w *world) check(e *expectation) {
	w.t.Helper()
	stored, err := w.Stored(w.ctx, e.ledger.Tenants())
	w.must(err)
	lost, extra := e.ledger.Compare(stored)
	for _, l := range cut(lost) {
		w.t.Errorf("lost: %s", l)
	}
	for _, l := range cut(extra) {
		w.t.Errorf("extra: %s", l)
	}
	w.checkLetters(e)
	s := w.done()
	sent, unique, duplicates, conflicts, dead := e.ledger.Counts()
	got := s.Totals
	if got.Stored != int64(unique) || got.Conflict != int64(conflicts) || got.Dead != int64(dead) || got.Duplicate < int64(duplicates) ||
		got.Events != got.Stored+got.Duplicate+got.Conflict+got.Dead {
		w.t.Errorf("classes are %+v; want stored %d, conflict %d, dead %d, duplicate at least %d, and events their sum", got, unique, conflicts, dead, duplicates)
	}
	w.t.Logf("%d records in Kafka: %d stored, %d conflicts, %d dead, %d copies; %d duplicates dropped", sent, unique, conflicts, dead, duplicates, got.Duplicate)
	w.verify()
}

func (w *world) checkLetters(e *expectation) {
	w.t.Helper()
	tenants := map[string]bool{}
	for _, l := range e.letters {
		tenants[l.tenant] = true
	}
	seen := map[string]bool{}
	for tenant := range tenants {
		found, err := w.Letters(w.ctx, tenant)
		w.must(err)
		for _, got := range found {
			want, ok := e.letters[got.ID]
			switch {
			case !ok:
				w.t.Errorf("letter %s of %s (%s) is of no record: %s", got.ID, tenant, got.Reason, got.Body())
			case seen[got.ID]:
				w.t.Errorf("letter %s of %s is there twice", got.ID, tenant)
			case want != (letter{tenant, got.Body(), got.Reason == "conflict"}):
				w.t.Errorf("letter %s of %s: %s, %q; want %+v", got.ID, tenant, got.Reason, got.Body(), want)
			}
			seen[got.ID] = true
		}
	}
	if missing := len(e.letters) - len(seen); missing != 0 {
		w.t.Errorf("%d of %d letters are missing", missing, len(e.letters))
	}
}

var intakeChecked = regexp.MustCompile(`(?m)^ *([1-9][0-9]*) +0 +every intake offset is accounted for$`)

// verify wants every promise on the store kept, those on the intake included.
func (w *world) verify() string {
	w.t.Helper()
	out, err := w.Output(w.ctx, "verify")
	if err != nil || !intakeChecked.MatchString(out) || !strings.Contains(out, "failed=0") {
		w.t.Errorf("verify: %v\n%s", err, out)
	}
	return out
}

// cut keeps a failure readable.
func cut(lines []string) []string {
	const most = 20
	if len(lines) > most {
		return append(lines[:most:most], "and more")
	}
	return lines
}
