package model

import (
	"fmt"
	"math"

	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
)

// tfold is the real state of a list of records, or why the real fold refuses it.
type tfold struct {
	state *shardlog.State
	live  map[string]bool
	err   error
}

func (s *tsearcher) fold(list []trecord) *tfold {
	var key []byte
	for _, r := range list {
		r.out.deleted = false
		key = r.append(key)
	}
	if f := s.folds[string(key)]; f != nil {
		return f
	}
	f := &tfold{state: shardlog.NewState(0), live: map[string]bool{}}
	if n := len(list); n > 0 {
		before := s.fold(list[:n-1])
		f.state, f.err = before.state.Clone(), before.err
		if f.err == nil {
			f.err = tapply(f.state, list[n-1])
		}
	}
	f.state.Fragments("", math.MinInt64/2, math.MaxInt64/2, func(fragment shardlog.Fragment) bool {
		f.live[fragment.Key] = true
		return true
	})
	s.folds[string(key)] = f
	return f
}

func tnonce(writer, nonce int8) string { return fmt.Sprintf("w%d-%d", writer, nonce) }

func tapply(s *shardlog.State, r trecord) error {
	real := r.real(s)
	head := s.Head()
	real.Format, real.Position, real.Nonce = shardlog.Format, head.Position+1, tnonce(r.writer, r.nonce)
	if head.Position > 0 {
		real.Prev = &head.Link
	}
	body, err := shardlog.Encode(real)
	if err != nil {
		return err
	}
	decoded, err := shardlog.Decode(body)
	if err != nil {
		return err
	}
	return s.Apply(decoded, body)
}

// jobAt is the open job that began at a position.
func jobAt(s *shardlog.State, at int8) (shardlog.Job, bool) {
	for _, j := range s.Jobs() {
		if int8(j.Position) == at {
			return j, true
		}
	}
	return shardlog.Job{Nonce: "none"}, false
}

func (r trecord) fragment(rows int64, seqMin, seqMax uint64) shardlog.Fragment {
	key := r.out.key()
	return shardlog.Fragment{
		Key: key, Tenant: "t", Table: shardlog.TableEvents, Rows: rows, Bytes: rows,
		Sum: objstore.Sum([]byte(key)), SeqMin: seqMin, SeqMax: seqMax,
	}
}

// real is the record as a process whose state is s makes it.
func (r trecord) real(s *shardlog.State) *shardlog.Record {
	switch r.kind {
	case 'c':
		claim := shardlog.Claim{Owner: fmt.Sprintf("w%d", r.writer), Incarnation: "i", Epoch: shardlog.Epoch(r.epoch)}
		return &shardlog.Record{Kind: shardlog.KindClaim, Claim: &claim}
	case 'm':
		begin := shardlog.MergeBegin{Worker: fmt.Sprintf("w%d", r.writer)}
		s.Fragments("", math.MinInt64/2, math.MaxInt64/2, func(f shardlog.Fragment) bool {
			begin.Inputs = append(begin.Inputs, f.Key)
			return true
		})
		return &shardlog.Record{Kind: shardlog.KindMergeBegin, MergeBegin: &begin}
	case 'x':
		job, _ := jobAt(s, r.job)
		return &shardlog.Record{Kind: shardlog.KindMergeAbort, MergeAbort: &shardlog.MergeAbort{Job: job.Nonce}}
	case 'e':
		job, _ := jobAt(s, r.job)
		var rows int64
		low, high := uint64(math.MaxUint64), uint64(0)
		s.Fragments("", math.MinInt64/2, math.MaxInt64/2, func(f shardlog.Fragment) bool {
			for _, key := range job.Inputs {
				if key == f.Key {
					rows += f.Rows
					low, high = min(low, f.SeqMin), max(high, f.SeqMax)
				}
			}
			return true
		})
		return &shardlog.Record{Kind: shardlog.KindMergeEnd, MergeEnd: &shardlog.MergeEnd{
			Job: job.Nonce, Inputs: job.Inputs, Fragments: []shardlog.Fragment{r.fragment(rows, low, high)},
		}}
	}
	seq := s.Seq() + 1
	key := r.out.key()
	return &shardlog.Record{Kind: shardlog.KindAppend, Append: &shardlog.Append{
		Epoch: shardlog.Epoch(r.epoch), Seq: seq, Fragments: []shardlog.Fragment{r.fragment(1, seq, seq)},
		IDs: &shardlog.IDSegment{
			Key: "ids/" + key, Bytes: 1, Sum: objstore.Sum([]byte(key)), IDs: 1,
			Buckets: []shardlog.IDBucket{{IDs: 1, Length: 1}},
		},
		Progress: []shardlog.Progress{{Source: source, From: int64(r.from), Next: int64(r.from) + 1, Records: 1}},
		Ledger:   shardlog.Ledger{Events: 1, Stored: 1},
	}}
}

// garbage is the rule of garbage by a state: the creator began at or before the state's position, is neither the
// current claim nor an open job, and the object is not live.
func (s *tsearcher) garbage(f *tfold, o object) bool {
	if f.live[o.key()] {
		return false
	}
	if o.job {
		job, open := jobAt(f.state, o.place)
		open = open && job.Nonce == tnonce(o.writer, o.nonce)
		return int(o.place) <= int(f.state.Position()) && (!open || s.rules.OpenJobs)
	}
	epoch := int8(f.state.Epoch())
	return o.place < epoch || s.rules.OldClaims && o.place == epoch
}
