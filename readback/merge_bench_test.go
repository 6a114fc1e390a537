package readback

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/bench/cpu"
	"github.com/togodb/togo/bench/traffic"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
)

// fragments writes a million events in files as a writer flushes them: one after the
// other in time, or mixed, each event in any of the files.
func fragments(b *testing.B, dir string, files, each int, mixed bool) (paths []string, inputs []fragment.MergeInput) {
	source, registry := traffic.Plain(1, 0), newRegistry()
	rows := make([][]fragment.Row, files)
	n := files * each
	for i := range n {
		at := traffic.Start.Add(time.Duration(i) * 25 * time.Minute / time.Duration(n))
		e := source.Next(1, at, nil)
		file := i / each
		if mixed {
			file = i % files
		}
		rows[file] = append(rows[file], fragment.Row{
			Timestamp: event.Timestamp(at.UnixNano() / 1000 * 1000), ID: e.ID, IngestedAt: event.Timestamp(at.UnixNano() + 1e9),
			Source: &event.Source{Cluster: "c", Partition: int32(i % 4)}, Offset: int64(i), Format: event.FormatJSON, Payload: e.Payload,
		})
	}
	for i := range rows {
		f, err := fragment.Encode(context.Background(), fragment.Input{Tenant: tenant, Kind: fragment.Events, Seq: uint64(i + 1), Rows: rows[i]}, registry)
		if err != nil {
			b.Fatal(err)
		}
		rows[i] = nil
		path := filepath.Join(dir, fmt.Sprintf("in-%d.parquet", i))
		if err := os.WriteFile(path, f.Body, 0o644); err != nil {
			b.Fatal(err)
		}
		paths, inputs = append(paths, path), append(inputs, fragment.MergeInput{Key: path, Bytes: int64(len(f.Body))})
	}
	return paths, inputs
}

// disk reads ranges of files.
type disk struct{}

func (disk) GetRange(_ context.Context, key string, off, n int64) ([]byte, error) {
	f, err := os.Open(key)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, n)
	_, err = f.ReadAt(b, off)
	return b, err
}

// BenchmarkMerge merges eight sorted fragments of a million events, and lets DuckDB do it
// with the same files in the same run, on one thread, by its fastest zstd: CPU seconds
// of the process. Both write to disk.
func BenchmarkMerge(b *testing.B) {
	for _, mixed := range []bool{false, true} {
		b.Run(map[bool]string{false: "flushes", true: "mixed"}[mixed], func(b *testing.B) {
			const files, each = 8, 125_000
			dir := b.TempDir()
			paths, inputs := fragments(b, dir, files, each, mixed)
			db := openDuckDB(b)
			for _, set := range []string{"SET threads = 1", "SET preserve_insertion_order = true"} {
				if _, err := db.Exec(set); err != nil {
					b.Fatal(err)
				}
			}
			copyTo := fmt.Sprintf(`COPY (SELECT * FROM read_parquet(['%s'], union_by_name=true) ORDER BY service NULLS LAST, status NULLS LAST, timestamp)
				TO '%s' (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1)`, strings.Join(paths, "','"), filepath.Join(dir, "duckdb.parquet"))
			var ours, theirs time.Duration
			rows := 0
			for b.Loop() {
				began := cpu.Time()
				mergeTo(b, filepath.Join(dir, "togo.parquet"), inputs)
				ours += cpu.Time() - began
				began = cpu.Time()
				if _, err := db.Exec(copyTo); err != nil {
					b.Fatal(err)
				}
				theirs += cpu.Time() - began
				rows += files * each
			}
			b.ReportMetric(float64(rows)/ours.Seconds(), "rows/cpu-s")
			b.ReportMetric(float64(rows)/theirs.Seconds(), "duckdb-rows/cpu-s")
			b.ReportMetric(theirs.Seconds()/ours.Seconds(), "times-duckdb")
			for _, name := range []string{"togo", "duckdb"} {
				if info, err := os.Stat(filepath.Join(dir, name+".parquet")); err == nil {
					b.ReportMetric(float64(info.Size())/1e6, name+"-MB")
				}
			}
		})
	}
}

func mergeTo(b testing.TB, path string, inputs []fragment.MergeInput) *fragment.Merged {
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	m, err := fragment.Merge(context.Background(), disk{}, inputs, fragment.MergeSpec{Tenant: tenant, Kind: fragment.Events, Floor: math.MinInt64, TargetBytes: 1 << 40},
		func(int) (io.Writer, error) { return f, nil })
	if err != nil {
		b.Fatal(err)
	}
	return m
}
