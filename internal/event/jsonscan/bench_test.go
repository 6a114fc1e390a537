package jsonscan

import (
	"testing"

	"github.com/togodb/togo/bench/cpu"
)

// benchEvent is an event of common shape: 566 bytes, 22 leaves, three levels.
const benchEvent = `{"timestamp":"2024-03-17T09:26:53.589793Z","event_id":"01HS5V7Z9K3QW8XJ4T2M6N0PRB","service":"checkout-api","status":"error","level":"ERROR","message":"payment provider answered 502, kept for retry later","host":"ip-10-12-33-7","pod":"checkout-api-6d5f8c7b9-x2x4q","http":{"method":"POST","url":"/v1/orders/81723/pay","status_code":502,"duration_ms":1834.27,"client":{"ip":"198.18.7.41","port":51844}},"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736","span_id":"00f067aa0ba902b7","retry":true,"attempt":3,"user":{"id":991823,"plan":"pro"},"tags":["eu","card"],"ok":false}`

func BenchmarkTape(b *testing.B) {
	doc := []byte(benchEvent)
	var t Tape
	b.SetBytes(int64(len(doc)))
	m := cpu.Start(b)
	for b.Loop() {
		if err := t.Parse(doc); err != nil {
			b.Fatal(err)
		}
	}
	m.PerEvent(b.N)
}

func BenchmarkThreeFields(b *testing.B) {
	doc := []byte(benchEvent)
	p := NewPaths([]string{"timestamp"}, []string{"@timestamp"}, []string{"time"}, []string{"ts"}, []string{"event_id"})
	values := make([]Value, 5)
	b.SetBytes(int64(len(doc)))
	m := cpu.Start(b)
	for b.Loop() {
		if err := p.Find(doc, values); err != nil {
			b.Fatal(err)
		}
	}
	m.PerEvent(b.N)
}
