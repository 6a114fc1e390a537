package s3store

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"

	"github.com/togodb/togo/internal/objstore"
)

var _ objstore.Multipart = (*Store)(nil)

const (
	opUpload        objstore.Op = "upload"
	opUploads       objstore.Op = "list uploads"
	opAbandonUpload objstore.Op = "abandon upload"

	// partBytes is above S3's least part (5 MiB); an upload holds up to two parts in memory.
	partBytes = 8 << 20
	// S3 takes 10,000 parts of up to 5 GiB, and 5 TiB in all. The first 5,000 parts have
	// one size (40 GiB; some stores want that of all parts but the last); then it
	// doubles with every 500, so that 5 TiB fit.
	evenParts     = 5000
	doublingParts = 500
	maxPartBytes  = 5 << 30
	// smallBytes is what a sealed upload may keep in memory, so that an object of no more is one
	// request still.
	smallBytes = 1 << 20
	// firstBuffer is what an upload begins with, so that small objects stay small.
	firstBuffer = 64 << 10
	// uploadMark is the metadata in which an upload writes its nonce, to know its object again.
	uploadMark = "togo-upload"
)

// partSize is the size of part n, from 1.
func partSize(n int) int {
	if n <= evenParts {
		return partBytes
	}
	return min(maxPartBytes, partBytes<<(1+(n-evenParts-1)/doublingParts))
}

// upload is an object on its way. While one part is sent, by a goroutine that the upload
// waits for before it sends another, the next is filled. What fits into one part stays in
// the buffer until Finish, and is one PutObject. A failed part is sent again whole by the
// SDK.
type upload struct {
	ctx    context.Context // of CreateUpload, for Write
	store  *Store
	key    string
	buffer []byte // what follows the parts that were sent or are under way
	spare  []byte // for what comes next
	sent   int64  // bytes in parts
	id     string // the store's name for the upload; "" until a part is due
	mark   string // our nonce
	begun  int    // parts that were sent or are under way
	flight *flight
	stop   context.CancelFunc // of the flight
	parts  []types.CompletedPart
	shut   bool // nothing more is written
	over   bool
}

// CreateUpload begins an object that is given piece by piece; the store hears of it
// with the first whole part.
func (s *Store) CreateUpload(ctx context.Context, key string) (objstore.Upload, error) {
	if err := objstore.ValidateKey(key); err != nil {
		return nil, err
	}
	return &upload{ctx: ctx, store: s, key: key}, ctx.Err()
}

func (u *upload) Write(piece []byte) (int, error) {
	if u.over || u.shut {
		return 0, u.errOver()
	}
	if err := u.ctx.Err(); err != nil {
		return 0, fmt.Errorf("%s %s: %w", opUpload, u.key, err)
	}
	taken := 0
	for taken < len(piece) {
		size := partSize(u.begun + 1)
		// A full buffer waits for the next byte: the last part may be a whole one.
		if len(u.buffer) == size {
			if err := u.part(u.ctx); err != nil {
				u.over = true
				return taken, err
			}
			continue
		}
		n := min(size-len(u.buffer), len(piece)-taken)
		u.grow(len(u.buffer)+n, size)
		u.buffer = append(u.buffer, piece[taken:taken+n]...)
		taken += n
	}
	return taken, nil
}

// grow makes room for need bytes, at most twice what is there and never above size.
func (u *upload) grow(need, size int) {
	if need <= cap(u.buffer) {
		return
	}
	grown := make([]byte, len(u.buffer), min(size, max(firstBuffer, need, 2*cap(u.buffer))))
	copy(grown, u.buffer)
	u.buffer = grown
}

func (u *upload) errOver() error {
	return fmt.Errorf("%s %s: %w", opUpload, u.key, objstore.ErrUploadOver)
}

