package kafka

import "context"

// OAuthToken is the token that a connection would show.
func OAuthToken(ctx context.Context, s SASLConfig) (string, error) { return s.oauthToken(ctx) }
