package readback

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// python is an interpreter that has pyarrow: TOGO_PYARROW names it.
func python(t *testing.T) string {
	t.Helper()
	path := os.Getenv("TOGO_PYARROW")
	if path == "" {
		if os.Getenv("CI_REQUIRE_SERVERS") == "1" {
			t.Fatal("TOGO_PYARROW names no Python with pyarrow")
		}
		t.Skip("TOGO_PYARROW names no Python with pyarrow")
	}
	return path
}

func pyarrowRows(t *testing.T, file string) []record {
	t.Helper()
	cmd := exec.Command(python(t), "pyarrow_check.py", file)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("pyarrow: %v\n%s", err, stderr.Bytes())
	}
	var rows []record
	s := bufio.NewScanner(bytes.NewReader(out))
	s.Buffer(nil, 64<<20)
	for s.Scan() {
		d := json.NewDecoder(bytes.NewReader(s.Bytes()))
		d.UseNumber()
		r := record{}
		if err := d.Decode(&r); err != nil {
			t.Fatal(err)
		}
		for name, v := range r {
			if r[name], err = pyarrowValue(v); err != nil {
				t.Fatalf("column %q: %v", name, err)
			}
		}
		rows = append(rows, r)
	}
	return rows
}

func pyarrowValue(v any) (any, error) {
	switch v := v.(type) {
	case json.Number:
		return strconv.ParseInt(string(v), 10, 64)
	case map[string]any:
		if s, ok := v["float"].(string); ok {
			return strconv.ParseFloat(s, 64)
		}
		if s, ok := v["hex"].(string); ok {
			return hex.DecodeString(s)
		}
		if n, ok := v["us"].(json.Number); ok {
			return strconv.ParseInt(string(n), 10, 64)
		}
		return nil, fmt.Errorf("value %v", v)
	}
	return v, nil
}

func TestRandomRowsReadByPyarrow(t *testing.T) {
	python(t)
	r := rand.New(rand.NewPCG(7, 8))
	registry, dir := newRegistry(), t.TempDir()
	for n := range 3 {
		var payloads []string
		for range 500 {
			payloads = append(payloads, randomEvent(r, 1+r.IntN(20)))
		}
		s := sent{registry, eventRows(payloads...)}
		path, err := s.write(dir, fmt.Sprint(n, ".parquet"))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.check(pyarrowRows(t, path)); err != nil {
			t.Fatalf("file %d: %v", n, err)
		}
	}
}

// What pyarrow and DuckDB read of real events is the same.
func TestRealEventsReadByPyarrow(t *testing.T) {
	python(t)
	db, dir := openDuckDB(t), t.TempDir()
	for _, name := range []string{"mixed", "canal", "otel_logs", "vpcflow"} {
		s := sent{newRegistry(), eventRows(lines(t, "../internal/fragment/testdata/"+name+".ndjson")...)}
		path, err := s.write(dir, filepath.Base(name)+".parquet")
		if err != nil {
			t.Fatal(err)
		}
		want, err := duckRows(db, path)
		if err != nil {
			t.Fatal(err)
		}
		got := pyarrowRows(t, path)
		if len(got) != len(want) {
			t.Fatalf("%s: %d rows, DuckDB reads %d", name, len(got), len(want))
		}
		for i := range got {
			if fmt.Sprint(got[i]) != fmt.Sprint(want[i]) {
				t.Fatalf("%s: row %d:\npyarrow %v\nDuckDB  %v", name, i, got[i], want[i])
			}
		}
	}
}
