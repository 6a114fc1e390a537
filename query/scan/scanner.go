package scan

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/vec"
)

// Config is what a Scanner may use.
type Config struct {
	FooterBytes int64 // memory of footers that are kept; 0 is DefaultFooterBytes
	// Ahead is how many row groups more than there are workers a scan has in hand, so that reads of one
	// overlap with the work on another; 0 is DefaultAhead.
	Ahead int
}

// Defaults of Config.
const (
	DefaultFooterBytes = 64 << 20
	DefaultAhead       = 4
)

// Scanner reads fragments. It is safe for concurrent use.
type Scanner struct {
	ranges  Ranges
	ahead   int
	footers *footers
}

var _ Source = (*Scanner)(nil)

// NewScanner makes a Scanner over ranges of objects.
func NewScanner(ranges Ranges, c Config) *Scanner {
	return &Scanner{ranges: ranges, ahead: cmp.Or(c.Ahead, DefaultAhead), footers: newFooters(cmp.Or(c.FooterBytes, DefaultFooterBytes))}
}

// run is one scan.
type run struct {
	*Scanner
	ctx    context.Context
	cancel context.CancelCauseFunc
	r      *Request
	stats  *Stats
	emit   func(worker int, b *vec.Batch) error
	// workers are those that are idle: what computes for the scan holds one of them, what reads holds none.
	workers   chan int
	scratches []*expr.Scratch
	plan      *plan
	bytes     atomic.Int64 // read

	mu      sync.Mutex
	changed *sync.Cond
	files   []Fragment // not opened yet, in order
	groups  []*rowGroup
	opening int // files whose row groups may still come
}

// Scan reads the rows of r's fragments; see Source.
func (s *Scanner) Scan(ctx context.Context, r *Request, workers int, emit func(worker int, b *vec.Batch) error) error {
	stats := r.Stats
	if stats == nil {
		stats = new(Stats)
	}
	workers = max(1, workers)
	x := &run{Scanner: s, r: r, stats: stats, emit: emit, workers: make(chan int, workers), plan: newPlan(r)}
	x.ctx, x.cancel = context.WithCancelCause(ctx)
	defer x.cancel(nil)
	x.changed = sync.NewCond(&x.mu)
	for w := range workers {
		x.workers <- w
		x.scratches = append(x.scratches, &expr.Scratch{Ctx: x.ctx, Memo: map[any]any{}})
	}
	x.files = x.order(r.Fragments)
	stop := context.AfterFunc(x.ctx, func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.changed.Broadcast()
	})
	defer stop()
	var running sync.WaitGroup
	for range workers + s.ahead {
		running.Go(x.runner)
	}
	running.Wait()
	return context.Cause(x.ctx)
}

// order is the order in which fragments are opened.
func (x *run) order(files []Fragment) []Fragment {
	files = slices.Clone(files)
	if top := x.r.Top; top != nil && top.Descending {
		slices.SortStableFunc(files, func(a, b Fragment) int { return cmp.Compare(b.Max, a.Max) })
	} else if top != nil {
		slices.SortStableFunc(files, func(a, b Fragment) int { return cmp.Compare(a.Min, b.Min) })
	}
	return files
}

// runner takes what is to be done until nothing is left.
func (x *run) runner() {
	defer func() {
		if p := recover(); p != nil {
			x.cancel(&fail.Error{Code: fail.Internal, Message: "internal error while reading; the log has the details", Err: fmt.Errorf("panic: %v\n%s", p, debug.Stack())})
		}
	}()
	for x.ctx.Err() == nil {
		file, group := x.take()
		var err error
		switch {
		case group != nil:
			err = group.scan()
		case file != nil:
			err = x.open(file)
		default:
			return
		}
		if err != nil {
			x.cancel(err)
		}
	}
}

// take gives a row group, or else the next fragment, or nothing when the scan is done.
func (x *run) take() (*Fragment, *rowGroup) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for x.ctx.Err() == nil {
		if len(x.groups) > 0 {
			g := x.groups[0]
			x.groups = x.groups[1:]
			return nil, g
		}
		if len(x.files) > 0 {
			f := &x.files[0]
			x.files = x.files[1:]
			x.opening++
			return f, nil
		}
		if x.opening == 0 {
			break
		}
		x.changed.Wait()
	}
	return nil, nil
}

// open puts the row groups of a fragment on the list.
func (x *run) open(f *Fragment) error {
	var groups []*rowGroup
	var err error
	defer func() {
		x.mu.Lock()
		x.opening--
		x.groups = append(x.groups, groups...)
		x.changed.Broadcast()
		x.mu.Unlock()
	}()
	footer, tail, err := x.footer(x.ctx, f, x.stats)
	if err != nil {
		return err
	}
	if footer.Tenant != x.r.Tenant || footer.Kind != x.r.Kind {
		return fmt.Errorf("%w: %s: it does not hold %v of the tenant that it is listed for", fragment.ErrCorrupt, f.Key, x.r.Kind)
	}
	x.stats.Read.Add(1)
	opened, err := x.bind(f, footer, tail)
	if err != nil {
		return err
	}
	for i := range footer.Groups {
		x.stats.RowGroups.Add(1)
		groups = append(groups, newRowGroup(x, opened, i))
	}
	return nil
}

// work runs f as one of the workers.
func (x *run) work(f func(worker int) error) error {
	select {
	case w := <-x.workers:
		began := time.Now()
		defer func() {
			x.stats.ReadCPU(time.Since(began))
			x.workers <- w
		}()
		return f(w)
	case <-x.ctx.Done():
		return x.ctx.Err()
	}
}
