package s3store

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/config"
)

// DefaultChain finds credentials as AWS's programs do (environment, files, web
// identity, instance role). The function that it returns gives the keys of the moment,
// refreshed when they are due; it is for other services of AWS that ask for them.
func DefaultChain(ctx context.Context) (func(context.Context) (accessKeyID, secretAccessKey, sessionToken string, err error), error) {
	loaded, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("load AWS's configuration: %w", err)
	}
	return func(ctx context.Context) (string, string, string, error) {
		c, err := loaded.Credentials.Retrieve(ctx)
		return c.AccessKeyID, c.SecretAccessKey, c.SessionToken, err
	}, nil
}
