package feed

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
)

// Post sends events of a tenant to an HTTP intake. Without an error all of them are in
// Kafka; with one, some may be.
func Post(ctx context.Context, url, tenant string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set(TenantHeader, tenant)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %s", resp.Status)
	}
	return nil
}
