package fragment

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/togodb/togo/internal/event/jsonscan"
)

// TOGO_TEST_DATA names a folder with more .ndjson files, which are read too.
func dataFiles(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.ndjson")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no test data: %v", err)
	}
	if more := os.Getenv("TOGO_TEST_DATA"); more != "" {
		for _, pattern := range []string{"*/*.ndjson", "*/*.ndjson.gz"} {
			found, err := filepath.Glob(filepath.Join(more, pattern))
			if err != nil {
				t.Fatal(err)
			}
			paths = append(paths, found...)
		}
	}
	return paths
}

// documents lists the lines of a file that are good events.
func documents(t testing.TB, path string) []string {
	t.Helper()
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
	var tape jsonscan.Tape
	s := bufio.NewScanner(in)
	s.Buffer(nil, 4<<20)
	for s.Scan() {
		if line := bytes.Clone(s.Bytes()); tape.Parse(line) == nil {
			out = append(out, string(line))
		}
	}
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	return out
}

func TestRealEventsComeBackAsSent(t *testing.T) {
	one := newRegistry() // a tenant that sends all of it
	total := 0
	for _, path := range dataFiles(t) {
		docs := documents(t, path)
		if len(docs) == 0 {
			continue
		}
		total += len(docs)
		roundTrip(t, newRegistry(), docs...)
		roundTrip(t, one, docs...)
		if t.Failed() {
			t.Fatalf("in %s", path)
		}
	}
	if total < 200 {
		t.Fatalf("only %d events", total)
	}
}
