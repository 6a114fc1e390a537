package traffic

import (
	"encoding/json"
	"testing"
)

func TestEventsAreWhatTheyClaim(t *testing.T) {
	s := Plain(1, 50)
	ids := map[string]string{}
	bytes, repeats := 0, 0
	const n = 20_000
	for range n {
		e := s.Next(200, Start, nil)
		var v struct {
			Timestamp string
			EventID   string `json:"event_id"`
		}
		if err := json.Unmarshal(e.Payload, &v); err != nil {
			t.Fatalf("%s: %v", e.Payload, err)
		}
		if v.Timestamp != Start.Format(timeForm) || v.EventID != string(e.ID) {
			t.Fatalf("%s: id %s", e.Payload, e.ID)
		}
		bytes += len(e.Payload)
		before, seen := ids[v.EventID]
		if seen != e.Repeat || seen && before != string(e.Payload) {
			t.Fatalf("%s: seen %v, repeat %v", e.Payload, seen, e.Repeat)
		}
		ids[v.EventID] = string(e.Payload)
		if seen {
			repeats++
		}
	}
	if mean := float64(bytes) / n; mean < EventBytes-1 || mean > EventBytes+4 {
		t.Errorf("%.1f bytes an event, want about %d", mean, EventBytes)
	}
	if repeats < n/55 || repeats > n/40 {
		t.Errorf("%d repeats of %d", repeats, n)
	}
}

func TestWideEvents(t *testing.T) {
	s := Wide(1, 300, 40)
	columns := map[string]bool{}
	for range 1000 {
		var v map[string]any
		if err := json.Unmarshal(s.Next(10, Start, nil).Payload, &v); err != nil {
			t.Fatal(err)
		}
		if len(v) != 42 {
			t.Fatalf("%d attributes", len(v))
		}
		for k := range v {
			columns[k] = true
		}
	}
	if len(columns) != 302 {
		t.Errorf("%d columns", len(columns))
	}
}
