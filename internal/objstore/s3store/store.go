// Package s3store keeps objects in a bucket of S3, or of a store that speaks its
// protocol: package objstore's Store over aws-sdk-go-v2.
//
// The SDK repeats a failed request up to MaxAttempts times, a conditional write
// too: its first try may have been applied, so that ErrExists may stand for our
// own object (objstore's third promise).
package s3store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/togodb/togo/internal/objstore"
)

// Store is one prefix of a bucket.
type Store struct {
	config Config
	client *s3.Client
}

// String names the store in messages.
func (s *Store) String() string {
	name := "s3://" + s.config.Bucket
	if s.config.Prefix != "" {
		name += "/" + s.config.Prefix
	}
	if s.config.Endpoint != "" {
		name += " at " + s.config.Endpoint
	}
	return name
}

// full is the key in the bucket.
func (s *Store) full(key string) string {
	if s.config.Prefix == "" {
		return key
	}
	return s.config.Prefix + "/" + key
}

// Put creates or replaces the object.
func (s *Store) Put(ctx context.Context, key string, body []byte) error {
	return s.put(ctx, objstore.OpPut, key, body, nil)
}

// PutIfAbsent creates the object.
func (s *Store) PutIfAbsent(ctx context.Context, key string, body []byte) error {
	return s.put(ctx, objstore.OpPutIfAbsent, key, body, aws.String("*"))
}

func (s *Store) put(ctx context.Context, op objstore.Op, key string, body []byte, ifNoneMatch *string) error {
	if err := objstore.ValidateKey(key); err != nil {
		return err
	}
	err := s.retryFolder(ctx, func() error {
		_, err := s.client.PutObject(ctx, &s3.PutObjectInput{
			Bucket:        aws.String(s.config.Bucket),
			Key:           aws.String(s.full(key)),
			Body:          bytes.NewReader(body),
			ContentLength: aws.Int64(int64(len(body))),
			IfNoneMatch:   ifNoneMatch,
		})
		return err
	})
	return s.wrap(op, key, err)
}

// retryFolder repeats a write that was refused as a folder of another key, see folderTries.
func (s *Store) retryFolder(ctx context.Context, write func() error) (err error) {
	for try := range folderTries {
		err = write()
		if !isFolderRefusal(err) || try == folderTries-1 {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(folderPause << try):
		}
	}
	return err
}

// A gateway over a file system says that a key is a folder also when it meant to
// put an object into a folder that a delete removed at that moment as empty. A few
// tries, 150 ms in all, tell the two apart.
const (
	folderTries = 5
	folderPause = 10 * time.Millisecond
)

// Get returns the whole object.
func (s *Store) Get(ctx context.Context, key string) ([]byte, error) {
	body, _, err := s.read(ctx, objstore.OpGet, key, nil)
	return body, err
}

// GetRange returns a part of the object.
func (s *Store) GetRange(ctx context.Context, key string, off, n int64) ([]byte, error) {
	if _, _, err := objstore.Span(1, 0, n); err != nil {
		return nil, err // before the store is asked
	}
	want := fmt.Sprintf("bytes=%d-%d", off, off+n-1)
	if off < 0 {
		want = fmt.Sprintf("bytes=%d", off)
	}
	body, partial, err := s.read(ctx, objstore.OpGetRange, key, &want)
	if err != nil {
		return nil, err
	}
	if partial && off >= 0 {
		off = 0 // the answer begins there
	}
	// A suffix may be longer than asked for, and a store may send an object whole
	// (some do for an empty one).
	from, to, err := objstore.Span(int64(len(body)), off, n)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", objstore.OpGetRange, key, err)
	}
	return body[from:to], nil
}

