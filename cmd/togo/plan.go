package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/togodb/togo/cmd/togo/config"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/inspect"
	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/placements"
	"github.com/togodb/togo/placements/planner"
)

type placementsPlanCmd struct {
	Apply     bool          `help:"Do what the plan says. Without it the plan is only printed."`
	Window    time.Duration `help:"Size the tenants by what was committed in the last so long." default:"5m"`
	Capacity  config.Bytes  `help:"What a shard's writer can commit per second, in bytes of files (after compression)." default:"20MB"`
	MaxShards int           `help:"Shards of a tenant at most." default:"16"`
	MaxMoves  int           `help:"Tenants that the plan places anew at most." default:"100"`
	MaxLag    time.Duration `help:"Place nothing on shards that need longer for what waits." default:"2m"`
	Drain     string        `help:"Shards to place nobody on, such as 0,3 or 4-7." placeholder:"SHARDS"`
}

func (c placementsPlanCmd) Run(a *app) error {
	cfg, err := a.config()
	if err != nil {
		return err
	}
	v, err := a.view()
	if err != nil {
		return err
	}
	waiting, why := waitingOffsets(a, cfg, v)
	if why != nil {
		fmt.Fprintf(a.out, "(lag unknown: %v)\n", why)
	}
	return c.plan(a, v, time.Now(), waiting)
}

// waitingOffsets is how many offsets of its partition each shard has not read.
func waitingOffsets(a *app, cfg *config.Config, v *inspect.View) (map[event.ShardID]int64, error) {
	out := map[event.ShardID]int64{}
	err := withKafka(a, cfg, cfg.ShardTopic.Cluster, func(ctx context.Context, k *kafka.Client) error {
		info, err := k.Topic(ctx, cfg.ShardTopic.Name)
		if err != nil {
			return err
		}
		ranges, err := k.Offsets(ctx, cfg.ShardTopic.Name)
		for _, s := range v.Shards {
			r := ranges[int32(s.Shard())]
			next := r.Start
			for _, src := range s.Sources() {
				if src.Source.Topic == info.ID.String() {
					next = src.Next
				}
			}
			out[s.Shard()] = max(r.End-next, 0)
		}
		return err
	})
	return out, err
}

// plan prints what is to do, and does it with --apply.
func (c placementsPlanCmd) plan(a *app, v *inspect.View, now time.Time, waiting map[event.ShardID]int64) error {
	in := planner.Input{Config: planner.DefaultConfig()}
	in.Config.Capacity, in.Config.MaxShards, in.Config.MaxMoves = int64(c.Capacity), c.MaxShards, c.MaxMoves
	in.Config.MaxLagSeconds = c.MaxLag.Seconds()
	if c.Window < planner.Step {
		return fmt.Errorf("a window of %s: at least %s", c.Window, planner.Step)
	}
	drained, err := c.drained(v.Table.Shards())
	if err != nil {
		return err
	}
	// Tenants without a placement follow the default rule, with no move of their own.
	changes, err := drainDefault(v.Table, drained)
	if err != nil {
		return err
	}
	table, err := v.Table.Preview(changes...)
	if err != nil {
		return err
	}
	loads, err := v.Load(a.ctx, now, c.Window)
	if err != nil {
		return err
	}
	for _, l := range loads {
		pace := float64(l.Offsets) / now.Sub(l.From).Seconds()
		// A shard without a pace has perhaps got its first records just now.
		in.Shards = append(in.Shards, planner.Shard{
			ID: l.Shard, LagSeconds: float64(waiting[l.Shard]) / max(pace, 1), Draining: slices.Contains(drained, l.Shard),
		})
	}
	in.Config.MinShards = min(latestDefault(table).Spread, c.MaxShards)
	in.Tenants = tenantSizes(table, loads, now)
	if err := in.Config.Validate(); err != nil {
		return err
	}
	p := planner.Make(in)
	var list []placements.Replacement
	for _, m := range p.Moves {
		list = append(list, placements.Replacement{Tenant: m.Tenant, Old: m.From, New: m.To})
	}
	changes = append(changes, placements.Replace(list)...)
	if table, err = v.Table.Preview(changes...); err != nil {
		return err
	}
	if err := c.print(a, in, p, v.Table, table); err != nil || len(changes) == 0 {
		return err
	}
	if !c.Apply {
		fmt.Fprintln(a.out, "\nnothing is changed; --apply does it")
		return nil
	}
	return applyChanges(a, changes)
}

func (c placementsPlanCmd) drained(shards int) (placements.Shards, error) {
	if c.Drain == "" {
		return nil, nil
	}
	list, err := placements.ParseShards(c.Drain)
	if err != nil {
		return nil, err
	}
	if last := slices.Max(list); int(last) >= shards {
		return nil, fmt.Errorf("there is no shard %s to drain: there are %d", last, shards)
	}
	return list, nil
}

