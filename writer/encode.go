package writer

import (
	"context"
	"sync"

	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/idseg"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/writer/shard"
)

// encode makes the objects of a flight and uploads them. Bodies are in memory
// only while they wait for their own upload.
func (s *session) encode(ctx context.Context, e shard.Encode) {
	in := shard.Encoded{Gen: e.Gen, Flight: e.Flight, Files: make([]shard.EncodedFile, len(e.Files))}
	var wg sync.WaitGroup
	if e.IDs != nil {
		wg.Go(func() { in.IDs, in.Err = s.encodeIDs(ctx, e.IDs) })
	}
	// A flight of many small tenants has many files: a goroutine for each would
	// hold as many bodies.
	next := make(chan int)
	for range min(len(e.Files), cap(s.w.uploads)+cap(s.w.encoders)) {
		wg.Go(func() {
			for i := range next {
				s.encodeFile(ctx, &e.Files[i], &in.Files[i])
			}
		})
	}
	for i := range e.Files {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	wg.Wait()
	if ctx.Err() == nil {
		s.send(in)
	}
}

// with runs f while it holds a token.
func with(ctx context.Context, tokens chan struct{}, f func() error) error {
	select {
	case tokens <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-tokens }()
	return f()
}

func (s *session) encodeFile(ctx context.Context, p *shard.FilePlan, out *shard.EncodedFile) {
	var f *fragment.File
	err := s.retry(ctx, "encode "+p.Key, func() error {
		return with(ctx, s.w.encoders, func() (err error) {
			f, err = fragment.Encode(ctx, p.InputFor(s.w.d.Tenants.Get(p.Input.Tenant)), s.w.columns)
			return err
		})
	})
	if err != nil {
		return // ctx ended
	}
	if s.upload(ctx, p.Key, f.Body) != nil {
		return
	}
	*out = shard.EncodedFileOf(f)
}

// encodeIDs fails only for a bug: an identity that is there twice.
func (s *session) encodeIDs(ctx context.Context, p *shard.IDPlan) (*shard.EncodedIDs, error) {
	var body []byte
	var buckets []idseg.Bucket
	err := with(ctx, s.w.encoders, func() (err error) {
		body, buckets, err = idseg.Encode(p.Entries, idseg.DefaultConfig())
		return err
	})
	if err == nil {
		err = s.upload(ctx, p.Key, body)
	}
	if err != nil {
		return nil, err
	}
	return &shard.EncodedIDs{Bytes: int64(len(body)), Sum: objstore.Sum(body), Buckets: buckets}, nil
}

// upload puts an object. Its key belongs to this claim alone, and each try has
// the same bytes: a try that lands late changes nothing.
func (s *session) upload(ctx context.Context, key string, body []byte) error {
	return s.retry(ctx, "upload "+key, func() error {
		return with(ctx, s.w.uploads, func() error { return s.w.d.Store.Put(ctx, key, body) })
	})
}
