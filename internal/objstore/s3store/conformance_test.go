package s3store_test

import (
	"testing"

	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/objstore/conformance"
	"github.com/togodb/togo/internal/objstore/s3store"
	"github.com/togodb/togo/internal/objstore/s3test"
)

func TestS3Conforms(t *testing.T) {
	server := s3test.Start(t)
	conformance.Run(t, func(t *testing.T) objstore.Store { return server.Store(t) })
}

// TestS3Start is what a program does first with a store.
func TestS3Start(t *testing.T) {
	server := s3test.Start(t)
	for _, mode := range []s3store.ChecksumMode{s3store.ChecksumWhenSupported, s3store.ChecksumWhenRequired} {
		config := server.Config(t)
		config.Checksum = mode
		s, err := s3store.New(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		if err := objstore.Probe(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		meta, err := objstore.OpenMeta(t.Context(), s, objstore.MetaDefaults{})
		if err != nil {
			t.Fatal(err)
		}
		if again, err := objstore.OpenMeta(t.Context(), s, objstore.MetaDefaults{}); err != nil || again != meta {
			t.Fatalf("opened %+v, then %+v, %v", meta, again, err)
		}
		keys := 0
		for object, err := range s.List(t.Context(), "", "") {
			if keys++; err != nil || object.Key != objstore.MetaKey {
				t.Fatalf("left: %v, %v", object, err)
			}
		}
		if keys != 1 {
			t.Fatalf("%d objects", keys)
		}
	}
}

// TestS3OfABucketThatIsMissing is no empty store.
func TestS3OfABucketThatIsMissing(t *testing.T) {
	config := s3test.Start(t).Config(t)
	config.Bucket = "missing"
	s, err := s3store.New(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := objstore.OpenMeta(t.Context(), s, objstore.MetaDefaults{}); err == nil {
		t.Error("a store was made")
	}
	if _, err := s.Get(t.Context(), "k"); err == nil {
		t.Error("no error")
	}
	for _, err := range s.List(t.Context(), "", "") {
		if err == nil {
			t.Error("it lists something")
		}
	}
}
