package inspect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/objstore"
)

// rowsOf is all that a store holds, as text.
func rowsOf(ctx context.Context, store objstore.Store) (string, error) {
	v, err := Open(ctx, store, quiet)
	if err != nil {
		return "", err
	}
	var out []string
	for _, tenant := range v.Tenants() {
		for e, err := range v.Events(ctx, tenant, Always) {
			if err != nil {
				return "", err
			}
			payload, err := e.AppendJSON(nil)
			if err != nil {
				return "", err
			}
			out = append(out, fmt.Sprintf("%s %d %s %s", tenant, e.Timestamp, e.ID, payload))
		}
		for l, err := range v.Letters(ctx, tenant, Always) {
			if err != nil {
				return "", err
			}
			out = append(out, fmt.Sprintf("%s letter of %d", tenant, l.SourceOffset))
		}
	}
	slices.Sort(out)
	return fmt.Sprintf("%s\n%+v", strings.Join(out, "\n"), v.Totals()), nil
}

// TestFault_half_a_file_at_each_byte: a process dies after each byte that it writes to a local directory, of an upload and of a
// commit. Three recoveries in a row show all committed rows and nothing else; the commit counts when its last byte has its
// name.
func TestFault_half_a_file_at_each_byte(t *testing.T) {
	w := newWorld(t)
	r := w.row("first", noon)
	w.commit(w.home("acme", r), how{}, part{"acme", fragment.Events, []fragment.Row{r}})
	home := w.home("acme", r)
	root := filepath.Join(t.TempDir(), "store")
	dir, err := objstore.OpenDir(root)
	w.must(err)
	for _, key := range w.keys() {
		w.must(dir.Put(w.ctx, key, w.object(key)))
	}
	old := w.keys()
	before, err := rowsOf(w.ctx, dir)
	w.must(err)

	bad := w.letter(noon)
	second := w.row("first", noon+1) // another event with that id, in the same shard
	w.commit(home, how{}, part{"acme", fragment.Events, []fragment.Row{second}}, part{"acme", fragment.DeadLetters, []fragment.Row{bad}})
	written := slices.DeleteFunc(w.keys(), func(key string) bool { return slices.Contains(old, key) })
	if len(written) != 4 || !strings.Contains(written[3], "/log/") { // the commit is the last in every order
		t.Fatalf("a commit wrote %v; want two fragments, ids and a record", written)
	}

	recover := func(what, want string) {
		t.Helper()
		for try := range 3 {
			d, err := objstore.OpenDir(root)
			w.must(err)
			if got, err := rowsOf(w.ctx, d); err != nil || got != want {
				t.Fatalf("%s, recovery %d: %v, got\n%s\nwant\n%s", what, try+1, err, got, want)
			}
		}
	}
	states := 0
	for _, key := range written {
		half := filepath.Join(root, ".tmp", "12345-0000000000000001") // as a writer names it
		body := w.object(key)
		for _, n := range append(cuts(len(body)), len(body)) {
			w.must(os.WriteFile(half, body[:n], 0o600))
			recover(fmt.Sprintf("%d bytes of %s", n, key), before)
			if _, err := os.Lstat(half); !errors.Is(err, os.ErrNotExist) {
				t.Fatalf("%d bytes of %s are still there: %v", n, key, err)
			}
			states++
		}
		w.must(dir.PutIfAbsent(w.ctx, key, body))
	}
	after, err := rowsOf(w.ctx, w.store)
	w.must(err)
	if after == before {
		t.Fatal("the commit shows nothing")
	}
	recover("the commit is there", after)
	t.Logf("%d states", states)
}

// keys are those of all objects, in order.
func (w *world) keys() (out []string) {
	w.t.Helper()
	for o, err := range w.store.List(w.ctx, "", "") {
		w.must(err)
		out = append(out, o.Key)
	}
	return out
}

func (w *world) object(key string) []byte {
	w.t.Helper()
	body, err := w.store.Get(w.ctx, key)
	w.must(err)
	return body
}

// cuts are lengths below a whole: those at both ends and some between, or each with TOGO_TEST_LONG=1.
func cuts(whole int) (out []int) {
	for n := range whole {
		if n < 5 || n >= whole-12 || n%61 == 0 || os.Getenv("TOGO_TEST_LONG") != "" {
			out = append(out, n)
		}
	}
	return out
}

// TestFault_half_a_file_under_its_key: a store that breaks its word, or a disk, leaves a part of an object under its key. It is
// found and named, by whoever needs it; where the object is but a copy of what the log says, the rows are the same.
func TestFault_half_a_file_under_its_key(t *testing.T) {
	w := newWorld(t)
	w.fill()
	busiest := w.busiest()
	w.must(w.logs[busiest].Checkpoint(w.ctx, w.states[busiest]))
	want, err := rowsOf(w.ctx, w.store)
	w.must(err)
	kinds := map[string]string{} // the last object of each kind
	for _, key := range w.keys() {
		kind, _, _ := strings.Cut(key, "/")
		switch {
		case kind == "shards" && !strings.HasPrefix(key, fmt.Sprintf("shards/%s/", busiest)):
			continue
		case kind == "shards":
			kind = strings.Split(key, "/")[2]
		}
		kinds[kind] = key
	}
	for _, kind := range []string{"togo.json", "columns", "data", "ids", "log", "checkpoint", "manifest", "placements"} {
		key := kinds[kind]
		if key == "" {
			t.Fatalf("no object of kind %s: %v", kind, kinds)
		}
		body := w.object(key)
		for _, n := range cuts(len(bytes.TrimSpace(body))) {
			torn := w.store.Clone()
			w.must(torn.Put(w.ctx, key, body[:n]))
			failed, err := verifyFails(w.ctx, torn)
			got, readErr := rowsOf(w.ctx, torn)
			switch kind {
			case "checkpoint", "manifest": // the records say it all
				if readErr != nil || got != want {
					t.Errorf("%d of %d bytes of %s: %v, other rows", n, len(body), key, readErr)
				}
			case "ids", "columns": // readers of rows do without them
				if readErr != nil || got != want || !failed && err == nil && kind == "ids" {
					t.Errorf("%d of %d bytes of %s: verify finds it %t (%v); rows: %v", n, len(body), key, failed, err, readErr)
				}
			default:
				if !failed && err == nil {
					t.Errorf("%d of %d bytes of %s: nobody notices", n, len(body), key)
				}
				if readErr == nil {
					t.Errorf("%d of %d bytes of %s: rows are read", n, len(body), key)
				}
			}
		}
	}
}

func verifyFails(ctx context.Context, store objstore.Store) (bool, error) {
	v, err := OpenDamaged(ctx, store, quiet)
	if err != nil {
		return false, err
	}
	r, err := v.Verify(ctx, nil, "")
	return err == nil && r.Failed() > 0, err
}
