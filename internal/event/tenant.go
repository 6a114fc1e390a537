package event

import (
	"errors"
	"fmt"
)

// MaxTenant bounds a tenant's name in bytes (Mimir's bound).
const MaxTenant = 150

// ErrBadTenant is a name that breaks the rule.
var ErrBadTenant = errors.New("bad tenant")

// ParseTenant checks the rule of tenant names: 1 to MaxTenant bytes of ASCII letters,
// digits and !-_.*'(), neither "." nor "..", nor the reserved Unroutable.
func ParseTenant(s string) (TenantID, error) {
	if err := checkTenant(s); err != nil {
		return "", err
	}
	return TenantID(s), nil
}

func checkTenant[T string | []byte](s T) error {
	switch {
	case len(s) == 0:
		return fmt.Errorf("%w: empty", ErrBadTenant)
	case len(s) > MaxTenant:
		return fmt.Errorf("%w: %d bytes, at most %d are allowed", ErrBadTenant, len(s), MaxTenant)
	case string(s) == "." || string(s) == ".." || string(s) == string(Unroutable):
		return fmt.Errorf("%w: %q is reserved", ErrBadTenant, string(s))
	}
	for i := 0; i < len(s); i++ {
		if !tenantBytes[s[i]] {
			return fmt.Errorf("%w: byte %q at %d is not allowed", ErrBadTenant, s[i:i+1], i)
		}
	}
	return nil
}

var tenantBytes = func() (t [256]bool) {
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!-_.*'()"
	for i := 0; i < len(allowed); i++ {
		t[allowed[i]] = true
	}
	return t
}()
