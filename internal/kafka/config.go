package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
)

// The SASL mechanisms that a ClusterConfig may name.
const (
	MechanismPlain       = "PLAIN"
	MechanismScramSHA256 = "SCRAM-SHA-256"
	MechanismScramSHA512 = "SCRAM-SHA-512"
	MechanismOAuthBearer = "OAUTHBEARER"
	MechanismAWSMSKIAM   = "AWS_MSK_IAM"
)

var mechanisms = []string{
	MechanismPlain, MechanismScramSHA256, MechanismScramSHA512, MechanismOAuthBearer, MechanismAWSMSKIAM,
}

// ClusterConfig says how one Kafka cluster is reached.
type ClusterConfig struct {
	Brokers  []string   `yaml:"brokers" doc:"host:port of some brokers."`
	ClientID string     `yaml:"client_id,omitempty" doc:"How the client names itself; default togo."`
	Rack     string     `yaml:"rack,omitempty" doc:"Rack of this process, to read from the nearest replica; empty: from the leader."`
	TLS      TLSConfig  `yaml:"tls,omitempty"`
	SASL     SASLConfig `yaml:"sasl,omitempty"`
}

// TLSConfig says how connections are encrypted.
type TLSConfig struct {
	Enabled            bool   `yaml:"enabled"`
	CAFile             string `yaml:"ca_file,omitempty" doc:"PEM; empty: the system's."`
	CertFile           string `yaml:"cert_file,omitempty" doc:"PEM; with key_file the client's certificate."`
	KeyFile            string `yaml:"key_file,omitempty"`
	ServerName         string `yaml:"server_name,omitempty" doc:"Empty: the broker's host."`
	InsecureSkipVerify bool   `yaml:"insecure_skip_verify,omitempty" doc:"Anybody can pose as the broker."`
}

// SASLConfig says who the client is. Mechanism empty: no SASL.
type SASLConfig struct {
	Mechanism string `yaml:"mechanism" doc:"PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER or AWS_MSK_IAM."`
	Username  string `yaml:"username,omitempty" doc:"For PLAIN and SCRAM."`
	Password  string `yaml:"password,omitempty" secret:"true"`

	// OAUTHBEARER: a fixed token, or one that is read from a file for each new
	// connection, or one got by OAuth's client credentials.
	Token     string      `yaml:"token,omitempty" secret:"true"`
	TokenFile string      `yaml:"token_file,omitempty"`
	OAuth     OAuthConfig `yaml:"oauth,omitempty"`

	// AWS_MSK_IAM: fixed keys, or AWS (set by the program, not by a file), asked for each new connection.
	AccessKey    string                                     `yaml:"access_key,omitempty"`
	SecretKey    string                                     `yaml:"secret_key,omitempty" secret:"true"`
	SessionToken string                                     `yaml:"session_token,omitempty" secret:"true"`
	AWS          func(ctx context.Context) (AWSKeys, error) `yaml:"-"`
}

// OAuthConfig gets tokens by the client credentials grant.
type OAuthConfig struct {
	TokenURL     string `yaml:"token_url"`
	ClientID     string `yaml:"client_id"`
	ClientSecret string `yaml:"client_secret" secret:"true"`
	Scope        string `yaml:"scope,omitempty"`
}

// AWSKeys signs a connection to Amazon MSK.
type AWSKeys struct {
	AccessKey    string
	SecretKey    string
	SessionToken string
}

// Validate reports every mistake in the configuration.
func (c ClusterConfig) Validate() error {
	var errs []error
	if len(c.Brokers) == 0 {
		errs = append(errs, errors.New("brokers: none given"))
	}
	for _, b := range c.Brokers {
		if _, port, err := net.SplitHostPort(b); err != nil || port == "" {
			errs = append(errs, fmt.Errorf("brokers: %q is not host:port", b))
		}
	}
	errs = append(errs, c.TLS.validate(), c.SASL.validate(c.TLS.Enabled))
	return errors.Join(errs...)
}

func (t TLSConfig) validate() error {
	if !t.Enabled {
		if t.CAFile != "" || t.CertFile != "" || t.KeyFile != "" || t.ServerName != "" || t.InsecureSkipVerify {
			return errors.New("tls: settings are given, but it is not enabled")
		}
		return nil
	}
	if (t.CertFile == "") != (t.KeyFile == "") {
		return errors.New("tls: a client certificate needs both its certificate and its key")
	}
	return nil
}

func (t TLSConfig) build() (*tls.Config, error) {
	cfg := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		ServerName:         t.ServerName,
		InsecureSkipVerify: t.InsecureSkipVerify, // the operator's own words
	}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("tls: read the CA file: %w", err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("tls: %s holds no certificate", t.CAFile)
		}
	}
	if t.CertFile != "" {
		cert, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("tls: load the client's certificate: %w", err)
		}
		cfg.Certificates = []tls.Certificate{cert}
	}
	return cfg, nil
}

func (s SASLConfig) validate(encrypted bool) error {
	switch s.Mechanism {
	case "":
		if s.Username != "" || s.Password != "" || s.Token != "" || s.TokenFile != "" || s.AccessKey != "" {
			return errors.New("sasl: credentials are given, but no mechanism")
		}
	case MechanismPlain, MechanismScramSHA256, MechanismScramSHA512:
		if s.Username == "" || s.Password == "" {
			return fmt.Errorf("sasl: %s needs a username and a password", s.Mechanism)
		}
	case MechanismOAuthBearer:
		given := 0
		for _, set := range []bool{s.Token != "", s.TokenFile != "", s.OAuth.TokenURL != ""} {
			if set {
				given++
			}
		}
		if given != 1 {
			return errors.New("sasl: OAUTHBEARER needs exactly one of token, token_file and oauth.token_url")
		}
		if s.OAuth.TokenURL != "" && (s.OAuth.ClientID == "" || s.OAuth.ClientSecret == "") {
			return errors.New("sasl: oauth needs a client_id and a client_secret")
		}
	case MechanismAWSMSKIAM:
		if (s.AccessKey == "") != (s.SecretKey == "") {
			return errors.New("sasl: AWS_MSK_IAM needs both access_key and secret_key, or neither: then AWS's own chain of credentials")
		}
		if !encrypted {
			return errors.New("sasl: AWS_MSK_IAM needs TLS")
		}
	default:
		known := slices.Clone(mechanisms)
		return fmt.Errorf("sasl: mechanism %q is none of %s", s.Mechanism, strings.Join(known, ", "))
	}
	return nil
}
