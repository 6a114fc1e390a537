// Package model searches every interleaving of a small shard log for a breach of
// its protocol. It knows no files and no network: only writers that step, and a
// store that answers, fails, answers too late, or applies a write long after it
// was reported failed. Every record that lands is folded by the real
// shardlog.State, and every record that a writer prepares is asked of the real
// State.Check.
//
// What a step may be:
//
//   - a writer starts and reads to the head; claims; prepares an append of one or two
//     offsets; releases; reads on; collects the uploads of earlier epochs; crashes; or stands
//     still for as long as it likes (every interleaving holds pauses of any length);
//   - a write that a writer has prepared is tried: it is applied and answered; applied and
//     the answer is lost; not applied and reported failed; or reported failed and
//     set aside, to land at any later time if its position is still free;
//   - a try that finds an object is followed by a read of it, or of nothing (the
//     read fails), after which the writer tries again.
//
// What must hold in every state (Search stops at the first breach):
//
//  1. every record that lands is taken by the fold, so that the history is linear;
//  2. appends of one epoch are all of the writer that claimed it;
//  3. the offsets of all appends are [0, n) with no gap and no overlap;
//  4. what a writer was told is in the log is in the log, and stays;
//  5. nothing that a record names is deleted, before or after the record lands.
//
// Bounds limit writers, positions, offsets, crashes and late writes.
//
// SearchTrim does the same for the deletion of old records and of garbage, and SearchLineage for
// checkpoints that share manifests while trims delete them.
package model

import (
	"crypto/sha256"
	"fmt"
	"slices"
)

// Rules switches parts of the protocol off; the zero value is the protocol. Each
// is a mutant that Search must catch.
type Rules struct {
	IgnoreEpoch     bool // a fenced writer goes on, in the epoch that it finds
	TrustExists     bool // 412 is success: the nonce is not compared
	NeverOurs       bool // 412 is a lost race: the nonce is not compared
	GiveUpOn404     bool // after a failed write, nothing there means not written
	IgnoreCondition bool // the store lets a create replace an object
	CollectEarly    bool // uploads of others that are not live are garbage before the claim stands
}

// Bounds of a search.
type Bounds struct {
	Writers   int
	Positions int // records in the log
	Offsets   int // of the one source
	Crashes   int // in all
	Late      int // writes set aside at a time
	States    int // the search fails beyond
}

// record is one record, landed or tried.
type record struct {
	kind    byte // 'c' claim, 'a' append, 'r' release
	writer  int8
	nonce   int8 // unique per writer
	epoch   int8
	from    int8
	next    int8
	at      int8 // position
	deleted bool // the upload that it names is gone
}

// What a writer is about to do.
const (
	down  = iota // not running
	idle         // its state is at pos
	trial        // its record is to be put
	look         // an object was there; it is to be read
)

// writer is one process.
type writer struct {
	phase   int8
	pos     int8 // records folded
	epoch   int8 // of its claim; 0: none
	nonces  int8 // used
	pending record
	failed  bool // a try of pending was reported failed
}

// world is one state of the search.
type world struct {
	writers []writer
	log     []record
	acked   uint16 // positions whose writer was told of success
	late    []record
	crashes int8
}

func (w *world) clone() *world {
	c := *w
	c.writers, c.log, c.late = slices.Clone(w.writers), slices.Clone(w.log), slices.Clone(w.late)
	return &c
}

// id is a hash of the state, long enough that no two states of a search share it.
type id [16]byte

func (w *world) id() id {
	b := make([]byte, 0, 16*(len(w.writers)+len(w.log)+len(w.late)))
	b = append(b, byte(w.crashes), byte(w.acked), byte(w.acked>>8), byte(len(w.log)), byte(len(w.late)))
	for _, x := range w.writers {
		b = append(b, byte(x.phase), byte(x.pos), byte(x.epoch), byte(x.nonces), flag(x.failed))
		b = x.pending.append(b)
	}
	for _, r := range w.log {
		b = r.append(b)
	}
	for _, r := range w.late {
		b = r.append(b)
	}
	sum := sha256.Sum256(b)
	return id(sum[:16])
}

func (r record) append(b []byte) []byte {
	return append(b, r.kind, byte(r.writer), byte(r.nonce), byte(r.epoch), byte(r.from), byte(r.next), byte(r.at), flag(r.deleted))
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// Result of a search.
type Result struct {
	States int
	Folds  int // different logs that the real fold was asked about
	Breach string
	Trace  []string // the steps to the breach
}

func (r Result) String() string {
	if r.Breach == "" {
		return fmt.Sprintf("%d states, %d logs, no breach", r.States, r.Folds)
	}
	return fmt.Sprintf("%d states, %d logs, breach after %d steps: %s", r.States, r.Folds, len(r.Trace), r.Breach)
}

// step is one step of the world, small enough to be kept for every state.
type step struct {
	who  int8 // writer; -1: the store
	what string
}

// edge leads to a state that was seen.
type edge struct {
	from id
	step step
}

// searcher holds what a search has found.
type searcher struct {
	rules  Rules
	bounds Bounds
	folds  map[string]*fold
	seen   map[id]edge
	queue  []*world
	from   id     // the state whose steps are taken
	breach string // the first one
	trace  []string
}

// Search visits every state that the rules allow within the bounds, breadth
// first, so that a breach comes with a shortest way to it.
func Search(rules Rules, bounds Bounds) Result {
	s := &searcher{rules: rules, bounds: bounds, folds: map[string]*fold{}, seen: map[id]edge{}}
	first := &world{writers: make([]writer, bounds.Writers)}
	s.seen[first.id()] = edge{}
	s.queue = []*world{first}
	for len(s.queue) > 0 && s.breach == "" {
		w := s.queue[0]
		s.queue[0] = nil
		s.queue = s.queue[1:]
		s.from = w.id()
		s.store(w)
		for i := range w.writers {
			s.writer(w, i)
		}
		if len(s.seen) > bounds.States {
			s.fail(step{-1, "search"}, fmt.Sprintf("more than %d states", bounds.States))
		}
	}
	return Result{States: len(s.seen), Folds: len(s.folds), Breach: s.breach, Trace: s.trace}
}

// visit queues a state that was not seen before.
func (s *searcher) visit(w *world, by step) {
	if s.breach != "" {
		return
	}
	if !s.rules.IgnoreCondition {
		// What cannot land any more is no part of the state.
		w.late = slices.DeleteFunc(w.late, func(r record) bool { return int(r.at) <= len(w.log) })
	}
	id := w.id()
	if _, seen := s.seen[id]; !seen {
		s.seen[id] = edge{s.from, by}
		s.queue = append(s.queue, w)
	}
}

// fail ends the search, with the way to the breach.
func (s *searcher) fail(by step, breach string) {
	if s.breach != "" {
		return
	}
	s.breach = breach
	s.trace = way(s.seen, s.from, by)
}

// way is how a search came to a step from a state.
func way(seen map[id]edge, from id, by step) []string {
	trace := []string{by.String()}
	for at := from; ; {
		e := seen[at]
		if e.step.what == "" {
			break
		}
		trace = append(trace, e.step.String())
		at = e.from
	}
	slices.Reverse(trace)
	return trace
}

func (s step) String() string {
	if s.who < 0 {
		return "store: " + s.what
	}
	return fmt.Sprintf("writer %d: %s", s.who, s.what)
}
