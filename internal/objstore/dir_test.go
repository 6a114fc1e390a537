package objstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func openTestDir(t *testing.T, root string) *Dir {
	t.Helper()
	d, err := OpenDir(root)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// recordSyncs notes which folders are synced, relative to the root.
func recordSyncs(d *Dir) *[]string {
	synced := &[]string{}
	d.syncFolder = func(path string) error {
		rel, err := filepath.Rel(d.root, path)
		if err != nil {
			return err
		}
		*synced = append(*synced, rel)
		return syncFolder(path)
	}
	return synced
}

func TestDirSyncsNewFolders(t *testing.T) {
	root := t.TempDir()
	d, other := openTestDir(t, root), openTestDir(t, root)
	synced := recordSyncs(d)
	expect := func(what string, want ...string) {
		t.Helper()
		if !slices.Equal(*synced, want) {
			t.Errorf("%s: synced %q, want %q", what, *synced, want)
		}
		*synced = nil
	}
	put := func(s *Dir, key string) {
		t.Helper()
		if err := s.Put(t.Context(), key, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	put(d, "a/b/1")
	expect("new folders", "a/b", "a", ".")
	put(d, "a/b/2")
	expect("known folders", "a/b")
	put(d, "a/c/1")
	expect("one new folder", "a/c", "a")

	// Another process may have made a folder and not synced it yet.
	put(other, "x/y/1")
	put(d, "x/y/2")
	expect("folders of another process", "x/y", "x", ".")

	// A folder that was removed and made anew by another process is new again.
	if err := other.Delete(t.Context(), "a/c/1"); err != nil {
		t.Fatal(err)
	}
	put(other, "a/c/2")
	put(d, "a/c/3")
	expect("a folder made anew", "a/c", "a")

	if err := d.PutIfAbsent(t.Context(), "x/y/1", nil); !errors.Is(err, ErrExists) {
		t.Fatal(err)
	}
	expect("an object that exists is made durable before it is told of", "x/y")
}

func TestDirUnknownOutcome(t *testing.T) {
	d := openTestDir(t, t.TempDir())
	broken := errors.New("input/output error")
	d.syncFolder = func(string) error { return broken }
	writes := map[string]func(context.Context, string, []byte) error{"put": d.Put, "create": d.PutIfAbsent}
	for name, write := range writes {
		err := write(t.Context(), "k", []byte("x"))
		if !errors.Is(err, broken) || errors.Is(err, ErrExists) {
			t.Errorf("%s with a folder that cannot be synced: %v", name, err)
		}
	}
	// It exists, but nobody may be told so before it is durable.
	if err := d.PutIfAbsent(t.Context(), "k", []byte("x")); errors.Is(err, ErrExists) || !errors.Is(err, broken) {
		t.Errorf("create over it: %v", err)
	}
	d.syncFolder = syncFolder
	if err := d.PutIfAbsent(t.Context(), "k", []byte("x")); !errors.Is(err, ErrExists) {
		t.Errorf("create after the folder is well again: %v", err)
	}
	d.syncFolder = func(string) error { return broken }
	var left *DeleteError
	if err := d.Delete(t.Context(), "k"); !errors.As(err, &left) || !slices.Equal(left.Keys(), []string{"k"}) {
		t.Errorf("delete: %v", err)
	}
}

func TestDirUploadThatFails(t *testing.T) {
	d := openTestDir(t, t.TempDir())
	begin := func() *dirUpload {
		u, err := d.CreateUpload(t.Context(), "folder/k")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := u.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		return u.(*dirUpload)
	}
	nothing := func(what string) {
		t.Helper()
		if left, err := os.ReadDir(d.tmp()); err != nil || len(left) > 0 {
			t.Errorf("%s: left %v, %v", what, left, err)
		}
		if _, err := d.Get(t.Context(), "folder/k"); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: get: %v", what, err)
		}
	}
	u := begin()
	u.tmp.file.Close() // as a full disk would, of one piece
	if _, err := u.Write([]byte("y")); err == nil {
		t.Error("write to a closed file: no error")
	}
	if err := u.Finish(t.Context()); !errors.Is(err, ErrUploadOver) {
		t.Errorf("finish without a piece: %v", err)
	}
	nothing("a piece that failed")
	u = begin()
	u.tmp.file.Close()
	if err := u.Finish(t.Context()); err == nil {
		t.Error("finish that cannot sync: no error")
	}
	nothing("a sync that failed")

	broken := errors.New("input/output error")
	d.syncFolder = func(string) error { return broken }
	if err := begin().Finish(t.Context()); !errors.Is(err, broken) || !strings.Contains(err.Error(), "unknown") {
		t.Errorf("finish with a folder that cannot be synced: %v", err)
	}
}

func TestFault_leftovers(t *testing.T) {
	root := t.TempDir()
	d := openTestDir(t, root)
	living, err := d.writeTemp([]byte("of a writer that lives"))
	if err != nil {
		t.Fatal(err)
	}
	defer living.remove()
	for i := range 3 {
		if err := os.WriteFile(filepath.Join(root, tmpFolder, fmt.Sprint("dead-", i)), []byte("half"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Put(t.Context(), "k", nil); err != nil {
		t.Fatal(err)
	}
	for object, err := range d.List(t.Context(), "", "") {
		if err != nil || object.Key != "k" {
			t.Errorf("listed %v, %v", object, err)
		}
	}
	openTestDir(t, root)
	left, err := os.ReadDir(filepath.Join(root, tmpFolder))
	if err != nil || len(left) != 1 || left[0].Name() != filepath.Base(living.path) {
		t.Errorf("left in the folder of temporary files: %v, %v", left, err)
	}
	if err := os.Link(living.path, filepath.Join(root, "placed")); err != nil {
		t.Errorf("the living writer cannot go on: %v", err)
	}
}

// TestDirLeavesNoTemporaryFiles after writes of every outcome.
func TestDirLeavesNoTemporaryFiles(t *testing.T) {
	root := t.TempDir()
	d := openTestDir(t, root)
	ctx := t.Context()
	_ = d.Put(ctx, "k", []byte("x"))
	_ = d.Put(ctx, "k", []byte("y"))
	_ = d.PutIfAbsent(ctx, "k", []byte("z"))
	_ = d.PutIfAbsent(ctx, "k/below", []byte("z"))
	_ = d.PutIfAbsent(ctx, "l", []byte("z"))
	d.syncFolder = func(string) error { return syscall.EIO }
	_ = d.Put(ctx, "m", []byte("z"))
	if left, err := os.ReadDir(filepath.Join(root, tmpFolder)); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestDirSkipsWhatIsNoObject: sockets and links that somebody put there.
func TestDirSkipsWhatIsNoObject(t *testing.T) {
	root := t.TempDir()
	d := openTestDir(t, root)
	if err := os.Symlink("/etc", filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(root, "empty"), 0o777); err != nil {
		t.Fatal(err)
	}
	for object, err := range d.List(t.Context(), "", "") {
		t.Errorf("listed %v, %v", object, err)
	}
}

const processVariable = "TOGO_TEST_DIR_PROCESS"

// TestDirBetweenProcesses lets processes race for the same keys: each has one winner.
func TestDirBetweenProcesses(t *testing.T) {
	if root := os.Getenv(processVariable); root != "" {
		raceAsProcess(t, root)
		return
	}
	const processes = 6
	root := t.TempDir()
	commands := make([]*exec.Cmd, processes)
	outputs := make([]strings.Builder, processes)
	for i := range commands {
		commands[i] = exec.Command(os.Args[0], "-test.run=^TestDirBetweenProcesses$", "-test.v")
		commands[i].Env = append(os.Environ(), processVariable+"="+root)
		commands[i].Stdout = &outputs[i]
		if err := commands[i].Start(); err != nil {
			t.Fatal(err)
		}
	}
	d := openTestDir(t, root)
	wins := map[string]string{}
	for i, command := range commands {
		if err := command.Wait(); err != nil {
			t.Fatalf("process %d: %v\n%s", i, err, outputs[i].String())
		}
		for line := range strings.SplitSeq(outputs[i].String(), "\n") {
			key, won := strings.CutPrefix(line, "won ")
			if !won {
				continue
			}
			if other, twice := wins[key]; twice {
				t.Errorf("%s was won by processes %s and %d", key, other, command.Process.Pid)
			}
			wins[key] = fmt.Sprint(command.Process.Pid)
		}
	}
	if len(wins) != processKeys {
		t.Errorf("%d of %d keys were won", len(wins), processKeys)
	}
	for key, pid := range wins {
		if body, err := d.Get(t.Context(), key); err != nil || string(body) != pid {
			t.Errorf("%s: %q, %v; won by process %s", key, body, err, pid)
		}
	}
}

const processKeys = 60

func raceAsProcess(t *testing.T, root string) {
	d := openTestDir(t, root) // which cleans up among living writers
	for i := range processKeys {
		key := fmt.Sprintf("folder-%d/key-%d", i/7, i)
		err := d.PutIfAbsent(t.Context(), key, fmt.Append(nil, os.Getpid()))
		switch {
		case err == nil:
			fmt.Println("won " + key)
		case !errors.Is(err, ErrExists):
			t.Error(err)
		}
		// Folders come and go beside the race.
		own := fmt.Sprintf("gone-%d/%d", i%3, os.Getpid())
		if err := errors.Join(d.Put(t.Context(), own, nil), d.Delete(t.Context(), own)); err != nil {
			t.Error(err)
		}
	}
}

// An object that is replaced by a later one (the later is put first) is seen, or the later one is: what
// asks for the newest of several objects by a listing must never see none.
func TestListSeesOneOfTwoThatFollowEachOther(t *testing.T) {
	d := openTestDir(t, t.TempDir())
	for _, key := range []string{"base/1", "base/2", "other/1"} {
		if err := d.Put(t.Context(), key, nil); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for o, err := range d.List(t.Context(), "base/", "") {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, o.Key); o.Key == "base/1" {
			if err := d.Put(t.Context(), "base/3", nil); err != nil {
				t.Fatal(err)
			}
			if err := d.Delete(t.Context(), "base/2"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !slices.Equal(got, []string{"base/1", "base/3"}) {
		t.Errorf("listed %q", got)
	}
}
