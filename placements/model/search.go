package model

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
)

// maxProcesses is what a state has room for.
const maxProcesses = 3

// maxWrites bounds the writes on their way at once.
const maxWrites = 4

// Bounds of a search.
type Bounds struct {
	Proposals []int // of each process
	Chain     int   // records after the first version
	// Records that processes propose; Owner and Nonce are set by the search.
	Records []Record
	Markers int // base markers, each with a checkpoint
}

// write is a conditional put on its way.
type write struct {
	record Record
	at     int8 // index in the chain
}

type answer int8

const (
	unknown answer = iota // died, or gave up without saying anything
	done
	lost
)

// process has read view[:seen] of the chain.
type process struct {
	view     [MaxChain]Record
	seen     int8
	proposed int8  // proposals so far: the nonce of the next one
	waits    write // for its record to be settled; Kind None: for nothing
	told     answer
	about    Record // what told is about
	checked  bool   // for markers, before the next read (a mutant)
}

// state is comparable, so that it is its own key.
type state struct {
	chain  [MaxChain]Record
	length int8
	procs  [maxProcesses]process
	writes [maxWrites]write // sorted, so that order makes no new states; none at the end

	base       int8             // records before this index may be deleted
	checkpoint int8             // of so many records
	markers    int8             // so far
	deleted    uint8            // indexes
	phantoms   [MaxChain]Record // records that landed where one was deleted
}

// Result of a search.
type Result struct {
	States int
	// Broken says what did not hold, "" if all did; Trace is the way there.
	Broken string
	Trace  []string
}

// step is one action, and the number of the state that it starts from.
type step struct {
	from   int32
	action action
	proc   int8
	at     int8
	record Record
}

type action int8

const (
	begin action = iota
	reads
	skips
	sends
	sendsAgain
	saysDone
	saysLost
	saysFailed
	givesUp
	arrives
	marks
	deletes
	checks
	reloads
)

func (s step) String() string {
	switch s.action {
	case reads:
		return fmt.Sprintf("process %d reads record %d", s.proc, s.at+1)
	case skips:
		return fmt.Sprintf("process %d skips record %d and reads the next", s.proc, s.at+1)
	case sends:
		return fmt.Sprintf("process %d sends %s as record %d", s.proc, s.record, s.at+1)
	case sendsAgain:
		return fmt.Sprintf("process %d finds another's record, and sends the same %s as record %d", s.proc, s.record, s.at+1)
	case saysDone:
		return fmt.Sprintf("process %d reads record %d and says that it is done", s.proc, s.at+1)
	case saysLost:
		return fmt.Sprintf("process %d reads record %d and says that another came first", s.proc, s.at+1)
	case saysFailed:
		return fmt.Sprintf("process %d finds no record %d and says that it failed", s.proc, s.at+1)
	case givesUp:
		return fmt.Sprintf("process %d gives up", s.proc)
	case marks:
		return fmt.Sprintf("a marker of %d records is put", s.at)
	case deletes:
		return fmt.Sprintf("record %d is deleted", s.at+1)
	case checks:
		return fmt.Sprintf("process %d checks for markers from record %d on", s.proc, s.at+1)
	case reloads:
		return fmt.Sprintf("process %d finds a marker at or above record %d, and takes the checkpoint", s.proc, s.at+1)
	case arrives:
		return fmt.Sprintf("%q of process %d arrives for record %d", s.record, s.record.Owner, s.at+1)
	}
	return "begin"
}

type search struct {
	bounds Bounds
	mutant Mutant
	front  []state // states that wait to be expanded; the first is number len(steps)-len(front)
	steps  []step  // that led to each state
	// seen holds fingerprints of 64 bits instead of states, to save memory: with ten
	// million states, the chance that one is missed is one in 300,000, and not the
	// same one in the next run.
	seen map[uint64]struct{}
	seed maphash.Seed
}

// Search visits every state within the bounds, breadth first, until one breaks a
// promise. The trace is as short as any.
func Search(bounds Bounds, mutant Mutant) Result {
	if len(bounds.Proposals) > maxProcesses || bounds.Chain > MaxChain {
		panic("model: bounds larger than a state")
	}
	s := &search{bounds: bounds, mutant: mutant, seen: map[uint64]struct{}{}, seed: maphash.MakeSeed()}
	s.visit(step{from: -1}, &state{})
	for i := int32(0); len(s.front) > 0; i++ {
		next := s.front[0]
		s.front = s.front[1:]
		if broken := s.check(&next); broken != "" {
			return Result{States: len(s.steps), Broken: broken, Trace: s.trace(i)}
		}
		s.expand(i, &next)
	}
	return Result{States: len(s.steps)}
}

