package router

import "time"

// serve answers the group's callbacks and takes acknowledgements until the channel is
// closed; nothing else goes on.
func (s *session) serve(until <-chan struct{}) {
	var acks []Acked
	for {
		select {
		case <-until:
			return
		case c := <-s.calls:
			_ = s.answer(c) // the session ends anyway
		case <-s.acks.wake:
			acks, _ = s.takeAcks(acks)
		case c := <-s.commits:
			_ = s.step(c)
		case p := <-s.polled:
			close(p.taken) // read again by the next session
		case <-s.tables:
			s.asking = false
		case <-s.idle:
		}
	}
}

// drain sends what is open, waits for acknowledgements, and commits.
func (s *session) drain() {
	deadline := time.NewTimer(s.r.cfg.StopTimeout)
	defer deadline.Stop()
	var acks []Acked
	var err error
	e := s.core.Step(s.r.deps.Now(), Flush{})
	e.Commit = nil // once, at the end
	err = s.do(e)
	for err == nil && !s.core.Idle() {
		select {
		case <-deadline.C:
			s.r.deps.Log.Warn("router: stopped before all was acknowledged; the rest is sent again at the next start")
			return
		case c := <-s.calls:
			err = s.answer(c)
		case <-s.acks.wake:
			acks, err = s.takeAcks(acks)
		case c := <-s.commits:
			err = s.step(c)
		case <-s.tables:
			s.asking = false
		}
	}
	if positions := s.core.Uncommitted(); len(positions) > 0 {
		s.commit(positions)
	}
}
