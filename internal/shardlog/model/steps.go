package model

import (
	"fmt"
	"slices"
)

// store takes the steps that need no writer: a late write lands.
func (s *searcher) store(w *world) {
	for i, r := range w.late {
		next := w.clone()
		next.late = slices.Delete(next.late, i, i+1)
		by := step{-1, fmt.Sprintf("late %s lands", r)}
		if s.land(next, r, by) {
			s.visit(next, by)
		}
	}
}

func (r record) String() string {
	switch r.kind {
	case 'c':
		return fmt.Sprintf("claim %d of epoch %d by writer %d", r.at, r.epoch, r.writer)
	case 'r':
		return fmt.Sprintf("release %d of epoch %d by writer %d", r.at, r.epoch, r.writer)
	}
	return fmt.Sprintf("append %d of epoch %d by writer %d, [%d, %d)", r.at, r.epoch, r.writer, r.from, r.next)
}

// same says whether two records are copies of one.
func (r record) same(o record) bool {
	return r.writer == o.writer && r.nonce == o.nonce && r.kind == o.kind
}

// writer takes the steps of one writer.
func (s *searcher) writer(w *world, i int) {
	x := w.writers[i]
	do := func(what string, change func(next *world, x *writer, by step) bool) {
		next, by := w.clone(), step{int8(i), what}
		if change(next, &next.writers[i], by) {
			s.visit(next, by)
		}
	}
	if x.phase != down && int(w.crashes) < s.bounds.Crashes {
		do("crashes", func(next *world, x *writer, _ step) bool {
			next.crashes++
			*x = writer{nonces: x.nonces}
			return true
		})
	}
	switch x.phase {
	case down:
		do("starts", func(next *world, x *writer, _ step) bool {
			*x = writer{phase: idle, pos: int8(len(next.log)), nonces: x.nonces}
			return true
		})
	case idle:
		s.idleSteps(w, x, do)
	case trial:
		s.trialSteps(w, x, do)
	case look:
		do("reads what is there", s.looked)
		do("cannot read what is there", func(_ *world, x *writer, _ step) bool {
			x.phase = trial
			return true
		})
	}
}

type doer func(what string, change func(next *world, x *writer, by step) bool)

// idleSteps: read on, prepare a record, collect.
func (s *searcher) idleSteps(w *world, x writer, do doer) {
	if int(x.pos) < len(w.log) {
		do("reads on", func(next *world, x *writer, _ step) bool {
			for _, r := range next.log[x.pos:] {
				s.follow(x, r)
			}
			return true
		})
	}
	if x.epoch != 0 || s.rules.CollectEarly {
		do("collects", s.collect)
	}
	if int(x.pos) == s.bounds.Positions {
		return
	}
	state := s.fold(w.log[:x.pos]).state
	epoch := x.epoch
	if s.rules.IgnoreEpoch {
		epoch = int8(state.Epoch())
	}
	if x.epoch == 0 {
		do("prepares a claim", s.prepare(record{kind: 'c', epoch: int8(state.Epoch()) + 1}))
		return
	}
	cur, _ := state.SourceOf(source)
	for n := int8(1); n <= 2 && int(cur.Next)+int(n) <= s.bounds.Offsets; n++ {
		r := record{kind: 'a', epoch: epoch, from: int8(cur.Next), next: int8(cur.Next) + n}
		do(fmt.Sprintf("prepares an append of [%d, %d)", r.from, r.next), s.prepare(r))
	}
	do("prepares a release", s.prepare(record{kind: 'r', epoch: epoch}))
}

// prepare makes the record that the writer will put, if the fold would take it.
func (s *searcher) prepare(r record) func(*world, *writer, step) bool {
	return func(next *world, x *writer, by step) bool {
		x.nonces++
		r.writer, r.nonce, r.at = by.who, x.nonces, x.pos+1
		state := s.fold(next.log[:x.pos]).state
		if err := state.Check(r.real(state)); err != nil {
			if s.rules == (Rules{}) {
				s.fail(by, "a writer prepares what the fold refuses: "+err.Error())
			}
			return false
		}
		x.pending, x.phase, x.failed = r, trial, false
		return true
	}
}

// trialSteps: what a try of the prepared record can come to.
func (s *searcher) trialSteps(w *world, x writer, do doer) {
	free := len(w.log) == int(x.pending.at)-1
	if free || s.rules.IgnoreCondition {
		do("writes", func(next *world, x *writer, by step) bool {
			return s.land(next, x.pending, by) && s.won(next, x)
		})
		do("writes, and the answer is lost", func(next *world, x *writer, by step) bool {
			x.failed = true
			return s.land(next, x.pending, by)
		})
	}
	if free && len(w.late) < s.bounds.Late && !slices.ContainsFunc(w.late, x.pending.same) {
		do("fails to write, and the write may land later", func(next *world, x *writer, _ step) bool {
			x.failed = true
			next.late = append(next.late, x.pending)
			return true
		})
	}
	if !free {
		do("finds the position taken", func(next *world, x *writer, by step) bool {
			x.phase = look
			if s.rules.TrustExists {
				return s.told(next, x, by)
			}
			return true
		})
	}
	if s.rules.GiveUpOn404 && x.failed && free {
		do("finds nothing there, and gives the record up", func(next *world, x *writer, by step) bool {
			s.remove(next, x.pending)
			x.pending, x.phase = record{}, idle
			return s.named(next, by)
		})
	}
}

