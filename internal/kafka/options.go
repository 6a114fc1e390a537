package kafka

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/aws"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// options are the settings that every connection to the cluster has.
func (c ClusterConfig) options(log *slog.Logger, m *metrics) ([]kgo.Opt, error) {
	id := c.ClientID
	if id == "" {
		id = "togo"
	}
	opts := []kgo.Opt{
		kgo.SeedBrokers(c.Brokers...),
		kgo.ClientID(id),
		kgo.SoftwareNameAndVersion("togo", "1"),
		kgo.WithLogger(&clientLog{log}),
		kgo.WithHooks(m),
		// Partitions are added and topics recreated while Togo runs; the default of
		// five minutes is too long to wait for one.
		kgo.MetadataMaxAge(30 * time.Second),
		kgo.MetadataMinAge(250 * time.Millisecond),
		kgo.DisableClientMetrics(),
	}
	if c.TLS.Enabled {
		cfg, err := c.TLS.build()
		if err != nil {
			return nil, err
		}
		opts = append(opts, kgo.DialTLSConfig(cfg))
	}
	if m := c.SASL.mechanism(); m != nil {
		opts = append(opts, kgo.SASL(m))
	}
	return opts, nil
}

func (s SASLConfig) mechanism() sasl.Mechanism {
	switch s.Mechanism {
	case MechanismPlain:
		return plain.Auth{User: s.Username, Pass: s.Password}.AsMechanism()
	case MechanismScramSHA256:
		return scram.Auth{User: s.Username, Pass: s.Password}.AsSha256Mechanism()
	case MechanismScramSHA512:
		return scram.Auth{User: s.Username, Pass: s.Password}.AsSha512Mechanism()
	case MechanismOAuthBearer:
		return oauth.Oauth(func(ctx context.Context) (oauth.Auth, error) {
			token, err := s.oauthToken(ctx)
			return oauth.Auth{Token: token}, err
		})
	case MechanismAWSMSKIAM:
		return aws.ManagedStreamingIAM(func(ctx context.Context) (aws.Auth, error) {
			keys := AWSKeys{s.AccessKey, s.SecretKey, s.SessionToken}
			if s.AWS != nil {
				var err error
				if keys, err = s.AWS(ctx); err != nil {
					return aws.Auth{}, fmt.Errorf("get AWS credentials: %w", err)
				}
			}
			if keys.AccessKey == "" {
				return aws.Auth{}, errors.New("sasl: AWS_MSK_IAM without credentials")
			}
			return aws.Auth{AccessKey: keys.AccessKey, SecretKey: keys.SecretKey, SessionToken: keys.SessionToken}, nil
		})
	}
	return nil
}

func (s SASLConfig) oauthToken(ctx context.Context) (string, error) {
	switch {
	case s.Token != "":
		return s.Token, nil
	case s.TokenFile != "":
		b, err := os.ReadFile(s.TokenFile)
		if err != nil {
			return "", fmt.Errorf("read the OAuth token: %w", err)
		}
		return strings.TrimSpace(string(b)), nil
	}
	return s.OAuth.fetch(ctx)
}

// maxTokenBytes bounds a token server's answer; tokens are a few kilobytes.
const maxTokenBytes = 1 << 20

func (o OAuthConfig) fetch(ctx context.Context) (string, error) {
	form := url.Values{"grant_type": {"client_credentials"}}
	if o.Scope != "" {
		form.Set("scope", o.Scope)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, o.TokenURL, strings.NewReader(form.Encode()))
	if err != nil {
		return "", fmt.Errorf("get an OAuth token: %w", err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.SetBasicAuth(url.QueryEscape(o.ClientID), url.QueryEscape(o.ClientSecret))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", fmt.Errorf("get an OAuth token: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxTokenBytes))
	if err != nil {
		return "", fmt.Errorf("get an OAuth token: %w", err)
	}
	var answer struct {
		AccessToken string `json:"access_token"`
	}
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("get an OAuth token: %s answered %s", o.TokenURL, resp.Status)
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return "", fmt.Errorf("get an OAuth token: %w", err)
	}
	if answer.AccessToken == "" {
		return "", errors.New("get an OAuth token: the answer holds none")
	}
	return answer.AccessToken, nil
}

// clientLog passes the client's warnings and errors on; its other lines are for
// who debugs the client.
type clientLog struct{ log *slog.Logger }

func (l *clientLog) Level() kgo.LogLevel {
	if l.log.Enabled(context.Background(), slog.LevelDebug) {
		return kgo.LogLevelDebug
	}
	return kgo.LogLevelWarn
}

func (l *clientLog) Log(level kgo.LogLevel, msg string, keyvals ...any) {
	to := slog.LevelDebug
	switch level {
	case kgo.LogLevelError:
		to = slog.LevelError
	case kgo.LogLevelWarn:
		to = slog.LevelWarn
	}
	l.log.Log(context.Background(), to, "kafka client: "+msg, keyvals...)
}