func (s *search) visit(by step, next *state) {
	print := maphash.Comparable(s.seed, *next)
	if _, seen := s.seen[print]; seen {
		return
	}
	s.seen[print] = struct{}{}
	s.front = append(s.front, *next)
	s.steps = append(s.steps, by)
}

func (s *search) trace(i int32) []string {
	var out []string
	for ; i >= 0; i = s.steps[i].from {
		out = append(out, s.steps[i].String())
	}
	slices.Reverse(out)
	return out
}

// expand visits all states that one step leads to.
func (s *search) expand(i int32, now *state) {
	for p := range s.bounds.Proposals {
		s.read(i, now, p)
		s.settle(i, now, p)
		s.propose(i, now, p)
		s.giveUp(i, now, p)
		s.checkFirst(i, now, p)
	}
	for w := range maxWrites {
		if now.writes[w].record.Kind != None {
			s.land(i, now, w)
		}
	}
	if s.bounds.Markers > 0 {
		s.trim(i, now)
	}
}

// read: a process reads the record after those it has read.
func (s *search) read(i int32, now *state, p int) {
	next := *now
	proc := &next.procs[p]
	if proc.seen >= next.length || proc.waits.record.Kind != None {
		return
	}
	at := proc.seen
	found := next.stored(at)
	if s.behind(i, &next, p, at, found.Kind != None && s.mutant == TrustFound) || found.Kind == None {
		return
	}
	proc.view[at] = found
	proc.seen++
	s.visit(step{from: i, action: reads, proc: int8(p), at: at}, &next)
	if s.mutant == ReaderSkipsRecords && proc.seen < next.length {
		proc.view[at] = Record{} // as if it were not there
		proc.view[at+1] = next.chain[at+1]
		proc.seen++
		s.visit(step{from: i, action: skips, proc: int8(p), at: at}, &next)
	}
}

// propose: a process that waits for nothing makes a record from what it has read,
// and sends it. Only what its own table allows is sent.
func (s *search) propose(i int32, now *state, p int) {
	proc := &now.procs[p]
	if proc.waits.record.Kind != None || int(proc.proposed) >= s.bounds.Proposals[p] || int(proc.seen) >= s.bounds.Chain {
		return
	}
	table, _ := fold(proc.view[:proc.seen], s.mutant)
	for _, r := range s.bounds.Records {
		if _, ok := table.Apply(r, s.mutant); !ok {
			continue
		}
		next := *now
		proc := &next.procs[p]
		r.Owner, r.Nonce = int8(p), proc.proposed
		proc.proposed++
		proc.waits = write{r, proc.seen}
		proc.told, proc.about = unknown, Record{}
		if next.send(proc.waits) {
			s.visit(step{from: i, action: sends, proc: int8(p), at: proc.seen, record: r}, &next)
		}
	}
}

// settle: a process whose write was answered with "exists", or not at all, looks at the
// record there.
func (s *search) settle(i int32, now *state, p int) {
	next := *now
	proc := &next.procs[p]
	waits := proc.waits
	by := step{from: i, proc: int8(p), at: waits.at, record: waits.record}
	if waits.record.Kind == None {
		return
	}
	if s.behind(i, &next, p, waits.at, s.mutant == TrustWritten) {
		return
	}
	if waits.at < next.length && next.stored(waits.at).Kind == None {
		if next.send(waits) { // nothing is there any more: it is put again
			by.action = sends
			s.visit(by, &next)
		}
		return
	}
	if waits.at >= next.length {
		if s.mutant == TrustNotFound {
			proc.waits, proc.told, proc.about = write{}, lost, waits.record
			by.action = saysFailed
			s.visit(by, &next)
		}
		return
	}
	found := next.stored(waits.at)
	proc.view[waits.at] = found
	proc.seen = waits.at + 1
	proc.waits, proc.told, proc.about = write{}, lost, waits.record
	by.action = saysLost
	if found == waits.record && s.mutant != ForgetNonce {
		proc.told, by.action = done, saysDone
	}
	s.visit(by, &next)
	if s.mutant == ResendUnjudged && found != waits.record && int(proc.seen) < s.bounds.Chain {
		proc.waits, proc.told, proc.about = write{waits.record, proc.seen}, unknown, Record{}
		if next.send(proc.waits) {
			by.action, by.at = sendsAgain, proc.seen
			s.visit(by, &next)
		}
	}
}

