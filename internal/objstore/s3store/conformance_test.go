package s3store_test

import (
	"testing"

	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/objstore/conformance"
	"github.com/togodb/togo/internal/objstore/s3test"
)

func TestS3Conforms(t *testing.T) {
	server := s3test.Start(t)
	conformance.Run(t, func(t *testing.T) objstore.Store { return server.Store(t) })
}
