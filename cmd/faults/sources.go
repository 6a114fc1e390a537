package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// place is a test function and the folder of its package, relative to the root of the project.
type place struct{ dir, name string }

// testsIn finds every test of a fault below root, in modules of their own too, and every
// scenario of a fault (<package>/testdata/faults/<name>), as the test that must tell it.
func testsIn(root string) (tests, scenarios []place, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if name := d.Name(); rel != "." && strings.HasPrefix(name, ".") {
				return filepath.SkipDir
			}
			return nil
		}
		if pkg, file, ok := strings.Cut(rel, "/testdata/"); ok {
			if name, ok := strings.CutPrefix(file, "faults/"); ok {
				scenarios = append(scenarios, place{pkg, prefix + strings.ReplaceAll(name, "-", "_")})
			}
			return nil
		}
		if !strings.HasSuffix(rel, "_test.go") {
			return nil
		}
		names, err := testNames(path)
		for _, name := range names {
			tests = append(tests, place{filepath.ToSlash(filepath.Dir(rel)), name})
		}
		return err
	})
	order := func(a, b place) int { return cmp.Or(cmp.Compare(a.dir, b.dir), cmp.Compare(a.name, b.name)) }
	slices.SortFunc(tests, order)
	slices.SortFunc(scenarios, order)
	return tests, scenarios, err
}

func testNames(path string) (names []string, err error) {
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, prefix) {
			names = append(names, fn.Name.Name)
		}
	}
	return names, nil
}

// disagreements are what the catalogue and the tests say differently.
func disagreements(kinds []kind, tests, scenarios []place) (out []string) {
	has := map[string]int{}
	for _, p := range tests {
		id, ok := kindOf(kinds, p.name)
		if !ok {
			out = append(out, fmt.Sprintf("%s/%s is of no kind in the catalogue", p.dir, p.name))
		}
		has[id]++
	}
	for _, p := range scenarios {
		if !slices.Contains(tests, p) {
			out = append(out, fmt.Sprintf("%s/testdata/faults holds a scenario that no test %s tells", p.dir, p.name))
		}
	}
	seen := map[string]bool{}
	for _, k := range kinds {
		switch {
		case seen[k.id]:
			out = append(out, fmt.Sprintf("%s is in the catalogue twice", k.id))
		case k.absent == "" && has[k.id] == 0:
			out = append(out, fmt.Sprintf("%s has no test: write %s", k.id, k.test()))
		case k.absent != "" && has[k.id] > 0:
			out = append(out, fmt.Sprintf("%s has tests, and the catalogue says that there is no part to test (%s)", k.id, k.absent))
		}
		seen[k.id] = true
	}
	return out
}

// module is the folder of the module that a package belongs to: "." or a folder with a go.mod.
func module(root, dir string) string {
	for d := dir; d != "."; d = filepath.ToSlash(filepath.Dir(d)) {
		if _, err := os.Stat(filepath.Join(root, d, "go.mod")); err == nil {
			return d
		}
	}
	return "."
}
