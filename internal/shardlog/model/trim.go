package model

import (
	"crypto/sha256"
	"fmt"
	"slices"
)

// The search of SearchTrim: old records are deleted, and what was uploaded and is not needed, while processes stand still
// anywhere. A log begins with a claim and an append; then
//
//   - a process reads the next position, if there is a record; confirms what it read; claims, appends (after an upload), begins a
//     merge, uploads its output, ends it, or aborts another's; collects garbage by its state; crashes and starts anew; each of it
//     as long after the step before as it likes;
//   - a write is applied and answered; applied and the answer is lost; or reported failed and set aside, to
//     land at any later time;
//   - the store's keeper makes a checkpoint, puts a base marker that it covers, and deletes one record below the marker,
//     in any order of positions and as late as it likes.
//
// A record that lands where one was deleted is a phantom. What must hold in every state: the history (all records that
// landed first at their position) folds; appends are of the owner; offsets have no gap; who was told that its
// record is in the log was told the truth; nothing that is live in the history is deleted; what a process believes is a
// prefix of the history; and a process that starts finds a checkpoint, and all records behind it.

// TrimRules switches parts of the protocol off; each is a mutant that SearchTrim must catch.
type TrimRules struct {
	TrustWrites  bool // what was written is not confirmed
	OnlyAfter404 bool // what was read is confirmed only at a 404: a record that is there is believed
	NoMarker     bool // records below a checkpoint are deleted without a marker
	LateMarker   bool // the marker is put after the first record was deleted
	JudgeUnasked bool // garbage is judged by a state that was not confirmed
	OldClaims    bool // uploads of the current claim are garbage, too, if they are not live
	OpenJobs     bool // outputs of open jobs are garbage
}

// TrimBounds of a search.
type TrimBounds struct {
	Processes int // the first has made the claim and the append that the log begins with
	Writers   int // of them, the first ones; the others are compactors; all collect garbage
	Positions int
	Records   int // that each process prepares (of the first, with those two)
	Crashes   int
	Late      int
	Markers   int
	Uploads   int // objects in all
	States    int
}

// object is an upload.
type object struct {
	job     bool
	writer  int8
	nonce   int8 // of the claim or merge-begin that it is uploaded for
	place   int8 // the epoch of that claim, or the position of that merge-begin
	number  int8
	deleted bool
}

func (o object) key() string {
	if o.job {
		return fmt.Sprintf("data/t/0-j%d-%d.%d-%d", o.place, o.writer, o.nonce, o.number)
	}
	return fmt.Sprintf("data/t/0-%d-%d.%d-%d", o.place, o.writer, o.nonce, o.number)
}

func (o object) same(p object) bool { o.deleted, p.deleted = false, false; return o == p }

// trecord is a record: c claim, a append, m merge-begin, e merge-end, x merge-abort.
type trecord struct {
	kind   byte
	writer int8
	nonce  int8
	epoch  int8 // of c and a
	from   int8 // of a: one offset
	job    int8 // of e and x: position of the merge-begin
	out    object
}

func (r trecord) String() string {
	what := map[byte]string{'c': "claim", 'a': "append", 'm': "merge-begin", 'e': "merge-end", 'x': "merge-abort"}[r.kind]
	return fmt.Sprintf("%s %d.%d", what, r.writer, r.nonce)
}

// flying is a record on its way to a position.
type flying struct {
	at     int8
	record trecord
}

const (
	gone   = iota // not running
	ready         // may read and act
	trying        // its record is to be put
	told          // its record stands at the position, as far as it knows
	beaten        // another's record stands there
)

// tprocess is one process. Its view is what it has read of the log; the last unsure of it are not confirmed.
type tprocess struct {
	phase   int8
	nonces  int8
	unsure  int8
	epoch   int8 // of its claim; 0: none
	claim   int8 // the claim's nonce
	job     int8 // position of its merge-begin; 0: none
	jobID   int8
	upload  object // not yet in a record; number 0: none
	pending trecord
	found   trecord // what stands in its place
	view    []trecord
}

// tworld is one state of the search.
type tworld struct {
	procs      []tprocess
	history    []trecord
	deleted    uint16 // positions whose record is deleted
	phantoms   [8]trecord
	checkpoint int8
	base       int8 // the newest marker
	markers    int8
	crashes    int8
	late       []flying
	objects    []object
}

