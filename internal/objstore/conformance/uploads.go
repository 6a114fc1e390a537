package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/togodb/togo/internal/objstore"
)

// create begins an upload that ends with the test.
func create(t *testing.T, s objstore.Store, key string) objstore.Upload {
	t.Helper()
	u, err := objstore.Create(t.Context(), s, key)
	if err != nil {
		t.Fatalf("create %q: %v", key, err)
	}
	t.Cleanup(func() { _ = u.Cancel(context.WithoutCancel(t.Context())) })
	return u
}

// write gives a body in pieces of n bytes, and spoils each piece afterwards.
func write(t *testing.T, u objstore.Upload, body []byte, n int) {
	t.Helper()
	piece := make([]byte, n)
	for at := 0; at < len(body); {
		part := piece[:copy(piece, body[at:])]
		wrote, err := u.Write(part)
		if err != nil || wrote != len(part) {
			t.Fatalf("write at %d: %d of %d bytes, %v", at, wrote, len(part), err)
		}
		clear(part)
		at += wrote
	}
}

// pending is the keys of the uploads that the store lists.
func pending(t *testing.T, s objstore.Store, prefix string) (keys []string, uploads []objstore.PendingUpload) {
	t.Helper()
	for upload, err := range objstore.PendingUploads(t.Context(), s, prefix) {
		if err != nil {
			t.Fatalf("uploads under %q: %v", prefix, err)
		}
		keys, uploads = append(keys, upload.Key), append(uploads, upload)
	}
	return keys, uploads
}

// largeUpload has more than two parts of S3, the last of them partial.
const largeUpload = 18<<20 + 77

func checkUpload(t *testing.T, s objstore.Store) {
	for i, c := range []struct{ bytes, piece int }{
		{0, 1}, {1, 1}, {1000, 7}, {300_000, 4096}, {8 << 20, 1 << 20}, {8<<20 + 1, 1 << 20}, {16 << 20, 3 << 20}, {largeUpload, 99_991}, {largeUpload, largeUpload},
		{8 << 20, 1 << 20}, {3 << 20, 1 << 20}, {16 << 20, 1 << 20},
	} {
		key, body := fmt.Sprintf("up/%d", i), bodyOf(c.bytes)
		u := create(t, s, key)
		write(t, u, body, c.piece)
		_, err := s.Get(t.Context(), key)
		wantError(t, "get before the finish", err, objstore.ErrNotFound)
		wantKeys(t, s, key, "")
		for range i % 3 { // nobody need seal, and anybody may again
			if err := u.Seal(t.Context()); err != nil {
				t.Fatalf("seal: %v", err)
			}
			if _, err := u.Write([]byte("x")); !errors.Is(err, objstore.ErrUploadOver) {
				t.Fatalf("write after the seal: %v", err)
			}
			_, err := s.Get(t.Context(), key)
			wantError(t, "get after the seal", err, objstore.ErrNotFound)
		}
		if err := u.Finish(t.Context()); err != nil {
			t.Fatalf("finish %d bytes in pieces of %d: %v", c.bytes, c.piece, err)
		}
		want(t, s, key, body)
		wantKeys(t, s, key, "", key)
		if err := u.Cancel(t.Context()); err != nil {
			t.Fatalf("cancel after the finish: %v", err)
		}
		want(t, s, key, body)
		if _, err := u.Write([]byte("x")); !errors.Is(err, objstore.ErrUploadOver) {
			t.Fatalf("write after the finish: %v", err)
		}
		wantError(t, "second finish", u.Finish(t.Context()), objstore.ErrUploadOver)
		wantError(t, "seal after the finish", u.Seal(t.Context()), objstore.ErrUploadOver)
	}
	if keys, _ := pending(t, s, ""); len(keys) > 0 {
		t.Fatalf("finished uploads are listed: %q", keys)
	}
}

func checkUploadReplaces(t *testing.T, s objstore.Store) {
	for i, size := range []int{100, 9 << 20, 10} {
		body := bodyOf(size + i)
		u := create(t, s, "k")
		write(t, u, body, 1<<20)
		if err := u.Finish(t.Context()); err != nil {
			t.Fatal(err)
		}
		want(t, s, "k", body)
	}
	wantError(t, "create over an upload", s.PutIfAbsent(t.Context(), "k", nil), objstore.ErrExists)
}

