// Package model is the protocol of the placement chain, small enough to be searched to
// its end: every order of reads, writes, lost answers, late landings and deaths of
// some processes, over a handful of event times.
//
// The model has its own fold. It keeps a value for each single time, so that it shares
// neither code nor idea with the table's timelines; the package's tests hold the two
// against each other on every chain up to a length.
//
// A write is a message that is on its way from the moment it is sent until the
// store takes or refuses it, at any later time. That one device is a slow answer, a lost
// answer, a write tried again and a write that lands long after its process died.
//
// Old records are deleted, too: the store's keeper puts a marker that a checkpoint covers, and deletes any record below
// it at any later time, so that a write may land where one was (a phantom). A process asks for markers after each
// read and write; one that is behind takes the checkpoint.
//
// What must hold in every state:
//
//  1. Agreement. Of any two versions that any process has seen, both give the same
//     shard, rule and verdict for every time at which a router at either may route.
//     ("May not judge" contradicts nothing.)
//  2. Health. No process meets a record that it must refuse.
//  3. Honesty. A process that says "done" has its record in the chain; one that says
//     "another came first" has not, and never will.
package model

// The model's sizes: times 0 to Times-1, Tenants that the rule of admission is for, besides the
// one that is placed.
const (
	Times   = 4
	Tenants = 2
	// MaxChain bounds the records after the first version.
	MaxChain = 5
)

// Kind of a record.
type Kind int8

const (
	None   Kind = iota
	Extend      // A: the new horizon
	Place       // A: from; B: shard
	Rule        // A: from; B: how many tenants it admits, 0 is none
	Admit       // A: from of the rule; B: tenant
)

// Record is one record of the chain. Owner and Nonce make it unlike any other.
type Record struct {
	Kind  Kind
	A, B  int8
	Owner int8
	Nonce int8
}

// Mutant is a mistake in the protocol that the search must find.
type Mutant string

const (
	NoMutant           Mutant = ""
	RouteAtHorizon     Mutant = "route at or above the horizon"
	ChangeBelow        Mutant = "change from below H"
	HorizonFalls       Mutant = "H falls"
	ResendUnjudged     Mutant = "send a change that lost its race again as it is"
	Overwrite          Mutant = "put without the condition"
	RefuseUnasked      Mutant = "refuse a tenant though the set has room"
	AdmitEverywhere    Mutant = "an admission to an old rule enters newer sets too"
	AdmitBeyond        Mutant = "admit beyond the bound"
	ForgetNonce        Mutant = "take 412 for a lost race without reading"
	TrustNotFound      Mutant = "take 404 for a write that failed"
	RaiseInPlace       Mutant = "a new bound changes the rule in force"
	MoveTenantAtOnce   Mutant = "a placement holds for all times"
	ReaderSkipsRecords Mutant = "a router goes on over a record that it has not read"
	TrustFound         Mutant = "check for markers only after 404"
	TrustWritten       Mutant = "do not check for markers after a write"
	CheckFirst         Mutant = "check for markers before the read or write, and not after"
	DeleteUnmarked     Mutant = "delete without marker"
)

// Mutants are all mistakes.
var Mutants = []Mutant{RouteAtHorizon, ChangeBelow, HorizonFalls, ResendUnjudged, Overwrite, RefuseUnasked, AdmitEverywhere,
	AdmitBeyond, ForgetNonce, TrustNotFound, RaiseInPlace, MoveTenantAtOnce, ReaderSkipsRecords, TrustFound, TrustWritten, CheckFirst, DeleteUnmarked}

// Table is a version: for each time what holds there.
type Table struct {
	Horizon int8
	Place   [Times]int8
	From    [Times]int8 // of the rule that holds at the time
	Bound   [Times]int8
	Set     [Times]uint8 // bits of the tenants in the rule's set
}

// First is version 1: everything on shard 0, one unknown tenant admitted.
func First() Table {
	t := Table{Horizon: 1}
	for i := range t.Bound {
		t.Bound[i] = 1
	}
	return t
}

// Apply folds a record; false if the rules refuse it.
func (t Table) Apply(r Record, m Mutant) (Table, bool) {
	lowest := t.Horizon
	if m == ChangeBelow {
		lowest--
	}
	switch r.Kind {
	case Extend:
		if r.A == t.Horizon || r.A < t.Horizon && m != HorizonFalls {
			return t, false
		}
		t.Horizon = r.A
		return t, true
	case Place:
		first := r.A
		if m == MoveTenantAtOnce {
			first = 0
		}
		for i := first; i < Times; i++ {
			t.Place[i] = r.B
		}
		return t, r.A >= lowest
	case Rule:
		return t.changeRule(r, m), r.A >= lowest
	case Admit:
		return t.admit(r, m)
	}
	return t, false
}

func (t Table) changeRule(r Record, m Mutant) Table {
	if m == RaiseInPlace {
		for i := range t.Bound {
			t.Bound[i] = r.B
		}
		return t
	}
	before := uint8(0)
	if r.A > 0 {
		before = t.Set[r.A-1]
	}
	for i := r.A; i < Times; i++ {
		t.From[i], t.Bound[i], t.Set[i] = r.A, r.B, before
	}
	return t
}

func (t Table) admit(r Record, m Mutant) (Table, bool) {
	at := r.A
	bit := uint8(1) << r.B
	if at >= t.Horizon || t.From[at] != r.A || t.Bound[at] == 0 || t.Set[at]&bit != 0 {
		return t, false
	}
	if size(t.Set[at]) >= t.Bound[at] && m != AdmitBeyond {
		return t, false
	}
	inForce := t.From[t.Horizon-1]
	for i := range t.Set {
		waiting := t.From[i] > r.A && t.From[i] >= t.Horizon && inForce == r.A
		if t.From[i] == r.A || waiting || m == AdmitEverywhere && t.From[i] > r.A {
			t.Set[i] |= bit
		}
	}
	return t, true
}

func size(set uint8) (n int8) {
	for ; set != 0; set &= set - 1 {
		n++
	}
	return n
}

// Verdict of the rule of admission.
type Verdict int8

const (
	Accepted Verdict = iota + 1
	Refused
	Ask
)

// Judge says what becomes of a tenant's record at a time that may be routed.
func (t Table) Judge(tenant, time int8, m Mutant) Verdict {
	switch {
	case t.Bound[time] == 0:
		return Refused
	case t.Set[time]&(1<<tenant) != 0:
		return Accepted
	case size(t.Set[time]) >= t.Bound[time] || m == RefuseUnasked:
		return Refused
	}
	return Ask
}

// routes is the number of times that a router with the table may route.
func (t Table) routes(m Mutant) int8 {
	if m == RouteAtHorizon {
		return min(t.Horizon+1, Times)
	}
	return min(t.Horizon, Times)
}

// disagree says whether two versions break agreement.
func disagree(a, b Table, m Mutant) bool {
	for time := range min(a.routes(m), b.routes(m)) {
		if a.Place[time] != b.Place[time] {
			return true
		}
		for tenant := range int8(Tenants) {
			va, vb := a.Judge(tenant, time, m), b.Judge(tenant, time, m)
			if va != vb && va != Ask && vb != Ask {
				return true
			}
		}
	}
	return false
}
