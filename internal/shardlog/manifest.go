package shardlog

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/togodb/togo/internal/chain"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/objstore"
)

// rootFormat is the number of the format of roots that this code writes; it reads
// those below. In format 1 a piece of intake offsets held all that were known of its span, and
// replaced those in objects before it; the union of all is the same.
const rootFormat = 2

// root is what a checkpoint's numbered object holds: the small part of a state,
// and the names of the manifests that hold the rest.
type root struct {
	Format    int            `json:"format"`
	Parent    chain.Position `json:"parent,omitempty"` // the checkpoint that it is built on; none: it is whole
	State     small          `json:"state"`
	Sources   []SourceState  `json:"sources"`
	Fragments int            `json:"fragments"` // live ones, in all days
	Segments  int            `json:"segments"`
	Days      []rootDay      `json:"days"`   // ascending
	Intake    []rootIntake   `json:"intake"` // oldest first
}

// rootDay lists the manifests of a day, oldest first: each takes some entries
// out of those before it, and adds some.
type rootDay struct {
	Day       int64         `json:"day"` // since 1970
	Manifests []manifestRef `json:"manifests"`
}

// rootIntake names an object with pieces of intake bitmaps.
type rootIntake struct {
	Object manifestRef `json:"object"`
	Chunks []int       `json:"chunks,omitempty"` // format 1: those that no later object replaced
}

// manifestRef names an immutable object of a checkpoint.
type manifestRef struct {
	Name    string `json:"name"`
	Bytes   int64  `json:"bytes"`
	Sum     string `json:"sum"`
	Level   int    `json:"level,omitempty"` // how often its oldest entries were merged
	Adds    int    `json:"adds,omitempty"`
	Removes int    `json:"removes,omitempty"`
	Plain   bool   `json:"plain,omitempty"` // it adds fragments alone, and their keys name its day
}

// manifest is the content of a day's object.
type manifest struct {
	Format    int           `json:"format"`
	Shard     event.ShardID `json:"shard"`
	Day       int64         `json:"day"`
	Fragments []Fragment    `json:"fragments,omitempty"`
	Segments  []IDSegment   `json:"segments,omitempty"`
	Removed   []string      `json:"removed,omitempty"` // keys, from older manifests
}

// intakeManifest is the content of an object with pieces of intake bitmaps.
type intakeManifest struct {
	Format int           `json:"format"`
	Shard  event.ShardID `json:"shard"`
	Chunks []chunkBitmap `json:"chunks"`
}

type chunkBitmap struct {
	Source Source `json:"source"`
	Chunk  uint64 `json:"chunk"`
	Bitmap []byte `json:"bitmap"`
}

func (l *Log) manifestKey(name string) string { return l.folder() + "/manifest/" + name }

func (l *Log) rootPrefix() string { return l.folder() + "/checkpoint/" }

func dayName(day int64) string {
	if day > idDays/2 {
		return "ids-" + dayName(day-idDays)
	}
	return time.Unix(day*daySeconds, 0).UTC().Format(time.DateOnly)
}

// putManifest writes content under a name made of it, so that the same content
// written twice is the same object. what is for people.
func (l *Log) putManifest(ctx context.Context, at chain.Position, what string, content any) (manifestRef, error) {
	text, err := json.Marshal(content)
	if err != nil {
		return manifestRef{}, fmt.Errorf("encode manifest: %w", err)
	}
	var packed bytes.Buffer
	zip, _ := gzip.NewWriterLevel(&packed, gzip.BestSpeed) // the level is valid
	if _, err := zip.Write(text); err != nil {
		return manifestRef{}, fmt.Errorf("pack manifest: %w", err)
	}
	if err := zip.Close(); err != nil {
		return manifestRef{}, fmt.Errorf("pack manifest: %w", err)
	}
	body := packed.Bytes()
	ref := manifestRef{Sum: objstore.Sum(body), Bytes: int64(len(body))}
	ref.Name = fmt.Sprintf("%s-%s-%s", at, what, ref.Sum)
	err = l.store.PutIfAbsent(ctx, l.manifestKey(ref.Name), body)
	if err != nil && !errors.Is(err, objstore.ErrExists) {
		return manifestRef{}, fmt.Errorf("write manifest %s: %w", ref.Name, err)
	}
	l.cfg.Metrics.ckptBytes.Add(float64(len(body)))
	return ref, nil
}

// maxManifestBytes bounds a manifest unpacked: a day of a hundred thousand
// fragments needs 50 MB.
const maxManifestBytes = 1 << 30

// getManifest reads the object of a ref, which must be as the ref says.
func (l *Log) getManifest(ctx context.Context, ref manifestRef, into any) error {
	body, err := l.getPacked(ctx, ref)
	if err != nil {
		return err
	}
	return ref.decode(body, into)
}

// getPacked reads the object of a ref, whose checksum it must have.
func (l *Log) getPacked(ctx context.Context, ref manifestRef) ([]byte, error) {
	body, err := l.getObject(ctx, l.manifestKey(ref.Name))
	if err != nil {
		return nil, fmt.Errorf("manifest %s: %w", ref.Name, err)
	}
	if sum := objstore.Sum(body); sum != ref.Sum {
		return nil, fmt.Errorf("manifest %s has checksum %s and not %s", ref.Name, sum, ref.Sum)
	}
	return body, nil
}

func (ref manifestRef) decode(body []byte, into any) error {
	text, err := unpack(body)
	if err != nil {
		return fmt.Errorf("manifest %s: %w", ref.Name, err)
	}
	if err := checkFormat(text, Format); err != nil {
		return fmt.Errorf("manifest %s: %w", ref.Name, err)
	}
	if err := decodeStrict(text, into); err != nil {
		return fmt.Errorf("manifest %s: %w", ref.Name, err)
	}
	return nil
}

func unpack(body []byte) ([]byte, error) {
	zip, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(zip, maxManifestBytes+1))
	if err == nil && len(text) > maxManifestBytes {
		err = fmt.Errorf("more than %d bytes", maxManifestBytes)
	}
	return text, err
}

// sealed is a root with its checksum, as it is stored.
type sealed struct {
	Sum  string          `json:"sum"` // of root's bytes
	Root json.RawMessage `json:"root"`
}

// encodeRoot is the root's bytes in the store.
func encodeRoot(r *root) ([]byte, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode checkpoint: %w", err)
	}
	return json.Marshal(sealed{Sum: objstore.Sum(text), Root: text})
}

// decodeRoot reads a root; what is damaged is no root.
func decodeRoot(b []byte) (*root, error) {
	var seal sealed
	if err := decodeStrict(b, &seal); err != nil {
		return nil, fmt.Errorf("no checkpoint: %w", err)
	}
	if sum := objstore.Sum(seal.Root); sum != seal.Sum {
		return nil, fmt.Errorf("no checkpoint: checksum %s and not %s", sum, seal.Sum)
	}
	if err := checkFormat(seal.Root, rootFormat); err != nil {
		return nil, err
	}
	var r root
	if err := decodeStrict(seal.Root, &r); err != nil {
		return nil, fmt.Errorf("no checkpoint: %w", err)
	}
	return &r, nil
}
