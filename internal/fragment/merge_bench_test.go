package fragment

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/togodb/togo/bench/cpu"
	"github.com/togodb/togo/bench/traffic"
	"github.com/togodb/togo/internal/event"
)

// trafficFiles encodes events of one hour into files as a writer flushes them: one after
// the other in time, or mixed, each event in any of the files.
func trafficFiles(t testing.TB, files, each int, mixed bool) *mergeStore {
	source, registry, s := traffic.Plain(1, 0), newRegistry(), &mergeStore{}
	rows := make([][]Row, files)
	n := files * each
	for i := range n {
		at := traffic.Start.Add(time.Duration(i) * 25 * time.Minute / time.Duration(n))
		e := source.Next(1, at, nil)
		file := i / each
		if mixed {
			file = i % files
		}
		rows[file] = append(rows[file], Row{
			Timestamp: event.Timestamp(at.UnixNano() / 1000 * 1000), ID: e.ID, IngestedAt: event.Timestamp(at.UnixNano() + 1e9),
			Source: &event.Source{Cluster: "c", Partition: int32(i % 4)}, Offset: int64(i), Format: event.FormatJSON, Payload: e.Payload,
		})
	}
	for i := range rows {
		f, err := Encode(context.Background(), Input{Tenant: "t", Kind: Events, Bucket: mergeBucket, Seq: uint64(i + 1), Rows: rows[i]}, registry)
		if err != nil {
			t.Fatal(err)
		}
		rows[i] = nil
		s.add(f.Body)
	}
	return s
}

func benchMerge(b *testing.B, files, each int, mixed bool) {
	s := trafficFiles(b, files, each, mixed)
	m := cpu.Start(b)
	before := cpu.Time()
	var size int64
	for b.Loop() {
		s.reads = 0
		out, err := Merge(context.Background(), s, s.inputs, mergeSpec(), func(int) (io.Writer, error) { return io.Discard, nil })
		if err != nil {
			b.Fatal(err)
		}
		size = 0
		for _, f := range out.Files {
			size += f.Bytes
		}
	}
	used := cpu.Time() - before
	n := b.N * files * each
	m.PerEvent(n)
	b.ReportMetric(float64(n)/used.Seconds(), "rows/cpu-s")
	b.ReportMetric(float64(s.reads), "reads")
	b.ReportMetric(float64(size)/float64(files*each), "file-bytes/event")
}

func BenchmarkMerge(b *testing.B)      { benchMerge(b, 8, 125_000, false) }
func BenchmarkMergeMixed(b *testing.B) { benchMerge(b, 8, 125_000, true) }
