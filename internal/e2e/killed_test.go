package e2e

import (
	"slices"
	"testing"
	"time"
)

// TestKilledAtRandomMoments kills the one process that has the broker and every
// role, again and again, while events come in and while it starts.
func TestKilledAtRandomMoments(t *testing.T) {
	const (
		distinct = 13_000
		over     = 8 * time.Second
		kills    = 5
	)
	w := newWorld(t, 3*time.Minute, "writer: {flush_age: 700ms, small_tenant_age: 1500ms, flush_bytes: 256KiB, checkpoint_every: 8}"+topics)
	kafka := addr(t)
	dev := w.process("dev", addr(t), "dev", "--kafka-listen", kafka)
	w.Args = append(w.Args, "--set", `kafka={main: {brokers: ["`+kafka+`"]}}`)
	dev.start()

	msgs := messages(w.rng, distinct)
	a := newAcks()
	s := w.sender(clusterAt(kafka), a)
	done := make(chan error, 1)
	go func() { done <- s.SendAll(w.ctx, msgs, over) }()

	moments := make([]int, kills)
	for i := range moments {
		moments[i] = w.rng.IntN(len(msgs))
	}
	slices.Sort(moments)
	for _, at := range moments {
		w.must(s.Await(w.ctx, at))
		// Between acknowledgement and commit lies up to a flush age.
		time.Sleep(time.Duration(w.rng.Int64N(int64(time.Second))))
		t.Logf("SIGKILL after %d of %d acknowledgements", at, len(msgs))
		dev.Kill()
		if w.rng.IntN(2) == 0 {
			dev.begin()
			starting := time.Duration(w.rng.Int64N(int64(500 * time.Millisecond)))
			time.Sleep(starting)
			t.Logf("SIGKILL %s after the start", starting)
			dev.Kill()
		}
		dev.start()
	}
	w.must(<-done)
	w.done()
	w.check(w.expect(s, a, intakeTopics))
	dev.stop()
	if out := w.output("where", "acme"); out == "" {
		t.Error("nothing is where after the stop")
	}
}
