// Package conformance checks that a Store keeps the promises of package objstore.
// Every store passes the same suite: memory, directory, the fault wrapper, and S3
// against a real server.
package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/togodb/togo/internal/objstore"
)

// Racers is how many writers race for a key.
const Racers = 50

// Run checks a kind of store; open makes a fresh, empty one.
func Run(t *testing.T, open func(t *testing.T) objstore.Store) {
	checks := []struct {
		name  string
		check func(t *testing.T, s objstore.Store)
	}{
		{"what is put is read back whole", checkRoundTrip},
		{"put replaces", checkReplace},
		{"a second create is refused and changes nothing", checkCreateOnce},
		{"of many racing creates one wins", checkRacers},
		{"a reader of a racing create sees nothing or all", checkWholeOrNothing},
		{"ranges", checkRanges},
		{"absent objects", checkAbsent},
		{"listings are in byte order of keys", checkListOrder},
		{"listings begin after a key", checkListAfter},
		{"listings take any prefix", checkListPrefix},
		{"listings of more than a page", checkListPages},
		{"a listing can be left early and begun again", checkListBreak},
		{"odd keys", checkOddKeys},
		{"keys that no store takes", checkBadKeys},
		{"no key is a folder of another", checkFolders},
		{"delete", checkDelete},
		{"delete of more than a batch", checkDeleteMany},
		{"a folder that was emptied can be used again", checkEmptiedFolder},
		{"a body may be reused by its writer", checkBodyReuse},
		{"a context that has ended", checkEndedContext},
		{"the store's date", checkDate},
		{"an upload in pieces is read back whole", checkUpload},
		{"an upload replaces", checkUploadReplaces},
		{"a cancelled upload leaves nothing", checkUploadCancel},
		{"uploads of keys that no store takes", checkUploadKeys},
		{"a reader of racing uploads sees nothing or all", checkUploadWhole},
		{"uploads that were left", checkPending},
	}
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) { c.check(t, open(t)) })
	}
}

func put(t *testing.T, s objstore.Store, key, body string) {
	t.Helper()
	if err := s.Put(t.Context(), key, []byte(body)); err != nil {
		t.Fatalf("put %q: %v", key, err)
	}
}

func want(t *testing.T, s objstore.Store, key string, body []byte) {
	t.Helper()
	got, err := s.Get(t.Context(), key)
	if err != nil {
		t.Fatalf("get %q: %v", key, err)
	}
	if !bytes.Equal(got, body) {
		t.Fatalf("get %q: %d bytes %.40q, want %d bytes %.40q", key, len(got), got, len(body), body)
	}
}

func wantError(t *testing.T, what string, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("%s: error %v, want %v", what, err, target)
	}
}

// list collects a listing's keys.
func list(t *testing.T, s objstore.Store, prefix, after string) []string {
	t.Helper()
	keys := []string{}
	for object, err := range s.List(t.Context(), prefix, after) {
		if err != nil {
			t.Fatalf("list %q after %q: %v", prefix, after, err)
		}
		keys = append(keys, object.Key)
	}
	return keys
}

func wantKeys(t *testing.T, s objstore.Store, prefix, after string, keys ...string) {
	t.Helper()
	got := list(t, s, prefix, after)
	if slices.Equal(got, keys) {
		return
	}
	i := 0
	for i < min(len(got), len(keys)) && got[i] == keys[i] {
		i++
	}
	t.Fatalf("list %q after %q: %d keys, want %d; from number %d on %q, want %q", prefix, after, len(got), len(keys),
		i, got[i:min(i+20, len(got))], keys[i:min(i+20, len(keys))])
}

// bodyOf makes bytes that do not repeat, the same for each run.
func bodyOf(n int) []byte {
	body := make([]byte, n)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(body) // never fails
	return body
}

func checkRoundTrip(t *testing.T, s objstore.Store) {
	before := time.Now().Add(-time.Minute)
	for i, n := range []int{0, 1, 1000, 64 << 10, 5 << 20} {
		for _, create := range []bool{false, true} {
			key := fmt.Sprintf("bodies/%d-%t", i, create)
			body := bodyOf(n)
			write := s.Put
			if create {
				write = s.PutIfAbsent
			}
			if err := write(t.Context(), key, body); err != nil {
				t.Fatalf("write %d bytes: %v", n, err)
			}
			want(t, s, key, body)
			for object, err := range s.List(t.Context(), key, "") {
				if err != nil || object.Key != key || object.Size != int64(n) || object.Modified.Before(before) {
					t.Fatalf("listed as %+v, %v; want %d bytes", object, err, n)
				}
			}
		}
	}
	if got := list(t, s, "bodies/", ""); len(got) != 10 {
		t.Fatalf("listed: %q", got)
	}
}

func checkReplace(t *testing.T, s objstore.Store) {
	for _, body := range []string{"the first, which is longer", "second", ""} {
		put(t, s, "k", body)
		want(t, s, "k", []byte(body))
	}
}