func checkUploadCancel(t *testing.T, s objstore.Store) {
	put(t, s, "there", "before")
	for i, size := range []int{0, 10, largeUpload} {
		for _, key := range []string{fmt.Sprintf("c/%d", i), "there"} {
			u := create(t, s, key)
			write(t, u, bodyOf(size), 1<<20)
			if key == "there" {
				if err := u.Seal(t.Context()); err != nil {
					t.Fatalf("seal: %v", err)
				}
			}
			for range 2 {
				if err := u.Cancel(t.Context()); err != nil {
					t.Fatalf("cancel: %v", err)
				}
			}
			wantError(t, "finish after the cancel", u.Finish(t.Context()), objstore.ErrUploadOver)
		}
	}
	wantKeys(t, s, "", "", "there")
	want(t, s, "there", []byte("before"))
	if keys, _ := pending(t, s, ""); len(keys) > 0 {
		t.Fatalf("cancelled uploads are listed: %q", keys)
	}
}

func checkUploadKeys(t *testing.T, s objstore.Store) {
	for _, key := range []string{"", "a//b", ".tmp/a", "a\nb", "../a"} {
		if _, err := objstore.Create(t.Context(), s, key); !errors.Is(err, objstore.ErrInvalidKey) {
			t.Errorf("create %q: %v", key, err)
		}
	}
	put(t, s, "a/b", "x")
	for _, key := range []string{"a", "a/b/c"} {
		for _, size := range []int{1, 9 << 20} {
			u := create(t, s, key)
			// Where the refusal comes is the store's; that nothing comes of it is not.
			_, err := u.Write(bodyOf(size))
			if err == nil {
				err = u.Finish(t.Context())
			}
			// A gateway over a file system may call the refusal of a multipart upload its own error.
			if err == nil || size == 1 && !errors.Is(err, objstore.ErrInvalidKey) {
				t.Fatalf("upload of %q, %d bytes: %v", key, size, err)
			}
			if err := u.Cancel(t.Context()); err != nil {
				t.Fatalf("cancel: %v", err)
			}
		}
	}
	wantKeys(t, s, "", "", "a/b")
	ctx, cancel := context.WithCancel(t.Context())
	ended, err := objstore.Create(ctx, s, "ended")
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err = ended.Write(bodyOf(9 << 20)); err == nil {
		err = ended.Finish(ctx)
	}
	wantError(t, "upload with a context that has ended", err, context.Canceled)
	if err := ended.Cancel(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantKeys(t, s, "", "", "a/b")
}

// checkUploadWhole: a reader sees nothing or all, and of several writers of one key one whole body.
func checkUploadWhole(t *testing.T, s objstore.Store) {
	const writers, size = 4, 9 << 20
	var wg sync.WaitGroup
	errs := make([]error, writers+1)
	done := make(chan struct{})
	for i := range writers {
		u := create(t, s, "whole/k")
		wg.Go(func() {
			if _, errs[i] = u.Write(bytes.Repeat([]byte{byte(i)}, size)); errs[i] == nil {
				errs[i] = u.Finish(t.Context())
			}
		})
	}
	go func() { wg.Wait(); close(done) }()
	for over := false; !over; {
		select {
		case <-done:
			over = true
		default:
		}
		got, err := s.Get(t.Context(), "whole/k")
		if errors.Is(err, objstore.ErrNotFound) && !over {
			continue
		}
		if err != nil || len(got) != size || bytes.Count(got, got[:1]) != size {
			errs[writers] = fmt.Errorf("a reader saw %d bytes, %w", len(got), err)
			break
		}
	}
	<-done
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// checkPending: what a writer that died has left is listed where the store keeps it,
// and ends when it is abandoned.
func checkPending(t *testing.T, s objstore.Store) {
	const key = "data/t/1/left.parquet"
	beside := create(t, s, "data/t/10/beside.parquet")
	write(t, beside, bodyOf(largeUpload), 1<<20)
	u := create(t, s, key)
	write(t, u, bodyOf(largeUpload), 1<<20)
	if err := u.Seal(t.Context()); err != nil { // no part is under way
		t.Fatalf("seal: %v", err)
	}
	wantKeys(t, s, "", "")
	keys, uploads := pending(t, s, "data/t/1/")
	if all, _ := pending(t, s, ""); len(all) != 2*len(keys) {
		t.Fatalf("all pending: %q, one of them: %q", all, keys)
	}
	for _, upload := range uploads {
		if upload.Key != key || upload.ID == "" || upload.Begun.IsZero() {
			t.Fatalf("pending: %+v", upload)
		}
		for range 2 {
			if err := objstore.AbandonUpload(t.Context(), s, upload); err != nil {
				t.Fatalf("abandon: %v", err)
			}
		}
		wantError(t, "finish of an abandoned upload", u.Finish(t.Context()), objstore.ErrUploadOver)
		wantKeys(t, s, "", "")
	}
	if keys, _ := pending(t, s, "data/t/1/"); len(keys) > 0 {
		t.Fatalf("still pending: %q", keys)
	}
	if err := beside.Finish(t.Context()); err != nil {
		t.Fatalf("the one beside: %v", err)
	}
	want(t, s, "data/t/10/beside.parquet", bodyOf(largeUpload))
}
