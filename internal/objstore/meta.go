package objstore

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// MetaKey is the object that makes a prefix a Togo store.
const MetaKey = "togo.json"

// MetaFormat is the newest format of a store that this program reads and writes.
const MetaFormat = 1

// Seed is the secret that keys a store's hashes: without it nobody can craft
// identities that collide.
type Seed [16]byte

// Meta is what holds for a store from its creation on. It never changes: hashes,
// shards, buckets and verdicts that were made with it stand in the records.
type Meta struct {
	Format            int
	ID                string // 128 random bits, hex
	Seed              Seed
	DataBucketSeconds int64
	IDBucketSeconds   int64
	MinTime           time.Time     // earlier events are dead: too_far_in_past
	MaxFuture         time.Duration // later than that after their own record's Kafka timestamp: too_far_in_future
	Created           time.Time     // for people; nothing depends on it
}

// MetaDefaults are the choices that a store is created with; an existing store
// has its own. Zero values take the defaults of NewMeta.
type MetaDefaults struct {
	DataBucketSeconds int64
	IDBucketSeconds   int64
	MinTime           time.Time
	MaxFuture         time.Duration
}

// The choices for a new store.
const (
	defaultDataBucketSeconds = 3600
	defaultIDBucketSeconds   = 600
	defaultMaxFuture         = 10 * time.Minute
	// maxBucketSeconds is a day: with wider buckets retention, which drops whole
	// buckets, gets too coarse.
	maxBucketSeconds = 24 * 3600
	// maxMetaBytes is far more than a meta object of any format needs.
	maxMetaBytes = 64 << 10
)

// NewMeta makes the meta of a new store: fresh id and seed, defaults for what d
// leaves open (1 h, 10 min, the year 2000, 10 min).
func NewMeta(d MetaDefaults, now time.Time) Meta {
	var id [16]byte
	rand.Read(id[:]) // never fails
	m := Meta{
		Format: MetaFormat, ID: hex.EncodeToString(id[:]),
		DataBucketSeconds: d.DataBucketSeconds, IDBucketSeconds: d.IDBucketSeconds,
		MinTime: d.MinTime.UTC(), MaxFuture: d.MaxFuture, Created: now.UTC().Truncate(time.Second),
	}
	rand.Read(m.Seed[:])
	if m.DataBucketSeconds == 0 {
		m.DataBucketSeconds = defaultDataBucketSeconds
	}
	if m.IDBucketSeconds == 0 {
		m.IDBucketSeconds = defaultIDBucketSeconds
	}
	if d.MinTime.IsZero() {
		m.MinTime = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	if m.MaxFuture == 0 {
		m.MaxFuture = defaultMaxFuture
	}
	return m
}

// Validate says what cannot be in a meta of this format.
func (m Meta) Validate() error {
	var errs []error
	if id, err := hex.DecodeString(m.ID); err != nil || len(id) != 16 || hex.EncodeToString(id) != m.ID {
		errs = append(errs, fmt.Errorf("id %q is not 32 lower-case hex digits", m.ID))
	}
	if m.Seed == (Seed{}) {
		errs = append(errs, errors.New("hash_seed is zero"))
	}
	for name, seconds := range map[string]int64{"data_bucket_seconds": m.DataBucketSeconds, "id_bucket_seconds": m.IDBucketSeconds} {
		if seconds < 1 || seconds > maxBucketSeconds || maxBucketSeconds%seconds != 0 {
			errs = append(errs, fmt.Errorf("%s %d does not divide a day", name, seconds))
		}
	}
	// Event times are 64-bit nanoseconds since 1970.
	earliest := time.Unix(0, -1<<63)
	if m.MinTime.Before(earliest) || m.MinTime.After(time.Unix(0, 1<<63-1)) {
		errs = append(errs, fmt.Errorf("min_time %s is outside what 64-bit nanoseconds hold", m.MinTime))
	}
	if m.MaxFuture < 0 || m.MaxFuture%time.Millisecond != 0 {
		errs = append(errs, fmt.Errorf("max_future_ms: %s is negative or no whole number of ms", m.MaxFuture))
	}
	return errors.Join(errs...)
}

// metaJSON is the object's form.
type metaJSON struct {
	Format            *int   `json:"format"`
	ID                string `json:"id"`
	Seed              string `json:"hash_seed"`
	DataBucketSeconds int64  `json:"data_bucket_seconds"`
	IDBucketSeconds   int64  `json:"id_bucket_seconds"`
	MinTime           string `json:"min_time"`
	MaxFutureMS       int64  `json:"max_future_ms"`
	Created           string `json:"created"`
}

// EncodeMeta writes the object.
func EncodeMeta(m Meta) []byte {
	body, err := json.MarshalIndent(metaJSON{
		Format: &m.Format, ID: m.ID, Seed: hex.EncodeToString(m.Seed[:]),
		DataBucketSeconds: m.DataBucketSeconds, IDBucketSeconds: m.IDBucketSeconds,
		MinTime: m.MinTime.UTC().Format(time.RFC3339Nano), MaxFutureMS: m.MaxFuture.Milliseconds(),
		Created: m.Created.UTC().Format(time.RFC3339Nano),
	}, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("objstore: encode %+v: %v", m, err))
	}
	return append(body, '\n')
}

