package main

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"

	"github.com/togodb/togo/cmd/togo/config"
	"github.com/togodb/togo/placements"
)

// addMappings enters the mappings of topics that the store has none for. One that
// differs from the store's is only warned of: it would give new records other
// identities, so an operator has to say so ('togo placements sync').
func addMappings(ctx context.Context, k *placements.Keeper, c *config.Config, log *slog.Logger) error {
	for _, t := range c.Intake.Topics {
		if t.Mapping == nil {
			continue
		}
		switch has, ok := k.Current().NewestMapping(t.Name); {
		case !ok:
			if _, err := k.Propose(ctx, placements.SetMapping(t.Name, *t.Mapping, nil)); err != nil {
				return fmt.Errorf("placements: mapping of topic %s: %w", t.Name, err)
			}
			log.Info("mapping entered", "topic", t.Name, "from", k.Current().Horizon().String())
		case !reflect.DeepEqual(has, *t.Mapping):
			log.Warn("the configured mapping differs from the store's, which counts; 'togo placements sync' takes the configured one", "topic", t.Name)
		}
	}
	return nil
}

type placementsSyncCmd struct{}

// Run takes the configured mappings into the store.
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
	for _, t := range c.Intake.Topics {
		if t.Mapping == nil {
			continue
		}
		if has, ok := k.Current().NewestMapping(t.Name); ok && reflect.DeepEqual(has, *t.Mapping) {
			continue
		}
		table, err := k.Propose(a.ctx, placements.SetMapping(t.Name, *t.Mapping, nil))
		if err != nil {
			return err
		}
		changes++
		fmt.Fprintf(a.out, "topic %s: the configured mapping holds for records from %s on (version %s)\n", t.Name, table.Horizon(), table.Version())
	}
	if changes == 0 {
		fmt.Fprintln(a.out, "the store has the configured mappings already")
	}
	return nil
}