func latestDefault(t *placements.Table) placements.Default {
	all := t.Defaults()
	return all[len(all)-1]
}

// drainDefault takes drained shards from the default rule.
func drainDefault(t *placements.Table, drained placements.Shards) ([]placements.Change, error) {
	last := latestDefault(t)
	rest := slices.DeleteFunc(slices.Clone(last.Shards), func(s event.ShardID) bool { return slices.Contains(drained, s) })
	switch len(rest) {
	case len(last.Shards):
		return nil, nil
	case 0:
		return nil, errors.New("no shard would be left to the default rule; give it others first ('togo placements default')")
	}
	return []placements.Change{placements.SetDefault(rest, min(last.Spread, len(rest)), nil)}, nil
}

// tenantSizes lists the tenants that a plan may place, the largest first. A placement
// makes a tenant known, so none is for those that the store does not admit, or not yet.
func tenantSizes(t *placements.Table, loads []inspect.Load, now time.Time) []planner.Tenant {
	rates := map[event.TenantID][][]float64{}
	for _, name := range t.Known() {
		rates[name] = nil
	}
	for _, l := range loads {
		for name, commits := range l.Commits {
			rates[name] = append(rates[name], planner.Rates(l.From, now, commits))
		}
	}
	var out []planner.Tenant
	for name, r := range rates {
		if t.Admits(name, t.Horizon()-1) == placements.Accepted {
			out = append(out, planner.Tenant{ID: name, BytesPerSecond: planner.Size(r...), Current: t.Latest(name)})
		}
	}
	slices.SortFunc(out, func(a, b planner.Tenant) int {
		return cmp.Or(cmp.Compare(b.BytesPerSecond, a.BytesPerSecond), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// maxTenantsShown bounds the list of sizes; the largest matter.
const maxTenantsShown = 20

func (c placementsPlanCmd) print(a *app, in planner.Input, p planner.Plan, before, after *placements.Table) error {
	tw := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "version %s, by what was committed in the last %s\n\nTENANT\tSIZE\tSHARDS\n", before.Version(), c.Window)
	for i, t := range in.Tenants {
		if i == maxTenantsShown || t.BytesPerSecond == 0 {
			fmt.Fprintf(tw, "(and %d more)\n", len(in.Tenants)-i)
			break
		}
		fmt.Fprintf(tw, "%s\t%s/s\t%s\n", t.ID, planner.Bytes(t.BytesPerSecond), t.Current)
	}
	fmt.Fprintln(tw, "\nSHARD\tTENANTS\tLOAD\tOF CAPACITY\tLAG\tTENANTS AFTER\tLOAD AFTER\tOF CAPACITY")
	for i, b := range p.Before {
		fmt.Fprintf(tw, "%s\t%s\t%.0fs\t%s\n", b.Shard, c.load(b), in.Shards[i].LagSeconds, c.load(p.After[i]))
	}
	if old, last := latestDefault(before), latestDefault(after); !slices.Equal(old.Shards, last.Shards) {
		fmt.Fprintf(tw, "\ndefault rule: shards %s instead of %s\n", last.Shards, old.Shards)
	}
	if len(p.Moves) == 0 {
		fmt.Fprintln(tw, "\nno tenant needs other shards")
	} else {
		fmt.Fprintln(tw, "\nTENANT\tFROM SHARDS\tTO SHARDS\tBECAUSE")
	}
	for _, m := range p.Moves {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", m.Tenant, m.From, m.To, strings.Join(m.Reasons, "; "))
	}
	for _, left := range p.Left {
		fmt.Fprintf(tw, "left: %s\n", left)
	}
	return tw.Flush()
}

func (c placementsPlanCmd) load(l planner.Load) string {
	return fmt.Sprintf("%d\t%s/s\t%d%%", l.Tenants, planner.Bytes(l.BytesPerSecond), l.BytesPerSecond*100/int64(c.Capacity))
}

// applyChanges does what was printed. A change that the table no longer allows stops it; those
// before it stand.
func applyChanges(a *app, changes []placements.Change) error {
	k, err := a.keeper()
	if err != nil {
		return err
	}
	for i, change := range changes {
		t, err := k.Propose(a.ctx, change)
		if err != nil {
			return fmt.Errorf("%d of %d changes are done; plan again: %w", i, len(changes), err)
		}
		fmt.Fprintf(a.out, "\nversion %s: holds for events from %s on", t.Version(), t.Horizon())
	}
	fmt.Fprintln(a.out)
	return nil
}
