package objstore

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"
)

// Memory is a Store in this process's memory, for tests and simulations. It
// keeps every promise but outliving the process.
type Memory struct {
	// Now is the store's clock; nil means time.Now. Set it before first use.
	Now func() time.Time

	mu      sync.RWMutex
	objects map[string]memoryObject // guarded by mu
	keys    []string                // the map's keys in byte order; guarded by mu
}

type memoryObject struct {
	body     []byte // never changed once here
	modified time.Time
}

// NewMemory is an empty store.
func NewMemory() *Memory { return &Memory{objects: map[string]memoryObject{}} }

// String names the store in messages.
func (m *Memory) String() string { return "memory" }

func (m *Memory) now() time.Time {
	if m.Now != nil {
		return m.Now()
	}
	return time.Now()
}

// Put creates or replaces the object.
func (m *Memory) Put(ctx context.Context, key string, body []byte) error {
	return m.put(ctx, key, body, true)
}

// PutIfAbsent creates the object.
func (m *Memory) PutIfAbsent(ctx context.Context, key string, body []byte) error {
	return m.put(ctx, key, body, false)
}

func (m *Memory) put(ctx context.Context, key string, body []byte, replace bool) error {
	if err := ValidateKey(key); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	at, exists := slices.BinarySearch(m.keys, key)
	if exists && !replace {
		return fmt.Errorf("create %s: %w", key, ErrExists)
	}
	if !exists {
		if err := m.checkFolders(key); err != nil {
			return err
		}
		m.keys = slices.Insert(m.keys, at, key)
	}
	m.objects[key] = memoryObject{body: append([]byte{}, body...), modified: m.now()}
	return nil
}

// checkFolders refuses a new key that is a folder of another key, or lies
// under one. The caller holds mu.
func (m *Memory) checkFolders(key string) error {
	for i, c := range key {
		if c != '/' {
			continue
		}
		if _, ok := m.objects[key[:i]]; ok {
			return errFolder(key, key[:i])
		}
	}
	under, _ := slices.BinarySearch(m.keys, key+"/")
	if under < len(m.keys) && strings.HasPrefix(m.keys[under], key+"/") {
		return errFolder(key, m.keys[under])
	}
	return nil
}

// Get returns the whole object.
func (m *Memory) Get(ctx context.Context, key string) ([]byte, error) {
	body, err := m.get(ctx, key)
	if err != nil {
		return nil, err
	}
	return append([]byte{}, body...), nil
}

func (m *Memory) get(ctx context.Context, key string) ([]byte, error) {
	if err := ValidateKey(key); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	object, ok := m.objects[key]
	if !ok {
		return nil, fmt.Errorf("get %s: %w", key, ErrNotFound)
	}
	return object.body, nil
}

// GetRange returns a part of the object.
func (m *Memory) GetRange(ctx context.Context, key string, off, n int64) ([]byte, error) {
	body, err := m.get(ctx, key)
	if err != nil {
		return nil, err
	}
	from, to, err := Span(int64(len(body)), off, n)
	if err != nil {
		return nil, fmt.Errorf("get range of %s: %w", key, err)
	}
	return append([]byte{}, body[from:to]...), nil
}

// List yields objects by key. It holds no lock while it yields: an object that
// is written or removed meanwhile may be seen or not.
func (m *Memory) List(ctx context.Context, prefix, after string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		after := after // each iteration begins anew
		for {
			if err := ctx.Err(); err != nil {
				yield(Object{}, err)
				return
			}
			object, ok := m.next(prefix, after)
			if !ok || !yield(object, nil) {
				return
			}
			after = object.Key
		}
	}
}

// next is the first object with the prefix that sorts after `after`.
func (m *Memory) next(prefix, after string) (Object, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	at, found := slices.BinarySearch(m.keys, max(prefix, after))
	if found && after >= prefix {
		at++
	}
	if at == len(m.keys) || !strings.HasPrefix(m.keys[at], prefix) {
		return Object{}, false
	}
	key := m.keys[at]
	object := m.objects[key]
	return Object{Key: key, Size: int64(len(object.body)), Modified: object.modified}, true
}

// Delete removes the objects.
func (m *Memory) Delete(ctx context.Context, keys ...string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	left := map[string]error{}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range keys {
		if err := ValidateKey(key); err != nil {
			left[key] = err
			continue
		}
		if at, ok := slices.BinarySearch(m.keys, key); ok {
			m.keys = slices.Delete(m.keys, at, at+1)
			delete(m.objects, key)
		}
	}
	if len(left) > 0 {
		return &DeleteError{Left: left}
	}
	return nil
}

// Date is the store's clock.
func (m *Memory) Date(ctx context.Context) (time.Time, error) {
	if err := ctx.Err(); err != nil {
		return time.Time{}, err
	}
	return m.now().Truncate(time.Second), nil
}

// Clone is a copy of the store as it is now, for tests that go on from one
// state in several ways.
func (m *Memory) Clone() *Memory {
	m.mu.RLock()
	defer m.mu.RUnlock()
	c := &Memory{Now: m.Now, objects: make(map[string]memoryObject, len(m.objects)), keys: slices.Clone(m.keys)}
	for key, object := range m.objects {
		c.objects[key] = object
	}
	return c
}

// Len is the number of objects.
func (m *Memory) Len() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(m.keys)
}