// land puts a record into the log if its position is free, and checks what must
// hold. It says whether the search goes on.
func (s *searcher) land(w *world, r record, by step) bool {
	at := int(r.at)
	switch {
	case at == len(w.log)+1:
		w.log = append(w.log, r)
	case !s.rules.IgnoreCondition || at > len(w.log):
		return true // 412: it is there already, or the position is taken
	case w.acked&(1<<at) != 0 && !w.log[at-1].same(r):
		s.fail(by, fmt.Sprintf("%s is gone, but its writer was told that it is in the log", w.log[at-1]))
		return false
	default:
		w.log[at-1] = r
	}
	if err := s.fold(w.log).err; err != nil {
		s.fail(by, "the log does not fold: "+err.Error())
		return false
	}
	return s.owners(w, by) && s.offsets(w, by) && s.named(w, by)
}

// owners: appends of one epoch are of the writer that claimed it.
func (s *searcher) owners(w *world, by step) bool {
	claimed := map[int8]int8{}
	for _, r := range w.log {
		if r.kind == 'c' {
			claimed[r.epoch] = r.writer
		} else if claimed[r.epoch] != r.writer {
			s.fail(by, fmt.Sprintf("%s, but the epoch is writer %d's", r, claimed[r.epoch]))
			return false
		}
	}
	return true
}

// offsets: all appends together are [0, n), each offset once.
func (s *searcher) offsets(w *world, by step) bool {
	next := int8(0)
	for _, r := range w.log {
		if r.kind != 'a' {
			continue
		}
		if r.from != next {
			s.fail(by, fmt.Sprintf("%s, but offset %d is next", r, next))
			return false
		}
		next = r.next
	}
	return true
}

// named: nothing that a record of the log names is deleted.
func (s *searcher) named(w *world, by step) bool {
	for _, r := range w.log {
		if r.deleted {
			s.fail(by, fmt.Sprintf("the upload of %s is deleted", r))
			return false
		}
	}
	return true
}

// looked: the record at the position settles it.
func (s *searcher) looked(w *world, x *writer, by step) bool {
	found := w.log[x.pending.at-1]
	if found.same(x.pending) && !s.rules.NeverOurs {
		return s.won(w, x)
	}
	s.remove(w, x.pending) // it will never land
	x.pending, x.phase = record{}, idle
	s.follow(x, found)
	return s.named(w, by)
}

// told is the success of a writer that does not look who won.
func (s *searcher) told(w *world, x *writer, by step) bool {
	if !w.log[x.pending.at-1].same(x.pending) {
		s.fail(by, fmt.Sprintf("a writer was told that %s is in the log, but there is %s", x.pending, w.log[x.pending.at-1]))
		return false
	}
	return s.won(w, x)
}

// won: the writer knows that its record is in the log.
func (s *searcher) won(w *world, x *writer) bool {
	r := x.pending
	w.acked |= 1 << r.at
	x.pos, x.phase, x.pending, x.failed = r.at, idle, record{}, false
	switch r.kind {
	case 'c':
		x.epoch = r.epoch
	case 'r':
		x.epoch = 0
	}
	return true
}

// follow folds another's record, and drops the shard if it was claimed.
func (s *searcher) follow(x *writer, r record) {
	x.pos = r.at
	if r.kind == 'c' && r.epoch > x.epoch && !s.rules.IgnoreEpoch {
		x.epoch = 0
	}
}

// remove deletes the upload of a record, wherever the record stands.
func (s *searcher) remove(w *world, r record) {
	mark := func(o *record) {
		if o.kind == 'a' && o.same(r) {
			o.deleted = true
		}
	}
	for i := range w.log {
		mark(&w.log[i])
	}
	for i := range w.late {
		mark(&w.late[i])
	}
	for i := range w.writers {
		mark(&w.writers[i].pending)
	}
}

// collect deletes the uploads of earlier epochs that are not live in the state
// that holds the collector's own claim: their writers began before it, and
// whatever they still try comes too late.
func (s *searcher) collect(w *world, x *writer, by step) bool {
	garbage := func(r record) bool {
		live := slices.ContainsFunc(w.log[:x.pos], r.same)
		return r.kind == 'a' && r.writer != by.who && !live && (r.epoch < x.epoch || s.rules.CollectEarly)
	}
	for _, r := range slices.Concat(w.log, w.late) {
		if garbage(r) {
			s.remove(w, r)
		}
	}
	for _, o := range w.writers {
		if garbage(o.pending) {
			s.remove(w, o.pending)
		}
	}
	return s.named(w, by)
}
