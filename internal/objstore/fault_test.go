package objstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/togodb/togo/internal/objstore"
)

// bodies reads all objects, without faults.
func bodies(t *testing.T, s objstore.Store) string {
	t.Helper()
	var out []string
	for object, err := range s.List(t.Context(), "", "") {
		if err != nil {
			t.Fatal(err)
		}
		body, err := s.Get(t.Context(), object.Key)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, object.Key+"="+string(body))
	}
	return strings.Join(out, " ")
}

func wantBodies(t *testing.T, f *objstore.Fault, want string) {
	t.Helper()
	if got := bodies(t, f.Inner()); got != want {
		t.Fatalf("the store holds %q, want %q", got, want)
	}
}

func TestFaultOnWrites(t *testing.T) {
	ctx := t.Context()
	for _, c := range []struct {
		name  string
		rule  objstore.Rule
		err   error
		holds string
	}{
		{"error before", objstore.Rule{Effect: objstore.FailBefore}, objstore.ErrInjected, "a=old"},
		{"error before, named", objstore.Rule{Effect: objstore.FailBefore, Err: objstore.ErrUnavailable}, objstore.ErrUnavailable, "a=old"},
		{"conflict", objstore.Rule{Op: objstore.OpPutIfAbsent, Effect: objstore.FailBefore, Err: objstore.ErrConflict}, objstore.ErrConflict, "a=old"},
		{"lost answer", objstore.Rule{Key: "b", Effect: objstore.FailAfter}, objstore.ErrInjected, "a=old b=new"},
		{"lands later", objstore.Rule{Key: "b*", Effect: objstore.LandLater}, objstore.ErrInjected, "a=old"},
		{"crash before", objstore.Rule{Effect: objstore.CrashBefore}, objstore.ErrCrashed, "a=old"},
		{"crash after", objstore.Rule{Effect: objstore.CrashAfter}, objstore.ErrCrashed, "a=old b=new"},
		{"another operation", objstore.Rule{Op: objstore.OpPut, Effect: objstore.FailBefore}, nil, "a=old b=new"},
		{"another key", objstore.Rule{Key: "c/**", Effect: objstore.FailBefore}, nil, "a=old b=new"},
		{"skipped", objstore.Rule{Skip: 1, Effect: objstore.FailBefore}, nil, "a=old b=new"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := objstore.NewFault(objstore.NewMemory())
			if err := f.Put(ctx, "a", []byte("old")); err != nil {
				t.Fatal(err)
			}
			f.Add(c.rule)
			if err := f.PutIfAbsent(ctx, "b", []byte("new")); !errors.Is(err, c.err) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			wantBodies(t, f, c.holds)
		})
	}
}

