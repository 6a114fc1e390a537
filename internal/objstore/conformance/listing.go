package conformance

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/togodb/togo/internal/objstore"
)

// tricky are keys whose order in a file system's folders is not that of their bytes.
var tricky = []string{"a!", "a-b", "a.b", "a.b/x", "a/x", "a/y/z", "a0", "aa", "b/1", "b/10", "b/2", "b0", "é"}

func checkListOrder(t *testing.T, s objstore.Store) {
	keys := []string{"a!", "a-b", "a.c", "a.d/x", "a/b!", "a/b/c", "a/b0", "a/x", "a0", "aa", "b/1", "b/10", "b/2", "b/A", "b/_", "b/a", "b0", "é"}
	for _, key := range slices.Backward(keys) {
		put(t, s, key, key)
	}
	if !slices.IsSorted(keys) {
		t.Fatal("the test's own keys are out of order")
	}
	wantKeys(t, s, "", "", keys...)
}

func checkListAfter(t *testing.T, s objstore.Store) {
	keys := slices.DeleteFunc(slices.Clone(tricky), func(k string) bool { return k == "a.b" })
	slices.Sort(keys)
	for _, key := range keys {
		put(t, s, key, "x")
	}
	afters := append(slices.Clone(keys), "A", "a", "a/", "a/y", "a/y/", "a/y/zz", "a0/", "a!!", "b", "b/", "b/1/", "b/9", "zz", "\U0010FFFD")
	for _, after := range afters {
		var rest []string
		for _, key := range keys {
			if key > after {
				rest = append(rest, key)
			}
		}
		wantKeys(t, s, "", after, rest...)
	}
	wantKeys(t, s, "b/", "b/1", "b/10", "b/2")
	wantKeys(t, s, "b/", "a", "b/1", "b/10", "b/2")
	wantKeys(t, s, "b/", "c")
	wantKeys(t, s, "a/", "a/x", "a/y/z")
}

func checkListPrefix(t *testing.T, s objstore.Store) {
	for _, key := range []string{"ab/c", "ab/cd/e", "ab/ce", "abc", "b"} {
		put(t, s, key, "x")
	}
	wantKeys(t, s, "a", "", "ab/c", "ab/cd/e", "ab/ce", "abc")
	wantKeys(t, s, "ab", "", "ab/c", "ab/cd/e", "ab/ce", "abc")
	wantKeys(t, s, "ab/", "", "ab/c", "ab/cd/e", "ab/ce")
	wantKeys(t, s, "ab/c", "", "ab/c", "ab/cd/e", "ab/ce")
	wantKeys(t, s, "ab/cd", "", "ab/cd/e")
	wantKeys(t, s, "ab/cd/", "", "ab/cd/e")
	wantKeys(t, s, "abc", "", "abc")
	wantKeys(t, s, "abc/", "")
	wantKeys(t, s, "x", "")
}

// fill puts n small objects, some at a time (S3 answers each in milliseconds).
func fill(t *testing.T, s objstore.Store, n int) []string {
	t.Helper()
	keys := make([]string, n)
	errs := make([]error, n)
	var wg sync.WaitGroup
	slots := make(chan struct{}, 16)
	for i := range keys {
		keys[i] = fmt.Sprintf("many/%d/%06d", i*7/n, i)
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			errs[i] = s.Put(t.Context(), keys[i], []byte{byte(i)})
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return keys
}

func checkListPages(t *testing.T, s objstore.Store) {
	keys := fill(t, s, 2100)
	put(t, s, "many0", "beside")
	wantKeys(t, s, "many/", "", keys...)
	wantKeys(t, s, "many/", keys[999], keys[1000:]...)
	wantKeys(t, s, "many/3/", "", slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return k[:7] != "many/3/" })...)
}

func checkListBreak(t *testing.T, s objstore.Store) {
	for _, key := range []string{"a", "b/1", "b/2", "c"} {
		put(t, s, key, "x")
	}
	listing := s.List(t.Context(), "", "")
	for range 2 {
		var got []string
		for object, err := range listing {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, object.Key)
			if len(got) == 2 {
				break
			}
		}
		if !slices.Equal(got, []string{"a", "b/1"}) {
			t.Fatalf("the first two are %q", got)
		}
	}
}

func checkDelete(t *testing.T, s objstore.Store) {
	ctx := t.Context()
	if err := s.Delete(ctx); err != nil {
		t.Fatalf("delete of no keys: %v", err)
	}
	for _, key := range []string{"a", "b/c", "b/d", "e"} {
		put(t, s, key, key)
	}
	if err := s.Delete(ctx, "a", "absent", "b/c", "b", "x/y/z", "a"); err != nil {
		t.Fatalf("delete with absent keys: %v", err)
	}
	wantKeys(t, s, "", "", "b/d", "e")
	_, err := s.Get(ctx, "a")
	wantError(t, "get after delete", err, objstore.ErrNotFound)

	err = s.Delete(ctx, "b/d", "bad//key", "e")
	var partial *objstore.DeleteError
	if !errors.As(err, &partial) || !slices.Equal(slices.Sorted(maps.Keys(partial.Left)), []string{"bad//key"}) {
		t.Fatalf("delete with a bad key: %v", err)
	}
	wantKeys(t, s, "", "")
}

func checkDeleteMany(t *testing.T, s objstore.Store) {
	keys := fill(t, s, 1030)
	put(t, s, "stays", "x")
	if err := s.Delete(t.Context(), keys...); err != nil {
		t.Fatal(err)
	}
	wantKeys(t, s, "", "", "stays")
}

func checkEmptiedFolder(t *testing.T, s objstore.Store) {
	ctx := t.Context()
	for range 2 {
		put(t, s, "a/b/c", "x")
		if err := s.Delete(ctx, "a/b/c"); err != nil {
			t.Fatal(err)
		}
		wantKeys(t, s, "", "")
		if err := s.PutIfAbsent(ctx, "a", []byte("now an object")); err != nil {
			t.Fatalf("a key that was a folder: %v", err)
		}
		if err := s.Delete(ctx, "a"); err != nil {
			t.Fatal(err)
		}
	}
	// Folders that come and go under racing writers and deleters lose no object.
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() {
			for n := range 20 {
				key := fmt.Sprintf("come/and/go/%d-%d", i, n)
				if err := s.PutIfAbsent(ctx, key, []byte(key)); err != nil {
					errs[i] = err
					return
				}
				if _, err := s.Get(ctx, key); err != nil {
					errs[i] = err
					return
				}
				if err := s.Delete(ctx, key); err != nil {
					errs[i] = err
					return
				}
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	wantKeys(t, s, "", "")
}
