package event

import (
	"testing"

	"github.com/togodb/togo/bench/cpu"
)

// benchEvent is an event of common shape: 22 leaves, three levels.
const benchEvent = `{"timestamp":"2024-03-17T09:26:53.589793Z","event_id":"01HS5V7Z9K3QW8XJ4T2M6N0PRB","service":"checkout-api","status":"error","level":"ERROR","message":"payment provider answered 502, kept for retry later","host":"ip-10-12-33-7","pod":"checkout-api-6d5f8c7b9-x2x4q","http":{"method":"POST","url":"/v1/orders/81723/pay","status_code":502,"duration_ms":1834.27,"client":{"ip":"198.18.7.41","port":51844}},"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736","span_id":"00f067aa0ba902b7","retry":true,"attempt":3,"user":{"id":991823,"plan":"pro"},"tags":["eu","card"],"ok":false}`

// measure runs f, which handles so many events, and reports the cost of one.
func measure(b *testing.B, events int, f func()) {
	m := cpu.Start(b)
	for b.Loop() {
		f()
	}
	m.PerEvent(b.N * events)
}

func BenchmarkExtract(b *testing.B) {
	x, err := Compile(DefaultMapping(), testLimits)
	if err != nil {
		b.Fatal(err)
	}
	rec := RecordView{Value: []byte(benchEvent), Headers: []Header{{"X-Scope-OrgID", []byte("acme")}}, KafkaTimestamp: kafkaTime, Origin: testOrigin}
	var item Item
	var tenant TenantID
	measure(b, 1, func() { x.Extract(&rec, &item, &tenant) })
	if item.Kind != KindEvent || string(item.ID) != "01HS5V7Z9K3QW8XJ4T2M6N0PRB" {
		b.Fatalf("%+v", item)
	}
}

func BenchmarkExtractWithoutID(b *testing.B) {
	x, err := Compile(DefaultMapping(), testLimits)
	if err != nil {
		b.Fatal(err)
	}
	rec := RecordView{Value: []byte(`{"a":1}`), KafkaTimestamp: kafkaTime, Origin: testOrigin}
	var item Item
	var tenant TenantID
	measure(b, 1, func() { x.Extract(&rec, &item, &tenant) })
}

func BenchmarkIdentity(b *testing.B) {
	h, id := NewHasher(Seed{1}), []byte("01HS5V7Z9K3QW8XJ4T2M6N0PRB")
	measure(b, 1, func() { h.Identity("acme", kafkaTime, id) })
}

func BenchmarkRouting(b *testing.B) {
	h, id := NewHasher(Seed{1}), []byte("01HS5V7Z9K3QW8XJ4T2M6N0PRB")
	measure(b, 1, func() { h.Routing(id) })
}

func BenchmarkPayloadHash(b *testing.B) {
	h, payload := NewHasher(Seed{1}), []byte(benchEvent)
	measure(b, 1, func() { h.Payload(payload) })
}

const benchBatch = 100

func benchEnvelope() *Envelope {
	e := &Envelope{Tenant: "acme", PlacementVersion: 7}
	for i := range benchBatch {
		it := Item{Kind: KindEvent, HasID: true, ID: []byte("01HS5V7Z9K3QW8XJ4T2M6N0PRB"), FirstSeen: kafkaTime + Timestamp(i)*1e6,
			Origin: testOrigin, Format: FormatJSON, Payload: []byte(benchEvent)}
		it.Timestamp = it.FirstSeen - 12345678
		it.Origin.Offset += int64(i)
		e.Items = append(e.Items, it)
	}
	return e
}

func BenchmarkEnvelopeEncode(b *testing.B) {
	e := benchEnvelope()
	var builder Builder
	var buf, memory []byte
	measure(b, benchBatch, func() {
		builder.Reset(e.Tenant, memory)
		for i := range e.Items {
			builder.Append(&e.Items[i])
		}
		buf, memory = builder.Finish(e.PlacementVersion)
	})
	b.ReportMetric(float64(len(buf))/benchBatch-float64(len(benchEvent))-26, "overhead-B/event")
}

func BenchmarkEnvelopeDecode(b *testing.B) {
	buf := AppendEnvelope(nil, benchEnvelope())
	var e Envelope
	measure(b, benchBatch, func() {
		if err := DecodeEnvelope(buf, &e); err != nil {
			b.Fatal(err)
		}
	})
}
