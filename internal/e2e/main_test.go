// Package e2e tests the whole program from outside: it is built, started as a
// process of its own, killed, paused and asked by its own commands. What must be
// stored is known from the records that lie in Kafka (packages feed and oracle),
// never from Togo's own counts.
package e2e

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

var seed = flag.Uint64("seed", 0, "decides what is sent and when processes are killed; 0: another one each time")

// binary is the program under test.
var binary string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "togo-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "togo")
	build := exec.Command("go", "build", "-o", binary, "github.com/togodb/togo/cmd/togo")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the program: %v\n%s", err, out)
		return 1
	}
	defer func() {
		if apache.server != nil {
			apache.server.Kill()
		}
	}()
	apache.dir = filepath.Join(dir, "kafka")
	return m.Run()
}
