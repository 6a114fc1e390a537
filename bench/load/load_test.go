package load

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var begin = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func open(t testing.TB, name string) *Workload {
	t.Helper()
	w, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestEventsAreWhatTheWorkloadSays(t *testing.T) {
	for _, name := range Ready {
		w := open(t, name)
		s := w.Events(7, begin)
		const n = 60_000
		ids := map[string][]byte{}
		var room []byte
		var size, copies, late, first int
		keys := map[string]bool{}
		for i := range n {
			e := s.Next(room[:0])
			room = e.Value
			size += len(e.Value)
			if e.Rank == 0 {
				first++
			}
			if e.Late {
				late++
			}
			before, seen := ids[string(e.ID)]
			if seen != e.Duplicate || seen && !bytes.Equal(before, e.Value) {
				t.Fatalf("%s: event %d: seen before: %t, a copy: %t\n%s\n%s", name, i, seen, e.Duplicate, before, e.Value)
			}
			if e.Duplicate {
				copies++
			}
			ids[string(e.ID)] = bytes.Clone(e.Value)
			if i%100 == 0 {
				var v map[string]any
				if err := json.Unmarshal(e.Value, &v); err != nil {
					t.Fatalf("%s: %v\n%s", name, err, e.Value)
				}
				if v["timestamp"] != e.Timestamp.Format(timeForm) || v["event_id"] != string(e.ID) {
					t.Fatalf("%s: %v\n%s", name, e.Timestamp, e.Value)
				}
				leaves("", v, keys)
			}
		}
		if mean := float64(size) / n; mean < 0.99*float64(w.Event.Bytes) || mean > 1.05*float64(w.Event.Bytes) {
			t.Errorf("%s: %g bytes an event, not about %d", name, mean, w.Event.Bytes)
		}
		near := func(what string, got int, want float64) {
			if r := float64(got) / n / want; r < 0.9 || r > 1.1 {
				t.Errorf("%s: %s: %d of %d, not about %g", name, what, got, n, want)
			}
		}
		near("copies", copies, w.Duplicates.Share)
		near("late", late, w.Late.Share)
		share := 0.0
		for i := range w.Tenants {
			share += s.share(i)
			if i < 3 && math.Abs(w.Share(i)/s.share(i)-1) > 1e-6 {
				t.Errorf("%s: tenant %d has the share %g, not %g", name, i, s.share(i), w.Share(i))
			}
		}
		if share < 0.999 || share > 1.001 {
			t.Errorf("%s: shares of tenants add up to %g", name, share)
		}
		near("of the first tenant", first, s.share(0))
		if len(keys) != w.Keys() {
			t.Errorf("%s: %d attributes, not %d", name, len(keys), w.Keys())
		}
	}
}

// share is what the alias table gives a tenant.
func (s *Stream) share(rank int) float64 {
	sum := s.alias[rank].keep
	for _, a := range s.alias {
		if a.other == rank {
			sum += 1 - a.keep
		}
	}
	return sum / float64(len(s.alias))
}

func leaves(at string, v map[string]any, into map[string]bool) {
	for k, x := range v {
		if m, ok := x.(map[string]any); ok {
			leaves(at+k+".", m, into)
			continue
		}
		into[at+k] = true
	}
}

// TestTheNthEventIsAlwaysTheSame: the sums were written down once.
func TestTheNthEventIsAlwaysTheSame(t *testing.T) {
	want := map[string]string{"small": "ea4fd47fcc70fcd8", "wide": "e2a76b61843a1a9b", "many": "61dbd18b85eedc65"}
	for _, name := range Ready {
		s := open(t, name).Events(1, begin)
		h := sha256.New()
		for range 20_000 {
			e := s.Next(nil)
			h.Write([]byte(e.Tenant))
			h.Write(e.Value)
		}
		if got := hex.EncodeToString(h.Sum(nil))[:16]; got != want[name] {
			t.Errorf("%s: the events have the sum %s, not %s", name, got, want[name])
		}
		a, b := s.At(12_345, nil), open(t, name).Events(1, begin).At(12_345, nil)
		if !bytes.Equal(a.Value, b.Value) || a.Tenant != b.Tenant {
			t.Errorf("%s: event 12345 is %s and %s", name, a.Value, b.Value)
		}
		if c := open(t, name).Events(2, begin).At(12_345, nil); bytes.Equal(a.Value, c.Value) {
			t.Errorf("%s: the seed changes nothing", name)
		}
	}
}

func TestMistakesInWorkloads(t *testing.T) {
	for text, want := range map[string]string{
		"tenants: 0\n": "tenants: 0 is not from 1",
		"tenant: 5\n":  `unknown field "tenant"`,
		"event: {extra_keys: 5, extra_each: 6}\n": "event.extra_each: 6 is not from 0 to 5",
		"duplicates: {share: 0.1}\n":              "duplicates.distance: 0 is not from 1",
		"duplicates: {share: .nan}\n":             "duplicates.share",
		"rate: fast\n":                            "neither max nor events a second",
		"rate: -1\n":                              "neither max nor events a second",
		"duration: 5\n":                           "no duration such as",
		"duration: 0s\n":                          "duration: 0s is not positive",
		"skew: 9\n":                               "skew: 9 is not from 0 to 3",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, not %q", text, err, want)
		}
	}
	if _, err := Open("huge"); err == nil || !strings.Contains(err.Error(), "one of small, wide, many") {
		t.Error(err)
	}
	path := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(path, []byte("tenants: 3\nrate: 1000\nduration: 90s\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := open(t, path)
	if w.Tenants != 3 || w.Rate != 1000 || time.Duration(w.Duration) != 90*time.Second || w.Event.Bytes != 550 {
		t.Errorf("%+v", w)
	}
}

func BenchmarkNext(b *testing.B) {
	for _, name := range Ready {
		b.Run(name, func(b *testing.B) {
			s := open(b, name).Events(1, begin)
			var room []byte
			b.ReportAllocs()
			for b.Loop() {
				room = s.Next(room[:0]).Value
			}
		})
	}
}
