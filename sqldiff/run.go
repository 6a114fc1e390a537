package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/shardlog"
)

// tenantSide is a tenant's generator and columns.
type tenantSide struct {
	tenant event.TenantID
	gen    *generator
}

// load gives DuckDB each tenant's tables, made of the files after compaction, and checks that those before it had the same rows.
func load(ctx context.Context, w *world, d *duck, dir string) ([]*tenantSide, error) {
	var out []*tenantSide
	for i, tenant := range w.Tenants {
		columns, err := w.Columns.Ensure(ctx, tenant, nil)
		if err != nil {
			return nil, err
		}
		for _, table := range []shardlog.Table{shardlog.TableEvents, shardlog.TableDeadLetters} {
			files, err := liveFiles(ctx, w.Set, w.Store, tenant, table, dir)
			if err != nil {
				return nil, err
			}
			if err := d.load(tenant, table, "", files, columns, w.Nanos[tenant], w.Sent[tenant]); err != nil {
				return nil, err
			}
		}
		side := &tenantSide{tenant: tenant}
		list := columnsOf(columns)
		if err := d.sample(tenant, list, w.Nanos[tenant]); err != nil {
			return nil, err
		}
		side.gen = newGenerator(*seed*100+uint64(i), list, w.Nanos[tenant])
		out = append(out, side)
	}
	return out, nil
}

func run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "sqldiff")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	w, err := newWorld(ctx, *seed, *rows)
	if err != nil {
		return err
	}
	d, err := openDuck()
	if err != nil {
		return err
	}
	sides, err := load(ctx, w, d, dir)
	if err != nil {
		return err
	}
	return askDuck(d, sides)
}

// askDuck shows what the generator makes that DuckDB refuses.
func askDuck(d *duck, sides []*tenantSide) error {
	seen, failed, empty := map[string]int{}, 0, 0
	for i := range *count {
		s := sides[pickSide(i)]
		if err := d.use(s.tenant); err != nil {
			return err
		}
		p := s.gen.query()
		a := d.query(p.D, p.kinds)
		if a.Error != "" {
			failed++
			key := strings.SplitN(a.Error, "\n", 2)[0]
			if seen[key]++; seen[key] == 1 && len(seen) <= *show {
				fmt.Printf("%s\n  %s\n", key, p.D)
			}
		} else if len(a.Rows) == 0 {
			empty++
		}
		for _, r := range a.Rows {
			for c, v := range r {
				if v[0] == '?' || c < len(p.kinds) && v != "n" && byte(p.kinds[c]) != v[0] {
					key := fmt.Sprintf("column %d is %s", c, v)
					if seen[key[:12]]++; seen[key[:12]] < 5 {
						fmt.Printf("%s, kind %c\n  %s\n", key, p.kinds[c], p.D)
					}
				}
			}
		}
	}
	fmt.Printf("RESULT queries=%d refused=%d empty=%d\n", *count, failed, empty)
	return nil
}

// pickSide is the tenant of the i-th query: most go where most rows are.
func pickSide(i int) int { return []int{0, 0, 1, 0, 2, 0, 1, 2, 0, 3, 0, 2, 1, 0, 4, 0}[i%16] }
