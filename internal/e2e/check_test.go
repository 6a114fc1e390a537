package e2e

import (
	"regexp"
	"strings"
	"sync"

	"github.com/togodb/togo/internal/e2e/audit"
	"github.com/togodb/togo/internal/e2e/feed"
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

// expect is what the topics hold.
func (w *world) expect(s *feed.Sender, a *acks, topics []string) *audit.Audit {
	w.t.Helper()
	e := audit.New()
	w.add(e, s, topics)
	w.kept(e, a)
	return e
}

// add reads the topics and classes each record that the audit has not seen.
func (w *world) add(e *audit.Audit, s *feed.Sender, topics []string) {
	w.t.Helper()
	for _, topic := range topics {
		held, err := s.Read(w.ctx, topic)
		w.must(err)
		w.must(e.Add(held...))
	}
}

// kept wants everything that was acknowledged to have been in Kafka.
func (w *world) kept(e *audit.Audit, a *acks) {
	w.t.Helper()
	for _, serial := range e.Missing(a.set) {
		w.t.Errorf("message %d was acknowledged, and is not in Kafka: the broker broke its word, the rest proves nothing", serial)
	}
}

// check compares what must be stored with what the commands say is stored.
func (w *world) check(e *audit.Audit) {
	w.t.Helper()
	w.done()
	found, err := e.Find(w.ctx, w.Tool)
	w.must(err)
	for _, l := range e.Compare(found).Lines(20) {
		w.t.Error(l)
	}
	sent, unique, duplicates, conflicts, dead := e.Ledger().Counts()
	w.t.Logf("%d records in Kafka: %d stored, %d conflicts, %d dead, %d copies; %d duplicates dropped", sent, unique, conflicts, dead, duplicates, found.Totals.Duplicate)
	w.verify()
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
