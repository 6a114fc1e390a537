package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/togodb/togo/cmd/togo/config"
	"github.com/togodb/togo/compactor/garbage"
	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/inspect"
	"github.com/togodb/togo/internal/shardlog"
	"github.com/togodb/togo/placements"
)

type gcCmd struct {
	DryRun bool          `help:"Show what would go and why, and delete nothing."`
	Grace  time.Duration `help:"How long garbage is kept for queries that were planned before; default: compactor.query_grace." placeholder:"DURATION"`
	JSON   bool          `help:"As NDJSON." name:"json"`
}

// viewJudges judges by the states of a view. They may be older than the store's newest ones:
// then they show less garbage.
type viewJudges []*shardlog.State

func (v viewJudges) Judge(_ context.Context, id event.ShardID, judge func(*shardlog.State)) error {
	if int(id) < len(v) {
		judge(v[id])
	}
	return nil
}

// foundLine is garbage as the command shows it.
type foundLine struct {
	Key    string `json:"key"`
	Bytes  int64  `json:"bytes,omitempty"`
	Upload bool   `json:"unfinished_upload,omitempty"`
	Why    string `json:"why"`
}

// Run deletes garbage as the compactor does: nothing without having seen it as garbage
// for the grace.
func (c gcCmd) Run(a *app) error {
	if c.Grace < 0 {
		return fmt.Errorf("--grace: %s is negative", c.Grace)
	}
	cfg, _, err := a.existing()
	if err != nil {
		return err
	}
	v, err := a.view()
	if err != nil {
		return err
	}
	if c.Grace == 0 {
		c.Grace = cfg.Compactor.QueryGrace
	}
	out := bufio.NewWriter(a.out)
	begin := time.Now()
	collector := garbage.NewCollector(garbage.Config{
		Store: v.Objects, Judges: viewJudges(v.Shards), Grace: c.Grace, Clock: func() time.Duration { return time.Since(begin) },
		Tell: func(f garbage.Found) { c.show(out, f) },
	})
	report, err := collector.List(a.ctx, garbage.Folders())
	if err != nil {
		return err
	}
	trims, err := planTrims(a, cfg, v)
	if err != nil {
		return err
	}
	records := 0 // and checkpoints and manifests
	for _, t := range trims {
		records += len(t.keys)
		for _, key := range t.keys {
			c.show(out, garbage.Found{Key: key, Why: t.reason(key)})
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	var done garbage.Deleted
	if !c.DryRun {
		for _, t := range trims {
			if err := t.do(a.ctx); err != nil {
				return err
			}
		}
		if report.Garbage+report.Uploads > 0 {
			if done, err = c.delete(a, collector); err != nil {
				return err
			}
		}
	}
	fmt.Fprintf(a.out, "RESULT objects=%d named=%d may_commit=%d garbage=%d garbage_bytes=%d unknown=%d uploads=%d deleted=%d deleted_bytes=%d uploads_ended=%d log_objects=%d\n",
		report.Objects, report.Named, report.MayCommit, report.Garbage, report.GarbageBytes, report.Unknown, report.Uploads,
		done.Objects, done.Bytes, done.Uploads, records)
	return nil
}

// trim is what can be deleted of a shard log, or of the placements.
type trim struct {
	keys   []string
	reason func(key string) string
	do     func(context.Context) error
}

// planTrims finds what can be deleted of the logs.
func planTrims(a *app, cfg *config.Config, v *inspect.View) ([]trim, error) {
	var trims []trim
	margin := cfg.Compactor.KeepRecords
	for _, s := range v.Shards {
		t, err := shardlog.OpenWith(v.Objects, s.Shard(), shardlog.Config{Logger: a.toolLog(cfg)}).PlanTrim(a.ctx, margin)
		if errors.Is(err, chain.ErrTrimmed) {
			continue // a compactor was faster
		}
		if err != nil {
			return nil, fmt.Errorf("log of shard %s: %w", s.Shard(), err)
		}
		trims = append(trims, trim{
			keys: slices.Concat(t.Records, t.Checkpoints, t.Manifests, t.Markers), reason: t.Reason,
			do: func(ctx context.Context) error { _, err := t.Do(ctx); return err },
		})
	}
	keeper, err := placements.NewKeeper(placements.Config{Store: v.Objects, Hasher: v.Hasher, Logger: a.toolLog(cfg)})
	if err != nil {
		return nil, err
	}
	t, err := keeper.PlanTrim(a.ctx, margin)
	if errors.Is(err, chain.ErrTrimmed) {
		return trims, nil
	}
	if err != nil {
		return nil, fmt.Errorf("placements: %w", err)
	}
	return append(trims, trim{
		keys: slices.Concat(t.Records, t.Checkpoints, t.Markers), reason: t.Reason,
		do: func(ctx context.Context) error { _, err := t.Do(ctx); return err },
	}), nil
}

func (c gcCmd) show(out *bufio.Writer, f garbage.Found) {
	if c.JSON {
		line, err := json.Marshal(foundLine{f.Key, f.Bytes, f.Upload, f.Why})
		if err != nil {
			panic(fmt.Sprintf("bug: %v", err)) // strings and numbers
		}
		out.Write(append(line, '\n'))
		return
	}
	what := ""
	switch {
	case f.Upload:
		what = "unfinished upload: "
	case f.Bytes > 0:
		what = fmt.Sprintf("%d bytes: ", f.Bytes)
	}
	fmt.Fprintf(out, "%s  %s%s\n", f.Key, what, f.Why)
}

// delete waits for the grace, and deletes what is garbage still: as it was garbage by the
// same states before, that is all of it.
func (c gcCmd) delete(a *app, collector *garbage.Collector) (garbage.Deleted, error) {
	fmt.Fprintf(a.out, "deleting it in %s, when no query that was planned before can still read it; Ctrl-C keeps it\n", c.Grace)
	select {
	case <-a.ctx.Done():
		return garbage.Deleted{}, a.ctx.Err()
	case <-time.After(c.Grace):
	}
	return collector.Delete(a.ctx)
}
