package scan

import (
	"runtime"
	"syscall"
	"time"
)

const rusageThread = 1 // RUSAGE_THREAD of getrusage(2)

// measured runs f and gives the CPU time that its thread used. f keeps its thread to itself meanwhile.
func measured(f func() error) (time.Duration, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := threadTime()
	err := f()
	return threadTime() - began, err
}

func threadTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(rusageThread, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
