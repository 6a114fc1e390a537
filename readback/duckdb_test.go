package readback

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
)

// randomEvent is an object of many kinds of values, wide and nested.
func randomEvent(r *rand.Rand, width int) string {
	var b strings.Builder
	var value func(depth int)
	object := func(depth, n int) {
		b.WriteByte('{')
		seen := map[int]bool{}
		for range n {
			k := r.IntN(4 * width)
			if seen[k] {
				continue
			}
			if len(seen) > 0 {
				b.WriteByte(',')
			}
			seen[k] = true
			fmt.Fprintf(&b, `"k%d":`, k)
			value(depth)
		}
		b.WriteByte('}')
	}
	value = func(depth int) {
		switch n := r.IntN(14); {
		case n < 3:
			fmt.Fprintf(&b, "%d", r.Int64N(1<<uint(1+r.IntN(62)))-r.Int64N(1000))
		case n < 5:
			b.WriteString(strconv.FormatFloat(r.NormFloat64()*1e3, 'f', r.IntN(20), 64))
		case n == 5:
			b.WriteString([]string{"true", "false", "null", "1e400", "18446744073709551615", "9007199254740993", "-0.0", "{}", "[]"}[r.IntN(9)])
		case n < 9:
			text, _ := json.Marshal([]string{"", "GET", "POST", "ä\u0000ö😀", "x\n\"y\"", strings.Repeat("z", r.IntN(300)), fmt.Sprint(r.Uint64())}[r.IntN(7)])
			b.Write(text)
		case n < 11 && depth > 0:
			object(depth-1, r.IntN(4))
		case n == 11 && depth > 0:
			b.WriteByte('[')
			value(depth - 1)
			b.WriteString(" , ")
			value(depth - 1)
			b.WriteByte(']')
		default:
			fmt.Fprintf(&b, `"v%d"`, r.IntN(20))
		}
	}
	object(3, width)
	return b.String()
}

