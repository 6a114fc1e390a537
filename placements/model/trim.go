package model

// stored is the record that the store has at an index of the chain; of Kind None if it was deleted.
func (st *state) stored(at int8) Record {
	if st.deleted&(1<<at) != 0 {
		return st.phantoms[at]
	}
	return st.chain[at]
}

// trim takes the steps of the store's keeper: a checkpoint with its marker; a record below a marker goes.
func (s *search) trim(i int32, now *state) {
	for base := now.length - 1; base <= now.length && int(now.markers) < s.bounds.Markers; base++ {
		if base <= now.base {
			continue
		}
		next := *now
		next.base, next.checkpoint = base, now.length
		next.markers++
		s.visit(step{from: i, action: marks, at: base}, &next)
	}
	for at := range now.base {
		if now.stored(at).Kind == None {
			continue
		}
		next := *now
		next.deleted |= 1 << at
		next.phantoms[at] = Record{}
		s.visit(step{from: i, action: deletes, at: at}, &next)
	}
}

// behind says whether a process that read or wrote at an index must take the checkpoint, and has it do so. A trusting
// one does not ask.
func (s *search) behind(i int32, now *state, p int, at int8, trusting bool) bool {
	if now.base <= at || trusting || s.mutant == DeleteUnmarked {
		return false
	}
	proc := &now.procs[p]
	if s.mutant == CheckFirst && proc.checked {
		proc.checked = false
		return false
	}
	next := *now
	proc = &next.procs[p]
	proc.view = [MaxChain]Record{}
	copy(proc.view[:], next.chain[:next.checkpoint])
	proc.seen, proc.waits, proc.told, proc.about, proc.checked = next.checkpoint, write{}, unknown, Record{}, false
	s.visit(step{from: i, action: reloads, proc: int8(p), at: at}, &next)
	return true
}

// checkFirst is the mutant that asks before it reads or writes.
func (s *search) checkFirst(i int32, now *state, p int) {
	next := *now
	proc := &next.procs[p]
	if s.mutant != CheckFirst || proc.checked || now.base > proc.seen {
		return
	}
	proc.checked = true
	s.visit(step{from: i, action: checks, proc: int8(p), at: proc.seen}, &next)
}
