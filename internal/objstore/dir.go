package objstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Dir is a Store in a local directory that any number of processes of one machine
// may share. An object is a file under its key.
//
// A body is written to a file in the folder .tmp and synced there, then linked
// (PutIfAbsent: link fails if the name is taken) or renamed (Put) to its key,
// and then the folder is synced, with every folder above it that this process
// has not synced yet. So a file under a key is always whole. If syncing a folder fails,
// the write's outcome is unknown. Because a reader may see an object before its
// folder is synced, ErrExists is returned only after a sync of the folder
// too: what a caller then reads as the settled record is durable.
//
// A temporary file is locked as long as its writer lives; OpenDir removes those
// that nobody holds. Folders that Delete leaves empty are removed.
type Dir struct {
	root   string
	synced folders
	// syncFolder makes a folder's entries durable; tests let it fail.
	syncFolder func(path string) error
}

// OpenDir opens a directory as a store, and makes it if it is absent.
func OpenDir(root string) (*Dir, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("open directory store: %w", err)
	}
	d := &Dir{root: root, syncFolder: syncFolder}
	if err := os.MkdirAll(d.tmp(), 0o777); err != nil {
		return nil, fmt.Errorf("open directory store: %w", err)
	}
	if err := d.syncFolder(root); err != nil {
		return nil, fmt.Errorf("open directory store: %w", err)
	}
	// The root may be new, and so may folders above it, if only from a run that
	// ended here. One that cannot be opened or synced was not made by us.
	for path := filepath.Dir(root); ; path = filepath.Dir(path) {
		_ = d.syncFolder(path)
		if path == filepath.Dir(path) {
			break
		}
	}
	if err := d.removeLeftovers(); err != nil {
		return nil, fmt.Errorf("open directory store: %w", err)
	}
	return d, nil
}

// String names the store in messages.
func (d *Dir) String() string { return "directory " + d.root }

func (d *Dir) tmp() string            { return filepath.Join(d.root, tmpFolder) }
func (d *Dir) path(key string) string { return filepath.Join(d.root, filepath.FromSlash(key)) }

// Put creates or replaces the object.
func (d *Dir) Put(ctx context.Context, key string, body []byte) error {
	return d.put(ctx, key, body, os.Rename)
}

// PutIfAbsent creates the object.
func (d *Dir) PutIfAbsent(ctx context.Context, key string, body []byte) error {
	return d.put(ctx, key, body, os.Link)
}

// placeTries bounds how often a write makes its folder anew because a Delete
// removed it as empty in between, or finds an empty folder in its own place.
const placeTries = 100

func (d *Dir) put(ctx context.Context, key string, body []byte, place func(from, to string) error) error {
	if err := ValidateKey(key); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	tmp, err := d.writeTemp(body)
	if err != nil {
		return fmt.Errorf("write %s: %w", key, err)
	}
	defer tmp.remove()
	err = d.place(key, tmp.path, place)
	if err != nil && !errors.Is(err, ErrExists) {
		return fmt.Errorf("write %s: %w", key, err)
	}
	if failed := d.syncAbove(key); failed != nil {
		return fmt.Errorf("write %s: the outcome is unknown: %w", key, failed)
	}
	if err != nil {
		return fmt.Errorf("create %s: %w", key, err)
	}
	return nil
}

// place gives the temporary file its key.
func (d *Dir) place(key, tmp string, place func(from, to string) error) error {
	target := d.path(key)
	var err error
	for range placeTries {
		if err = os.MkdirAll(filepath.Dir(target), 0o777); err != nil {
			if errors.Is(err, syscall.ENOTDIR) {
				return fmt.Errorf("%w: %w", errFolder(key, "a key above it"), err)
			}
			if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrExist) {
				continue
			}
			return err
		}
		err = place(tmp, target)
		info, look := os.Lstat(target)
		folder := look == nil && info.IsDir()
		switch {
		case err == nil:
			return nil
		case folder:
			// A folder that a delete left empty is no key; one that holds something is.
			if failed := os.Remove(target); failed != nil && !errors.Is(failed, os.ErrNotExist) {
				return errFolder(key, key+"/...")
			}
		case errors.Is(err, os.ErrExist):
			return ErrExists
		case errors.Is(err, syscall.ENOTDIR):
			return errFolder(key, "a key above it")
		case !errors.Is(err, os.ErrNotExist):
			return err
		}
	}
	return fmt.Errorf("%d tries: %w", placeTries, err)
}

