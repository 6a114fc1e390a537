package s3store

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/togodb/togo/internal/objstore"
)

// KeepsVersions says whether the bucket keeps what is deleted or replaced as older versions.
// (One whose versioning is suspended keeps those that it has, and makes no more.)
func (s *Store) KeepsVersions(ctx context.Context) (objstore.Versions, error) {
	out, err := s.client.GetBucketVersioning(ctx, &s3.GetBucketVersioningInput{Bucket: aws.String(s.config.Bucket)})
	if err != nil {
		return "", s.wrap("get_bucket_versioning", s.config.Bucket, err)
	}
	switch out.Status {
	case types.BucketVersioningStatusEnabled:
		return objstore.VersionsKept, nil
	case types.BucketVersioningStatusSuspended:
		return objstore.VersionsSuspended, nil
	}
	return objstore.VersionsNever, nil
}
