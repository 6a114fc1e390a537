package loop

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"
)

// TestTasks: one thing runs at a time, in the order of its time; killed tasks let go of
// their locks; a frozen process goes on where it was.
func TestTasks(t *testing.T) {
	l := New(nil)
	var out []string
	say := func(format string, args ...any) {
		out = append(out, fmt.Sprintf("%s %s", l.Now(), fmt.Sprintf(format, args...)))
	}
	a, b := l.NewProcess("a"), l.NewProcess("b")
	a.Start()
	b.Start()
	var k Lock
	var unwound atomic.Bool
	holder := a.Spawn("holder", func() {
		defer unwound.Store(true)
		k.With(l, func() { say("holds"); l.Sleep(time.Hour) })
	})
	a.Spawn("waiter", func() { k.With(l, func() { say("holds after it") }) })
	b.Spawn("frozen", func() { l.Sleep(time.Second); say("thawed") })
	l.After(500*time.Millisecond, func() { b.Freeze(4500 * time.Millisecond) })
	l.After(2*time.Second, func() { holder.Kill() })
	l.After(6*time.Second, func() { a.Kill(); a.Spawn("void", func() { say("never") }) })
	for l.Step(10 * time.Second) {
	}
	want := "[0s holds 2s holds after it 5s thawed]"
	if got := fmt.Sprint(out); got != want || !unwound.Load() {
		t.Errorf("got %s, want %s; unwound: %v", got, want, unwound.Load())
	}
}
