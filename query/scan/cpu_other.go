//go:build !linux

package scan

import "time"

// measured runs f and gives the time that it took, where the time of a thread cannot be told.
func measured(f func() error) (time.Duration, error) {
	began := time.Now()
	err := f()
	return time.Since(began), err
}