func TestFaultIgnoresCondition(t *testing.T) {
	f := objstore.NewFault(objstore.NewMemory(), objstore.Rule{Skip: 1, Effect: objstore.IgnoreCondition})
	for _, body := range []string{"one", "two"} {
		if err := f.PutIfAbsent(t.Context(), "k", []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	wantBodies(t, f, "k=two")
	if err := f.PutIfAbsent(t.Context(), "k", []byte("three")); !errors.Is(err, objstore.ErrExists) {
		t.Fatalf("after the rule is used up: %v", err)
	}
}

func TestFaultLateLanding(t *testing.T) {
	ctx := t.Context()
	f := objstore.NewFault(objstore.NewMemory(),
		objstore.Rule{Key: "due", Effect: objstore.LandLater, LandAfter: 2},
		objstore.Rule{Key: "asked", Effect: objstore.LandLater, Times: 2})
	body := []byte("late")
	for _, key := range []string{"due", "asked"} {
		if err := f.PutIfAbsent(ctx, key, body); !errors.Is(err, objstore.ErrInjected) {
			t.Fatalf("%s: %v", key, err)
		}
	}
	copy(body, "XXXX") // the writer goes on and uses its buffer again
	wantBodies(t, f, "")
	if _, err := f.Get(ctx, "due"); err != nil {
		t.Fatalf("not landed before the second operation after it: %v", err)
	}
	wantBodies(t, f, "due=late")

	// What lands, lands under its condition.
	if err := f.Inner().Put(ctx, "asked", []byte("taken")); err != nil {
		t.Fatal(err)
	}
	if late := f.Late(); len(late) != 1 || late[0].Keys[0] != "asked" {
		t.Fatalf("late writes: %+v", late)
	}
	if err := f.Land(); !errors.Is(err, objstore.ErrExists) {
		t.Fatalf("landing on a taken key: %v", err)
	}
	wantBodies(t, f, "asked=taken due=late")

	f.Clear()
	f.Add(objstore.Rule{Op: objstore.OpDelete, Effect: objstore.LandLater}, objstore.Rule{Op: objstore.OpPut, Effect: objstore.LandLater})
	_ = f.Delete(ctx, "due")
	_ = f.Put(ctx, "asked", []byte("put"))
	wantBodies(t, f, "asked=taken due=late")
	if err := f.Land(); err != nil {
		t.Fatal(err)
	}
	wantBodies(t, f, "asked=put")
}

func TestFaultOnReads(t *testing.T) {
	ctx := t.Context()
	f := objstore.NewFault(objstore.NewMemory())
	for _, key := range []string{"a", "b", "c"} {
		if err := f.Put(ctx, key, []byte("0123456789")); err != nil {
			t.Fatal(err)
		}
	}
	f.Add(objstore.Rule{Op: objstore.OpGet, Effect: objstore.Truncate, Bytes: 3},
		objstore.Rule{Op: objstore.OpGet, Effect: objstore.Truncate, Bytes: 3, Err: objstore.ErrUnavailable},
		objstore.Rule{Op: objstore.OpGetRange, Effect: objstore.Truncate, Bytes: 100},
		objstore.Rule{Op: objstore.OpList, Effect: objstore.Truncate, Bytes: 2},
		objstore.Rule{Op: objstore.OpList, Effect: objstore.Truncate, Bytes: 1, Err: objstore.ErrInjected},
		objstore.Rule{Op: objstore.OpList, Effect: objstore.FailBefore, Err: objstore.ErrUnavailable},
		objstore.Rule{Op: objstore.OpDate, Effect: objstore.FailAfter})
	if body, err := f.Get(ctx, "a"); string(body) != "012" || err != nil {
		t.Fatalf("cut short in silence: %q, %v", body, err)
	}
	if _, err := f.Get(ctx, "a"); !errors.Is(err, objstore.ErrUnavailable) {
		t.Fatalf("cut short with an error: %v", err)
	}
	if body, err := f.Get(ctx, "a"); len(body) != 10 || err != nil {
		t.Fatalf("after the rules: %q, %v", body, err)
	}
	if body, err := f.GetRange(ctx, "a", 2, 3); string(body) != "234" || err != nil {
		t.Fatalf("shorter than the cut: %q, %v", body, err)
	}
	for i, want := range []struct {
		keys int
		err  error
	}{{2, nil}, {1, objstore.ErrInjected}, {0, objstore.ErrUnavailable}, {3, nil}} {
		keys, last := 0, error(nil)
		for _, err := range f.List(ctx, "", "") {
			if last = err; err == nil {
				keys++
			}
		}
		if keys != want.keys || !errors.Is(last, want.err) {
			t.Fatalf("listing %d: %d keys, %v", i, keys, last)
		}
	}
	if _, err := f.Date(ctx); !errors.Is(err, objstore.ErrInjected) {
		t.Fatalf("date: %v", err)
	}
}

func TestFaultLeavesSomeKeysOfADelete(t *testing.T) {
	ctx := t.Context()
	f := objstore.NewFault(objstore.NewMemory())
	for _, key := range []string{"a/1", "a/2", "b/1"} {
		if err := f.Put(ctx, key, nil); err != nil {
			t.Fatal(err)
		}
	}
	f.Add(objstore.Rule{Op: objstore.OpDelete, Key: "a/*", Effect: objstore.FailBefore, Err: objstore.ErrUnavailable})
	err := f.Delete(ctx, "b/1", "a/1", "a/2")
	var left *objstore.DeleteError
	if !errors.As(err, &left) || !slices.Equal(left.Keys(), []string{"a/1", "a/2"}) || !errors.Is(err, objstore.ErrUnavailable) {
		t.Fatalf("error %v", err)
	}
	wantBodies(t, f, "a/1= a/2=")

	// Keys that the store itself leaves are named with those that the rule leaves.
	f.Add(objstore.Rule{Op: objstore.OpDelete, Key: "a/1", Effect: objstore.FailBefore})
	err = f.Delete(ctx, "a/2", "bad//key", "a/1")
	if !errors.As(err, &left) || !slices.Equal(left.Keys(), []string{"a/1", "bad//key"}) {
		t.Fatalf("error %v", err)
	}
	wantBodies(t, f, "a/1=")
}

func TestLeftOf(t *testing.T) {
	keys := []string{"a", "b"}
	if left := objstore.LeftOf(nil, keys); len(left) != 0 {
		t.Errorf("after success: %v", left)
	}
	partial := fmt.Errorf("wrapped: %w", &objstore.DeleteError{Left: map[string]error{"b": objstore.ErrUnavailable}})
	if left := objstore.LeftOf(partial, keys); len(left) != 1 || left["b"] == nil {
		t.Errorf("after a partial answer: %v", left)
	}
	if left := objstore.LeftOf(objstore.ErrInjected, keys); len(left) != 2 || !errors.Is(left["a"], objstore.ErrInjected) {
		t.Errorf("after an answer that settles nothing: %v", left)
	}
}

// TestFaultSeesAnUploadAsOnePut: rules, crashes and simulations meet the kinds of operations
// that they know.
func TestFaultSeesAnUploadAsOnePut(t *testing.T) {
	ctx := t.Context()
	f := objstore.NewFault(openDir(t), objstore.Rule{Op: objstore.OpPut, Key: "k", Effect: objstore.LandLater})
	for _, s := range []objstore.Store{f, objstore.Instrument(f, prometheus.NewRegistry())} {
		before := f.Ops()
		u, err := objstore.Create(ctx, s, "k")
		if err != nil {
			t.Fatal(err)
		}
		for _, piece := range []string{"ab", "c"} {
			if _, err := u.Write([]byte(piece)); err != nil {
				t.Fatal(err)
			}
		}
		if err := u.Finish(ctx); (err != nil) != (before == 0) || f.Ops() != before+1 || f.Count(objstore.OpPut) != before+1 {
			t.Fatalf("finish: %v after %d operations, %d of them puts", err, f.Ops(), f.Count(objstore.OpPut))
		}
	}
	if err := f.Land(); err != nil {
		t.Fatal(err)
	}
	wantBodies(t, f, "k=abc")
}

// TestFaultCrashesAtEveryOperation runs the same few operations, crashing at each of
// them, and compares what is left with what was done before.
func TestFaultCrashesAtEveryOperation(t *testing.T) {
	ctx := t.Context()
	run := func(f *objstore.Fault) (done int) {
		for i := range 5 {
			if err := f.Put(ctx, fmt.Sprint(i), []byte{byte('a' + i)}); err != nil {
				if !errors.Is(err, objstore.ErrCrashed) {
					t.Fatal(err)
				}
				continue // a caller that does not notice is stopped all the same
			}
			done++
		}
		return done
	}
	full := []string{"0=a", "1=b", "2=c", "3=d", "4=e"}
	for k := 1; k <= 6; k++ {
		for _, applied := range []bool{false, true} {
			// The rule matches before the crash and must not shift it.
			f := objstore.NewFault(objstore.NewMemory(), objstore.Rule{Times: -1, Effect: objstore.Pass})
			f.CrashAt(k, applied)
			done := run(f)
			wantDone := min(k-1, 5)
			if done != wantDone || f.Crashed() != (k <= 5) || f.Ops() != 5 || f.Count(objstore.OpPut) != 5 {
				t.Fatalf("crash at %d: %d done, crashed %t, %d operations", k, done, f.Crashed(), f.Ops())
			}
			left := wantDone
			if applied {
				left = min(k, 5)
			}
			wantBodies(t, f, strings.Join(full[:left], " "))
			f.Restart()
			if got := run(f); got != 5 {
				t.Fatalf("after the restart %d of 5", got)
			}
		}
	}
}

func TestFaultDelayAndHooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		note := func(when string) func(objstore.Call) {
			return func(c objstore.Call) { seen = append(seen, fmt.Sprint(when, " ", c.Op, " ", c.Key, " ", c.N)) }
		}
		f := objstore.NewFault(objstore.NewMemory(), objstore.Rule{
			Effect: objstore.Pass, Delay: time.Hour, Times: 2, Before: note("before"), After: note("after")})
		begin := time.Now()
		if err := f.Put(t.Context(), "k", nil); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(begin); waited != time.Hour {
			t.Fatalf("waited %s", waited)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := f.Put(ctx, "late", nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("a context that ends first: %v", err)
		}
		wantBodies(t, f, "k=")
		if want := []string{"before put k 1", "after put k 1"}; !slices.Equal(seen, want) {
			t.Fatalf("hooks saw %q", seen)
		}
	})
}

