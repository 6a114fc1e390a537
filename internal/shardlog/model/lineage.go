package model

import (
	"fmt"
	"slices"
)

// The search of SearchLineage: which manifests a checkpoint may name, when trims delete those that the newest two do not.
// Two processes load, follow, claim, append, and write checkpoints, each of which adds a manifest and
// leaves out its parent's oldest or none; roots land at any time after they were sent, or never, and their answers
// are lost or not; processes load anew, and may fail to read a checkpoint that is there. A trim lists and reads the two newest
// checkpoints, then the log, then deletes, with any pause between.
//
// What must hold in every state: the newest checkpoint names no manifest that was deleted.

// LineageRules switches parts of the rule off; each is a mutant that SearchLineage must catch.
type LineageRules struct {
	Unlinked    bool // a trim does not ask whether the newer checkpoint was built on the older
	OldClaim    bool // a trim does not ask whether both are of the newest claim
	LogFirst    bool // a trim reads the log before it lists the checkpoints
	NoListing   bool // a claim is not followed by a listing
	Overlooked  bool // who could not read the newest checkpoint builds on an older one
	AnyoneWrite bool // who has no claim builds on a checkpoint, too
}

// LineageBounds of a search.
type LineageBounds struct {
	Positions   int // records
	Checkpoints int // sent, in all; at most maxRoots
	Flights     int // at a time
	Loads       int // in all
	Trims       int // in all
	Unread      bool
	States      int
}

const maxRoots = 6

// lroot is a checkpoint: its position, its parent's, and the manifests that it names. Manifest n is the one that the n-th
// checkpoint added.
type lroot struct {
	at, parent int8
	names      uint8
}

// lprocess is one process.
type lprocess struct {
	phase   int8 // see below
	at      int8 // of its state
	parent  int8 // 0: its next checkpoint is whole
	names   uint8
	owner   bool  // it has the claim, as far as it knows
	sent    int8  // where its last checkpoint was sent
	waiting lroot // sent, and not yet answered; at 0: none
}

const (
	lDown    = iota
	lLoaded  // a checkpoint
	lRead    // and the log to its head
	lClaimed // and has not listed the checkpoints since
	lOwner
)

// ltrim is one trim on its way.
type ltrim struct {
	phase         int8 // 0 none; 1 it has the checkpoints; 2 it has the log only; 3 it has both
	older, newer  lroot
	claim         int8
	toDelete      uint8
	deletesBefore int8
}

// lworld is one state of the search; it is comparable, so that it is its own key.
type lworld struct {
	head, claim int8
	claimant    int8
	sent, loads int8
	trims       int8
	made        [maxRoots]int8 // the position of each manifest
	gone        uint8          // deleted manifests
	roots       [maxRoots]lroot
	flights     [3]lroot
	procs       [2]lprocess
	trim        ltrim
}

func (w *lworld) newest(after int8) lroot {
	var out lroot
	for _, r := range w.roots {
		if r.at > out.at && (after == 0 || r.at < after) {
			out = r
		}
	}
	return out
}

func (w *lworld) readable(r lroot) bool { return r.at > 0 && r.names&w.gone == 0 }

// land puts a root into the store, if none is at its position.
func (w *lworld) land(r lroot) {
	for i, old := range w.roots {
		if old.at == r.at {
			return
		}
		if old.at == 0 {
			w.roots[i] = r
			slices.SortFunc(w.roots[:i+1], func(a, b lroot) int { return int(a.at - b.at) })
			return
		}
	}
	panic("model: too many checkpoints")
}

type lsearch struct {
	rules  LineageRules
	bounds LineageBounds
	seen   map[lworld]struct{}
	queue  []*lnode
	breach *lnode
	why    string
}

type lnode struct {
	w    lworld
	from *lnode
	what string
}

