package kafka_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/internal/kafka/kafkatest"
	"github.com/twmb/franz-go/pkg/kfake"
)

// certificate makes one of its own authority, for a server and a client on loopback.
func certificate(t *testing.T) (certFile, keyFile string, pair tls.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, text := range map[string][]byte{certFile: certPEM, keyFile: keyPEM} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if pair, err = tls.X509KeyPair(certPEM, keyPEM); err != nil {
		t.Fatal(err)
	}
	return certFile, keyFile, pair
}

// connect tries for a moment; a client that is refused would try for seconds.
func connect(t *testing.T, cfg kafka.ClusterConfig) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	c, err := kafka.Connect(ctx, cfg, kafkatest.Quiet(), nil)
	if err == nil {
		c.Close()
	}
	return err
}

// TestConnectWithTLS: encrypted, the broker's certificate checked, the client's own
// shown, and SCRAM over all that.
func TestConnectWithTLS(t *testing.T) {
	certFile, keyFile, pair := certificate(t)
	otherFile, otherKey, _ := certificate(t)
	pool := x509.NewCertPool()
	pool.AddCert(must(x509.ParseCertificate(pair.Certificate[0])))
	k := kafkatest.New(t,
		kfake.TLS(&tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}),
		kfake.EnableSASL(), kfake.Superuser("SCRAM-SHA-512", "user", "secret"))
	good := k.Config()
	good.TLS = kafka.TLSConfig{Enabled: true, CAFile: certFile, CertFile: certFile, KeyFile: keyFile}
	good.SASL = kafka.SASLConfig{Mechanism: kafka.MechanismScramSHA512, Username: "user", Password: "secret"}
	if err := connect(t, good); err != nil {
		t.Fatal(err)
	}
	for name, bend := range map[string]func(*kafka.TLSConfig){
		"no TLS":                       func(c *kafka.TLSConfig) { *c = kafka.TLSConfig{} },
		"another authority":            func(c *kafka.TLSConfig) { c.CAFile = otherFile },
		"the system's authorities":     func(c *kafka.TLSConfig) { c.CAFile = "" },
		"another name of the broker":   func(c *kafka.TLSConfig) { c.ServerName = "broker.example.com" },
		"no certificate of the client": func(c *kafka.TLSConfig) { c.CertFile, c.KeyFile = "", "" },
		"another client's certificate": func(c *kafka.TLSConfig) { c.CertFile, c.KeyFile = otherFile, otherKey },
		"a file that is not there":     func(c *kafka.TLSConfig) { c.CAFile = certFile + ".none" },
	} {
		cfg := good
		bend(&cfg.TLS)
		if err := connect(t, cfg); err == nil {
			t.Errorf("%s: connected", name)
		}
	}
	cfg := good
	cfg.TLS.CAFile, cfg.TLS.InsecureSkipVerify = "", true
	if err := connect(t, cfg); err != nil {
		t.Errorf("without checking the broker: %v", err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestOAuthTokensAreFetched: the token server is asked by client credentials, and what
// it says wrong is told, without the secret.
func TestOAuthTokensAreFetched(t *testing.T) {
	asked := make(chan string, 100)
	status, answer := http.StatusOK, `{"access_token":"t"}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, secret, _ := r.BasicAuth()
		_ = r.ParseForm()
		asked <- strings.Join([]string{r.Method, id, secret, r.PostForm.Get("grant_type"), r.PostForm.Get("scope")}, " ")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(answer))
	}))
	defer server.Close()
	cfg := kafka.SASLConfig{Mechanism: kafka.MechanismOAuthBearer, OAuth: kafka.OAuthConfig{
		TokenURL: server.URL, ClientID: "togo", ClientSecret: "hush", Scope: "kafka",
	}}
	for _, tc := range []struct {
		status       int
		answer, want string
	}{
		{http.StatusOK, `{"access_token":"t"}`, ""},
		{http.StatusUnauthorized, `{}`, "401"},
		{http.StatusOK, `{}`, "holds none"},
		{http.StatusOK, `<html>`, "OAuth token"},
	} {
		status, answer = tc.status, tc.answer
		token, err := kafka.OAuthToken(t.Context(), cfg)
		if got := <-asked; got != "POST togo hush client_credentials kafka" {
			t.Errorf("asked with %q", got)
		}
		if err == nil && token != "t" {
			t.Errorf("token %q", token)
		}
		if (err == nil) != (tc.want == "") || err != nil && (!strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "hush")) {
			t.Errorf("%d %s: got %v, want %q", tc.status, tc.answer, err, tc.want)
		}
	}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(" from-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if token, err := kafka.OAuthToken(t.Context(), kafka.SASLConfig{TokenFile: file}); err != nil || token != "from-file" {
		t.Errorf("token %q, %v", token, err)
	}
}
