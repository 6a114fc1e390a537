package compactor

import (
	"errors"
	"testing"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
)

// checkpoint writes one of the writer's state.
func (r *rig) checkpoint() {
	r.t.Helper()
	if _, err := r.log.Follow(r.t.Context(), r.state); err != nil {
		r.t.Fatal(err)
	}
	r.state.Own(r.state.ClaimNonce())
	if err := r.log.Checkpoint(r.t.Context(), r.state); err != nil {
		r.t.Fatal(err)
	}
}

// TestFault_freed_position_paused_compactor: a compactor freezes before each of its operations. Meanwhile others merge, all
// records that it had not read are deleted, and a third one that stood where it stood writes into a freed
// position: by that phantom, the live outputs of the merges would be garbage of a job that is over. The first one
// thaws, and collects for long: all that is live stays, and it goes on merging.
func TestFault_freed_position_paused_compactor(t *testing.T) {
	frozen := 0
	for k := 1; k <= 40; k++ {
		r := newRig(t)
		r.cfg.KeepRecords = 0
		for range 6 {
			r.commit(begin, 3, "acme", "globex")
		}
		other, ghost := r.compactor("other"), r.load()
		own := objstore.NewFault(r.store)
		paused := r.compactorOver("paused", own)
		if _, err := paused.Collect(t.Context()); err != nil {
			t.Fatal(err)
		}
		base := own.Ops()
		met := false
		own.Decide = func(c objstore.Call) *objstore.Rule {
			if c.N != base+k {
				return nil
			}
			met = true
			return &objstore.Rule{Effect: objstore.Pass, Before: func(objstore.Call) {
				r.settle(other)
				for range 2 {
					r.commit(begin, 3, "acme")
					r.checkpoint()
				}
				if _, err := other.Collect(t.Context()); err != nil {
					t.Fatal(err)
				}
				phantom := shardlog.Record{Kind: shardlog.KindMergeBegin, MergeBegin: &shardlog.MergeBegin{Worker: "ghost"}}
				for f := range allFragments(ghost) {
					if f.Tenant == "acme" {
						phantom.MergeBegin.Inputs = append(phantom.MergeBegin.Inputs, f.Key)
					}
				}
				if _, _, err := r.log.Append(t.Context(), ghost, &phantom); !errors.Is(err, chain.ErrTrimmed) {
					t.Errorf("a record at a freed position: %v", err)
				}
			}}
		}
		for range 3 {
			for range 3 {
				_, _ = paused.Collect(t.Context()) // it may be told that what it works on is gone
				r.now += r.cfg.QueryGrace
			}
			if _, err := paused.Turn(t.Context(), 0); err != nil && !errors.Is(err, chain.ErrTrimmed) {
				t.Errorf("k=%d: %v", k, err)
			}
			r.now += r.cfg.QuietNewestAfter
		}
		r.check()
		r.settle(paused, other)
		r.now += r.cfg.QueryGrace
		if _, err := paused.Collect(t.Context()); err != nil {
			t.Errorf("k=%d: %v", k, err)
		}
		r.check()
		if t.Failed() {
			t.Fatalf("frozen at operation %d", k)
		}
		if met {
			frozen++
		}
	}
	if frozen < 20 {
		t.Errorf("frozen at %d operations only", frozen)
	}
}
