// Package cpu measures what benchmarks cost an event: the CPU time of the whole
// process (garbage collection and all goroutines included), wall time, and
// allocations. On a machine that others use too, CPU time is the figure to trust.
package cpu

import (
	"fmt"
	"runtime/metrics"
	"syscall"
	"testing"
	"time"
)

// Time is the CPU time that the process has used, user and system.
func Time() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(fmt.Sprintf("cpu: getrusage: %v", err)) // a bug: the arguments are constant
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Meter adds up the cost of the parts of a benchmark that lie between Start and Stop.
type Meter struct {
	b       *testing.B
	running bool

	wall, cpu       time.Duration
	allocs, bytes   uint64
	began           time.Time
	cpuAt           time.Duration
	allocsAt, sized uint64
	samples         [2]metrics.Sample
}

// Start returns a running meter. As ResetTimer does, it forgets what b reported before.
func Start(b *testing.B) *Meter {
	m := &Meter{b: b}
	m.samples[0].Name = "/gc/heap/allocs:objects"
	m.samples[1].Name = "/gc/heap/allocs:bytes"
	b.ResetTimer()
	m.resume()
	return m
}

// Stop leaves out what follows, until Start.
func (m *Meter) Stop() {
	m.b.StopTimer()
	m.wall += time.Since(m.began)
	m.cpu += Time() - m.cpuAt
	metrics.Read(m.samples[:])
	m.allocs += m.samples[0].Value.Uint64() - m.allocsAt
	m.bytes += m.samples[1].Value.Uint64() - m.sized
	m.running = false
}

// Start goes on after a Stop.
func (m *Meter) Start() {
	m.resume()
	m.b.StartTimer()
}

func (m *Meter) resume() {
	metrics.Read(m.samples[:])
	m.allocsAt, m.sized = m.samples[0].Value.Uint64(), m.samples[1].Value.Uint64()
	m.running = true
	m.began, m.cpuAt = time.Now(), Time()
}

// PerEvent ends the measurement and reports the cost of one of so many events.
func (m *Meter) PerEvent(events int) {
	if m.running {
		m.Stop()
	}
	n := float64(events)
	m.b.ReportMetric(float64(m.wall.Nanoseconds())/n, "ns/event")
	m.b.ReportMetric(float64(m.cpu.Nanoseconds())/n, "cpu-ns/event")
	m.b.ReportMetric(float64(m.allocs)/n, "allocs/event")
	m.b.ReportMetric(float64(m.bytes)/n, "B/event")
}
