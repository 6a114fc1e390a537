package shardlog

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/togodb/togo/bench/cpu"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
)

const (
	benchFragments = 200
	benchRows      = 50 // of each
)

// benchAppend is an append of many tenants' fragments, with three sort columns each.
func benchAppend(s *State) *Record {
	rows := int64(benchFragments * benchRows)
	from := int64(s.Seq()) * rows
	r := makeAppend(s, commit{source: testSource(0), from: from, next: from + rows, intake: RangeSet{{from, from + rows}}})
	a := r.Append
	a.Fragments = nil
	bucket := testDay + int64(a.Seq/720)*3600
	for i := range benchFragments {
		tenant := event.TenantID(fmt.Sprintf("tenant-%03d", i))
		f := testFragment(fmt.Sprintf("data/%s/2023-11-15T00/0-1-0123456789abcdef0123456789abcdef-%d.parquet", tenant, int(a.Seq)*benchFragments+i), tenant, TableEvents, bucket, benchRows, a.Seq)
		f.Ranges = []ColumnRange{{Column: "service", Min: "api", Max: "web"}, {Column: "status", Min: "200", Max: "503"}, {Column: "host", Min: "h1", Max: "h9"}}
		a.Fragments = append(a.Fragments, f)
	}
	return r
}

// perEvent reports a benchmark whose every run handles the events of one append.
func perEvent(b *testing.B, run func(*cpu.Meter)) {
	m := cpu.Start(b)
	for b.Loop() {
		run(m)
	}
	m.PerEvent(b.N * benchFragments * benchRows)
}

func benchState() *State {
	s := NewState(0)
	if err := tryAppend(s, "c", &Record{Kind: KindClaim, Claim: &Claim{Owner: "w", Incarnation: "i", Epoch: 1}}); err != nil {
		panic(err)
	}
	return s
}

func BenchmarkApply(b *testing.B) {
	s := benchState()
	perEvent(b, func(m *cpu.Meter) {
		m.Stop()
		r := benchAppend(s)
		s.Head().address(0, r)
		r.Nonce = "n"
		body := []byte("body")
		m.Start()
		if err := s.Apply(*r, body); err != nil {
			b.Fatal(err)
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	r := benchAppend(benchState())
	var body []byte
	perEvent(b, func(*cpu.Meter) { body, _ = Encode(r) })
	b.ReportMetric(float64(len(body))/benchFragments, "bytes/fragment")
}

func BenchmarkDecode(b *testing.B) {
	body, err := Encode(func() *Record { r := benchAppend(benchState()); r.Format = Format; return r }())
	if err != nil {
		b.Fatal(err)
	}
	perEvent(b, func(*cpu.Meter) {
		if _, err := Decode(body); err != nil {
			b.Fatal(err)
		}
	})
}

// BenchmarkCheckpoint is a checkpoint after 64 appends of 200 fragments, on top of
// a hundred thousand fragments.
func BenchmarkCheckpoint(b *testing.B) {
	s := benchState()
	l := OpenWith(objstore.NewMemory(), 0, testConfig("w", noSleep))
	grow := func(appends int) {
		for range appends {
			if err := tryAppend(s, "n", benchAppend(s)); err != nil {
				b.Fatal(err)
			}
		}
	}
	grow(500)
	s.Own(s.ClaimNonce())
	if err := l.Checkpoint(b.Context(), s); err != nil {
		b.Fatal(err)
	}
	var plan time.Duration
	for b.Loop() {
		b.StopTimer()
		grow(64)
		b.StartTimer()
		begin := time.Now()
		s.Own(s.ClaimNonce())
		p := s.PlanCheckpoint()
		plan += time.Since(begin)
		if err := l.WriteCheckpoint(b.Context(), p); err != nil {
			b.Fatal(err)
		}
		s.CheckpointWritten(p)
	}
	b.ReportMetric(float64(plan.Nanoseconds())/float64(b.N), "plan-ns/op")
}

// BenchmarkMillionFragments reports the memory of a state and the time of the
// queries that its owners ask most.
func BenchmarkMillionFragments(b *testing.B) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	s := benchState()
	for range 5000 {
		if err := tryAppend(s, "n", benchAppend(s)); err != nil {
			b.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	fragments, _ := s.Counts()
	b.Run("IDSegments", func(b *testing.B) {
		for b.Loop() {
			s.IDSegments(testDay + 3600)
		}
	})
	b.Run("FragmentsOfTenantHour", func(b *testing.B) {
		n := 0
		for b.Loop() {
			n = 0
			s.Fragments("tenant-007", testDay, testDay+3600, func(Fragment) bool { n++; return true })
		}
		b.ReportMetric(float64(n), "fragments")
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(fragments), "heap-bytes/fragment")
	})
}
