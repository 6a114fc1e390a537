package objstore

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const killVariable = "TOGO_TEST_DIR_KILL"

// killBody is what the killed process writes under a key, long enough to be met half
// written.
func killBody(key string) []byte { return bytes.Repeat([]byte(key+"\n"), 20_000) }

// killWrite writes a key at once, or piece by piece.
func killWrite(t *testing.T, d *Dir, key string, pieces bool) error {
	if !pieces {
		return d.PutIfAbsent(t.Context(), key, killBody(key))
	}
	u, err := d.CreateUpload(t.Context(), key)
	if err != nil {
		return err
	}
	for piece := range slices.Chunk(killBody(key), 10_000) {
		if _, err := u.Write(piece); err != nil {
			return err
		}
	}
	return u.Finish(t.Context())
}

// TestFault_half_a_file_writer_killed kills a process in the middle of its writes, three times in a
// row: what it was told of is there, whole, and of the rest nothing or all.
func TestFault_half_a_file_writer_killed(t *testing.T) {
	if root := os.Getenv(killVariable); root != "" {
		d := openTestDir(t, root)
		for i := 0; ; i++ { // until it is killed
			key := fmt.Sprintf("of-%d/%d/%d", os.Getpid(), i/5, i)
			if err := killWrite(t, d, key, i%2 == 1); err != nil {
				t.Fatal(err)
			}
			fmt.Println("stored " + key)
		}
	}
	root := t.TempDir()
	stored := map[string]bool{}
	for round := range 3 {
		command := exec.Command(os.Args[0], "-test.run=^TestFault_half_a_file_writer_killed$")
		command.Env = append(os.Environ(), killVariable+"="+root)
		output, err := command.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(output)
		for n := 0; lines.Scan(); n++ {
			if key, ok := strings.CutPrefix(lines.Text(), "stored "); ok {
				stored[key] = true
			}
			if n == 7+round {
				if err := command.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := command.Wait(); err == nil {
			t.Fatal("the process ended by itself")
		}
		d := openTestDir(t, root)
		found := 0
		for object, err := range d.List(t.Context(), "", "") {
			if err != nil {
				t.Fatal(err)
			}
			body, err := d.Get(t.Context(), object.Key)
			if err != nil || !bytes.Equal(body, killBody(object.Key)) {
				t.Errorf("round %d: %s has %d bytes, %v", round, object.Key, len(body), err)
			}
			if stored[object.Key] {
				found++
			} else if err := d.PutIfAbsent(t.Context(), object.Key, nil); !errors.Is(err, ErrExists) {
				t.Errorf("round %d: create over %s: %v", round, object.Key, err)
			}
		}
		if found != len(stored) || found < 7 {
			t.Errorf("round %d: %d of %d stored objects are there", round, found, len(stored))
		}
		if left, err := os.ReadDir(filepath.Join(root, tmpFolder)); err != nil || len(left) > 0 {
			t.Errorf("round %d: left %v, %v", round, left, err)
		}
	}
}
