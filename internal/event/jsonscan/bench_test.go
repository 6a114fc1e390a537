package jsonscan

import (
	"syscall"
	"testing"
	"time"
)

// benchEvent is an event of common shape: 566 bytes, 22 leaves, three levels.
const benchEvent = `{"timestamp":"2024-03-17T09:26:53.589793Z","event_id":"01HS5V7Z9K3QW8XJ4T2M6N0PRB","service":"checkout-api","status":"error","level":"ERROR","message":"payment provider answered 502, kept for retry later","host":"ip-10-12-33-7","pod":"checkout-api-6d5f8c7b9-x2x4q","http":{"method":"POST","url":"/v1/orders/81723/pay","status_code":502,"duration_ms":1834.27,"client":{"ip":"198.18.7.41","port":51844}},"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736","span_id":"00f067aa0ba902b7","retry":true,"attempt":3,"user":{"id":991823,"plan":"pro"},"tags":["eu","card"],"ok":false}`

func reportCPU(b *testing.B, start syscall.Rusage) {
	var end syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &end)
	cpu := time.Duration(end.Utime.Nano() + end.Stime.Nano() - start.Utime.Nano() - start.Stime.Nano())
	b.ReportMetric(float64(cpu.Nanoseconds())/float64(b.N), "cpu-ns/event")
}

func rusage() (r syscall.Rusage) {
	syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return r
}

func BenchmarkTape(b *testing.B) {
	doc := []byte(benchEvent)
	var t Tape
	b.ReportAllocs()
	b.SetBytes(int64(len(doc)))
	start := rusage()
	for b.Loop() {
		if err := t.Parse(doc); err != nil {
			b.Fatal(err)
		}
	}
	reportCPU(b, start)
}

func BenchmarkThreeFields(b *testing.B) {
	doc := []byte(benchEvent)
	p := NewPaths([]string{"timestamp"}, []string{"@timestamp"}, []string{"time"}, []string{"ts"}, []string{"event_id"})
	values := make([]Value, 5)
	b.ReportAllocs()
	b.SetBytes(int64(len(doc)))
	start := rusage()
	for b.Loop() {
		if err := p.Find(doc, values); err != nil {
			b.Fatal(err)
		}
	}
	reportCPU(b, start)
}
