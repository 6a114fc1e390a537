package model

import (
	"fmt"
	"slices"
)

// store takes the steps that need no process: late writes land; checkpoints, markers and deletes.
func (s *tsearcher) store(w *tworld) {
	do := func(what string, change func(next *tworld, by step) bool) {
		next, by := w.clone(), step{-1, what}
		if change(next, by) {
			s.visit(next, by)
		}
	}
	for i, f := range w.late {
		do(fmt.Sprintf("late %s lands at %d", f.record, f.at), func(next *tworld, by step) bool {
			next.late = slices.Delete(next.late, i, i+1)
			_, ok := s.land(next, f, by)
			return ok
		})
	}
	if int(w.markers) < s.bounds.Markers && int(w.checkpoint) < len(w.history) {
		do(fmt.Sprintf("checkpoint at %d", len(w.history)), func(next *tworld, _ step) bool {
			next.checkpoint = int8(len(next.history))
			return true
		})
	}
	if w.base < w.checkpoint && int(w.markers) < s.bounds.Markers && !s.rules.NoMarker && (!s.rules.LateMarker || w.deleted != 0) {
		do(fmt.Sprintf("marker %d", w.checkpoint), func(next *tworld, _ step) bool {
			next.base = next.checkpoint
			next.markers++
			return true
		})
	}
	last := w.base
	if s.rules.NoMarker || s.rules.LateMarker {
		last = w.checkpoint
	}
	for p := 1; p <= int(last); p++ {
		if _, there := w.at(p); there {
			do(fmt.Sprintf("deletes record %d", p), func(next *tworld, _ step) bool {
				next.deleted |= 1 << p
				next.phantoms[p] = trecord{}
				return true
			})
		}
	}
}

// land puts a record at its position if nothing is there, and says whether it stands there now.
func (s *tsearcher) land(w *tworld, f flying, by step) (stands, ok bool) {
	if found, there := w.at(int(f.at)); there {
		return found == f.record, true
	}
	if int(f.at) <= len(w.history) {
		w.phantoms[f.at] = f.record
		return true, true
	}
	if int(f.at) > len(w.history)+1 {
		return false, s.fail(by, fmt.Sprintf("%s lands at %d, the history ends at %d", f.record, f.at, len(w.history)))
	}
	w.history = append(w.history, f.record)
	return true, s.check(w, by)
}

// check: the history folds, and nothing that is live in it is deleted.
func (s *tsearcher) check(w *tworld, by step) bool {
	f := s.fold(w.history)
	if f.err != nil {
		return s.fail(by, "the history does not fold: "+f.err.Error())
	}
	for _, o := range w.objects {
		if o.deleted && f.live[o.key()] {
			return s.fail(by, o.key()+" is live, and deleted")
		}
	}
	return true
}

type tdoer func(what string, change func(next *tworld, x *tprocess, by step) bool)

// process takes the steps of one process.
func (s *tsearcher) process(w *tworld, i int) {
	x := w.procs[i]
	do := func(what string, change func(next *tworld, x *tprocess, by step) bool) {
		next, by := w.clone(), step{int8(i), what}
		if change(next, &next.procs[i], by) {
			s.visit(next, by)
		}
	}
	if x.phase != gone && int(w.crashes) < s.bounds.Crashes {
		do("crashes", func(next *tworld, x *tprocess, _ step) bool {
			next.crashes++
			*x = tprocess{nonces: x.nonces}
			return true
		})
	}
	switch x.phase {
	case gone:
		do("starts", s.start)
	case ready:
		s.readySteps(w, i, x, do)
	case trying:
		s.tryingSteps(w, x, do)
	case told, beaten:
		do("confirms", s.confirmWrite)
	}
}

// start: a process takes the newest checkpoint; records behind it are there.
func (s *tsearcher) start(w *tworld, x *tprocess, by step) bool {
	if w.base > w.checkpoint {
		return s.fail(by, "no checkpoint holds what was deleted")
	}
	for p := int(w.checkpoint) + 1; p <= len(w.history); p++ {
		if w.deleted&(1<<p) != 0 {
			return s.fail(by, fmt.Sprintf("record %d is gone, and no checkpoint holds it", p))
		}
	}
	*x = tprocess{phase: ready, nonces: x.nonces, epoch: x.epoch, claim: x.claim, view: slices.Clone(w.history[:w.checkpoint])}
	s.keepWork(x)
	return true
}

// keepWork drops a job that is over, and a claim that another has fenced.
func (s *tsearcher) keepWork(x *tprocess) {
	state := s.fold(x.view).state
	if _, open := jobAt(state, x.job); x.job > 0 && !open {
		x.job, x.jobID, x.upload = 0, 0, object{}
	}
	if x.epoch > 0 && int8(state.Epoch()) > x.epoch {
		if x.epoch, x.claim = 0, 0; x.job == 0 {
			x.upload = object{}
		}
	}
}

// believe: what the process has read is the history.
func (s *tsearcher) believe(w *tworld, x *tprocess, by step) bool {
	x.unsure = 0
	if len(x.view) > len(w.history) || !slices.Equal(x.view, w.history[:len(x.view)]) {
		return s.fail(by, "a process believes what is not the history")
	}
	if f := s.fold(x.view); f.err != nil {
		return s.fail(by, "what was read does not fold: "+f.err.Error())
	}
	s.keepWork(x)
	return true
}

