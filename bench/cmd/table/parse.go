package main

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// result is a benchmark's values by unit.
type result map[string]float64

const module = "github.com/togodb/togo/"

// processors is what the testing package adds to a benchmark's name.
var processors = regexp.MustCompile(`-\d+$`)

// parse reads the output of any number of `go test -bench` runs. A benchmark is named by its
// package's path in the module and its own name: "router.Core/tenants=10".
func parse(in io.Reader) (map[string]result, error) {
	results := map[string]result{}
	pkg := ""
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		line := lines.Text()
		if p, ok := strings.CutPrefix(line, "pkg: "); ok {
			pkg = strings.TrimPrefix(p, module)
			continue
		}
		if strings.HasPrefix(line, "--- FAIL") || line == "FAIL" || strings.HasPrefix(line, "panic:") {
			return nil, fmt.Errorf("a benchmark of %s failed: %s", pkg, line)
		}
		words := strings.Fields(line)
		if !strings.HasPrefix(line, "Benchmark") || len(words) < 4 {
			continue
		}
		name := pkg + "." + strings.TrimPrefix(processors.ReplaceAllString(words[0], ""), "Benchmark")
		r := result{}
		for i := 2; i+1 < len(words); i += 2 {
			v, err := strconv.ParseFloat(words[i], 64)
			if err != nil {
				return nil, fmt.Errorf("%s: %q is no number", name, words[i])
			}
			r[words[i+1]] = v
		}
		if _, again := results[name]; again {
			return nil, fmt.Errorf("%s is there twice", name)
		}
		results[name] = r
	}
	return results, lines.Err()
}
