package main

import (
	"fmt"

	"github.com/togodb/togo/internal/inspect"
)

type verifyCmd struct{}

// Run exits with status 1 if any check fails.
func (verifyCmd) Run(a *app) error {
	cfg, store, err := a.existing()
	if err != nil {
		return err
	}
	// Kafka's committed offsets first: what they cover is in the logs already.
	var intake []inspect.IntakeRange
	why := ""
	ranges, err := intakeRanges(a, cfg)
	if err != nil {
		why = "not checked: " + err.Error()
	} else {
		intake = []inspect.IntakeRange{}
		for _, r := range ranges {
			intake = append(intake, r.IntakeRange)
		}
	}
	v, err := inspect.OpenDamaged(a.ctx, store, a.toolLog(cfg))
	if err != nil {
		return err
	}
	report, err := v.Verify(a.ctx, intake, why)
	if err != nil {
		return err
	}
	if err := report.Write(a.out); err != nil {
		return err
	}
	fmt.Fprintf(a.out, "RESULT rows=%d files=%d failed=%d\n", report.Rows, report.Files, report.Failed())
	if report.Failed() > 0 {
		return errFailed
	}
	return nil
}
