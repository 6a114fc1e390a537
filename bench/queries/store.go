package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/query/queryset"
)

// world is a store on disk, and what is known of it.
type world struct {
	Root   string         `json:"-"`
	Events int            `json:"events"`
	Tenant event.TenantID `json:"tenant"` // the large one
	Rows   int            `json:"rows"`   // of it
	Needle string         `json:"needle"` // a trace of it
}

// layout changes when the same number of events would be stored differently: an old folder is not used then.
const layout = 4

const manifest = "world.json"

// open gives the store with so many events, made now if the folder has none yet.
func open(ctx context.Context, dir string, events int) (*world, error) {
	root := filepath.Join(dir, fmt.Sprintf("events-%d-v%d", events, layout))
	w, err := load(root)
	if !errors.Is(err, fs.ErrNotExist) {
		return w, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	making, err := os.MkdirTemp(dir, "making-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(making)
	if err := fill(ctx, making, events); err != nil {
		return nil, err
	}
	if err := os.Rename(making, root); err != nil {
		return nil, err
	}
	return load(root)
}

func load(root string) (*world, error) {
	b, err := os.ReadFile(filepath.Join(root, manifest))
	if err != nil {
		return nil, err
	}
	w := &world{Root: root}
	return w, json.Unmarshal(b, w)
}

// fill writes a day of events, hour by hour, as they lie after compaction: each tenant's hour in one fragment.
func fill(ctx context.Context, root string, events int) error {
	store, err := objstore.OpenDir(filepath.Join(root, "store"))
	if err != nil {
		return err
	}
	set, err := queryset.New(ctx, store, queryset.Config{Shards: 4})
	if err != nil {
		return err
	}
	t := newTraffic(events)
	w := &world{Events: events, Tenant: t.tenants[0]}
	const hours = 24
	for hour := range hours {
		var rows []queryset.Row
		for t.made < events && t.at() < queryset.Begin.Add(time.Duration(hour+1)*time.Hour).UnixNano() {
			rows = append(rows, t.next())
			if last := &rows[len(rows)-1]; last.Tenant == w.Tenant {
				w.Rows++
				if w.Needle == "" && t.made > events*3/5 {
					_, after, _ := strings.Cut(last.Payload, `"trace_id":"`)
					w.Needle, _, _ = strings.Cut(after, `"`)
				}
			}
		}
		if err := set.Commit(ctx, rows...); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "\rmaking %d events: hour %d of %d", events, hour+1, hours)
	}
	fmt.Fprintln(os.Stderr)
	b, err := json.Marshal(w)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, manifest), b, 0o644)
}

// files are the paths of the large tenant's fragments.
func (w *world) files() ([]string, error) {
	var out []string
	err := filepath.WalkDir(filepath.Join(w.Root, "store", "data", string(w.Tenant)), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".parquet") {
			out = append(out, path)
		}
		return err
	})
	if err == nil && len(out) == 0 {
		err = fmt.Errorf("no files of %s under %s", w.Tenant, w.Root)
	}
	return out, err
}

// footers is how many bytes of the files say where their columns lie.
func (w *world) footers() (int64, error) {
	paths, err := w.files()
	var sum int64
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			return 0, err
		}
		info, err := f.Stat()
		if err == nil {
			var end [8]byte // the footer's length and the magic
			_, err = f.ReadAt(end[:], info.Size()-int64(len(end)))
			sum += int64(len(end)) + int64(binary.LittleEndian.Uint32(end[:4]))
		}
		f.Close()
		if err != nil {
			return 0, err
		}
	}
	return sum, err
}
