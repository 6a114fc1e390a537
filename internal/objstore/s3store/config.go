package s3store

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/togodb/togo/internal/objstore"
)

// ChecksumMode says when uploads carry a checksum that the store verifies.
type ChecksumMode string

// The modes, with the names that AWS gives them.
const (
	// ChecksumWhenSupported sends a CRC with each upload and verifies it on
	// downloads that bring one.
	ChecksumWhenSupported ChecksumMode = "when_supported"
	// ChecksumWhenRequired is for stores that refuse upload checksums or their
	// trailers. (Togo's own checksums in its records are not touched by it.)
	ChecksumWhenRequired ChecksumMode = "when_required"
)

// maxS3PrefixBytes leaves objstore.MaxKeyBytes of S3's 1,024 bytes to our keys.
const maxS3PrefixBytes = 1024 - objstore.MaxKeyBytes

// Config names a prefix of a bucket, and how to reach it. Zero values of the last
// three fields stand for the defaults of Default.
type Config struct {
	Bucket    string `yaml:"bucket" doc:"The bucket; empty: no S3 store."`
	Prefix    string `yaml:"prefix" doc:"The store's folder in the bucket, at most 23 bytes; empty: the whole bucket."`
	Endpoint  string `yaml:"endpoint" doc:"URL of a store other than AWS; empty: AWS's for the region."`
	Region    string `yaml:"region" doc:"Empty: from AWS's environment and files, else us-east-1."`
	PathStyle bool   `yaml:"path_style" doc:"The bucket in the path and not in the host name; most stores but AWS need it."`

	AccessKeyID     string `yaml:"access_key_id" doc:"Static credentials; empty: AWS's default chain (environment, files, web identity, instance role)."`
	SecretAccessKey string `yaml:"secret_access_key" secret:"true" doc:"The secret of access_key_id."`
	SessionToken    string `yaml:"session_token" secret:"true" doc:"For temporary static credentials."`

	Checksum ChecksumMode `yaml:"checksum" doc:"when_supported sends a checksum with each upload; when_required is for stores that refuse that."`

	MaxAttempts    int           `yaml:"max_attempts" doc:"Tries of one request, 1 to 20."`
	RequestTimeout time.Duration `yaml:"request_timeout" doc:"For one try with its body."`
	MaxRetryPause  time.Duration `yaml:"max_retry_pause" doc:"The longest pause between tries."`
}

// Default is the configuration without a bucket.
func Default() Config { return Config{}.withDefaults() }

const (
	// defaultMaxAttempts is small, so that callers with a rule of their own for
	// ambiguous writes get the word soon.
	defaultMaxAttempts = 3
	// defaultRequestTimeout makes a store that hangs an error; a 64 MiB fragment
	// goes through in it at 9 Mbit/s.
	defaultRequestTimeout = 60 * time.Second
	defaultMaxRetryPause  = 2 * time.Second
)

func (c Config) withDefaults() Config {
	c.Prefix = strings.Trim(c.Prefix, "/")
	if c.Checksum == "" {
		c.Checksum = ChecksumWhenSupported
	}
	if c.MaxAttempts == 0 {
		c.MaxAttempts = defaultMaxAttempts
	}
	if c.RequestTimeout == 0 {
		c.RequestTimeout = defaultRequestTimeout
	}
	if c.MaxRetryPause == 0 {
		c.MaxRetryPause = defaultMaxRetryPause
	}
	return c
}

