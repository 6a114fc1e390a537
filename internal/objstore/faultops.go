package objstore

import (
	"context"
	"iter"
	"maps"
	"time"
)

// Put creates or replaces the object, or meets a fault.
func (f *Fault) Put(ctx context.Context, key string, body []byte) error {
	return f.write(ctx, OpPut, key, body)
}

// PutIfAbsent creates the object, or meets a fault.
func (f *Fault) PutIfAbsent(ctx context.Context, key string, body []byte) error {
	return f.write(ctx, OpPutIfAbsent, key, body)
}

func (f *Fault) write(ctx context.Context, op Op, key string, body []byte) error {
	call, rule, err := f.begin(op, key)
	if err != nil {
		return err
	}
	f.keep(call, rule, []string{key}, body)
	return f.run(ctx, call, rule, func(conditional bool) error {
		if op == OpPutIfAbsent && conditional {
			return f.inner.PutIfAbsent(ctx, key, body)
		}
		return f.inner.Put(ctx, key, body)
	})
}

// Get returns the object, or meets a fault.
func (f *Fault) Get(ctx context.Context, key string) ([]byte, error) {
	return f.read(ctx, OpGet, key, func() ([]byte, error) { return f.inner.Get(ctx, key) })
}

// GetRange returns a part of the object, or meets a fault.
func (f *Fault) GetRange(ctx context.Context, key string, off, n int64) ([]byte, error) {
	return f.read(ctx, OpGetRange, key, func() ([]byte, error) { return f.inner.GetRange(ctx, key, off, n) })
}

func (f *Fault) read(ctx context.Context, op Op, key string, get func() ([]byte, error)) ([]byte, error) {
	call, rule, err := f.begin(op, key)
	if err != nil {
		return nil, err
	}
	var body []byte
	err = f.run(ctx, call, rule, func(bool) (err error) {
		body, err = get()
		return err
	})
	if err != nil {
		return nil, err
	}
	if rule.Effect == Truncate {
		body = body[:min(rule.Bytes, len(body))]
		if rule.Err != nil {
			return body, f.failure(call, rule)
		}
	}
	return body, nil
}

// List yields objects, or meets a fault. It counts as one operation, begun when
// the iteration begins.
func (f *Fault) List(ctx context.Context, prefix, after string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		call, rule, err := f.begin(OpList, prefix)
		if err == nil {
			err = f.run(ctx, call, rule, func(bool) error { return nil })
		}
		if err != nil {
			yield(Object{}, err)
			return
		}
		entries := 0
		for object, err := range f.inner.List(ctx, prefix, after) {
			if rule.Effect == Truncate && entries == rule.Bytes {
				if rule.Err != nil {
					yield(Object{}, f.failure(call, rule))
				}
				return
			}
			entries++
			if !yield(object, err) {
				return
			}
		}
	}
}

// Delete removes the objects, or meets a fault.
func (f *Fault) Delete(ctx context.Context, keys ...string) error {
	call, rule, err := f.begin(OpDelete, keys...)
	if err != nil {
		return err
	}
	if rule.Effect == FailBefore && rule.Key != "" {
		return f.deletePart(ctx, call, rule, keys)
	}
	f.keep(call, rule, keys, nil)
	return f.run(ctx, call, rule, func(bool) error { return f.inner.Delete(ctx, keys...) })
}

// deletePart leaves the keys that the rule matches.
func (f *Fault) deletePart(ctx context.Context, call Call, rule Rule, keys []string) error {
	left := map[string]error{}
	rest := make([]string, 0, len(keys))
	for _, key := range keys {
		if rule.matchesKey(key) {
			left[key] = f.failure(call, rule)
			continue
		}
		rest = append(rest, key)
	}
	rule.Effect = Pass
	err := f.run(ctx, call, rule, func(bool) error { return f.inner.Delete(ctx, rest...) })
	maps.Copy(left, LeftOf(err, rest))
	return &DeleteError{Left: left}
}

// Date is the store's clock, or meets a fault.
func (f *Fault) Date(ctx context.Context) (time.Time, error) {
	call, rule, err := f.begin(OpDate)
	if err != nil {
		return time.Time{}, err
	}
	var now time.Time
	err = f.run(ctx, call, rule, func(bool) (err error) {
		now, err = f.inner.Date(ctx)
		return err
	})
	return now, err
}
