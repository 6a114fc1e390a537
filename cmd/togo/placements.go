package main

import (
	"fmt"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/placements"
)

type placementsCmd struct {
	Show    placementsShowCmd    `cmd:"" help:"The table: horizon, default rule, mappings, tenants."`
	Set     placementsSetCmd     `cmd:"" help:"Place a tenant on shards from a time on."`
	Default placementsDefaultCmd `cmd:"" help:"Change the shards of tenants without a placement of their own, from a time on."`
	Plan    placementsPlanCmd    `cmd:"" help:"Size the tenants by what they write, and say which need other shards; --apply does it."`
	Sync    placementsSyncCmd    `cmd:"" help:"Take the configured mappings and rule for unknown tenants into the store, for records from the horizon on."`
}

// keeper opens the placements of the configured store.
func (a *app) keeper() (*placements.Keeper, error) {
	c, store, err := a.existing()
	if err != nil {
		return nil, err
	}
	meta, err := a.meta(store)
	if err != nil {
		return nil, err
	}
	k, err := placements.NewKeeper(placements.Config{Store: store, Hasher: event.NewHasher(event.Seed(meta.Seed)), Logger: a.toolLog(c)})
	if err != nil {
		return nil, err
	}
	return k, k.Load(a.ctx)
}

type placementsShowCmd struct {
	Tenants []string `arg:"" optional:"" help:"Only these tenants."`
}

func (c placementsShowCmd) Run(a *app) error {
	names, err := parseTenants(c.Tenants)
	if err != nil {
		return err
	}
	k, err := a.keeper()
	if err != nil {
		return err
	}
	return k.Current().Show(a.out, names...)
}

func parseTenants(names []string) ([]event.TenantID, error) {
	var out []event.TenantID
	for _, n := range names {
		t, err := event.ParseTenant(n)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

type placementsSetCmd struct {
	Tenant string     `arg:"" help:"The tenant."`
	Shards string     `arg:"" help:"Its shards, such as 0,3 or 4-7."`
	From   *timestamp `help:"Event time from which it holds; default: the horizon, the earliest possible." placeholder:"TIME"`
}

func (c placementsSetCmd) Run(a *app) error {
	names, err := parseTenants([]string{c.Tenant})
	if err != nil {
		return err
	}
	shards, err := placements.ParseShards(c.Shards)
	if err != nil {
		return err
	}
	k, err := a.keeper()
	if err != nil {
		return err
	}
	t, err := k.Propose(a.ctx, placements.SetTenant(names[0], shards, (*event.Timestamp)(c.From)))
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "version %s:\n", t.Version())
	return t.Show(a.out, names...)
}

type placementsDefaultCmd struct {
	Shards string     `arg:"" help:"The shards, such as 0,3 or 4-7."`
	Spread int        `help:"On how many of them each tenant is." default:"1"`
	From   *timestamp `help:"Event time from which it holds; default: the horizon, the earliest possible." placeholder:"TIME"`
}

func (c placementsDefaultCmd) Run(a *app) error {
	shards, err := placements.ParseShards(c.Shards)
	if err != nil {
		return err
	}
	k, err := a.keeper()
	if err != nil {
		return err
	}
	t, err := k.Propose(a.ctx, placements.SetDefault(shards, c.Spread, (*event.Timestamp)(c.From)))
	if err != nil {
		return err
	}
	for _, d := range t.Defaults() {
		fmt.Fprintf(a.out, "version %s: from %s each tenant without a placement is on %d of shards %s\n", t.Version(), d.From, d.Spread, d.Shards)
	}
	return nil
}
