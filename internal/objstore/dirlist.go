package objstore

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
)

// dirWalk is one listing of a directory store.
type dirWalk struct {
	dir           *Dir
	ctx           context.Context
	prefix, after string
	yield         func(Object, error) bool
}

// folder lists the folder that keys beginning with under (empty, or ending in a
// slash) lie in. It says whether to go on.
func (w *dirWalk) folder(under string) bool {
	if err := w.ctx.Err(); err != nil {
		w.yield(Object{}, err)
		return false
	}
	entries, err := os.ReadDir(w.dir.path(under))
	if err != nil {
		// Gone since its parent was read: a Delete left it empty.
		if under != "" && (errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)) {
			return true
		}
		w.yield(Object{}, err)
		return false
	}
	// A folder's keys go on with a slash, which sorts behind !-.'()* and before
	// digits, letters and _; only with it are names in the order of the keys.
	names := make([]string, 0, len(entries))
	for _, entry := range entries {
		name := entry.Name()
		if entry.IsDir() {
			name += "/"
		}
		if under != "" || name != tmpFolder+"/" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if !w.entry(under + name) {
			return false
		}
	}
	return true
}

func (w *dirWalk) entry(key string) bool {
	if strings.HasSuffix(key, "/") {
		// Everything in it begins with key, so it can be passed over if that
		// settles that all of it sorts before `after`, or lacks the prefix.
		if key < w.after && !strings.HasPrefix(w.after, key) {
			return true
		}
		if !strings.HasPrefix(key, w.prefix) && !strings.HasPrefix(w.prefix, key) {
			return true
		}
		return w.folder(key)
	}
	if key <= w.after || !strings.HasPrefix(key, w.prefix) {
		return true
	}
	info, err := os.Lstat(w.dir.path(key))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return true // deleted since its folder was read
	}
	if err != nil {
		w.yield(Object{}, err)
		return false
	}
	if !info.Mode().IsRegular() {
		return true
	}
	return w.yield(Object{Key: key, Size: info.Size(), Modified: info.ModTime()}, nil)
}
