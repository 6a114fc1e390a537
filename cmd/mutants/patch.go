package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// mutant is one deliberate mistake.
type mutant struct {
	name  string // of its file, without .patch
	about string
	edits []edit
}

// edit is a hunk: old stands in the file exactly once, and new takes its place.
type edit struct {
	file     string // from the module's folder, with slashes
	old, new string
}

// load reads the mutants whose names match one of the patterns, in the order of their names.
func load(dir string, patterns ...string) ([]mutant, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.patch"))
	if err != nil {
		return nil, err
	}
	var out []mutant
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".patch")
		if !slices.ContainsFunc(patterns, func(p string) bool { ok, _ := path.Match(p, name); return ok }) {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		m, err := parse(name, string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		out = append(out, m)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no mutant in %s is named like %q", dir, patterns)
	}
	return out, nil
}

// parse reads a unified diff behind lines that begin with "#". The line numbers of its
// hunks are of no use here, so they may be old.
func parse(name, text string) (mutant, error) {
	m := mutant{name: name}
	file := ""
	var hunk *edit
	for n, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		switch {
		case file == "" && strings.HasPrefix(line, "#"):
			m.about = strings.TrimSpace(m.about + " " + strings.TrimSpace(line[1:]))
		case strings.HasPrefix(line, "--- "):
			hunk = nil
		case strings.HasPrefix(line, "+++ "):
			file = strings.TrimPrefix(line[4:], "b/")
		case strings.HasPrefix(line, "@@ ") && file != "":
			m.edits = append(m.edits, edit{file: file})
			hunk = &m.edits[len(m.edits)-1]
		case hunk == nil:
			return m, fmt.Errorf("line %d belongs to no hunk: %q", n+1, line)
		case line == "" || line[0] == ' ':
			rest := strings.TrimPrefix(line, " ") + "\n"
			hunk.old += rest
			hunk.new += rest
		case line[0] == '-':
			hunk.old += line[1:] + "\n"
		case line[0] == '+':
			hunk.new += line[1:] + "\n"
		default:
			return m, fmt.Errorf("line %d is no line of a unified diff: %q", n+1, line)
		}
	}
	switch {
	case m.about == "":
		return m, errors.New("no first line \"# ...\" says what is broken and which promise that voids")
	case len(m.edits) == 0:
		return m, errors.New("no hunk")
	}
	return m, nil
}

// files are those that the mutant changes, in order.
func (m *mutant) files() []string {
	var out []string
	for _, e := range m.edits {
		out = append(out, e.file)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// packages are their folders, as the go command takes them.
func (m *mutant) packages() []string {
	var out []string
	for _, f := range m.files() {
		out = append(out, "./"+path.Dir(f))
	}
	return slices.Compact(out)
}

// apply gives the changed files, from the tree's.
func (m *mutant) apply(read func(file string) (string, error)) (map[string]string, error) {
	out := map[string]string{}
	for _, e := range m.edits {
		text, ok := out[e.file]
		if !ok {
			var err error
			if text, err = read(e.file); err != nil {
				return nil, err
			}
		}
		at := places(text, e.old)
		if len(at) != 1 {
			return nil, fmt.Errorf("%s: the hunk fits %d places of %s, it must be one:\n%s", m.name, len(at), e.file, e.old)
		}
		changed := text[:at[0]] + e.new + text[at[0]+len(e.old):]
		if changed == text {
			return nil, fmt.Errorf("%s: a hunk changes nothing in %s", m.name, e.file)
		}
		out[e.file] = changed
	}
	return out, nil
}

// places are where the lines old begin in text.
func places(text, old string) []int {
	var out []int
	for at := 0; ; at++ {
		i := strings.Index(text[at:], old)
		if i < 0 {
			return out
		}
		if at += i; at == 0 || text[at-1] == '\n' {
			out = append(out, at)
		}
	}
}
