// Faults runs the tests of the known kinds of faults and prints what became of each.
//
// A kind is a row of the catalogue. Its tests are the functions TestFault_<kind>, or
// TestFault_<kind>_<words>, wherever they lie; a scenario in <package>/testdata/faults is told by the
// test of its name. The command fails if a test failed, was skipped or never ended, if a kind whose parts
// exist has no test, or if a test is of no kind.
//
// A subtest on a server that is not there (Apache Kafka, an S3 server) may be skipped; the table says so.
// Tests in a module of their own that needs cgo (readback) are left out where there is no C compiler, as
// long as the kind has others; the table's last words say so.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	root := flag.String("root", ".", "the project's folder")
	parallel := flag.Int("p", 0, "how many packages are tested at once; 0: as go test chooses")
	flag.Parse()
	ok, err := run(*root, *parallel)
	if err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

func run(root string, parallel int) (ok bool, err error) {
	began := time.Now()
	tests, scenarios, err := testsIn(root)
	if err != nil {
		return false, err
	}
	byModule := map[string][]string{}
	for _, p := range tests {
		m := module(root, p.dir)
		byModule[m] = appendNew(byModule[m], p.dir)
	}
	r := results{}
	left := map[string]bool{}
	for m, dirs := range byModule {
		cgo := m != "."
		if cgo && !hasCompiler() {
			left[m] = true
			continue
		}
		if err := goTest(root, m, dirs, cgo, parallel, r); err != nil {
			return false, err
		}
	}
	rows := table(catalogue, tests, r, func(dir string) bool { return left[module(root, dir)] })
	failed, absent, err := write(os.Stdout, rows, r)
	if err != nil {
		return false, err
	}
	wrong := disagreements(catalogue, tests, scenarios)
	for _, text := range wrong {
		fmt.Println(text)
	}
	for m := range left {
		fmt.Printf("the tests of %s were left out: no C compiler\n", m)
	}
	fmt.Printf("RESULT kinds=%d failed=%d absent=%d tests=%d disagreements=%d seconds=%.0f\n", len(rows), failed, absent, len(tests), len(wrong), time.Since(began).Seconds())
	return failed == 0 && len(wrong) == 0, nil
}

func hasCompiler() bool {
	out, err := exec.Command("go", "env", "CC").Output()
	if err != nil {
		return false
	}
	words := strings.Fields(string(out))
	if len(words) == 0 {
		return false
	}
	_, err = exec.LookPath(words[0])
	return err == nil
}

// goTest runs the tests of faults in some packages of one module.
func goTest(root, module string, dirs []string, cgo bool, parallel int, r results) error {
	args := []string{"test", "-json", "-count=1", "-run", "^" + prefix}
	if parallel > 0 {
		args = append(args, fmt.Sprint("-p=", parallel))
	}
	for _, dir := range dirs {
		rel, err := filepath.Rel(module, dir)
		if err != nil {
			return err
		}
		args = append(args, "./"+filepath.ToSlash(rel))
	}
	folder := filepath.Join(root, module)
	list := exec.Command("go", "list", "-m")
	list.Dir = folder
	name, err := list.Output()
	if err != nil {
		return fmt.Errorf("go list in %s: %w", folder, err)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if cgo {
		cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	}
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	runErr := cmd.Run()
	var failed *exec.ExitError // of tests or builds: the events say it
	if runErr != nil && !errors.As(runErr, &failed) {
		return runErr
	}
	if err := r.read(&out, func(pkg string) string {
		return path.Join(module, strings.TrimPrefix(strings.TrimPrefix(pkg, strings.TrimSpace(string(name))), "/"))
	}); err != nil {
		return err
	}
	_, err = os.Stderr.Write(complaints.Bytes())
	return err
}
