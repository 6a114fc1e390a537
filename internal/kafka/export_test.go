package kafka

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"
)

// OAuthToken is the token that a connection would show.
func OAuthToken(ctx context.Context, s SASLConfig) (string, error) { return s.oauthToken(ctx) }

// Take is what becomes of a poll of the client.
func (r *Reader) Take(ctx context.Context, f kgo.Fetches) []Batch { return r.take(ctx, f) }

// Take is what becomes of a poll of the client.
func (m *Consumer) Take(ctx context.Context, f kgo.Fetches) []Batch { return m.takeAll(ctx, f) }