// TOGO_READBACK_ROWS sets how many rows the random test reads back.
func randomRows(t *testing.T) int {
	if s := os.Getenv("TOGO_READBACK_ROWS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return 8_000
}

func TestFault_parquet_corruption(t *testing.T) {
	const writers, rowsPerFile = 16, 250
	db, dir := openDuckDB(t), t.TempDir()
	registry := newRegistry() // one tenant for all writers: they race for its columns
	files := max(1, randomRows(t)/writers/rowsPerFile)
	var g errgroup.Group
	for w := range writers {
		g.Go(func() error {
			r := rand.New(rand.NewPCG(uint64(w), 99))
			for n := range files {
				payloads := make([]string, rowsPerFile)
				for i := range payloads {
					payloads[i] = randomEvent(r, 1+r.IntN(30))
				}
				s := sent{registry, eventRows(payloads...)}
				path, err := s.write(dir, fmt.Sprintf("%d-%d.parquet", w, n))
				if err != nil {
					return err
				}
				got, err := duckRows(db, path)
				if err == nil {
					err = s.check(got)
				}
				if err != nil {
					return fmt.Errorf("writer %d (seed %d, 99), file %d: %w", w, w, n, err)
				}
				if err := os.Remove(path); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}

func TestRealEventsReadByDuckDB(t *testing.T) {
	db, dir := openDuckDB(t), t.TempDir()
	paths, err := filepath.Glob("../internal/fragment/testdata/*.ndjson*")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no test data: %v", err)
	}
	for _, path := range paths {
		s := sent{newRegistry(), eventRows(lines(t, path)...)}
		file, err := s.write(dir, filepath.Base(path)+".parquet")
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		got, err := duckRows(db, file)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if len(got) != len(s.rows) {
			t.Errorf("%s: %d rows, %d sent", path, len(got), len(s.rows))
		}
	}
}

func lines(t *testing.T, path string) []string {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var in io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if in, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	var out []string
	s := bufio.NewScanner(in)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		if line := strings.TrimSpace(s.Text()); strings.HasPrefix(line, "{") {
			out = append(out, line)
		}
	}
	return out
}

// Several files of one tenant, with types in conflict over them, are one table.
func TestFilesOfATenantAreOneTable(t *testing.T) {
	db, dir, registry := openDuckDB(t), t.TempDir(), newRegistry()
	var files []string
	for i, p := range []string{`{"f":1,"s":"a"}`, `{"f":"x"}`, `{"f":1.5}`, `{"F":true}`, `{"f":[1]}`, `{"g":null}`} {
		s := sent{registry, eventRows(p)}
		path, err := s.write(dir, fmt.Sprint(i, ".parquet"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, path)
	}
	got, err := duckRows(db, files...)
	if err != nil || len(got) != len(files) {
		t.Fatalf("%d rows: %v", len(got), err)
	}
	count := map[string]int{}
	for _, r := range got {
		for name := range r {
			if !ownNames[name] {
				count[name]++
			}
		}
	}
	if want := "map[%46:1 f:1 f@double:1 f@json:1 f@string:1 s:1]"; fmt.Sprint(count) != want {
		t.Errorf("columns %v, want %v", count, want)
	}
}

// Bounds, Bloom filters and dictionaries must never hide a row: the same filter gives
// the same count as a scan of our own.
func TestFiltersFindWhatAScanFinds(t *testing.T) {
	db, dir := openDuckDB(t), t.TempDir()
	r := rand.New(rand.NewPCG(5, 6))
	type event struct {
		Service string  `json:"service,omitempty"`
		Trace   string  `json:"trace_id"`
		N       int64   `json:"n"`
		D       float64 `json:"d"`
		Long    string  `json:"long"`
	}
	var events []event
	var payloads []string
	for i := range 40_000 { // several pages
		e := event{
			Service: []string{"", "web", "db", "ä", "\U0010FFFF"}[r.IntN(5)], Trace: fmt.Sprintf("%016x", r.Uint64()),
			N: r.Int64N(100) - 50, D: float64(r.IntN(50)-25) + 0.25, Long: strings.Repeat("\U0010FFFF", r.IntN(40)) + fmt.Sprint(i%100),
		}
		if i%7 == 0 {
			e.N = r.Int64() - r.Int64()
		}
		events = append(events, e)
		b, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		payloads = append(payloads, string(b))
	}
	s := sent{newRegistry(), eventRows(payloads...)}
	path, err := s.write(dir, "f.parquet")
	if err != nil {
		t.Fatal(err)
	}
	count := func(where string, arg any) (n int) {
		if err := db.QueryRow(fmt.Sprintf("SELECT count(*) FROM '%s' WHERE %s", path, where), arg).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for range 60 {
		e := events[r.IntN(len(events))]
		var want [7]int
		for _, o := range events {
			for i, hit := range []bool{
				o.Service != "" && o.Service == e.Service, o.Trace == e.Trace, o.N == e.N, o.N > e.N, o.D == e.D, o.D <= e.D, o.Long == e.Long,
			} {
				if hit {
					want[i]++
				}
			}
		}
		got := [7]int{
			count("service = ?", e.Service), count("trace_id = ?", e.Trace), count("n = ?", e.N), count("n > ?", e.N),
			count("d = ?", e.D), count("d <= ?", e.D), count("long = ?", e.Long),
		}
		if got != want {
			t.Fatalf("%+v: counts %v, want %v", e, got, want)
		}
	}
	if n := count("trace_id = ?", "not there"); n != 0 {
		t.Errorf("%d rows for a value that is not there", n)
	}
}

func TestHugeValueReadByDuckDB(t *testing.T) {
	db, dir := openDuckDB(t), t.TempDir()
	var payloads []string
	for i := range 100 {
		payloads = append(payloads, fmt.Sprintf(`{"text":"short %d"}`, i))
	}
	payloads[50] = `{"text":"` + strings.Repeat("huge", 10<<18) + `"}`
	s := sent{newRegistry(), eventRows(payloads...)}
	path, err := s.write(dir, "h.parquet")
	if err != nil {
		t.Fatal(err)
	}
	got, err := duckRows(db, path)
	if err == nil {
		err = s.check(got)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestDeadLettersReadByDuckDB(t *testing.T) {
	db := openDuckDB(t)
	rows := eventRows("", "{", "\xff\x00\xfe", `{"a":1}`)
	for i := range rows {
		rows[i].Letter, rows[i].Format = &fragment.Letter{Reason: event.ReasonMalformed, Detail: fmt.Sprint("byte ", i)}, event.PayloadFormat(i)
	}
	f, err := fragment.Encode(t.Context(), fragment.Input{Tenant: tenant, Kind: fragment.DeadLetters, Rows: rows}, nil)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "d.parquet")
	if err := os.WriteFile(path, f.Body, 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := duckRows(db, path)
	if err != nil || len(got) != len(rows) {
		t.Fatalf("%d rows: %v", len(got), err)
	}
	for i, r := range got {
		if !bytes.Equal(r["payload"].([]byte), rows[i].Payload) || r["reason"] != "malformed" || r["detail"] != fmt.Sprint("byte ", i) {
			t.Errorf("row %d: %v", i, r)
		}
	}
}