func TestFaultDecideComesAfterRules(t *testing.T) {
	f := objstore.NewFault(objstore.NewMemory(), objstore.Rule{Key: "ruled", Effect: objstore.FailBefore, Err: objstore.ErrConflict})
	f.Decide = func(c objstore.Call) *objstore.Rule {
		if c.N%2 == 0 {
			return nil
		}
		return &objstore.Rule{Effect: objstore.FailAfter}
	}
	for i, want := range []error{objstore.ErrInjected, nil, objstore.ErrConflict, nil, objstore.ErrInjected} {
		key := "k"
		if i == 2 {
			key = "ruled"
		}
		if err := f.Put(t.Context(), key, nil); !errors.Is(err, want) {
			t.Fatalf("operation %d: %v, want %v", i+1, err, want)
		}
	}
}

func TestMemoryClone(t *testing.T) {
	m := objstore.NewMemory()
	if err := m.Put(t.Context(), "k", []byte("one")); err != nil {
		t.Fatal(err)
	}
	c := m.Clone()
	if err := m.Put(t.Context(), "k", []byte("two")); err != nil {
		t.Fatal(err)
	}
	if err := m.Put(t.Context(), "l", nil); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Get(t.Context(), "k"); !bytes.Equal(got, []byte("one")) || err != nil || c.Len() != 1 || m.Len() != 2 {
		t.Fatalf("the clone has %q, %v, and %d objects", got, err, c.Len())
	}
}
