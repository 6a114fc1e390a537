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
	vanished      bool // an entry was deleted since its folder was read
}

// folder lists the folder that keys beginning with under (empty, or ending in a
// slash) lie in. It says whether to go on.
func (w *dirWalk) folder(under string) bool {
	if err := w.ctx.Err(); err != nil {
		w.yield(Object{}, err)
		return false
	}
	names, ok := w.names(under)
	for i := 0; i < len(names); i++ {
		name := names[i]
		if !w.entry(under + name) {
			return false
		}
		if w.vanished {
			// What was put before the entry was deleted may be missing among the names: they
			// are read anew, so that of two objects that follow each other one is always seen.
			w.vanished = false
			if names, ok = w.names(under); !ok {
				break
			}
			at, _ := slices.BinarySearch(names, name)
			i = at - 1
		}
	}
	return ok
}

// names are those of a folder's entries, in the order of the keys; not ok: the listing ended.
func (w *dirWalk) names(under string) (names []string, ok bool) {
	entries, err := os.ReadDir(w.dir.path(under))
	if err != nil {
		// Gone since its parent was read: a Delete left it empty.
		if under != "" && (errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)) {
			return nil, true
		}
		w.yield(Object{}, err)
		return nil, false
	}
	// A folder's keys go on with a slash, which sorts behind !-.'()* and before
	// digits, letters and _; only with it are names in the order of the keys.
	names = make([]string, 0, len(entries))
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
	return names, true
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
		w.vanished = true
		return true
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