// begin asks the store for an upload.
func (u *upload) begin(ctx context.Context) error {
	u.mark = rand.Text()
	input := &s3.CreateMultipartUploadInput{
		Bucket:   aws.String(u.store.config.Bucket),
		Key:      aws.String(u.store.full(u.key)),
		Metadata: map[string]string{uploadMark: u.mark},
	}
	if u.store.config.Checksum == ChecksumWhenSupported {
		input.ChecksumAlgorithm = types.ChecksumAlgorithmCrc32
	}
	out, err := u.store.client.CreateMultipartUpload(ctx, input)
	if err != nil {
		return u.store.wrap(opUpload, u.key, err)
	}
	if u.id = aws.ToString(out.UploadId); u.id == "" {
		return fmt.Errorf("%s %s: %s gave the upload no id", opUpload, u.key, u.store)
	}
	return nil
}

// part has the buffer sent as the next part, when the one before has come through.
func (u *upload) part(ctx context.Context) error {
	if err := u.wait(); err != nil {
		return err
	}
	if u.id == "" {
		if err := u.begin(ctx); err != nil {
			return err
		}
	}
	u.begun++
	f := &flight{number: u.begun, body: u.buffer, done: make(chan struct{})}
	u.flight, u.buffer, u.spare = f, u.spare, nil
	ctx, u.stop = context.WithCancel(ctx)
	go func() {
		defer close(f.done)
		f.err = u.store.sendPart(ctx, u.key, u.id, f)
	}()
	return nil
}

// wait returns when no part is under way.
func (u *upload) wait() error {
	f := u.flight
	if f == nil {
		return nil
	}
	<-f.done
	u.stop()
	u.flight, u.stop = nil, nil
	if f.err != nil {
		return f.err
	}
	u.parts = append(u.parts, f.part)
	u.sent += int64(len(f.body))
	if !f.retried && !u.shut {
		u.spare = f.body[:0]
	}
	return nil
}

// flight is a part under way. Whoever waits for done reads the rest.
type flight struct {
	number  int
	body    []byte
	done    chan struct{}
	part    types.CompletedPart
	retried bool // a try that was given up may still read the body
	err     error
}

func (s *Store) sendPart(ctx context.Context, key, id string, f *flight) error {
	number := aws.Int32(int32(f.number))
	input := &s3.UploadPartInput{
		Bucket:        aws.String(s.config.Bucket),
		Key:           aws.String(s.full(key)),
		UploadId:      aws.String(id),
		PartNumber:    number,
		Body:          bytes.NewReader(f.body),
		ContentLength: aws.Int64(int64(len(f.body))),
	}
	if s.config.Checksum == ChecksumWhenSupported {
		input.ChecksumAlgorithm = types.ChecksumAlgorithmCrc32
	}
	out, err := s.client.UploadPart(ctx, input)
	if err != nil {
		return s.wrap(opUpload, key, err)
	}
	f.part = types.CompletedPart{PartNumber: number, ETag: out.ETag, ChecksumCRC32: out.ChecksumCRC32}
	tries, ok := retry.GetAttemptResults(out.ResultMetadata)
	f.retried = ok && len(tries.Results) > 1
	return nil
}

// Seal sends what is left as the last part, unless it is a small object.
func (u *upload) Seal(ctx context.Context) error {
	if u.over {
		return u.errOver()
	}
	u.shut = true
	if u.id == "" && len(u.buffer) <= smallBytes {
		u.buffer = slices.Clone(u.buffer)
		return nil
	}
	err := u.last(ctx)
	u.over = err != nil
	return err
}

// last sends what is left, and waits until all parts have come through.
func (u *upload) last(ctx context.Context) error {
	if len(u.buffer) > 0 {
		if err := u.part(ctx); err != nil {
			return err
		}
	}
	err := u.wait()
	u.buffer, u.spare = nil, nil
	return err
}

func (u *upload) Finish(ctx context.Context) error {
	if u.over {
		return u.errOver()
	}
	u.over = true
	if u.id == "" {
		body := u.buffer
		u.buffer = nil
		return u.store.put(ctx, opUpload, u.key, body, nil)
	}
	if err := u.last(ctx); err != nil {
		return err
	}
	return u.complete(ctx)
}

// complete makes the object of the parts. Its answer may be lost, and a second try then finds no
// upload; so after an error the object under the key is looked at.
func (u *upload) complete(ctx context.Context) error {
	err := u.store.retryFolder(ctx, func() error {
		_, err := u.store.client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
			Bucket:          aws.String(u.store.config.Bucket),
			Key:             aws.String(u.store.full(u.key)),
			UploadId:        aws.String(u.id),
			MultipartUpload: &types.CompletedMultipartUpload{Parts: u.parts},
		})
		return err
	})
	if err == nil {
		u.id = ""
		return nil
	}
	ours, looked := u.isThere(ctx)
	if ours {
		u.id = ""
		return nil
	}
	return u.store.wrap(opUpload, u.key, errors.Join(err, looked))
}