// read gets an object's body, or a part of it; partial says which came. An answer
// that breaks off in its body is not the SDK's to repeat, so it is repeated here.
func (s *Store) read(ctx context.Context, op objstore.Op, key string, want *string) (body []byte, partial bool, err error) {
	if err := objstore.ValidateKey(key); err != nil {
		return nil, false, err
	}
	for range s.config.MaxAttempts {
		var out *s3.GetObjectOutput
		out, err = s.client.GetObject(ctx, &s3.GetObjectInput{
			Bucket: aws.String(s.config.Bucket),
			Key:    aws.String(s.full(key)),
			Range:  want,
		})
		if err != nil {
			return nil, false, s.wrap(op, key, err)
		}
		body, err = readBody(out)
		if err == nil {
			return body, out.ContentRange != nil, nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, false, s.wrap(op, key, fmt.Errorf("read the answer's body: %w", err))
}

func readBody(out *s3.GetObjectOutput) ([]byte, error) {
	defer out.Body.Close()
	if out.ContentLength == nil {
		return io.ReadAll(out.Body)
	}
	// One more byte: only at the end is the checksum of the body compared.
	body := make([]byte, *out.ContentLength, *out.ContentLength+1)
	if _, err := io.ReadFull(out.Body, body); err != nil {
		if errors.Is(err, io.EOF) && len(body) > 0 {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	n, err := out.Body.Read(body[len(body):cap(body)])
	if n > 0 {
		return nil, fmt.Errorf("more than the %d bytes announced", len(body))
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return body, nil
}

// List yields objects by key, a page of up to 1,000 at a time.
func (s *Store) List(ctx context.Context, prefix, after string) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) {
		input := &s3.ListObjectsV2Input{
			Bucket: aws.String(s.config.Bucket),
			Prefix: aws.String(s.full(prefix)),
		}
		if after != "" {
			input.StartAfter = aws.String(s.full(after))
		}
		last := after
		for {
			page, err := s.client.ListObjectsV2(ctx, input)
			if err != nil {
				yield(objstore.Object{}, s.wrap(objstore.OpList, prefix, err))
				return
			}
			for _, entry := range page.Contents {
				object, skip, err := s.entry(entry, last)
				if skip {
					continue
				}
				if !yield(object, err) || err != nil {
					return
				}
				last = object.Key
			}
			if !aws.ToBool(page.IsTruncated) {
				return
			}
			input.ContinuationToken = page.NextContinuationToken
		}
	}
}

// entry is one object of a listing; skip is for the empty objects that consoles and
// gateways make to show a folder.
func (s *Store) entry(entry types.Object, last string) (o objstore.Object, skip bool, err error) {
	full := aws.ToString(entry.Key)
	key, ok := strings.CutPrefix(full, s.full(""))
	if !ok {
		return objstore.Object{}, false, fmt.Errorf("list: %s answered with key %q, not under the prefix", s, full)
	}
	if key == "" || strings.HasSuffix(key, "/") {
		return objstore.Object{}, true, nil
	}
	if last != "" && key <= last {
		return objstore.Object{}, false, fmt.Errorf("list: %s answered with key %q after %q: listings must be in byte order", s, key, last)
	}
	return objstore.Object{Key: key, Size: aws.ToInt64(entry.Size), Modified: aws.ToTime(entry.LastModified)}, false, nil
}

// maxDeleteBatch is what one DeleteObjects takes.
const maxDeleteBatch = 1000

// Delete removes the objects, a batch of up to 1,000 at a time. A batch that fails
// leaves the others to be tried.
func (s *Store) Delete(ctx context.Context, keys ...string) error {
	left := map[string]error{}
	ids := make([]types.ObjectIdentifier, 0, min(len(keys), maxDeleteBatch))
	flush := func() {
		if len(ids) > 0 {
			s.deleteBatch(ctx, ids, left)
			ids = ids[:0]
		}
	}
	for _, key := range keys {
		if err := objstore.ValidateKey(key); err != nil {
			left[key] = err
			continue
		}
		ids = append(ids, types.ObjectIdentifier{Key: aws.String(s.full(key))})
		if len(ids) == maxDeleteBatch {
			flush()
		}
	}
	flush()
	if len(left) > 0 {
		return &objstore.DeleteError{Left: left}
	}
	return nil
}

// deleteBatch notes in left each key that the store does not say is gone. A failure of a
// key that was not asked for may mean any of them.
func (s *Store) deleteBatch(ctx context.Context, ids []types.ObjectIdentifier, left map[string]error) {
	out, err := s.client.DeleteObjects(ctx, &s3.DeleteObjectsInput{
		Bucket: aws.String(s.config.Bucket),
		Delete: &types.Delete{Objects: ids, Quiet: aws.Bool(true)},
	})
	keyOf := func(full *string) string { return strings.TrimPrefix(aws.ToString(full), s.full("")) }
	allLeft := func(why error) {
		for _, id := range ids {
			left[keyOf(id.Key)] = s.wrap(objstore.OpDelete, keyOf(id.Key), why)
		}
	}
	if err != nil {
		allLeft(err)
		return
	}
	for _, failed := range out.Errors {
		code := aws.ToString(failed.Code)
		if code == "NoSuchKey" {
			continue
		}
		key := keyOf(failed.Key)
		err := fmt.Errorf("delete %s: %s: %s", key, code, aws.ToString(failed.Message))
		if isUnavailable(0, code) {
			err = fmt.Errorf("%w: %w", objstore.ErrUnavailable, err)
		}
		if !slices.ContainsFunc(ids, func(id types.ObjectIdentifier) bool { return keyOf(id.Key) == key }) {
			allLeft(fmt.Errorf("the answer names a key that was not asked for: %w", err))
			return
		}
		left[key] = err
	}
}

// Date is the Date of the store's answer to a request for the bucket's head.
func (s *Store) Date(ctx context.Context) (time.Time, error) {
	out, err := s.client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: aws.String(s.config.Bucket)})
	if err != nil {
		return time.Time{}, s.wrap(objstore.OpDate, s.config.Bucket, err)
	}
	now, ok := awsmiddleware.GetServerTime(out.ResultMetadata)
	if !ok || now.IsZero() {
		return time.Time{}, fmt.Errorf("date: the answer of %s has none", s)
	}
	return now.UTC(), nil
}
