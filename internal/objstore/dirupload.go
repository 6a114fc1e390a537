package objstore

import (
	"context"
	"fmt"
	"iter"
	"os"
)

var _ Multipart = (*Dir)(nil)

// dirUpload is a temporary file that takes its key at Finish. What a crash leaves is
// what it leaves of a Put: a file that nobody holds, and that OpenDir removes.
type dirUpload struct {
	ctx  context.Context // of CreateUpload, for Write
	dir  *Dir
	key  string
	tmp  tempFile
	shut bool // nothing more is written
	over bool
}

// CreateUpload begins an object that is given piece by piece.
func (d *Dir) CreateUpload(ctx context.Context, key string) (Upload, error) {
	if err := ValidateKey(key); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	tmp, err := d.createTemp()
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", key, err)
	}
	return &dirUpload{ctx: ctx, dir: d, key: key, tmp: tmp}, nil
}

func (u *dirUpload) Write(piece []byte) (int, error) {
	if u.over || u.shut {
		return 0, fmt.Errorf("write %s: %w", u.key, ErrUploadOver)
	}
	if err := u.ctx.Err(); err != nil {
		return 0, fmt.Errorf("write %s: %w", u.key, err)
	}
	n, err := u.tmp.file.Write(piece)
	if err != nil {
		u.end() // a piece is missing: it must never become an object
		return n, fmt.Errorf("write %s: %w", u.key, err)
	}
	return n, nil
}

func (u *dirUpload) Seal(context.Context) error {
	if u.over {
		return fmt.Errorf("seal %s: %w", u.key, ErrUploadOver)
	}
	u.shut = true
	return nil
}

func (u *dirUpload) Finish(ctx context.Context) error {
	if u.over {
		return fmt.Errorf("finish %s: %w", u.key, ErrUploadOver)
	}
	defer u.end()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("write %s: %w", u.key, err)
	}
	if err := u.tmp.file.Sync(); err != nil {
		return fmt.Errorf("write %s: %w", u.key, err)
	}
	if err := u.dir.place(u.key, u.tmp.path, os.Rename); err != nil {
		return fmt.Errorf("write %s: %w", u.key, err)
	}
	if err := u.dir.syncAbove(u.key); err != nil {
		return fmt.Errorf("write %s: the outcome is unknown: %w", u.key, err)
	}
	return nil
}

func (u *dirUpload) Cancel(context.Context) error {
	u.end()
	return nil
}

func (u *dirUpload) end() {
	if !u.over {
		u.over = true
		u.tmp.remove()
	}
}

// Uploads yields nothing: a directory has no uploads that outlive their writer.
func (d *Dir) Uploads(context.Context, string) iter.Seq2[PendingUpload, error] {
	return func(func(PendingUpload, error) bool) {}
}

// AbandonUpload has nothing to end.
func (d *Dir) AbandonUpload(context.Context, PendingUpload) error { return nil }
