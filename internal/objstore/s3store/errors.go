package s3store

import (
	"errors"
	"fmt"
	"net/http"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"github.com/togodb/togo/internal/objstore"
)

// wrap names the attempt and adds the sentinel that the caller acts on.
func (s *Store) wrap(op objstore.Op, key string, err error) error {
	if err == nil {
		return nil
	}
	var answer *awshttp.ResponseError
	status := 0
	if errors.As(err, &answer) {
		status = answer.HTTPStatusCode()
	}
	var api smithy.APIError
	code := ""
	if errors.As(err, &api) {
		code = api.ErrorCode()
	}
	if sentinel := sentinelOf(op, status, code); sentinel != nil {
		return fmt.Errorf("%s %s: %w: %w", op, key, sentinel, err)
	}
	if s.config.Checksum == ChecksumWhenSupported && refusesChecksum(op, status, code) {
		return fmt.Errorf("%s %s: the store may refuse the upload's checksum; if so, set `checksum: %s`: %w",
			op, key, ChecksumWhenRequired, err)
	}
	return fmt.Errorf("%s %s: %w", op, key, err)
}

// sentinelOf is the sentinel for an answer, or nil.
func sentinelOf(op objstore.Op, status int, code string) error {
	switch {
	case code == "NoSuchBucket":
		return nil // not an absent object: nothing of the store is there
	case isUnavailable(status, code):
		return objstore.ErrUnavailable
	case code == "NoSuchUpload", code == "InvalidPart": // ended by another; perhaps while a part was sent
		return objstore.ErrUploadOver
	case isFolderCode(code):
		return objstore.ErrInvalidKey
	case status == http.StatusNotFound && op == objstore.OpPutIfAbsent:
		// A delete of the key came between the check and the write; S3 asks for
		// another try, as for 409.
		return objstore.ErrConflict
	case status == http.StatusNotFound && (op == objstore.OpGet || op == objstore.OpGetRange):
		return objstore.ErrNotFound
	case status == http.StatusPreconditionFailed && op == objstore.OpPutIfAbsent:
		return objstore.ErrExists
	case status == http.StatusConflict:
		return objstore.ErrConflict
	case status == http.StatusRequestedRangeNotSatisfiable:
		return objstore.ErrRange
	}
	return nil
}

// isFolderRefusal says whether the store refused a key as a folder of another.
func isFolderRefusal(err error) bool {
	var api smithy.APIError
	return errors.As(err, &api) && isFolderCode(api.ErrorCode())
}

// isFolderCode knows the codes of gateways over file systems.
func isFolderCode(code string) bool {
	return code == "ExistingObjectIsDirectory" || code == "ObjectParentIsFile"
}

func isUnavailable(status int, code string) bool {
	switch code {
	case "SlowDown", "ServiceUnavailable", "RequestLimitExceeded", "ThrottlingException", "TooManyRequests":
		return true
	}
	return status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests
}

// refusesChecksum says whether an upload failed as it does at stores that know
// no upload checksums or no trailers behind a body.
func refusesChecksum(op objstore.Op, status int, code string) bool {
	if op != objstore.OpPut && op != objstore.OpPutIfAbsent && op != opUpload {
		return false
	}
	switch code {
	case "NotImplemented", "MissingContentLength", "XAmzContentSHA256Mismatch", "InvalidRequest",
		"InvalidArgument", "BadDigest", "SignatureDoesNotMatch", "UnsupportedArgument", "InvalidHeader":
		return true
	}
	return status == http.StatusNotImplemented || status == http.StatusLengthRequired || status == http.StatusBadRequest
}
