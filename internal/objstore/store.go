// Package objstore is the object store as Togo needs it: whole objects, created
// once and read whole or by range, under keys that are relative to one prefix.
//
// What every Store promises (the conformance suite checks it):
//
//  1. PutIfAbsent is atomic between all processes: of many racing writers of a
//     key one wins, and a reader sees the winner's whole body or ErrNotFound.
//  2. A nil error from Put or PutIfAbsent means the object is durable and every
//     later Get, GetRange and List sees it.
//  3. ErrExists means that an object is there (perhaps our own, from a try whose
//     answer was lost); ErrConflict that another write of the key is under way and
//     settles nothing. Any other error of a write is ambiguous: the write
//     may have been applied, or may still be applied later.
//     An Upload, which gives an object piece by piece, is a Put at its Finish.
//  4. Keys are slash-separated, at most 1,000 bytes; no key is a folder of
//     another key (gateways over file systems refuse that).
package objstore

import (
	"context"
	"errors"
	"iter"
	"time"
)

// The sentinels that a caller acts on; everything else is the world's error.
var (
	// ErrNotFound: no object under the key (404).
	ErrNotFound = errors.New("object not found")
	// ErrExists: the condition of a PutIfAbsent failed (412); read the object to
	// learn whose it is.
	ErrExists = errors.New("object exists")
	// ErrConflict: another conditional write of the key is under way (409); try
	// again.
	ErrConflict = errors.New("conflicting write under way")
	// ErrRange: the asked range begins behind the object's end (416).
	ErrRange = errors.New("range not satisfiable")
	// ErrUnavailable: the store asks to come back later (503, 429, SlowDown). For
	// a write it is as ambiguous as a time-out.
	ErrUnavailable = errors.New("store unavailable")
	// ErrInvalidKey: the key breaks the fourth promise; nothing was sent or
	// applied, and nothing will be.
	ErrInvalidKey = errors.New("invalid object key")
)

// Object is one entry of a listing.
type Object struct {
	Key      string
	Size     int64 // bytes
	Modified time.Time
}

// Store is one prefix of an object store.
type Store interface {
	// Put creates or replaces the object.
	Put(ctx context.Context, key string, body []byte) error
	// PutIfAbsent creates the object; see the package's third promise for its errors.
	PutIfAbsent(ctx context.Context, key string, body []byte) error
	// Get returns the whole object.
	Get(ctx context.Context, key string) ([]byte, error)
	// GetRange returns the bytes [off, off+n) or as many of them as the object
	// has; a negative off counts from the object's end.
	GetRange(ctx context.Context, key string, off, n int64) ([]byte, error)
	// List yields the objects whose key begins with prefix and sorts after
	// `after`, in the byte order of their keys. It ends at the first error.
	List(ctx context.Context, prefix, after string) iter.Seq2[Object, error]
	// Delete removes the objects; a key that is absent is no error. On a partial
	// failure the error is a *DeleteError that names each key that is left.
	Delete(ctx context.Context, keys ...string) error
	// Date is the store's own clock (the Date of an answer), to a second.
	Date(ctx context.Context) (time.Time, error)
}