func (s *tsearcher) readySteps(w *tworld, i int, x tprocess, do tdoer) {
	next := len(x.view) + 1
	if found, there := w.at(next); there && x.unsure < 2 && next <= s.bounds.Positions {
		do(fmt.Sprintf("reads %d: %s", next, found), func(_ *tworld, x *tprocess, by step) bool {
			x.view = append(slices.Clone(x.view), found)
			x.unsure++
			if s.rules.OnlyAfter404 && s.fold(x.view).err == nil {
				x.unsure = 0 // it was there
				s.keepWork(x)
			}
			return true
		})
	}
	if x.unsure > 0 {
		do("confirms", func(w *tworld, x *tprocess, by step) bool {
			if int(w.base) > len(x.view)-int(x.unsure) {
				return s.start(w, x, by)
			}
			return s.believe(w, x, by)
		})
	}
	f := s.fold(x.view)
	if x.unsure == 0 || s.rules.JudgeUnasked && f.err == nil {
		do("collects", s.collect)
	}
	if x.unsure > 0 || next > s.bounds.Positions || int(x.nonces) >= s.bounds.Records {
		return
	}
	s.prepareSteps(w, i, x, f, do)
}

// prepareSteps: what a process can write by its confirmed state.
func (s *tsearcher) prepareSteps(w *tworld, i int, x tprocess, f *tfold, do tdoer) {
	upload := func(o object) {
		if len(w.objects) >= s.bounds.Uploads {
			return
		}
		do("uploads", func(w *tworld, x *tprocess, by step) bool {
			o.writer = by.who
			x.upload = o
			w.objects = append(w.objects, o)
			return true
		})
	}
	prepare := func(r trecord) {
		do(fmt.Sprintf("prepares %c at %d", r.kind, len(x.view)+1), func(_ *tworld, x *tprocess, by step) bool {
			x.nonces++
			r.writer, r.nonce = by.who, x.nonces
			x.pending, x.phase = r, trying
			return f.state.Check(r.real(f.state)) == nil
		})
	}
	if i < s.bounds.Writers {
		cur, _ := f.state.SourceOf(source)
		switch {
		case x.epoch == 0:
			prepare(trecord{kind: 'c', epoch: int8(f.state.Epoch()) + 1})
		case x.upload.number == 0:
			upload(object{nonce: x.claim, place: x.epoch, number: x.nonces + 1})
		default:
			prepare(trecord{kind: 'a', epoch: x.epoch, from: int8(cur.Next), out: x.upload})
		}
		return
	}
	switch _, open := jobAt(f.state, x.job); {
	case x.job == 0 && len(f.live) > 0:
		prepare(trecord{kind: 'm'})
	case x.job == 0 || !open:
	case x.upload.number == 0:
		upload(object{job: true, nonce: x.jobID, place: x.job, number: 1})
	default:
		prepare(trecord{kind: 'e', job: x.job, out: x.upload})
	}
	for _, j := range f.state.Jobs() {
		if int8(j.Position) != x.job {
			prepare(trecord{kind: 'x', job: int8(j.Position)})
		}
	}
}

func (s *tsearcher) tryingSteps(w *tworld, x tprocess, do tdoer) {
	at := len(x.view) + 1
	if found, there := w.at(at); there {
		do("finds "+found.String(), func(_ *tworld, x *tprocess, _ step) bool {
			if x.phase, x.found = beaten, found; found == x.pending {
				x.phase = told
			}
			return true
		})
		return
	}
	do("writes", func(next *tworld, x *tprocess, by step) bool {
		x.phase = told
		_, ok := s.land(next, flying{int8(at), x.pending}, by)
		return ok
	})
	do("writes, and the answer is lost", func(next *tworld, x *tprocess, by step) bool {
		_, ok := s.land(next, flying{int8(at), x.pending}, by)
		return ok
	})
	if len(w.late) < s.bounds.Late {
		do("writes, to land late", func(next *tworld, x *tprocess, _ step) bool {
			next.late = append(next.late, flying{int8(at), x.pending})
			return true
		})
	}
}

// confirmWrite: the process asks for markers, and believes or starts anew.
func (s *tsearcher) confirmWrite(w *tworld, x *tprocess, by step) bool {
	at := len(x.view) + 1
	if int(w.base) >= at && !s.rules.TrustWrites {
		return s.start(w, x, by)
	}
	r := x.pending
	if x.phase == beaten {
		r = x.found
	}
	won := x.phase == told
	x.view = append(slices.Clone(x.view), r)
	x.phase, x.pending, x.found = ready, trecord{}, trecord{}
	if won {
		if at > len(w.history) || w.history[at-1] != r {
			return s.fail(by, fmt.Sprintf("a process was told that %s is in the log at %d, and it is not", r, at))
		}
		switch r.kind {
		case 'c':
			x.epoch, x.claim = r.epoch, r.nonce
		case 'm':
			x.job, x.jobID = int8(at), r.nonce
		case 'e':
			x.job, x.jobID, x.upload = 0, 0, object{}
		case 'a':
			x.upload = object{}
		}
	}
	return s.believe(w, x, by)
}

// collect deletes what is garbage by the process's state.
func (s *tsearcher) collect(w *tworld, x *tprocess, by step) bool {
	f := s.fold(x.view)
	any := false
	for i, o := range w.objects {
		if !o.deleted && s.garbage(f, o) {
			w.objects[i].deleted, any = true, true
		}
	}
	return any && s.check(w, by)
}
