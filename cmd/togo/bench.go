package main

// benchCmd measures, and shows what was measured.
type benchCmd struct {
	Run      benchRunCmd      `cmd:"" default:"withargs" help:"Put a load on Togo, every role a process of its own, and measure it."`
	Compare  benchCompareCmd  `cmd:"" help:"Two results side by side, with ratios."`
	Scale    benchScaleCmd    `cmd:"" help:"What 100,000 tenants, 1,024 shards and a month of history cost: a model on the real code, in memory."`
	Page     benchPageCmd     `cmd:"" help:"A result as a page of plots (HTML that needs no network), and its ingest as SVG."`
	Generate benchGenerateCmd `cmd:"" hidden:"" help:"Send a workload's events; part of a run."`
	Broker   benchBrokerCmd   `cmd:"" hidden:"" help:"The embedded broker; part of a run."`
}
