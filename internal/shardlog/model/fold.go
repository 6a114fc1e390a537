package model

import (
	"fmt"
	"strings"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
)

// fold is the real state of one log, or why the real fold refuses it.
type fold struct {
	state *shardlog.State
	err   error
}

var source = shardlog.Source{Cluster: "c", Topic: strings.Repeat("0", 32)}

// fold folds a log; equal logs are folded once.
func (s *searcher) fold(log []record) *fold {
	var key []byte
	for _, r := range log {
		r.deleted = false
		key = r.append(key)
	}
	if f := s.folds[string(key)]; f != nil {
		return f
	}
	f := &fold{state: shardlog.NewState(0)}
	if n := len(log); n > 0 {
		before := s.fold(log[:n-1])
		f.state, f.err = before.state.Clone(), before.err
		if f.err == nil {
			f.err = apply(f.state, log[n-1])
		}
	}
	s.folds[string(key)] = f
	return f
}

// apply gives the real fold the real record.
func apply(s *shardlog.State, r record) error {
	real := r.real(s)
	head := s.Head()
	real.Format, real.Position = shardlog.Format, head.Position+1
	real.Nonce = fmt.Sprintf("w%d-%d", r.writer, r.nonce)
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

// real is the record as a writer whose state is s makes it.
func (r record) real(s *shardlog.State) *shardlog.Record {
	epoch := shardlog.Epoch(r.epoch)
	switch r.kind {
	case 'c':
		claim := shardlog.Claim{Owner: fmt.Sprintf("w%d", r.writer), Incarnation: "i", Epoch: epoch}
		return &shardlog.Record{Kind: shardlog.KindClaim, Claim: &claim}
	case 'r':
		return &shardlog.Record{Kind: shardlog.KindRelease, Release: &shardlog.Release{Epoch: epoch}}
	}
	rows := int64(r.next - r.from)
	key := fmt.Sprintf("data/t/0-%d-%d-%d", r.epoch, r.writer, r.nonce)
	seq := s.Seq() + 1
	return &shardlog.Record{Kind: shardlog.KindAppend, Append: &shardlog.Append{
		Epoch: epoch, Seq: seq,
		Fragments: []shardlog.Fragment{{
			Key: key, Tenant: event.TenantID("t"), Table: shardlog.TableEvents, Rows: rows, Bytes: rows,
			Sum: objstore.Sum([]byte(key)), SeqMin: seq, SeqMax: seq,
		}},
		IDs: &shardlog.IDSegment{
			Key: "ids/" + key, Bytes: rows, Sum: objstore.Sum([]byte(key)), IDs: rows,
			Buckets: []shardlog.IDBucket{{IDs: rows, Length: rows}},
		},
		Progress: []shardlog.Progress{{Source: source, From: int64(r.from), Next: int64(r.next), Records: rows}},
		Ledger:   shardlog.Ledger{Events: rows, Stored: rows},
	}}
}