// SearchLineage visits every state that the rules allow within the bounds, breadth first.
func SearchLineage(rules LineageRules, bounds LineageBounds) Result {
	s := &lsearch{rules: rules, bounds: bounds, seen: map[lworld]struct{}{}}
	// A log of two records, claimed by the first process, with a checkpoint.
	first := lworld{head: 2, claim: 1, sent: 1}
	first.made[0] = 2
	first.roots[0] = lroot{at: 2, names: 1}
	first.procs[0] = lprocess{phase: lOwner, at: 2, parent: 2, names: 1, owner: true, sent: 2}
	s.visit(nil, "", first)
	for len(s.queue) > 0 && s.breach == nil {
		n := s.queue[0]
		s.queue[0] = nil
		s.queue = s.queue[1:]
		for i := range n.w.procs {
			s.process(n, i)
		}
		for i, r := range n.w.flights {
			if r.at > 0 {
				next := n.w
				next.flights[i] = lroot{}
				next.land(r)
				s.visit(n, fmt.Sprintf("checkpoint %d lands", r.at), next)
			}
		}
		s.trimSteps(n)
		if len(s.seen) > bounds.States {
			s.breach, s.why = n, fmt.Sprintf("more than %d states", bounds.States)
		}
	}
	r := Result{States: len(s.seen), Breach: s.why}
	for n := s.breach; n != nil && n.from != nil; n = n.from {
		r.Trace = append(r.Trace, n.what)
	}
	slices.Reverse(r.Trace)
	return r
}

func (s *lsearch) visit(from *lnode, what string, w lworld) {
	slices.SortFunc(w.flights[:], func(a, b lroot) int { return int(b.at)*1000 + int(b.names) - int(a.at)*1000 - int(a.names) })
	if _, seen := s.seen[w]; seen || s.breach != nil {
		return
	}
	s.seen[w] = struct{}{}
	n := &lnode{w, from, what}
	if r := w.newest(0); !w.readable(r) {
		s.breach, s.why = n, fmt.Sprintf("the newest checkpoint, at %d, names a manifest that was deleted", r.at)
	}
	s.queue = append(s.queue, n)
}

// process takes the steps of one process.
func (s *lsearch) process(n *lnode, i int) {
	do := func(what string, change func(w *lworld, x *lprocess)) {
		next := n.w
		change(&next, &next.procs[i])
		s.visit(n, fmt.Sprintf("process %d %s", i, what), next)
	}
	x := n.w.procs[i]
	if int(n.w.loads) < s.bounds.Loads {
		for skip := range 3 { // checkpoints that it can't read
			var r lroot
			for range skip + 1 {
				r = n.w.newest(r.at)
			}
			if !n.w.readable(r) || skip > 0 && !s.bounds.Unread {
				break
			}
			do(fmt.Sprintf("loads checkpoint %d", r.at), func(w *lworld, x *lprocess) {
				w.loads++
				*x = lprocess{phase: lLoaded, at: r.at, parent: r.at, names: r.names, owner: x.owner, sent: x.sent}
				if skip > 0 && !s.rules.Overlooked {
					x.parent = 0
				}
			})
		}
	}
	if x.phase != lDown && x.at < n.w.head && x.phase != lClaimed {
		do("reads the log", func(w *lworld, x *lprocess) {
			x.at = w.head
			s.settleRead(w, x, i)
		})
	}
	switch {
	case x.phase == lLoaded && x.at == n.w.head:
		do("has read the log", func(w *lworld, x *lprocess) { s.settleRead(w, x, i) })
	case x.phase == lRead && x.at == n.w.head && int(n.w.head) < s.bounds.Positions:
		do("claims", func(w *lworld, x *lprocess) {
			w.head++
			w.claim, w.claimant = w.head, int8(i)
			x.at, x.owner, x.phase = w.head, true, lClaimed
			if s.rules.NoListing {
				x.phase = lOwner
			}
		})
	case x.phase == lClaimed:
		do("lists the checkpoints", func(w *lworld, x *lprocess) {
			if x.phase = lOwner; w.newest(0).at != x.parent {
				x.parent = 0
			}
		})
	case x.phase == lOwner && x.at == n.w.head && int(n.w.claimant) == i && int(n.w.head) < s.bounds.Positions:
		do("appends", func(w *lworld, x *lprocess) { w.head++; x.at = w.head })
	}
	if (x.phase == lOwner || s.rules.AnyoneWrite && x.phase == lRead) && x.at > 0 {
		s.checkpoints(n, i, x, do)
	}
}

