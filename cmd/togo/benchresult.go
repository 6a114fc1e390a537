package main

import (
	"fmt"
	"strings"

	"github.com/togodb/togo/bench/result"
	"github.com/togodb/togo/bench/result/page"
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

// writePage puts a result's page and the plot of its ingest beside it: NAME.html and
// NAME-ingest.svg for NAME.json. It returns the page's path.
func writePage(path string, d *result.Document) (string, error) {
	base := strings.TrimSuffix(path, ".json")
	body, err := page.HTML(d)
	if err != nil {
		return "", err
	}
	if err := result.WriteFile(base+".html", body); err != nil {
		return "", err
	}
	return base + ".html", result.WriteFile(base+"-ingest.svg", []byte(page.Ingest(d).Standalone()))
}

type benchPageCmd struct {
	Result string `arg:"" optional:"" help:"A result (JSON) of 'togo bench'." default:"bench/results/latest.json" type:"existingfile"`
}

func (c benchPageCmd) Run(a *app) error {
	d, err := result.Read(c.Result)
	if err != nil {
		return fmt.Errorf("bench page: %w", err)
	}
	path, err := writePage(c.Result, d)
	if err != nil {
		return fmt.Errorf("bench page: %w", err)
	}
	fmt.Fprintln(a.out, path)
	return nil
}
