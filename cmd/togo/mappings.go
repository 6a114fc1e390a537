package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/togodb/togo/cmd/togo/config"
	"github.com/togodb/togo/placements"
)

// configured is a part of the configuration that lives in the store.
type configured struct {
	what   string
	change placements.Change
	fresh  bool // the store has nothing of it yet
}

// fromConfig lists the mappings and the rule for unknown tenants.
func fromConfig(c *config.Config, t *placements.Table) []configured {
	list := []configured{{
		what: "the rule for unknown tenants",
		change: placements.SetRule(placements.Rule{
			Unknown: placements.Unknown(c.Placements.UnknownTenants), MaxTenants: c.Placements.MaxTenants,
		}, nil),
	}}
	for _, topic := range c.Intake.Topics {
		if topic.Mapping != nil {
			_, has := t.NewestMapping(topic.Name)
			list = append(list, configured{"the mapping of topic " + topic.Name, placements.SetMapping(topic.Name, *topic.Mapping, nil), !has})
		}
	}
	return list
}

// differs says whether the store has it otherwise.
func (c configured) differs(t *placements.Table) bool {
	_, err := c.change(t)
	return !errors.Is(err, placements.ErrNoChange)
}

// addMappings enters the mappings of topics that the store has none for. What differs
// from the store's is only warned of: another mapping would give new records other
// identities, so an operator has to say so ('togo placements sync').
func addMappings(ctx context.Context, k *placements.Keeper, c *config.Config, log *slog.Logger) error {
	for _, part := range fromConfig(c, k.Current()) {
		switch {
		case part.fresh:
			if _, err := k.Propose(ctx, part.change); err != nil {
				return fmt.Errorf("placements: %s: %w", part.what, err)
			}
			log.Info("entered into the placements", "what", part.what, "from", k.Current().Horizon().String())
		case part.differs(k.Current()):
			log.Warn("the configuration differs from the store, which counts; 'togo placements sync' takes the configured one", "what", part.what)
		}
	}
	return nil
}

type placementsSyncCmd struct{}

// Run takes the configured mappings and the rule for unknown tenants into the store.
func (placementsSyncCmd) Run(a *app) error {
	c, err := a.config()
	if err != nil {
		return err
	}
	k, err := a.keeper()
	if err != nil {
		return err
	}
	changes := 0
	for _, part := range fromConfig(c, k.Current()) {
		if !part.differs(k.Current()) {
			continue
		}
		table, err := k.Propose(a.ctx, part.change)
		if err != nil {
			return err
		}
		changes++
		fmt.Fprintf(a.out, "%s: the configured one holds for records from %s on (version %s)\n", part.what, table.Horizon(), table.Version())
	}
	if changes == 0 {
		fmt.Fprintln(a.out, "the store has what is configured already")
	}
	return nil
}