// giveUp: a process stops waiting (its context ended, or it died and came back); its
// write stays on its way.
func (s *search) giveUp(i int32, now *state, p int) {
	next := *now
	proc := &next.procs[p]
	if proc.waits.record.Kind == None {
		return
	}
	proc.waits = write{}
	s.visit(step{from: i, action: givesUp, proc: int8(p)}, &next)
}

// land: the store takes a write, or refuses it because a record is there.
func (s *search) land(i int32, now *state, w int) {
	next := *now
	landing := next.writes[w]
	next.writes[w] = write{}
	next.sortWrites()
	switch {
	case landing.at == next.length:
		next.chain[next.length] = landing.record
		next.length++
	case landing.at < next.length && s.mutant == Overwrite:
		next.chain[landing.at] = landing.record
	case next.stored(landing.at).Kind == None:
		next.phantoms[landing.at] = landing.record
	}
	s.visit(step{from: i, action: arrives, at: landing.at, record: landing.record}, &next)
}

// send puts a write on its way; false if there is no room.
func (st *state) send(w write) bool {
	for i := range st.writes {
		if st.writes[i].record.Kind == None {
			st.writes[i] = w
			st.sortWrites()
			return true
		}
	}
	return false
}

func (st *state) sortWrites() {
	slices.SortFunc(st.writes[:], func(a, b write) int { return b.key() - a.key() })
}

func (w write) key() int {
	r := w.record
	return ((((int(r.Kind)*16+int(r.A))*16+int(r.B))*8+int(r.Owner))*16+int(r.Nonce))*16 + int(w.at)
}

func (r Record) String() string {
	switch r.Kind {
	case Extend:
		return fmt.Sprintf("extend to %d", r.A)
	case Place:
		return fmt.Sprintf("place on %d from %d", r.B, r.A)
	case Rule:
		return fmt.Sprintf("admit up to %d from %d", r.B, r.A)
	case Admit:
		return fmt.Sprintf("admit tenant %d to the rule of %d", r.B, r.A)
	}
	return "nothing"
}

// fold returns the table of the records, and the number of the first that it refuses, or 0.
func fold(records []Record, m Mutant) (Table, int) {
	t, refused := First(), 0
	for i, r := range records {
		if r.Kind == None {
			continue
		}
		next, ok := t.Apply(r, m)
		if !ok {
			// What a reader must not do: go on. The search wants to know where it leads.
			if refused == 0 {
				refused = i + 1
			}
			continue
		}
		t = next
	}
	return t, refused
}

// check says which promise a state breaks.
func (s *search) check(st *state) string {
	var seen []Table
	for p := range s.bounds.Proposals {
		proc := &st.procs[p]
		for n := range int(proc.seen) + 1 {
			table, refused := fold(proc.view[:n], s.mutant)
			if refused > 0 {
				return fmt.Sprintf("health: process %d must refuse record %d", p, refused)
			}
			if !slices.Contains(seen, table) {
				seen = append(seen, table)
			}
		}
		if broken := st.checkTold(proc); broken != "" {
			return fmt.Sprintf("honesty: process %d %s", p, broken)
		}
	}
	for i, a := range seen {
		for _, b := range seen[:i] {
			if disagree(a, b, s.mutant) {
				return fmt.Sprintf("agreement: %+v and %+v", b, a)
			}
		}
	}
	return ""
}

func (st *state) checkTold(proc *process) string {
	there := slices.Contains(st.chain[:st.length], proc.about)
	if proc.told == done && !there {
		return "said done, and its record is not in the chain"
	}
	if proc.told == lost && there {
		return "said that another came first, and its record is in the chain"
	}
	return ""
}

// String is the trace for people.
func (r Result) String() string {
	if r.Broken == "" {
		return fmt.Sprintf("%d states, all promises hold", r.States)
	}
	return fmt.Sprintf("%s, after %d states:\n  %s", r.Broken, r.States, strings.Join(r.Trace, "\n  "))
}
