package query

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/query/exec"
	"github.com/togodb/togo/query/exec/memory"
	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/funcs"
	"github.com/togodb/togo/query/scan"
	"github.com/togodb/togo/query/snapshot"
	"github.com/togodb/togo/query/sql"
	"github.com/togodb/togo/query/vec"
)

// Snapshots gives what a query sees; *snapshot.Follower does.
type Snapshots interface {
	// At is the present, or with want what was then; fail.Gone if that is not there any more.
	At(ctx context.Context, tenant event.TenantID, kind fragment.Kind, want *snapshot.Vector) (*snapshot.Snapshot, error)
	// Explain says of a file that was not there whether to plan again (snapshot.ErrPlanAgain).
	Explain(ctx context.Context, s *snapshot.Snapshot, err error) error
	Token(v snapshot.Vector) string
	ParseVector(token string, tenant event.TenantID) (snapshot.Vector, error)
}

// Columns gives a tenant's column list; *fragment.Registry does.
type Columns interface {
	Newest(ctx context.Context, tenant event.TenantID) (*fragment.Columns, error)
	Version(ctx context.Context, tenant event.TenantID, version uint64) (*fragment.Columns, error)
}

// Deps are what an Engine works on.
type Deps struct {
	Snapshots Snapshots
	Columns   Columns
	Source    scan.Source
	Files     Files
	Logger    *slog.Logger     // slog.Default
	Now       func() time.Time // time.Now
}

// Engine answers queries. It is safe for concurrent use.
type Engine struct {
	cfg Config
	Deps
	functions expr.Library
	memory    *memory.Pool
	lists     lists
}

// NewEngine makes an engine.
func NewEngine(cfg Config, d Deps) (*Engine, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("query: configuration: %w", err)
	}
	if d.Logger == nil {
		d.Logger = slog.Default()
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	if cfg.Workers == 0 {
		cfg.Workers = runtime.GOMAXPROCS(0)
	}
	return &Engine{cfg: cfg, Deps: d, functions: funcs.Library(), memory: memory.NewPool(cfg.SureMemory, cfg.SharedMemory)}, nil
}

// planTries is how often a query is planned anew because files that it saw were collected before it read them, which
// happens only to a query that is slower than query_grace.
const planTries = 3

// Query is Answerer's.
func (e *Engine) Query(ctx context.Context, r Request, out Sink) (sum *Summary, err error) {
	begin := e.Now()
	if r.Stats == nil {
		r.Stats = &scan.Stats{}
	}
	sum = &Summary{Stats: r.Stats}
	ctx, cancel := context.WithTimeout(ctx, e.cfg.MaxTime)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the query %q stopped with %v\n%s", r.SQL, p, debug.Stack())
		}
		sum.Elapsed = e.Now().Sub(begin)
		err = e.answer(ctx, r, err)
	}()
	statement, err := sql.Parse(r.SQL)
	if err != nil {
		return sum, err
	}
	bounded(statement.Select, r.From, r.To, r.Limit)
	env := &expr.Env{Ctx: ctx, Now: begin.UTC(), MaxText: e.cfg.MaxText, MaxPattern: e.cfg.MaxPattern, Functions: e.functions}
	for try := 1; ; try++ {
		p, err := e.plan(ctx, r, statement.Select, env)
		if err != nil {
			return sum, err
		}
		if p.snap != nil {
			sum.Snapshot, sum.Positions = e.Snapshots.Token(p.snap.Vector), positions(p.snap.Vector)
			sum.Stats.Fragments.Store(p.snap.Considered)
			sum.Stats.PrunedByTime.Store(p.snap.Considered - int64(len(p.Request.Fragments)))
			p.Request.Stats = sum.Stats
		}
		counted := &counter{out: out, limit: r.Limit, most: e.cfg.MaxRows}
		err = e.run(ctx, statement, p, counted)
		sum.Rows, sum.More = counted.rows, counted.more
		if errors.Is(err, errEnough) {
			return sum, nil
		}
		if p.snap != nil {
			err = e.Snapshots.Explain(ctx, p.snap, err)
		}
		if !errors.Is(err, snapshot.ErrPlanAgain) {
			return sum, err
		}
		if counted.begun || try == planTries {
			return sum, fail.New(fail.Gone, "data was merged and collected while the query read it; ask again, or raise the compactor's query_grace above the time that queries take")
		}
	}
}