// Validate says what is wrong with the configuration.
func (c Config) Validate() error {
	c = c.withDefaults()
	var errs []error
	if c.Bucket == "" {
		errs = append(errs, errors.New("s3: no bucket"))
	}
	if c.Prefix != "" {
		if err := objstore.ValidateKey(c.Prefix); err != nil {
			errs = append(errs, fmt.Errorf("s3: prefix: %w", err))
		}
	}
	if len(c.Prefix) >= maxS3PrefixBytes {
		errs = append(errs, fmt.Errorf("s3: prefix of %d bytes, at most %d", len(c.Prefix), maxS3PrefixBytes-1))
	}
	if c.Endpoint != "" && !strings.HasPrefix(c.Endpoint, "http://") && !strings.HasPrefix(c.Endpoint, "https://") {
		errs = append(errs, fmt.Errorf("s3: endpoint %q is no http or https URL", c.Endpoint))
	}
	if (c.AccessKeyID == "") != (c.SecretAccessKey == "") || c.SessionToken != "" && c.AccessKeyID == "" {
		errs = append(errs, errors.New("s3: static credentials need both the access key id and the secret"))
	}
	if c.Checksum != ChecksumWhenSupported && c.Checksum != ChecksumWhenRequired {
		errs = append(errs, fmt.Errorf("s3: checksum %q is neither %s nor %s", c.Checksum, ChecksumWhenSupported, ChecksumWhenRequired))
	}
	if c.MaxAttempts < 1 || c.MaxAttempts > 20 {
		errs = append(errs, fmt.Errorf("s3: %d attempts, not in 1 to 20", c.MaxAttempts))
	}
	if c.RequestTimeout < time.Second {
		errs = append(errs, fmt.Errorf("s3: request timeout %s, at least 1s", c.RequestTimeout))
	}
	if c.MaxRetryPause < 0 {
		errs = append(errs, fmt.Errorf("s3: retry pause %s", c.MaxRetryPause))
	}
	return errors.Join(errs...)
}

// New makes a store from a configuration. It sends nothing to the store (but
// the default credentials chain may read files and ask its own services).
func New(ctx context.Context, c Config) (*Store, error) {
	return newStore(ctx, c, nil)
}

// newStore takes an HTTP client from tests.
func newStore(ctx context.Context, c Config, client aws.HTTPClient) (*Store, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	if client == nil {
		client = awshttp.NewBuildableClient().WithTimeout(c.RequestTimeout).
			WithTransportOptions(func(t *http.Transport) {
				// One process asks one store: with Go's 2 idle connections each
				// burst of uploads would open and close its own.
				t.MaxIdleConns, t.MaxIdleConnsPerHost = 256, 256
			})
	}
	requests, responses := aws.RequestChecksumCalculationWhenSupported, aws.ResponseChecksumValidationWhenSupported
	if c.Checksum == ChecksumWhenRequired {
		requests, responses = aws.RequestChecksumCalculationWhenRequired, aws.ResponseChecksumValidationWhenRequired
	}
	options := []func(*config.LoadOptions) error{
		config.WithHTTPClient(client),
		config.WithRequestChecksumCalculation(requests),
		config.WithResponseChecksumValidation(responses),
		config.WithRetryer(func() aws.Retryer {
			return retry.NewStandard(func(o *retry.StandardOptions) {
				o.MaxAttempts, o.MaxBackoff = c.MaxAttempts, c.MaxRetryPause
				// The SDK's budget over all requests would make the first failure
				// after a long outage final; MaxAttempts bounds enough.
				o.RateLimiter = ratelimit.None
			})
		}),
	}
	if c.Region != "" {
		options = append(options, config.WithRegion(c.Region))
	}
	if c.AccessKeyID != "" {
		options = append(options, config.WithCredentialsProvider(
			credentials.NewStaticCredentialsProvider(c.AccessKeyID, c.SecretAccessKey, c.SessionToken)))
	}
	loaded, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("s3: load configuration: %w", err)
	}
	if loaded.Region == "" {
		loaded.Region = "us-east-1" // stores other than AWS take any
	}
	return &Store{config: c, client: s3.NewFromConfig(loaded, func(o *s3.Options) {
		o.UsePathStyle = c.PathStyle
		if c.Endpoint != "" {
			o.BaseEndpoint = aws.String(c.Endpoint)
		}
		// Ranges never bring a checksum; no line for each of them.
		o.DisableLogOutputChecksumValidationSkipped = true
	})}, nil
}