// isThere says whether our object is under the key: it has our size and our mark.
func (u *upload) isThere(ctx context.Context) (bool, error) {
	out, err := u.store.client.HeadObject(ctx, &s3.HeadObjectInput{
		Bucket: aws.String(u.store.config.Bucket),
		Key:    aws.String(u.store.full(u.key)),
	})
	if err != nil {
		return false, fmt.Errorf("look whether it is there: %w", err)
	}
	if aws.ToInt64(out.ContentLength) != u.sent {
		return false, nil
	}
	return out.Metadata[uploadMark] == u.mark, nil
}

// Cancel ends the upload at the store, if it began there and did not finish.
func (u *upload) Cancel(ctx context.Context) error {
	if u.flight != nil {
		u.stop()
		_ = u.wait() // that it was cut off is what was asked for
	}
	u.over, u.buffer, u.spare = true, nil, nil
	if u.id == "" {
		return nil
	}
	err := u.store.AbandonUpload(ctx, objstore.PendingUpload{Key: u.key, ID: u.id})
	if err == nil {
		u.id = ""
	}
	return err
}

// Uploads yields the multipart uploads that were begun and neither completed nor aborted.
func (s *Store) Uploads(ctx context.Context, prefix string) iter.Seq2[objstore.PendingUpload, error] {
	return func(yield func(objstore.PendingUpload, error) bool) {
		input := &s3.ListMultipartUploadsInput{
			Bucket: aws.String(s.config.Bucket),
			Prefix: aws.String(s.full(prefix)),
		}
		for {
			page, err := s.client.ListMultipartUploads(ctx, input)
			if isNotImplemented(err) {
				return // a store that has no multipart uploads, or ends them by itself
			}
			if err != nil {
				yield(objstore.PendingUpload{}, s.wrap(opUploads, prefix, err))
				return
			}
			for _, entry := range page.Uploads {
				key, ok := strings.CutPrefix(aws.ToString(entry.Key), s.full(""))
				if !ok || !strings.HasPrefix(key, prefix) {
					continue // another store's in the bucket, from a server that looks at no prefix
				}
				if !yield(objstore.PendingUpload{Key: key, ID: aws.ToString(entry.UploadId), Begun: aws.ToTime(entry.Initiated)}, nil) {
					return
				}
			}
			next, nextID := aws.ToString(page.NextKeyMarker), aws.ToString(page.NextUploadIdMarker)
			if !aws.ToBool(page.IsTruncated) {
				return
			}
			if next == aws.ToString(input.KeyMarker) && nextID == aws.ToString(input.UploadIdMarker) {
				yield(objstore.PendingUpload{}, fmt.Errorf("%s: %s gave the page after %q twice", opUploads, s, next))
				return
			}
			input.KeyMarker, input.UploadIdMarker = page.NextKeyMarker, page.NextUploadIdMarker
		}
	}
}

// AbandonUpload ends an upload and removes its parts. (A part that its writer sends at
// this moment can stay; the upload is then listed again.)
func (s *Store) AbandonUpload(ctx context.Context, pending objstore.PendingUpload) error {
	if err := objstore.ValidateKey(pending.Key); err != nil {
		return err
	}
	_, err := s.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{
		Bucket:   aws.String(s.config.Bucket),
		Key:      aws.String(s.full(pending.Key)),
		UploadId: aws.String(pending.ID),
	})
	if isNoSuchUpload(err) {
		return nil
	}
	return s.wrap(opAbandonUpload, pending.Key, err)
}

func isNotImplemented(err error) bool {
	var api smithy.APIError
	return errors.As(err, &api) && api.ErrorCode() == "NotImplemented"
}

func isNoSuchUpload(err error) bool {
	var api smithy.APIError
	return errors.As(err, &api) && api.ErrorCode() == "NoSuchUpload"
}