// answer makes of any error one that the client may see.
func (e *Engine) answer(ctx context.Context, r Request, err error) error {
	var known *fail.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		if known.Err != nil {
			e.Logger.Warn("query failed", "tenant", r.Tenant, "code", known.Code, "error", known.Err)
		}
		return known
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fail.New(fail.Timeout, "the query took longer than %s; ask for a shorter time range, or add conditions", e.cfg.MaxTime)
	case ctx.Err() != nil:
		return &fail.Error{Code: fail.Cancelled, Message: "the query was cancelled", Err: err}
	case errors.Is(err, fragment.ErrCorrupt), errors.Is(err, fragment.ErrNewerFormat):
		e.Logger.Error("query failed", "tenant", r.Tenant, "error", err)
		return &fail.Error{Code: fail.Internal, Message: "stored data cannot be read; the server's log says which", Err: err}
	}
	e.Logger.Error("query failed", "tenant", r.Tenant, "error", err)
	return &fail.Error{Code: fail.Internal, Message: "the query failed; the server's log says why", Err: err}
}

// plan is one query, bound to what it sees.
type plan struct {
	*exec.Plan
	snap *snapshot.Snapshot // nil without FROM
	left int                // fragments that would be opened; of EXPLAIN
}

func (e *Engine) plan(ctx context.Context, r Request, sel *sql.Select, env *expr.Env) (*plan, error) {
	if sel.From == nil {
		p, err := exec.Bind(sel, nil, env)
		return &plan{Plan: p}, err
	}
	name := strings.ToLower(sel.From.Name)
	kind, ok := tables[name]
	if !ok {
		return nil, fail.At(sel.From, fail.UnknownTable, "there is no table %q; there are events and dead_letters", sel.From.Name)
	}
	snap, columns, err := e.see(ctx, r.Tenant, kind, r.Snapshot)
	if err != nil {
		return nil, err
	}
	p, err := exec.Bind(sel, schemaOf(name, columns), env)
	if err != nil {
		return nil, err
	}
	request := p.Request
	request.Tenant, request.Kind, request.Floor, request.Options = r.Tenant, kind, snap.Floor, r.Options
	request.MaxBytes, request.TenantColumns = e.cfg.MaxScanBytes, len(columns.All())
	request.Fragments = snap.Fragments(p.Times(ctx))
	return &plan{Plan: p, snap: snap}, nil
}

// see fixes what a query sees. The column list is read after the positions: it has every column of what they show.
func (e *Engine) see(ctx context.Context, tenant event.TenantID, kind fragment.Kind, token string) (*snapshot.Snapshot, *fragment.Columns, error) {
	var want *snapshot.Vector
	if token != "" {
		v, err := e.Snapshots.ParseVector(token, tenant)
		if err != nil {
			return nil, nil, err
		}
		want = &v
	}
	snap, err := e.Snapshots.At(ctx, tenant, kind, want)
	if err != nil {
		return nil, nil, err
	}
	var columns *fragment.Columns
	if want != nil {
		columns, err = e.Columns.Version(ctx, tenant, want.Columns)
	} else {
		columns, err = e.lists.newest(ctx, e.Columns, snap.Vector)
	}
	if err != nil {
		return nil, nil, storeError(ctx, err)
	}
	snap.Vector.Columns = columns.Version
	return snap, columns, nil
}

func (e *Engine) run(ctx context.Context, s *sql.Statement, p *plan, out *counter) error {
	limits := exec.Limits{Memory: e.cfg.MaxMemory, Pool: e.memory}
	if !s.Explain {
		out.columns(p.Outputs)
		if err := p.Run(ctx, e.Source, limits, e.cfg.Workers, out.batch); err != nil {
			return err
		}
		return out.tell()
	}
	begin := e.Now()
	if s.Analyze {
		if err := p.Run(ctx, e.Source, limits, e.cfg.Workers, func(*vec.Batch) error { return nil }); err != nil {
			return err
		}
	} else if p.snap != nil {
		p.left = len(e.Files.Prune(p.Request))
	}
	return out.explain(p, s.Analyze, e.Now().Sub(begin))
}

// storeError is what the client sees of an error of the store.
func storeError(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, fragment.ErrCorrupt) || errors.Is(err, fragment.ErrNewerFormat) {
		return err
	}
	return &fail.Error{Code: fail.Unavailable, Message: "the object store does not answer; try again", Err: err}
}