func checkCreateOnce(t *testing.T, s objstore.Store) {
	ctx := t.Context()
	if err := s.PutIfAbsent(ctx, "k", []byte("first")); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		wantError(t, "second create", s.PutIfAbsent(ctx, "k", []byte("second")), objstore.ErrExists)
	}
	want(t, s, "k", []byte("first"))
	wantError(t, "same bytes again", s.PutIfAbsent(ctx, "k", []byte("first")), objstore.ErrExists)
	put(t, s, "over", "put")
	wantError(t, "create over a put", s.PutIfAbsent(ctx, "over", nil), objstore.ErrExists)
	want(t, s, "over", []byte("put"))
	if err := s.Delete(ctx, "k"); err != nil {
		t.Fatal(err)
	}
	if err := s.PutIfAbsent(ctx, "k", []byte("third")); err != nil {
		t.Fatalf("create after delete: %v", err)
	}
	want(t, s, "k", []byte("third"))
}

// race starts the racers at once; each creates key with its own body of n bytes.
func race(t *testing.T, s objstore.Store, key string, n int) (errs [Racers]error) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range Racers {
		wg.Go(func() {
			body := append([]byte(fmt.Sprintf("%02d", i)), make([]byte, n)...)
			<-start
			errs[i] = s.PutIfAbsent(t.Context(), key, body)
		})
	}
	close(start)
	wg.Wait()
	return errs
}

func checkRacers(t *testing.T, s objstore.Store) {
	for round, n := range []int{0, 0, 1000, 100 << 10} {
		key := fmt.Sprintf("race/%d", round)
		winner := -1
		for i, err := range race(t, s, key, n) {
			switch {
			case err == nil && winner >= 0:
				t.Fatalf("round %d: racers %d and %d both won", round, winner, i)
			case err == nil:
				winner = i
			case !errors.Is(err, objstore.ErrExists) && !errors.Is(err, objstore.ErrConflict):
				t.Fatalf("round %d: racer %d: %v", round, i, err)
			}
		}
		if winner < 0 {
			t.Fatalf("round %d: nobody won", round)
		}
		want(t, s, key, append([]byte(fmt.Sprintf("%02d", winner)), make([]byte, n)...))
	}
}

