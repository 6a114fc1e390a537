package compactor

import (
	"context"
	"errors"
	"testing"

	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/shardlog"
)

// TestOutputsAreSealed: of a merge's outputs only the one that is written takes memory, and none is there
// before all are finished.
func TestOutputsAreSealed(t *testing.T) {
	r := newRig(t)
	o := &outputs{c: r.compactor("a"), ctx: t.Context(), creator: shardlog.Creator{Job: 7, Nonce: r.nonce()}, key: shardlog.Creator.SegmentKey}
	for n := range 3 {
		w, err := o.create(n)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte("ids")); err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			continue
		}
		if _, err := o.uploads[n-1].Write([]byte("x")); !errors.Is(err, objstore.ErrUploadOver) {
			t.Errorf("output %d is not sealed when the next is begun: %v", n-1, err)
		}
	}
	if left := len(r.objects()); left != 0 {
		t.Errorf("%d objects before the finish", left)
	}
	if err := o.finish(t.Context()); err != nil || len(r.objects()) != 3 {
		t.Errorf("%v, %d objects", err, len(r.objects()))
	}
}

// TestStopGivesUp: a compactor that is stopped in the middle of a merge leaves no open job and no upload.
func TestStopGivesUp(t *testing.T) {
	r := newRig(t)
	for range 6 {
		r.commit(begin, 5, "acme")
	}
	r.cfg.CollectEvery = 0
	ctx, stop := context.WithCancel(t.Context())
	began := false
	r.store.Add(objstore.Rule{Op: objstore.OpPut, Effect: objstore.Pass, Before: func(objstore.Call) {
		began = len(r.load().Jobs()) == 1
		stop()
	}})
	if err := r.compactor("a").Run(ctx); err != nil || !began {
		t.Fatalf("stopped in the middle of a merge %t, %v", began, err)
	}
	s := r.load()
	if fragments, segments := s.Counts(); len(s.Jobs()) > 0 || fragments != 6 || segments != 6 {
		t.Errorf("open jobs %+v, %d fragments, %d id segments", s.Jobs(), fragments, segments)
	}
	r.check()
}