// settleRead: a process that has read the log knows whether it is the owner.
func (s *lsearch) settleRead(w *lworld, x *lprocess, i int) {
	switch {
	case x.owner && int(w.claimant) == i:
		x.phase = lOwner
	case x.owner: // fenced
		*x = lprocess{sent: x.sent}
	case x.phase == lLoaded:
		x.phase = lRead
	}
}

// checkpoints: one is sent, or its outcome is known, or given up.
func (s *lsearch) checkpoints(n *lnode, i int, x lprocess, do func(string, func(*lworld, *lprocess))) {
	if r := x.waiting; r.at > 0 {
		stands := slices.Contains(n.w.roots[:], r)
		if stands {
			do(fmt.Sprintf("hears that checkpoint %d stands", r.at), func(_ *lworld, x *lprocess) {
				x.parent, x.names, x.waiting = r.at, r.names, lroot{}
			})
		}
		do(fmt.Sprintf("never hears of checkpoint %d", r.at), func(_ *lworld, x *lprocess) { x.waiting = lroot{} })
		return
	}
	free := slices.IndexFunc(n.w.flights[:s.bounds.Flights], func(r lroot) bool { return r.at == 0 })
	if int(n.w.sent) >= s.bounds.Checkpoints || free < 0 || x.at <= x.sent {
		return
	}
	send := func(names uint8) {
		do(fmt.Sprintf("sends checkpoint %d, built on %d", x.at, x.parent), func(w *lworld, x *lprocess) {
			r := lroot{at: x.at, parent: x.parent, names: names | 1<<w.sent}
			w.made[w.sent] = x.at
			w.sent++
			x.sent = x.at
			w.flights[free], x.waiting = r, r
		})
	}
	if x.parent == 0 {
		send(0)
		return
	}
	send(x.names)
	send(x.names & (x.names - 1)) // without its oldest
}

// trimSteps: a trim goes on.
func (s *lsearch) trimSteps(n *lnode) {
	next := n.w
	t := &next.trim
	list := func() bool {
		t.newer = next.newest(0)
		t.older = next.newest(t.newer.at)
		return next.readable(t.newer) && next.readable(t.older)
	}
	what := ""
	switch {
	case t.phase == 0 && int(next.trims) >= s.bounds.Trims:
		return
	case t.phase == 0 && s.rules.LogFirst:
		t.claim, t.phase, what = next.claim, 2, "a trim reads the log"
		next.trims++
	case t.phase == 0 || t.phase == 2:
		if !list() {
			return
		}
		what = fmt.Sprintf("a trim reads the checkpoints %d and %d", t.older.at, t.newer.at)
		if t.phase == 0 {
			t.phase = 1
			next.trims++
		} else {
			t.phase = 3
			s.judge(&next)
		}
	case t.phase == 1:
		t.claim, t.phase, what = next.claim, 3, "the trim reads the log"
		s.judge(&next)
	default:
		what = fmt.Sprintf("the trim deletes manifests %b and checkpoints below %d", t.toDelete, t.deletesBefore)
		next.gone |= t.toDelete
		kept := [maxRoots]lroot{}
		k := 0
		for _, r := range next.roots {
			if r.at >= t.deletesBefore && r.at > 0 {
				kept[k] = r
				k++
			}
		}
		next.roots, next.trim = kept, ltrim{}
	}
	s.visit(n, what, next)
}

func (s *lsearch) judge(w *lworld) {
	t := &w.trim
	if t.newer.parent != t.older.at && !s.rules.Unlinked || t.older.at <= t.claim && !s.rules.OldClaim {
		*t = ltrim{}
		return
	}
	t.deletesBefore = t.older.at
	for m, at := range w.made {
		if at > 0 && at < t.older.at && (t.older.names|t.newer.names)&(1<<m) == 0 {
			t.toDelete |= 1 << m
		}
	}
	t.older, t.newer, t.claim = lroot{}, lroot{}, 0
}
