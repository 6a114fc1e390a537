package exec

import (
	"context"
	"errors"
	"sync"

	"github.com/togodb/togo/query/exec/memory"
	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/scan"
	"github.com/togodb/togo/query/vec"
)

// Run runs the plan over a source, which is not asked without FROM, by some workers. out gets the answer: its calls never overlap,
// and a batch is valid until it returns. The error of out is returned, as that of the source and of ctx is.
func (p *Plan) Run(ctx context.Context, src scan.Source, limits Limits, workers int, out func(*vec.Batch) error) error {
	account := limits.Pool.Account(limits.Memory)
	account.Watch(ctx)
	defer account.Close()
	err := p.run(ctx, src, account, limits, max(workers, 1), out)
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

func (p *Plan) run(ctx context.Context, src scan.Source, account *memory.Account, limits Limits, workers int, out func(*vec.Batch) error) error {
	if p.limit == 0 {
		return ctx.Err()
	}
	if p.Request != nil {
		p.Request.Memory = account
	}
	if p.group == nil {
		t := newTail(ctx, p, account, limits, workers, out)
		if t.top = p.top(); t.top != nil && p.Request != nil {
			p.Request.Top = t.top
		}
		if err := p.scan(ctx, src, workers, t.add); err != nil && !errors.Is(err, errEnough) {
			return err
		}
		return t.finish()
	}
	g, err := p.groups(ctx, src, account, workers)
	if err != nil {
		return err
	}
	t := newTail(ctx, p, account, limits, 1, out)
	err = g.batches(func(b *vec.Batch) error {
		t.workers[0].scratch.Begin()
		sel, all, err := selected(p.group.having, t.workers[0].scratch, b)
		if err != nil || !all && len(sel) == 0 {
			return err
		}
		if !all {
			b = b.Gather(sel)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		return t.add(0, b)
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	return t.finish()
}

// groups reads all rows into groups.
func (p *Plan) groups(ctx context.Context, src scan.Source, account *memory.Account, workers int) (*grouper, error) {
	list := make([]*grouper, workers)
	for i := range list {
		list[i] = newGrouper(p.group, &expr.Scratch{Ctx: ctx, Memo: map[any]any{}}, account.Meter())
	}
	var failed error
	var once sync.Once
	if p.Request != nil && p.FromRecords() {
		p.Request.Whole = whole(list, func(err error) { once.Do(func() { failed = err }) })
	}
	err := p.scan(ctx, src, workers, func(worker int, b *vec.Batch) error { return list[worker].add(b) })
	if err == nil {
		err = failed
	}
	if err != nil {
		return nil, err
	}
	for _, other := range list[1:] {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := list[0].merge(other); err != nil {
			return nil, err
		}
	}
	return list[0], nil
}

// scan gives the rows that pass the filter to emit; without FROM it is one row without columns.
func (p *Plan) scan(ctx context.Context, src scan.Source, workers int, emit func(int, *vec.Batch) error) error {
	if p.Request != nil {
		return src.Scan(ctx, p.Request, workers, emit)
	}
	b := &vec.Batch{Len: 1}
	sel, all, err := selected(p.filter, &expr.Scratch{Ctx: ctx, Memo: map[any]any{}}, b)
	if err != nil || !all && len(sel) == 0 {
		return err
	}
	return emit(0, b)
}
