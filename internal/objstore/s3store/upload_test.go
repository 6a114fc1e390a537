package s3store

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/togodb/togo/internal/objstore"
)

// parts is a server that knows multipart uploads. Spoil, if set, is asked for each
// request before it is applied; it may apply it and answer something else.
type parts struct {
	mu      sync.Mutex
	objects map[string][]byte         // guarded by mu, as the rest
	marks   map[string]string         // metadata of objects and uploads
	uploads map[string]map[int][]byte // by id
	began   int
	puts    []string // "PUT", "part 1 of 8388608", ...
	spoil   func(what string, n int, w http.ResponseWriter, apply func()) bool
	seen    map[string]int
}

func newParts(t *testing.T, spoil func(what string, n int, w http.ResponseWriter, apply func()) bool) (*parts, *Store) {
	p := &parts{objects: map[string][]byte{}, marks: map[string]string{}, uploads: map[string]map[int][]byte{}, seen: map[string]int{}, spoil: spoil}
	return p, fakeStore(t, false, nil, p.serve)
}

func (p *parts) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if strings.Contains(r.Header.Get("Content-Encoding"), "aws-chunked") {
		body = unchunk(body)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	q := r.URL.Query()
	id := q.Get("uploadId")
	what, apply := "put", func() { p.objects[r.URL.Path] = body }
	answer := func() { w.WriteHeader(200) }
	switch {
	case r.Method == http.MethodHead:
		what, apply = "head", func() {}
		answer = func() {
			object, ok := p.objects[r.URL.Path]
			if !ok {
				w.WriteHeader(404)
				return
			}
			w.Header().Set("X-Amz-Meta-Togo-Upload", p.marks[r.URL.Path])
			w.Header().Set("Content-Length", strconv.Itoa(len(object)))
		}
	case r.Method == http.MethodPost && q.Has("uploads"):
		what, apply = "begin", func() {
			p.began++
			id = fmt.Sprint("upload-", p.began)
			p.uploads[id], p.marks[id] = map[int][]byte{}, r.Header.Get("X-Amz-Meta-Togo-Upload")
		}
		answer = func() {
			fmt.Fprintf(w, "<InitiateMultipartUploadResult><UploadId>%s</UploadId></InitiateMultipartUploadResult>", id)
		}
	case r.Method == http.MethodPut && id != "":
		number, _ := strconv.Atoi(q.Get("partNumber"))
		what, apply = "part", func() {
			p.puts = append(p.puts, fmt.Sprintf("part %d of %d", number, len(body)))
			p.uploads[id][number] = body
		}
		answer = func() { w.Header().Set("ETag", fmt.Sprintf(`"etag-%d"`, number)) }
	case r.Method == http.MethodPost:
		what, apply = "complete", func() { p.complete(r.URL.Path, id, body) }
		answer = func() {
			fmt.Fprint(w, "<CompleteMultipartUploadResult></CompleteMultipartUploadResult>")
		}
	case r.Method == http.MethodDelete:
		what, apply = "abort", func() { delete(p.uploads, id) }
		answer = func() { w.WriteHeader(204) }
	}
	p.seen[what]++
	known := p.uploads[id] != nil
	if p.spoil != nil && p.spoil(what, p.seen[what], w, apply) {
		return
	}
	if id != "" && !known && what != "begin" {
		refuse(w, 404, "NoSuchUpload")
		return
	}
	apply()
	answer()
}

func (p *parts) complete(path, id string, list []byte) {
	var q struct {
		Part []struct {
			PartNumber int
			ETag       string
		}
	}
	_ = xml.Unmarshal(list, &q)
	var object []byte
	for _, part := range q.Part {
		object = append(object, p.uploads[id][part.PartNumber]...)
	}
	p.objects[path], p.marks[path] = object, p.marks[id]
	delete(p.uploads, id)
}

// unchunk takes a body out of its aws-chunked frames.
func unchunk(framed []byte) (body []byte) {
	for {
		head, rest, _ := bytes.Cut(framed, []byte("\r\n"))
		size, _, _ := strings.Cut(string(head), ";")
		n, err := strconv.ParseInt(size, 16, 64)
		if err != nil || n == 0 {
			return body
		}
		body, framed = append(body, rest[:n]...), rest[n+2:]
	}
}

const objectPath = "/bucket/pre/fix/k"