// ErrNewerFormat: the store was written by a newer Togo.
var ErrNewerFormat = errors.New("was written by a newer Togo; upgrade")

// DecodeMeta reads the object strictly: an unknown field, or one that is missing
// or senseless, is an error. A newer format is told first, since its fields are
// not ours to judge.
func DecodeMeta(body []byte) (Meta, error) {
	if len(body) > maxMetaBytes {
		return Meta{}, fmt.Errorf("%s has %d bytes, more than %d", MetaKey, len(body), maxMetaBytes)
	}
	var peek struct {
		Format *int `json:"format"`
	}
	if err := json.Unmarshal(body, &peek); err != nil {
		return Meta{}, fmt.Errorf("%s: %w", MetaKey, err)
	}
	if peek.Format == nil || *peek.Format < 1 {
		return Meta{}, fmt.Errorf("%s has no format", MetaKey)
	}
	if *peek.Format > MetaFormat {
		return Meta{}, fmt.Errorf("%s has format %d, and this program knows up to %d: the store %w", MetaKey, *peek.Format, MetaFormat, ErrNewerFormat)
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	var j metaJSON
	if err := decoder.Decode(&j); err != nil {
		return Meta{}, fmt.Errorf("%s: %w", MetaKey, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Meta{}, fmt.Errorf("%s: something follows the object", MetaKey)
	}
	m := Meta{
		Format: *j.Format, ID: j.ID, DataBucketSeconds: j.DataBucketSeconds, IDBucketSeconds: j.IDBucketSeconds,
		MaxFuture: time.Duration(j.MaxFutureMS) * time.Millisecond,
	}
	if m.MaxFuture.Milliseconds() != j.MaxFutureMS {
		return Meta{}, fmt.Errorf("%s: max_future_ms %d is out of range", MetaKey, j.MaxFutureMS)
	}
	seed, err := hex.DecodeString(j.Seed)
	if err != nil || len(seed) != len(m.Seed) {
		return Meta{}, fmt.Errorf("%s: hash_seed is not %d bytes in hex", MetaKey, len(m.Seed))
	}
	copy(m.Seed[:], seed)
	if m.MinTime, err = time.Parse(time.RFC3339Nano, j.MinTime); err != nil {
		return Meta{}, fmt.Errorf("%s: min_time: %w", MetaKey, err)
	}
	if m.Created, err = time.Parse(time.RFC3339Nano, j.Created); err != nil {
		return Meta{}, fmt.Errorf("%s: created: %w", MetaKey, err)
	}
	m.MinTime, m.Created = m.MinTime.UTC(), m.Created.UTC()
	if err := m.Validate(); err != nil {
		return Meta{}, fmt.Errorf("%s: %w", MetaKey, err)
	}
	return m, nil
}

// openTries bounds how often OpenMeta asks a store that gives no clear answer. It
// does not pause: a store over a network does so between its own tries.
const openTries = 10

// OpenMeta returns the store's meta, and makes it if there is none. Of processes
// that make it at the same time one wins, and all return the winner's: whatever
// a write was answered, what is then read is what holds.
func OpenMeta(ctx context.Context, s Store, d MetaDefaults) (Meta, error) {
	fresh := NewMeta(d, time.Now())
	if err := fresh.Validate(); err != nil {
		return Meta{}, fmt.Errorf("open store: %w", err)
	}
	var last error
	for range openTries {
		body, err := s.Get(ctx, MetaKey)
		switch {
		case err == nil:
			m, err := DecodeMeta(body)
			if err != nil {
				return Meta{}, fmt.Errorf("open store %s: %w", Name(s), err)
			}
			return m, nil
		case errors.Is(err, ErrNotFound):
			// Always the same bytes: a try that lands late makes the same store.
			last = s.PutIfAbsent(ctx, MetaKey, EncodeMeta(fresh))
			if last == nil {
				last = fmt.Errorf("%s was created and cannot be read: %w", MetaKey, err)
			}
		default:
			last = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return Meta{}, fmt.Errorf("open store %s: %w", Name(s), last)
}
