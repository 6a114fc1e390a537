package shard

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/togodb/togo/internal/chain"
)

// TestFault_freed_position_paused_writer: A uploads and freezes before its commit. B takes the shard, commits, and writes checkpoints; the
// records are deleted, and A's position is free. A thaws and commits there: it is told, reads the log anew, and
// finds that it was fenced. Every event is there once. A third writer that loads then sees nothing of it.
func TestFault_freed_position_paused_writer(t *testing.T) {
	w := newWorld(t)
	n := 0
	produce := func(events int) {
		for range events {
			w.produce(fmt.Sprintf("%c: e%d@%d=%d", 'a'+rune(n%3), n, 100+n, n))
			n++
		}
	}
	rest := func(wr *writer) {
		w.now = w.now.Add(2 * time.Minute)
		w.step(wr, Tick{})
		w.run(wr)
	}
	produce(10)
	a := w.claim("A")
	w.run(a)
	rest(a)
	produce(10)
	a.hold["Append"] = true
	w.run(a)
	rest(a)
	if len(a.held) != 1 {
		t.Fatalf("A holds %d appends", len(a.held))
	}
	at := a.held[0].(Append).Head.Position + 1

	b := w.claim("B")
	for range 6 {
		produce(5)
		w.run(b)
		rest(b)
		s := b.core.state
		if err := w.log.Checkpoint(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	plan, err := w.log.PlanTrim(t.Context(), 0)
	w.must(err)
	_, err = plan.Do(t.Context())
	w.must(err)
	if plan.Base < at {
		t.Fatalf("records are gone up to %d, A is at %d", uint64(plan.Base), uint64(at))
	}
	phantom := func() bool {
		_, err := w.store.Get(t.Context(), "shards/0/log/"+at.String())
		return err == nil
	}
	if phantom() {
		t.Fatal("A's position is not free")
	}
	a.hold = map[string]bool{}
	a.queue, a.held = append(a.held, a.queue...), nil
	w.run(a)
	if !phantom() {
		t.Error("A did not write into the freed position")
	}
	if a.stopped == nil || a.stopped.Reason != Fenced || a.core.counts.Reloads != 1 {
		t.Errorf("A goes on: %+v, %d reloads", a.stopped, a.core.counts.Reloads)
	}
	produce(5)
	w.run(b)
	rest(b)
	c := w.claim("C")
	produce(5)
	w.run(c)
	rest(c)
	if got := w.rows(); !slices.Equal(got, w.oracle().rows) || len(got) != n {
		t.Errorf("%d rows, want %d, each once", len(got), n)
	}
	if err := (&chain.Log{Store: w.store, Prefix: "shards/0/log", Base: "shards/0/base"}).Confirm(t.Context(), at); err == nil {
		t.Error("the freed position is confirmed")
	}
}
