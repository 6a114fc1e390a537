package objstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"
)

// Upload is an object on its way to a key, given piece by piece: for objects that
// are too large to be held whole. Nothing is under the key before Finish; from then
// on the whole object is, or nothing, as with Put: Finish replaces what is there, and
// an error of it is as ambiguous as one of Put. An Upload is for one goroutine; that of a
// real store may send what it has while more is written.
//
// Write takes the context of Create, and may tell of a piece before that could not be sent. Pieces
// may have any size. After an error of
// Write, Seal or Finish only Cancel is left to do.
//
// Seal says that nothing more is written, and gives back the memory of what was (but for
// small objects): for a caller that finishes many uploads together. It need not be called, and may be
// again.
//
// Cancel removes what was sent, and is no error after Finish (so that it can be
// deferred). After a Finish whose outcome is unknown the object may still be there.
// What a process leaves that dies before either is ended by Multipart.AbandonUpload,
// or, in a directory, by the next OpenDir.
type Upload interface {
	io.Writer
	Seal(ctx context.Context) error
	Finish(ctx context.Context) error
	Cancel(ctx context.Context) error
}

// PendingUpload is an upload that was begun and neither finished nor cancelled, as the
// store lists it. Whether its writer lives, the store does not know.
type PendingUpload struct {
	Key   string
	ID    string    // the store's name for it
	Begun time.Time // by the store's clock
}

// Multipart is a Store that takes an object piece by piece. Callers use Create,
// PendingUploads and AbandonUpload, which work with every Store.
type Multipart interface {
	CreateUpload(ctx context.Context, key string) (Upload, error)
	// Uploads yields the pending uploads whose key begins with prefix, by key. It
	// ends at the first error.
	Uploads(ctx context.Context, prefix string) iter.Seq2[PendingUpload, error]
	// AbandonUpload ends a pending upload and removes what it sent; its writer's
	// Finish fails. One that is gone is no error.
	AbandonUpload(ctx context.Context, upload PendingUpload) error
}

// ErrUploadOver: the upload was sealed (for a Write), finished or cancelled, or has failed.
var ErrUploadOver = errors.New("upload is over")

// Create begins an upload. A store that is no Multipart (memory, and wrappers that
// count or spoil operations) collects the body, and Finish is its one Put.
func Create(ctx context.Context, s Store, key string) (Upload, error) {
	if m, ok := s.(Multipart); ok {
		return m.CreateUpload(ctx, key)
	}
	if err := ValidateKey(key); err != nil {
		return nil, err
	}
	return &collected{ctx: ctx, store: s, key: key}, nil
}

// PendingUploads is Multipart's Uploads; a store that has none yields nothing.
func PendingUploads(ctx context.Context, s Store, prefix string) iter.Seq2[PendingUpload, error] {
	if m, ok := s.(Multipart); ok {
		return m.Uploads(ctx, prefix)
	}
	return func(func(PendingUpload, error) bool) {}
}

// AbandonUpload is Multipart's AbandonUpload; a store that has none has nothing to end.
func AbandonUpload(ctx context.Context, s Store, upload PendingUpload) error {
	if m, ok := s.(Multipart); ok {
		return m.AbandonUpload(ctx, upload)
	}
	return nil
}

// collected is the upload of a store that takes objects whole.
type collected struct {
	ctx   context.Context // of Create, for Write
	store Store
	key   string
	body  []byte
	shut  bool // nothing more is written
	over  bool
}

func (c *collected) Write(piece []byte) (int, error) {
	if c.over || c.shut {
		return 0, fmt.Errorf("write %s: %w", c.key, ErrUploadOver)
	}
	if err := c.ctx.Err(); err != nil {
		return 0, fmt.Errorf("write %s: %w", c.key, err)
	}
	c.body = append(c.body, piece...)
	return len(piece), nil
}

func (c *collected) Seal(context.Context) error {
	if c.over {
		return fmt.Errorf("seal %s: %w", c.key, ErrUploadOver)
	}
	c.shut = true
	return nil
}

func (c *collected) Finish(ctx context.Context) error {
	if c.over {
		return fmt.Errorf("finish %s: %w", c.key, ErrUploadOver)
	}
	body := c.body
	c.over, c.body = true, nil
	return c.store.Put(ctx, c.key, body)
}

func (c *collected) Cancel(context.Context) error {
	c.over, c.body = true, nil
	return nil
}
