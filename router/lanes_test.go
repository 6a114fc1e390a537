package router

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/kafka"
)

// TestLanesAreBounded: of many more tenants than lanes each event is sent once, no more batches are open and no more lanes are kept than
// may be, and what was produced does not change until it is acknowledged.
func TestLanesAreBounded(t *testing.T) {
	const tenants, perPoll = 2*maxLanes + 100, 500
	core := NewCore(CoreConfig{Config: DefaultConfig(), Hasher: hasher, Limits: limits, MaxRecordBytes: 1 << 20}, newKeeper(t, nil).Current())
	now := start
	core.Step(now, Assigned{[]kafka.Assignment{{TopicPartition: tp(0), Source: source(0)}}})
	type flight struct{ value, want []byte }
	flights := map[BatchID]flight{}
	seen := map[event.TenantID]int{}
	step := func(in Input) {
		var env event.Envelope
		for _, p := range core.Step(now, in).Produce {
			if err := event.DecodeEnvelope(p.Value, &env); err != nil {
				t.Fatal(err)
			}
			seen[env.Tenant] += len(env.Items)
			flights[p.Batch] = flight{p.Value, slices.Clone(p.Value)}
		}
		if core.open > maxOpenBatches || len(core.lanes) > maxLanes {
			t.Fatalf("%d open batches, %d lanes", core.open, len(core.lanes))
		}
	}
	acknowledge := func(all bool) {
		for id, f := range flights {
			if !bytes.Equal(f.value, f.want) {
				t.Fatalf("batch %d was changed before it was acknowledged", id)
			}
			if all || id%3 == 0 {
				delete(flights, id)
				step(Acked{Batch: id})
			}
		}
	}
	offset := int64(0)
	for from := 0; from < tenants; from += perPoll {
		in := kafka.Batch{Topic: "events", Source: source(0)}
		for n := range perPoll {
			// One tenant comes again and again, and its batch outgrows its memory.
			for _, name := range []string{fmt.Sprintf("tenant-%d", from+n), "often"} {
				in.Records = append(in.Records, of(record(offset, fmt.Sprintf(`{"event_id":"%d"}`, offset)), name))
				offset++
			}
		}
		in.Next, in.End = offset, offset
		now = now.Add(time.Millisecond)
		step(Fetched{in})
		acknowledge(false)
	}
	step(Flush{})
	acknowledge(true)
	if len(flights) > 0 || core.open != 0 || core.Bytes() != 0 {
		t.Errorf("%d batches are on their way, %d open, %d bytes", len(flights), core.open, core.Bytes())
	}
	for name, n := range seen {
		want := 1
		if name == "often" {
			want = int(offset) / 2
		}
		if n != want {
			t.Errorf("%d events of %s, want %d", n, name, want)
		}
	}
	if len(seen) != int(offset)/2+1 {
		t.Errorf("events of %d tenants, want %d", len(seen), offset/2+1)
	}
}
