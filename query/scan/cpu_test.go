package scan

import (
	"testing"
	"time"
)

// TestWaitingIsNoCPUTime: a worker that waits for a slow client uses none.
func TestWaitingIsNoCPUTime(t *testing.T) {
	waited, _ := measured(func() error { time.Sleep(300 * time.Millisecond); return nil })
	n := 0
	worked, _ := measured(func() error {
		for began := time.Now(); time.Since(began) < 50*time.Millisecond; n++ {
		}
		return nil
	})
	if waited > 100*time.Millisecond || worked == 0 || n == 0 {
		t.Errorf("%s for a sleep of 300 ms, %s for work", waited, worked)
	}
}
