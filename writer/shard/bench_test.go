package shard

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/togodb/togo/bench/cpu"
	"github.com/togodb/togo/internal/event"
)

// BenchmarkStep takes records of 100 events of 500 bytes: decode, routing, verdict,
// buffer. What its effects ask for is left out.
func BenchmarkStep(b *testing.B) {
	for _, k := range []struct {
		name    string
		tenants int
		copies  bool
	}{{"new/1 tenant", 1, false}, {"new/200 tenants", 200, false}, {"copies", 1, true}} {
		b.Run(k.name, func(b *testing.B) { benchmarkStep(b, k.tenants, k.copies) })
	}
}

const eventsPerRecord = 100

func benchmarkStep(b *testing.B, tenants int, copies bool) {
	w := newWorld(b)
	w.config = Defaults()
	wr := w.claim("A")
	w.run(wr)
	wr.hold = map[string]bool{"Encode": true}
	payload := make([]byte, 500)
	record := func(i int) Record {
		env := event.Envelope{Tenant: event.TenantID(fmt.Sprintf("t%d", i%tenants)), PlacementVersion: uint64(w.table.Version())}
		if copies {
			i %= 100
		}
		rng := rand.New(rand.NewPCG(uint64(i), 0))
		for j := range eventsPerRecord {
			env.Items = append(env.Items, event.Item{Kind: event.KindEvent, HasID: true, Format: event.FormatJSON,
				ID: fmt.Appendf(nil, "%016x-%d", rng.Uint64(), j), Timestamp: event.Timestamp(1.7e18 + int64(i)*1e6), FirstSeen: event.Timestamp(1.7e18 + int64(i)*1e6),
				Origin: event.Origin{Source: event.Source{Cluster: "in"}, Offset: int64(i*eventsPerRecord + j)}, Payload: payload})
		}
		return Record{Value: event.AppendEnvelope(nil, &env), LeaderEpoch: 0}
	}
	const perBatch = 50
	offset := int64(0)
	m := cpu.Start(b)
	for done := 0; done < b.N; done += perBatch * eventsPerRecord {
		m.Stop()
		batch := Batch{Gen: wr.gen, Source: w.source, End: offset + perBatch}
		for range perBatch {
			r := record(int(offset))
			r.Offset = offset
			batch.Records = append(batch.Records, r)
			offset++
		}
		m.Start()
		wr.queue = append(wr.queue, wr.core.Step(w.now, batch)...)
		m.Stop()
		w.settleAll(wr)
		m.Start()
	}
	m.PerEvent(int(offset) * eventsPerRecord)
}

// settleAll does what is under way, at no cost to the benchmark.
func (w *world) settleAll(wr *writer) {
	w.now = w.now.Add(time.Second)
	w.step(wr, Tick{})
	for len(wr.queue) > 0 {
		e := wr.queue[0]
		wr.queue = wr.queue[1:]
		switch e := e.(type) {
		case Encode:
			in := w.encodeOnly(e)
			w.step(wr, in)
		case Append:
			won, found, stored, err := w.log.Settle(context.Background(), e.Head, e.Record)
			w.step(wr, Appended{e.Gen, won, found, stored, err})
		default:
			w.do(wr, e)
		}
	}
}

// encodeOnly keeps no rows.
func (w *world) encodeOnly(e Encode) Encoded {
	in := w.encode(e)
	clear(w.files)
	return in
}
