package scan

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/vec"
)

// Config is what a Scanner may use.
type Config struct {
	// FooterBytes is the memory of footers that are kept, and of dictionaries, which have a quarter of it; 0 is DefaultFooterBytes.
	FooterBytes int64
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
	dicts   *footers // dictionaries alone, which would crowd footers out
	ends    ends
	spares  spares
}

var _ Source = (*Scanner)(nil)

// NewScanner makes a Scanner over ranges of objects.
func NewScanner(ranges Ranges, c Config) *Scanner {
	kept := cmp.Or(c.FooterBytes, DefaultFooterBytes)
	return &Scanner{ranges: ranges, ahead: cmp.Or(c.Ahead, DefaultAhead), footers: newFooters(kept - kept/4), dicts: newFooters(kept / 4),
		ends: ends{seen: map[endOf]endSize{}}}
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
	files   []candidate // not opened yet, in order
	groups  []*rowGroup
	opening int   // files whose row groups may still come
	reading int   // row groups under way
	held    int64 // bytes that they may read
	due     int64 // memory that they may need; a part of it is taken
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
	x.files = x.plan.prune(x.ctx, r, stats)
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

// candidate is a fragment that may have rows.
type candidate struct {
	*Fragment
	stages []stage // that its record does not decide
	sure   bool    // all rows pass
}

// Prune gives the fragments of which a scan would not know by their records alone that they have no row for it, and counts
// the others.
func (s *Scanner) Prune(r *Request) []Fragment {
	stats := r.Stats
	if stats == nil {
		stats = new(Stats)
	}
	var out []Fragment
	for _, f := range newPlan(r).prune(context.Background(), r, stats) {
		out = append(out, *f.Fragment)
	}
	return out
}

// prune lists the fragments that may have rows, in the order in which they are opened. Once ctx has ended the list is not whole.
func (p *plan) prune(ctx context.Context, r *Request, stats *Stats) []candidate {
	var out []candidate
	for i := range r.Fragments {
		if ctx.Err() != nil { // there may be many fragments, and many conditions
			break
		}
		f := candidate{Fragment: &r.Fragments[i]}
		if r.NoPruning {
			f.stages = p.stages
		} else if !f.judge(p, r, stats) {
			continue
		}
		out = append(out, f)
	}
	if r.Top != nil && r.Top.Descending {
		slices.SortStableFunc(out, func(a, b candidate) int { return cmp.Compare(b.Max, a.Max) })
	} else if r.Top != nil {
		slices.SortStableFunc(out, func(a, b candidate) int { return cmp.Compare(a.Min, b.Min) })
	}
	return out
}

// judge drops the stages that are TRUE for all rows of the fragment; false: one is for none.
func (f *candidate) judge(p *plan, r *Request, stats *Stats) bool {
	bounds := p.ofRecord(f.Fragment)
	for i := range p.stages {
		s := &p.stages[i]
		switch p.judge(r, s, bounds) {
		case expr.Never:
			if len(s.slots) == 1 && s.slots[0] == p.time {
				stats.PrunedByTime.Add(1)
			} else {
				stats.PrunedByRange.Add(1)
			}
			return false
		case expr.Maybe:
			f.stages = append(f.stages, *s)
		}
	}
	f.sure = len(f.stages) == 0
	return true
}

// broken is the error of a panic.
func broken(p any) error {
	return &fail.Error{Code: fail.Internal, Message: "internal error while reading; the log has the details", Err: fmt.Errorf("panic: %v\n%s", p, debug.Stack())}
}

// runner takes what is to be done until nothing is left.
func (x *run) runner() {
	defer func() {
		if p := recover(); p != nil {
			x.cancel(broken(p))
		}
	}()
	for x.ctx.Err() == nil {
		file, group := x.take()
		var err error
		switch {
		case group != nil:
			err = group.scan()
			x.readOne(group)
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
func (x *run) take() (*candidate, *rowGroup) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for x.ctx.Err() == nil {
		if len(x.groups) > 0 && x.mayRead() {
			g := x.groups[0]
			x.groups = x.groups[1:]
			x.reading++
			x.held += g.bytes
			x.due += g.need
			return nil, g
		}
		if len(x.files) > 0 {
			f := &x.files[0]
			x.files = x.files[1:]
			x.opening++
			return f, nil
		}
		if x.opening == 0 && len(x.groups) == 0 {
			break
		}
		x.changed.Wait()
	}
	return nil, nil
}

// mostBytes bounds what the row groups that are under way may read, but for one.
const mostBytes = 128 << 20

// mayRead tells that the next row group may be begun: the first, or beside others if there is memory. Of a Top the first ones are read without others ahead, as these may be all.
func (x *run) mayRead() bool {
	if x.r.Top != nil && !x.r.Top.Full.Load() && x.reading >= cap(x.workers) {
		return false
	}
	g := x.groups[0]
	return x.reading == 0 || x.held+g.bytes <= mostBytes && (x.r.Memory == nil || x.r.Memory.Room(x.due+g.need))
}

func (x *run) readOne(g *rowGroup) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.reading--
	x.held -= g.bytes
	x.due -= g.need
	x.changed.Broadcast()
}

// addGroups puts row groups on the list: of a Top those first that may have its first rows.
func (x *run) addGroups(groups []*rowGroup) {
	x.groups = append(x.groups, groups...)
	if top := x.r.Top; top != nil {
		slices.SortStableFunc(x.groups, func(a, b *rowGroup) int {
			if top.Descending {
				return cmp.Compare(b.time.Max.Int, a.time.Max.Int)
			}
			return cmp.Compare(a.time.Min.Int, b.time.Min.Int)
		})
	}
}

// work runs f as one of the workers.
func (x *run) work(f func(worker int) error) error {
	select {
	case w := <-x.workers:
		defer func() { x.workers <- w }()
		used, err := measured(func() error { return f(w) })
		x.stats.ReadCPU(used)
		return err
	case <-x.ctx.Done():
		return x.ctx.Err()
	}
}
