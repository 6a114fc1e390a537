package query_test

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/objstore/s3store"
	"github.com/togodb/togo/internal/objstore/s3test"
	"github.com/togodb/togo/query"
)

// asked is a range of an object that was asked for.
type asked struct {
	key    string
	off, n int64
}

// noting is a store that notes which ranges of files it is asked for.
type noting struct {
	objstore.Store
	mu    sync.Mutex
	asked []asked
}

func (n *noting) GetRange(ctx context.Context, key string, off, size int64) ([]byte, error) {
	b, err := n.Store.GetRange(ctx, key, off, size)
	if strings.HasPrefix(key, "data/") {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.asked = append(n.asked, asked{key, off, int64(len(b))})
	}
	return b, err
}

// ranges are those of columns, in order, and the bytes of all. (How much of a file's end is asked for at first follows from the ends that
// were there before, and so from which answer comes first.)
func (n *noting) ranges(ends map[string]int64) (columns []asked, bytes int64) {
	for _, a := range n.asked {
		if bytes += a.n; a.off < ends[a.key] {
			columns = append(columns, a)
		}
	}
	slices.SortFunc(columns, func(a, b asked) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.off, b.off)) })
	return columns, bytes
}

// copyTo copies all objects, and gives the files among them.
func copyTo(t *testing.T, from, to objstore.Store) (files map[string][]byte) {
	t.Helper()
	files = map[string][]byte{}
	for o, err := range from.List(t.Context(), "", "") {
		if err != nil {
			t.Fatal(err)
		}
		body, err := from.Get(t.Context(), o.Key)
		if err == nil && to != nil {
			err = to.Put(t.Context(), o.Key, body)
		}
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(o.Key, "data/") && strings.HasSuffix(o.Key, ".parquet") {
			files[o.Key] = body
		}
	}
	return files
}

// needed is how many bytes the footers and some columns take, and where the columns of each file end.
func needed(t *testing.T, files map[string][]byte, columns ...string) (bytes int64, ends map[string]int64) {
	t.Helper()
	ends = map[string]int64{}
	for key, body := range files {
		n, err := fragment.FooterBytes(key, body)
		if err != nil {
			t.Fatal(err)
		}
		footer, err := fragment.ParseFooter(key, int64(len(body)), body)
		if err != nil {
			t.Fatal(err)
		}
		bytes += n
		for _, g := range footer.Groups {
			for i := range g.Chunks {
				ends[key] = max(ends[key], g.Chunks[i].To)
			}
			for _, name := range columns {
				if c := footer.Column(name); c >= 0 {
					bytes += g.Chunks[c].Len()
				}
			}
		}
	}
	return bytes, ends
}

// TestColdReadsAreWhatColumnsTake: a query of a MiB or more asks the store for at most 1.3 times the bytes of the columns that it needs, and
// it asks an S3 server for the same ranges.
func TestColdReadsAreWhatColumnsTake(t *testing.T) {
	memory := objstore.NewMemory()
	s := newStageOver(t, memory, 2, nil)
	s.commit(150_000)
	files := copyTo(t, memory, nil)
	queries := []struct {
		text    string
		columns []string // that it needs; none: it looks for some rows
	}{
		{"SELECT count(DISTINCT trace_id), max(message) FROM events", []string{"trace_id", "message"}},
		{"SELECT service, sum(n), max(load), count(DISTINCT trace_id) FROM events GROUP BY service", []string{"service", "n", "load", "trace_id"}},
		{"SELECT count(*) FROM events WHERE message ILIKE '%timeout%' OR trace_id LIKE '%77%'", []string{"message", "trace_id"}},
		{"SELECT id, message FROM events WHERE id = 'e00777'", nil},
	}
	one := func(c *query.Config) { c.Workers = 1 }
	ask := func(t *testing.T, store objstore.Store, text string) (rows []string, n *noting) {
		n = &noting{Store: store}
		rows, _, err := s.ask(s.open(n, one), query.Request{SQL: text})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return rows, n
	}
	for _, q := range queries {
		_, n := ask(t, memory, q.text)
		need, ends := needed(t, files, q.columns...)
		_, bytes := n.ranges(ends)
		t.Logf("%s: %d bytes in %d requests, %d needed in %d files", q.text, bytes, len(n.asked), need, len(files))
		if q.columns != nil && (need < 1<<20 || bytes < need || bytes*10 > need*13) {
			t.Errorf("%s: %d bytes are read, %d are needed", q.text, bytes, need)
		}
	}
	t.Run("S3", func(t *testing.T) {
		server := s3test.Start(t)
		bucket, err := s3store.New(t.Context(), server.Config(t))
		if err != nil {
			t.Fatal(err)
		}
		copyTo(t, memory, bucket)
		for _, q := range queries {
			want, here := ask(t, memory, q.text)
			got, there := ask(t, bucket, q.text)
			need, ends := needed(t, files, q.columns...)
			a, bytes := here.ranges(ends)
			b, overS3 := there.ranges(ends)
			if !same(got, want) {
				t.Errorf("%s: %d rows over S3, %d are right", q.text, len(got), len(want))
			}
			if !slices.Equal(a, b) || len(a) == 0 || q.columns != nil && overS3*10 > need*13 {
				t.Errorf("%s: %d bytes over S3, %d from memory, %d needed; ranges of columns %v and %v", q.text, overS3, bytes, need, b, a)
			}
		}
	})
}