func checkWholeOrNothing(t *testing.T, s objstore.Store) {
	const size = 300 << 10
	var wg sync.WaitGroup
	seen := make(chan error, 8)
	for range cap(seen) {
		wg.Go(func() {
			for {
				got, err := s.Get(t.Context(), "whole/k")
				if errors.Is(err, objstore.ErrNotFound) {
					continue
				}
				if err == nil && len(got) != size+2 {
					err = fmt.Errorf("a reader saw %d of %d bytes", len(got), size+2)
				}
				seen <- err
				return
			}
		})
	}
	race(t, s, "whole/k", size)
	wg.Wait()
	close(seen)
	for err := range seen {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func checkRanges(t *testing.T, s objstore.Store) {
	const text = "0123456789"
	put(t, s, "k", text)
	put(t, s, "empty", "")
	for _, c := range []struct {
		off, n int64
		want   string
	}{
		{0, 1, "0"}, {0, 10, text}, {0, 11, text}, {0, 1 << 40, text}, {3, 4, "3456"}, {9, 1, "9"}, {9, 5, "9"}, {5, 1 << 60, "56789"},
		{-1, 1, "9"}, {-3, 2, "78"}, {-3, 3, "789"}, {-3, 100, "789"}, {-10, 4, "0123"}, {-11, 4, "0123"}, {-1 << 40, 2, "01"},
	} {
		got, err := s.GetRange(t.Context(), "k", c.off, c.n)
		if err != nil || string(got) != c.want {
			t.Errorf("range %d+%d: %q, %v; want %q", c.off, c.n, got, err, c.want)
		}
	}
	for _, c := range []struct {
		key    string
		off, n int64
		target error
	}{
		{"k", 10, 1, objstore.ErrRange}, {"k", 11, 5, objstore.ErrRange}, {"empty", 0, 1, objstore.ErrRange},
		{"empty", -1, 1, objstore.ErrRange}, {"absent", 0, 1, objstore.ErrNotFound}, {"absent", -1, 1, objstore.ErrNotFound},
	} {
		if _, err := s.GetRange(t.Context(), c.key, c.off, c.n); !errors.Is(err, c.target) {
			t.Errorf("range %d+%d of %s: %v, want %v", c.off, c.n, c.key, err, c.target)
		}
	}
	for _, n := range []int64{0, -1} {
		if _, err := s.GetRange(t.Context(), "k", 0, n); err == nil {
			t.Errorf("a range of %d bytes: no error", n)
		}
	}
	large := bodyOf(5 << 20)
	put(t, s, "large", string(large))
	got, err := s.GetRange(t.Context(), "large", 4<<20, 1<<20)
	if err != nil || !bytes.Equal(got, large[4<<20:]) {
		t.Errorf("range of a large object: %d bytes, %v", len(got), err)
	}
}

func checkAbsent(t *testing.T, s objstore.Store) {
	put(t, s, "folder/k", "x")
	for _, key := range []string{"absent", "folder", "folder/absent", "folder/k2", "a/b/c", "folder/k/below"} {
		_, err := s.Get(t.Context(), key)
		wantError(t, "get "+key, err, objstore.ErrNotFound)
	}
	wantKeys(t, s, "absent", "")
	wantKeys(t, s, "absent/", "")
}

func checkBodyReuse(t *testing.T, s objstore.Store) {
	body := []byte("before")
	if err := s.PutIfAbsent(t.Context(), "k", body); err != nil {
		t.Fatal(err)
	}
	copy(body, "after!")
	got, err := s.Get(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	copy(got, "reader")
	want(t, s, "k", []byte("before"))
}

func checkEndedContext(t *testing.T, s objstore.Store) {
	put(t, s, "k", "x")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, get := s.Get(ctx, "k")
	_, part := s.GetRange(ctx, "k", 0, 1)
	var listed error
	for _, err := range s.List(ctx, "", "") {
		listed = err
	}
	for what, err := range map[string]error{
		"get": get, "range": part, "list": listed, "put": s.Put(ctx, "p", nil),
		"create": s.PutIfAbsent(ctx, "q", nil), "delete": s.Delete(ctx, "k"),
	} {
		wantError(t, what, err, context.Canceled)
	}
	want(t, s, "k", []byte("x"))
}

func checkDate(t *testing.T, s objstore.Store) {
	now, err := s.Date(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// The servers of these tests run on this machine.
	if d := time.Since(now); d < -2*time.Second || d > time.Minute {
		t.Fatalf("date %s is %s from now", now, d)
	}
}

func checkOddKeys(t *testing.T, s objstore.Store) {
	keys := []string{
		"a!b", "a-b", "a_b", "a.b", "a*b", "a'b", "a(b)", "...", "a..", "..a", ".hidden", "a/.tmp", "a b", "a  b ", "a+b", "a%20b", "a%2Fb",
		"a&b=c", "a?b", "a#b", "a:b", "a;b", "a,b", "a@b", "a$b", "a=b", "a~b", "a[b]", "a{b}", "a^b", "a`b", "a|b", "a<b>", `a"b`,
		"é", "e\u0301", "日本/語", "🐕", "A", "!-_.*'()", strings.Repeat("x", 255),
		"long/" + strings.Repeat(strings.Repeat("y", 198)+"/", 4) + strings.Repeat("z", 199),
	}
	for _, key := range keys {
		key = "odd/" + key
		if len(key) > objstore.MaxKeyBytes {
			key = key[len("odd/"):]
		}
		if err := s.PutIfAbsent(t.Context(), key, []byte(key)); err != nil {
			t.Errorf("create %q: %v", key, err)
			continue
		}
		want(t, s, key, []byte(key))
		wantError(t, "second create of "+key, s.PutIfAbsent(t.Context(), key, nil), objstore.ErrExists)
	}
	got := list(t, s, "", "")
	if len(got) != len(keys) || !slices.IsSorted(got) {
		t.Errorf("%d keys listed, want %d in order: %q", len(got), len(keys), got)
	}
	if err := s.Delete(t.Context(), got...); err != nil {
		t.Errorf("delete: %v", err)
	}
	wantKeys(t, s, "", "")
}

func checkBadKeys(t *testing.T, s objstore.Store) {
	for _, key := range []string{
		"", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/./b", "a/..", "a\x00b", "a\nb", "a\\b", "\xff", "a\x7f",
		".tmp", ".tmp/a", strings.Repeat("x", 256), strings.Repeat("abcd/", 200) + "x", "a\ufffe",
	} {
		_, get := s.Get(t.Context(), key)
		_, part := s.GetRange(t.Context(), key, 0, 1)
		for what, err := range map[string]error{
			"get": get, "range": part, "put": s.Put(t.Context(), key, nil),
			"create": s.PutIfAbsent(t.Context(), key, nil), "delete": s.Delete(t.Context(), key),
		} {
			if !errors.Is(err, objstore.ErrInvalidKey) {
				t.Errorf("%s %.40q: %v, want %v", what, key, err, objstore.ErrInvalidKey)
			}
		}
	}
	wantKeys(t, s, "", "")
}

func checkFolders(t *testing.T, s objstore.Store) {
	put(t, s, "a/b/c", "x")
	put(t, s, "f", "file")
	for _, key := range []string{"a", "a/b", "a/b/c/d", "a/b/c/d/e", "f/g"} {
		wantError(t, "put "+key, s.Put(t.Context(), key, []byte("y")), objstore.ErrInvalidKey)
		wantError(t, "create "+key, s.PutIfAbsent(t.Context(), key, []byte("y")), objstore.ErrInvalidKey)
	}
	if err := s.Delete(t.Context(), "a", "a/b", "a/b/c/d"); err != nil {
		t.Fatalf("delete of keys that are folders, and so absent: %v", err)
	}
	want(t, s, "a/b/c", []byte("x"))
	wantKeys(t, s, "", "", "a/b/c", "f")
}
