package readback

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/togodb/togo/internal/fragment"
)

// mergedSample merges files of random events, whose columns differ from file to file, and
// gives what was sent.
func mergedSample(t *testing.T, dir string) (sent, string) {
	r := rand.New(rand.NewPCG(21, 4))
	s := sent{registry: newRegistry()}
	var inputs []fragment.MergeInput
	var payloads []string
	const files, each = 6, 900
	for i := range files * each {
		e := randomEvent(r, 1+i/each*4)
		if e == "{}" {
			e = `{"empty":true}`
		}
		// Ids of random digits: their pages are packed as literals alone.
		payloads = append(payloads, fmt.Sprintf(`{"uid":"%016x%016x",%s`, r.Uint64(), r.Uint64(), e[1:]))
	}
	s.rows = eventRows(payloads...)
	for i := range files {
		part := sent{s.registry, nil}
		for j := range each { // each file has rows of all times
			part.rows = append(part.rows, s.rows[j*files+i])
		}
		path, err := part.write(dir, fmt.Sprint("part-", i, ".parquet"))
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		inputs = append(inputs, fragment.MergeInput{Key: path, Bytes: info.Size()})
	}
	path := filepath.Join(dir, "merged.parquet")
	mergeTo(t, path, inputs)
	return s, path
}

func TestMergedFilesReadByDuckDB(t *testing.T) {
	s, path := mergedSample(t, t.TempDir())
	db := openDuckDB(t)
	got, err := duckRows(db, path)
	if err == nil {
		err = s.check(got)
	}
	if err != nil {
		t.Fatal(err)
	}
	// Bounds and Bloom filters of a merged file hide no row.
	for i := 0; i < len(s.rows); i += 100 {
		var n int
		if err := db.QueryRow(fmt.Sprintf("SELECT count(*) FROM '%s' WHERE id = ?", path), string(s.rows[i].ID)).Scan(&n); err != nil || n != 1 {
			t.Fatalf("%d rows of id %q: %v", n, s.rows[i].ID, err)
		}
	}
}

func TestMergedFilesReadByPyarrow(t *testing.T) {
	python(t)
	s, path := mergedSample(t, t.TempDir())
	if err := s.check(pyarrowRows(t, path)); err != nil {
		t.Fatal(err)
	}
}