// upload sends n bytes in pieces, through whatever the server does.
func (p *parts) upload(t *testing.T, s *Store, n int) (body []byte, err error) {
	t.Helper()
	body = make([]byte, n)
	for i := range body {
		body[i] = byte(i * 31 >> 3)
	}
	u, err := s.CreateUpload(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	for piece := range slices.Chunk(body, 1<<20+7) {
		if _, err := u.Write(piece); err != nil {
			return body, errors.Join(err, u.Cancel(t.Context()))
		}
	}
	if err := u.Finish(t.Context()); err != nil {
		return body, errors.Join(err, u.Cancel(t.Context()))
	}
	return body, u.Cancel(t.Context())
}

// TestUploadSizes: what fits into one part is one put; parts have one size but for the last.
func TestUploadSizes(t *testing.T) {
	for n, want := range map[int][]string{
		0: nil, 100: nil, partBytes: nil, partBytes + 1: {"part 1 of 8388608", "part 2 of 1"},
		2*partBytes + 5: {"part 1 of 8388608", "part 2 of 8388608", "part 3 of 5"}, 2 * partBytes: {"part 1 of 8388608", "part 2 of 8388608"},
	} {
		p, s := newParts(t, nil)
		body, err := p.upload(t, s, n)
		if err != nil || !bytes.Equal(p.objects[objectPath], body) || !slices.Equal(p.puts, want) {
			t.Errorf("%d bytes: %v; %d bytes came, by %q", n, err, len(p.objects[objectPath]), p.puts)
		}
		if (p.seen["put"] == 1) != (want == nil) {
			t.Errorf("%d bytes: %v", n, p.seen)
		}
	}
}

// TestSealGivesMemoryBack: a sealed upload holds at most a small object, and a small object is one put still.
func TestSealGivesMemoryBack(t *testing.T) {
	for n, want := range map[int]string{0: "", 100: "", smallBytes: "", smallBytes + 1: "part 1 of 1048577", partBytes: "part 1 of 8388608", partBytes + 1: "part 1 of 8388608 part 2 of 1"} {
		p, s := newParts(t, nil)
		up, err := s.CreateUpload(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := up.Write(make([]byte, n)); err != nil {
			t.Fatal(err)
		}
		if err := up.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
		if held := cap(up.(*upload).buffer); held > smallBytes || strings.Join(p.puts, " ") != want || len(p.objects) > 0 {
			t.Errorf("%d bytes: %d are held after the seal, sent %q, %d objects", n, held, p.puts, len(p.objects))
		}
		if err := up.Finish(t.Context()); err != nil || len(p.objects[objectPath]) != n || (p.seen["put"] == 1) != (want == "") {
			t.Errorf("%d bytes: %v, %d came, requests %v", n, err, len(p.objects[objectPath]), p.seen)
		}
	}
}

func TestPartSizesReachTheLargestObject(t *testing.T) {
	total := int64(0)
	for n := 1; n <= 10_000; n++ {
		size := partSize(n)
		if size < partBytes || size > maxPartBytes || n <= evenParts && size != partBytes {
			t.Fatalf("part %d has %d bytes", n, size)
		}
		total += int64(size)
	}
	if total < 5<<40 {
		t.Errorf("10,000 parts hold %d bytes", total)
	}
}

// TestFault_lost_answer_of_uploads: each request of an upload is answered with an error, applied
// before or not, for its first one or two tries. The object is there once, whole, and
// no upload is left.
func TestFault_lost_answer_of_uploads(t *testing.T) {
	for _, target := range []string{"begin", "part", "complete", "put"} {
		for _, applied := range []bool{false, true} {
			for _, status := range []int{500, 503, 0} {
				for tries := 1; tries <= 3; tries++ {
					name := fmt.Sprintf("%s applied %t, %d, %d times", target, applied, status, tries)
					p, s := newParts(t, func(what string, n int, w http.ResponseWriter, apply func()) bool {
						if what != target || n > tries {
							return false
						}
						if applied && n == 1 {
							apply()
						}
						if status == 0 {
							panic(http.ErrAbortHandler)
						}
						refuse(w, status, map[int]string{500: "InternalError", 503: "SlowDown"}[status])
						return true
					})
					size := 2*partBytes + 5
					if target == "put" {
						size = 100
					}
					body, err := p.upload(t, s, size)
					there := bytes.Equal(p.objects[objectPath], body)
					switch {
					case err == nil && !there:
						t.Errorf("%s: no error, and %d bytes are there", name, len(p.objects[objectPath]))
					case tries < 3 && err != nil:
						t.Errorf("%s: %v", name, err)
					case target == "complete" && applied && err != nil:
						t.Errorf("%s: it is there, and was called a failure: %v", name, err)
					case tries == 3 && err == nil && target != "complete":
						t.Errorf("%s: no error after all tries failed", name)
					case err != nil && status == 503 && !errors.Is(err, objstore.ErrUnavailable):
						t.Errorf("%s: %v", name, err)
					}
					// A begin whose answer was lost leaves an upload for the collector; nothing else does.
					if lost := target == "begin" && applied; len(p.uploads) > 1 || len(p.uploads) == 1 && !lost {
						t.Errorf("%s: %d uploads are left", name, len(p.uploads))
					}
				}
			}
		}
	}
}

// TestFault_lost_answer_200_with_an_error: S3 may answer 200 and then say in the body that it failed.
func TestFault_lost_answer_200_with_an_error(t *testing.T) {
	p, s := newParts(t, func(what string, n int, w http.ResponseWriter, _ func()) bool {
		if what != "complete" || n > 1 {
			return false
		}
		fmt.Fprint(w, "<Error><Code>InternalError</Code><Message>as the test says</Message></Error>")
		return true
	})
	body, err := p.upload(t, s, partBytes+5)
	if err != nil || !bytes.Equal(p.objects[objectPath], body) || p.seen["complete"] != 2 {
		t.Errorf("%v, %d bytes, after %v", err, len(p.objects[objectPath]), p.seen)
	}
}

// TestUploadNeverTakesAnothersObject: an object of the same size under the key is not ours.
func TestUploadNeverTakesAnothersObject(t *testing.T) {
	var p *parts
	p, s := newParts(t, func(what string, _ int, w http.ResponseWriter, _ func()) bool {
		if what == "complete" {
			p.objects[objectPath], p.marks[objectPath] = make([]byte, partBytes+5), "another's"
			refuse(w, 500, "InternalError")
			return true
		}
		return false
	})
	if _, err := p.upload(t, s, partBytes+5); err == nil {
		t.Error("another's object was taken for ours")
	}
}

func TestUploadThatWasEndedByAnother(t *testing.T) {
	p, s := newParts(t, nil)
	u, err := s.CreateUpload(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := u.Write(make([]byte, partBytes+1)); err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	clear(p.uploads)
	p.mu.Unlock()
	if err := u.Finish(t.Context()); !errors.Is(err, objstore.ErrUploadOver) {
		t.Errorf("finish: %v", err)
	}
	if err := u.Cancel(t.Context()); err != nil {
		t.Errorf("cancel: %v", err)
	}
}

// TestUploadsGoOnPageByPage, with a server that takes no notice of the prefix.
func TestUploadsGoOnPageByPage(t *testing.T) {
	s := fakeStore(t, false, nil, func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		at, _ := strconv.Atoi(q.Get("upload-id-marker"))
		if q.Get("prefix") != "pre/fix/data/" || at > 0 && q.Get("key-marker") != fmt.Sprint("pre/fix/data/k", at-1) {
			t.Errorf("asked for %q", r.URL.RawQuery)
		}
		fmt.Fprint(w, "<ListMultipartUploadsResult>")
		for i := at; i < at+2; i++ {
			fmt.Fprintf(w, "<Upload><Key>pre/fix/data/k%d</Key><UploadId>%d</UploadId><Initiated>2030-01-02T03:04:05Z</Initiated></Upload>", i, i)
		}
		fmt.Fprint(w, "<Upload><Key>other/data/k</Key><UploadId>x</UploadId></Upload>")
		fmt.Fprintf(w, "<IsTruncated>%t</IsTruncated><NextKeyMarker>pre/fix/data/k%d</NextKeyMarker><NextUploadIdMarker>%d</NextUploadIdMarker></ListMultipartUploadsResult>",
			at < 4, at+1, at+2)
	})
	list := func() (keys []string, last error) {
		for upload, err := range s.Uploads(t.Context(), "data/") {
			if last = err; err == nil {
				keys = append(keys, upload.Key+" "+upload.ID)
			}
		}
		return keys, last
	}
	if keys, err := list(); err != nil || fmt.Sprint(keys) != "[data/k0 0 data/k1 1 data/k2 2 data/k3 3 data/k4 4 data/k5 5]" {
		t.Errorf("%q, %v", keys, err)
	}
}

// TestDeleteAnswersThatNameNoKeyOfOurs leave all keys in doubt.
func TestDeleteAnswersThatNameNoKeyOfOurs(t *testing.T) {
	s := fakeStore(t, false, nil, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "<DeleteResult><Error><Code>InternalError</Code></Error></DeleteResult>")
	})
	err := s.Delete(t.Context(), "a", "b")
	if left := objstore.LeftOf(err, []string{"a", "b"}); len(left) != 2 || left["a"] == nil || left["b"] == nil {
		t.Errorf("%v left of %v", left, err)
	}
}

func TestUploadsOfAServerThatHasNone(t *testing.T) {
	for code, status := range map[string]int{"NotImplemented": 501, "AccessDenied": 403} {
		s := fakeStore(t, false, func(c *Config) { c.MaxAttempts = 1 }, func(w http.ResponseWriter, r *http.Request) { refuse(w, status, code) })
		var last error
		for _, err := range s.Uploads(t.Context(), "") {
			last = err
		}
		if (last == nil) != (status == 501) {
			t.Errorf("%s: %v", code, last)
		}
	}
}

func TestUploadsOfAServerThatGoesInCircles(t *testing.T) {
	s := fakeStore(t, false, nil, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "<ListMultipartUploadsResult><IsTruncated>true</IsTruncated><NextKeyMarker>k</NextKeyMarker></ListMultipartUploadsResult>")
	})
	var last error
	for _, err := range s.Uploads(t.Context(), "") {
		last = err
	}
	if last == nil {
		t.Error("no error")
	}
}