func (w *tworld) clone() *tworld {
	c := *w
	c.procs, c.history, c.late, c.objects = slices.Clone(w.procs), slices.Clone(w.history), slices.Clone(w.late), slices.Clone(w.objects)
	return &c
}

func (o object) append(b []byte) []byte {
	return append(b, flag(o.job), byte(o.writer), byte(o.nonce), byte(o.place), byte(o.number), flag(o.deleted))
}

func (r trecord) append(b []byte) []byte {
	return r.out.append(append(b, r.kind, byte(r.writer), byte(r.nonce), byte(r.epoch), byte(r.from), byte(r.job)))
}

func (w *tworld) id() id {
	b := make([]byte, 0, 512)
	b = append(b, byte(w.deleted), byte(w.deleted>>8), byte(w.checkpoint), byte(w.base), byte(w.markers), byte(w.crashes), byte(len(w.history)), byte(len(w.late)), byte(len(w.objects)))
	for _, x := range w.procs {
		b = append(b, byte(x.phase), byte(x.nonces), byte(x.unsure), byte(x.epoch), byte(x.claim), byte(x.job), byte(x.jobID), byte(len(x.view)))
		b = x.found.append(x.pending.append(x.upload.append(b)))
		for _, r := range x.view {
			b = r.append(b)
		}
	}
	for _, r := range w.history {
		b = r.append(b)
	}
	for _, r := range w.phantoms {
		if r.kind != 0 {
			b = r.append(b)
		} else {
			b = append(b, 0)
		}
	}
	for _, f := range w.late {
		b = f.record.append(append(b, byte(f.at)))
	}
	for _, o := range w.objects {
		b = o.append(b)
	}
	sum := sha256.Sum256(b)
	return id(sum[:16])
}

// at is the record that the store has at a position.
func (w *tworld) at(p int) (trecord, bool) {
	if r := w.phantoms[p]; r.kind != 0 {
		return r, true
	}
	if p > len(w.history) || w.deleted&(1<<p) != 0 {
		return trecord{}, false
	}
	return w.history[p-1], true
}

// tsearcher holds what a search has found.
type tsearcher struct {
	rules  TrimRules
	bounds TrimBounds
	folds  map[string]*tfold
	seen   map[id]edge
	queue  []*tworld
	from   id
	breach string
	trace  []string
}

// SearchTrim visits every state that the rules allow within the bounds, breadth first.
func SearchTrim(rules TrimRules, bounds TrimBounds) Result {
	s := &tsearcher{rules: rules, bounds: bounds, folds: map[string]*tfold{}, seen: map[id]edge{}}
	upload := object{writer: 0, nonce: 1, place: 1, number: 1}
	first := &tworld{procs: make([]tprocess, bounds.Processes), objects: []object{upload}}
	first.history = []trecord{{kind: 'c', nonce: 1, epoch: 1}, {kind: 'a', nonce: 2, epoch: 1, out: upload}}
	for i := range first.procs {
		first.procs[i] = tprocess{phase: ready, view: slices.Clone(first.history)}
	}
	first.procs[0].nonces, first.procs[0].epoch, first.procs[0].claim = 2, 1, 1
	s.seen[first.id()] = edge{}
	s.queue = []*tworld{first}
	for len(s.queue) > 0 && s.breach == "" {
		w := s.queue[0]
		s.queue[0] = nil
		s.queue = s.queue[1:]
		s.from = w.id()
		s.store(w)
		for i := range w.procs {
			s.process(w, i)
		}
		if len(s.seen) > bounds.States {
			s.fail(step{-1, "search"}, fmt.Sprintf("more than %d states", bounds.States))
		}
	}
	return Result{States: len(s.seen), Folds: len(s.folds), Breach: s.breach, Trace: s.trace}
}

func (s *tsearcher) visit(w *tworld, by step) {
	if s.breach != "" {
		return
	}
	id := w.id()
	if _, seen := s.seen[id]; !seen {
		s.seen[id] = edge{s.from, by}
		s.queue = append(s.queue, w)
	}
}

func (s *tsearcher) fail(by step, breach string) bool {
	if s.breach == "" {
		s.breach = breach
		s.trace = way(s.seen, s.from, by)
	}
	return false
}
