package main

// benchCmd measures, and shows what was measured.
type benchCmd struct {
	Compare benchCompareCmd `cmd:"" help:"Two results side by side, with ratios."`
	Scale   benchScaleCmd   `cmd:"" help:"What 100,000 tenants, 1,024 shards and a month of history cost: a model on the real code, in memory."`
	Page    benchPageCmd    `cmd:"" help:"A result as a page of plots (HTML that needs no network), and its ingest as SVG."`
}