// Get returns the whole object.
func (d *Dir) Get(ctx context.Context, key string) ([]byte, error) {
	file, err := d.open(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", key, err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", key, err)
	}
	body := make([]byte, info.Size())
	if _, err := io.ReadFull(file, body); err != nil {
		return nil, fmt.Errorf("get %s: %w", key, err)
	}
	return body, nil
}

// GetRange returns a part of the object.
func (d *Dir) GetRange(ctx context.Context, key string, off, n int64) ([]byte, error) {
	file, err := d.open(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("get range of %s: %w", key, err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("get range of %s: %w", key, err)
	}
	from, to, err := Span(info.Size(), off, n)
	if err != nil {
		return nil, fmt.Errorf("get range of %s: %w", key, err)
	}
	body := make([]byte, to-from)
	if _, err := file.ReadAt(body, from); err != nil {
		return nil, fmt.Errorf("get range of %s: %w", key, err)
	}
	return body, nil
}

func (d *Dir) open(ctx context.Context, key string) (*os.File, error) {
	if err := ValidateKey(key); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	file, err := os.Open(d.path(key))
	if err != nil {
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			return nil, ErrNotFound
		}
		return nil, err
	}
	if info, err := file.Stat(); err != nil || info.IsDir() {
		file.Close()
		if err == nil {
			err = ErrNotFound
		}
		return nil, err
	}
	return file, nil
}

// Delete removes the objects, and the folders that it leaves empty.
func (d *Dir) Delete(ctx context.Context, keys ...string) error {
	left := map[string]error{}
	changed := map[string]bool{}
	for _, key := range keys {
		if err := d.remove(ctx, key); err != nil {
			left[key] = err
			continue
		}
		changed[filepath.Dir(d.path(key))] = true
	}
	for folder := range changed {
		// A removal that a power cut undoes is an object too many, which any
		// collector finds again; but a caller was told that it is gone.
		if err := d.syncFolder(folder); err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			for _, key := range keys {
				if filepath.Dir(d.path(key)) == folder && left[key] == nil {
					left[key] = err
				}
			}
			continue
		}
		d.removeEmpty(folder)
	}
	if len(left) > 0 {
		return &DeleteError{Left: left}
	}
	return nil
}

func (d *Dir) remove(ctx context.Context, key string) error {
	if err := ValidateKey(key); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	// Not os.Remove, which would take an empty folder too.
	err := syscall.Unlink(d.path(key))
	switch {
	case err == nil, errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.ENOTDIR),
		errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.EPERM) && isFolder(d.path(key)):
		return nil
	}
	return fmt.Errorf("delete %s: %w", key, err)
}

func isFolder(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// removeEmpty removes the folder and those above it as long as they are empty.
func (d *Dir) removeEmpty(folder string) {
	for folder != d.root && strings.HasPrefix(folder, d.root) {
		if syscall.Rmdir(folder) != nil { // not empty, or somebody was faster
			return
		}
		d.synced.forget(folder)
		folder = filepath.Dir(folder)
	}
}

// Date is this machine's clock.
func (d *Dir) Date(ctx context.Context) (time.Time, error) {
	if err := ctx.Err(); err != nil {
		return time.Time{}, err
	}
	return time.Now().Truncate(time.Second), nil
}

// List yields objects by key, reading one folder at a time.
func (d *Dir) List(ctx context.Context, prefix, after string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		w := dirWalk{dir: d, ctx: ctx, prefix: prefix, after: after, yield: yield}
		w.folder("")
	}
}
