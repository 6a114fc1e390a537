package main

import (
	"fmt"

	"github.com/togodb/togo/bench/result"
)

type benchCompareCmd struct {
	A string `arg:"" help:"A result (JSON) of 'togo bench'." type:"existingfile"`
	B string `arg:"" help:"Another one." type:"existingfile"`
}

func (c benchCompareCmd) Run(a *app) error {
	first, err := result.Read(c.A)
	if err != nil {
		return fmt.Errorf("bench compare: %w", err)
	}
	second, err := result.Read(c.B)
	if err != nil {
		return fmt.Errorf("bench compare: %w", err)
	}
	return result.Compare(a.out, c.A, first, c.B, second)
}
