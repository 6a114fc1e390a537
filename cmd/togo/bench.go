package main

// benchCmd measures, and shows what was measured.
type benchCmd struct {
	Compare benchCompareCmd `cmd:"" help:"Two results side by side, with ratios."`
	Page    benchPageCmd    `cmd:"" help:"A result as a page of plots (HTML that needs no network), and its ingest as SVG."`
}
