package scan

import (
	"sync"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/fragment/parquetfile"
)

// ends remembers how large the ends of a tenant's files were, so that the first read of the next one asks for about as much as it has. A
// guess that is too low costs one more request, one too high some bytes.
type ends struct {
	mu   sync.Mutex
	seen map[endOf]endSize
}

// endOf are files whose footers are about of one size.
type endOf struct {
	tenant event.TenantID
	kind   fragment.Kind
	groups int64 // row groups
}

// endSize is what such files had lately.
type endSize struct {
	footer  int64
	indexes float64 // for each byte of the file: there is an entry for each page
}

// mostEnds bounds how many are remembered; all are forgotten then.
const mostEnds = 10_000

// groupsOf is how many row groups a fragment has, about: a group may also end at some bytes.
func groupsOf(f *Fragment) int64 {
	return (f.Rows + parquetfile.RowGroupRows - 1) / parquetfile.RowGroupRows
}

// guess is how much of a fragment's end to read at first: the footer, or with indexes also those; all of a small file.
func (e *ends) guess(r *Request, f *Fragment, indexes bool) int64 {
	if f.Bytes <= fragment.TailBytes {
		return f.Bytes
	}
	e.mu.Lock()
	size, ok := e.seen[endOf{r.Tenant, r.Kind, groupsOf(f)}]
	e.mu.Unlock()
	if !ok {
		size = endSize{footer: footerBytes(r.TenantColumns, groupsOf(f)), indexes: 1. / 400}
	}
	n := size.footer
	if indexes {
		n += int64(size.indexes * float64(f.Bytes))
	}
	return min(f.Bytes, n+n/16)
}

// footerBytes is about what the footer of a file of a tenant with so many columns takes: its metadata, the names and types of columns, and
// of each row group where each column lies. A file may have fewer columns.
func footerBytes(columns int, groups int64) int64 {
	const metadata, own, column, chunk = 800, 8, 30, 110
	return metadata + int64(columns+own)*(column+chunk*groups)
}

// saw takes in what a file had. What is guessed of the next follows, down more slowly than up.
func (e *ends) saw(r *Request, f *Fragment, footer, indexes int64) {
	of := endOf{r.Tenant, r.Kind, groupsOf(f)}
	now := endSize{footer, float64(indexes) / float64(f.Bytes)}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.seen) >= mostEnds {
		clear(e.seen)
	}
	if was, ok := e.seen[of]; ok {
		now.footer = max(now.footer, (7*was.footer+now.footer)/8)
		now.indexes = max(now.indexes, (7*was.indexes+now.indexes)/8)
	}
	e.seen[of] = now
}
