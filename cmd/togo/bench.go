package main

// benchCmd measures, and shows what was measured.
type benchCmd struct {
	Compare benchCompareCmd `cmd:"" help:"Two results side by side, with ratios."`
}
