package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/togodb/togo/bench/measure"
	"github.com/togodb/togo/bench/result"
	"github.com/togodb/togo/bench/scale"
)

type benchScaleCmd struct {
	Tenants   int       `help:"Tenants that are placed." default:"100000"`
	Shards    int       `help:"Shards of the store." default:"1024"`
	Days      int       `help:"Days that events are kept; the history has as many." default:"30"`
	Moves     int       `help:"Tenants that get other shards each day." default:"1000"`
	Events    []float64 `help:"Events a day of all tenants, from little to much." default:"1e8,1e9,1e10"`
	Processes int       `help:"Processes of each role, which share the shards." default:"64"`
	Prices    string    `help:"List prices of the store (YAML); without it those of Amazon S3 that come with the program." type:"existingfile" placeholder:"FILE"`
	Seed      uint64    `help:"Of the events." default:"1"`
	Out       string    `help:"Where the report goes (JSON); its plot of costs goes beside it." default:"bench/results/scale.json" placeholder:"FILE"`
}

func (c benchScaleCmd) Run(a *app) error {
	cfg := scale.Defaults()
	cfg.Tenants, cfg.Shards, cfg.RetentionDays, cfg.MovesPerDay = c.Tenants, c.Shards, c.Days, min(c.Moves, c.Tenants)
	cfg.EventsPerDay, cfg.Processes, cfg.Seed = c.Events, c.Processes, c.Seed
	var err error
	if cfg.Prices, err = measure.ReadPrices(c.Prices); err != nil {
		return fmt.Errorf("bench scale: %w", err)
	}
	report, err := scale.Run(a.ctx, cfg, func(line string) { fmt.Fprintln(os.Stderr, line) })
	if err != nil {
		return err
	}
	body, err := report.Encode()
	if err != nil {
		return err
	}
	if err := result.WriteFile(c.Out, body); err != nil {
		return fmt.Errorf("bench scale: %w", err)
	}
	if err := result.WriteFile(strings.TrimSuffix(c.Out, ".json")+"-cost.svg", []byte(report.Cost().Standalone())); err != nil {
		return fmt.Errorf("bench scale: %w", err)
	}
	return report.Print(a.out)
}
