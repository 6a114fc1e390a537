package objstore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// tempFile is a body on its way to a key; its lock says that the writer lives.
type tempFile struct {
	file *os.File
	path string
}

// writeTemp writes and syncs a body into a new, locked temporary file.
func (d *Dir) writeTemp(body []byte) (tmp tempFile, err error) {
	if tmp, err = d.createTemp(); err != nil {
		return tmp, err
	}
	if _, err = tmp.file.Write(body); err == nil {
		err = tmp.file.Sync()
	}
	if err != nil {
		tmp.remove()
	}
	return tmp, err
}

func (d *Dir) createTemp() (tempFile, error) {
	for range placeTries {
		path := filepath.Join(d.tmp(), fmt.Sprintf("%d-%016x", os.Getpid(), rand.Uint64()))
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return tempFile{}, err
		}
		tmp := tempFile{file: file, path: path}
		if err := lockFile(file, syscall.LOCK_EX); err != nil {
			tmp.remove()
			return tempFile{}, err
		}
		// Between its creation and the lock a cleaner may have taken it for a leftover.
		if _, err := os.Lstat(path); err == nil {
			return tmp, nil
		}
		file.Close()
	}
	return tempFile{}, fmt.Errorf("no temporary file after %d tries", placeTries)
}

// remove removes the temporary name (if a rename has not taken it) and the lock.
func (t tempFile) remove() {
	_ = os.Remove(t.path)
	_ = t.file.Close()
}

// removeLeftovers removes the temporary files that no living writer holds.
func (d *Dir) removeLeftovers() error {
	entries, err := os.ReadDir(d.tmp())
	if err != nil {
		return err
	}
	for _, entry := range entries {
		path := filepath.Join(d.tmp(), entry.Name())
		file, err := os.Open(path)
		if errors.Is(err, os.ErrNotExist) {
			continue // its writer finished
		}
		if err != nil {
			return err
		}
		if lockFile(file, syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			err = os.Remove(path)
		}
		file.Close()
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

func lockFile(file *os.File, how int) error {
	for {
		err := syscall.Flock(int(file.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// maxSyncedFolders bounds the memory of folders: about 100 bytes each, and
// to forget them only costs some syncs that were not needed.
const maxSyncedFolders = 10_000

// folderID tells a folder from one that is made anew under its name. The inode
// alone does not: file systems use one again at once.
type folderID struct {
	inode uint64
	birth int64 // nanoseconds since 1970; 0 where the system does not say
}

// folders remembers which folders stand durably in the folder above them.
type folders struct {
	mu  sync.Mutex
	ids map[string]folderID // by path; guarded by mu
}

func (f *folders) has(path string, id folderID) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	known, ok := f.ids[path]
	return ok && known == id
}

func (f *folders) add(path string, id folderID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ids == nil || len(f.ids) >= maxSyncedFolders {
		f.ids = map[string]folderID{}
	}
	f.ids[path] = id
}

func (f *folders) forget(path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.ids, path)
}

// syncAbove makes the entry of key durable: its folder is synced, and each folder
// above it in which the one below may be new, whoever made it.
func (d *Dir) syncAbove(key string) error {
	folder := filepath.Dir(d.path(key))
	if err := d.syncFolder(folder); err != nil {
		return err
	}
	for ; folder != d.root; folder = filepath.Dir(folder) {
		id, err := folderIDOf(folder)
		if err != nil {
			return err
		}
		if d.synced.has(folder, id) {
			continue
		}
		if err := d.syncFolder(filepath.Dir(folder)); err != nil {
			return err
		}
		d.synced.add(folder, id)
	}
	return nil
}

func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	defer folder.Close()
	if err := folder.Sync(); err != nil {
		return fmt.Errorf("sync folder %s: %w", path, err)
	}
	return nil
}
