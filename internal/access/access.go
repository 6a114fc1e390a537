// Package access says who may do what over HTTP: static bearer tokens, each with the tenants
// it is for and what it may do there.
//
// Without any token everything is open, for a machine of one's own or behind a gateway that checks. With one, each
// request needs one that has the role which it asks for. What a caller may not see is told in the same words as what is
// not there. No error holds a token.
package access

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/togodb/togo/internal/event"
)

// TenantHeader names the tenant, in HTTP as in Kafka.
const TenantHeader = "X-Scope-OrgID"

// AnyTenant among the tenants of a token stands for all.
const AnyTenant = "*"

// Role is something that a token may do.
type Role string

const (
	Ingest   Role = "ingest"   // write events
	Query    Role = "query"    // read events
	Operator Role = "operator" // list tenants, and read records of no tenant
)

var roles = []Role{Ingest, Query, Operator}

// Grant is what one token may do.
type Grant struct {
	Tenants []string `yaml:"tenants"`
	Roles   []Role   `yaml:"roles"`
}

// UnmarshalYAML takes the short form, too: a tenant alone is a token that may ingest for it.
func (g *Grant) UnmarshalYAML(decode func(any) error) error {
	var tenant string
	if decode(&tenant) == nil {
		*g = Grant{Tenants: []string{tenant}, Roles: []Role{Ingest}}
		return nil
	}
	type plain Grant
	return decode((*plain)(g))
}

// Tokens are the grants by token.
type Tokens map[string]Grant

// Validate reports every mistake, without the tokens.
func (t Tokens) Validate() error {
	var errs []error
	for token, g := range t {
		if token == "" {
			errs = append(errs, errors.New("tokens: an empty token"))
		}
		if len(g.Tenants) == 0 || len(g.Roles) == 0 {
			errs = append(errs, errors.New("tokens: each token needs tenants and roles, as {tenants: [acme], roles: [query]}"))
		}
		for _, name := range g.Tenants {
			if _, err := event.ParseTenant(name); err != nil && name != AnyTenant {
				errs = append(errs, fmt.Errorf("tokens: %w", err))
			}
		}
		for _, r := range g.Roles {
			if !slices.Contains(roles, r) {
				errs = append(errs, fmt.Errorf("tokens: there is no role %q, but ingest, query, operator", r))
			}
		}
	}
	return errors.Join(errs...)
}

// Errors of a request, by what the caller can do.
var (
	ErrNoToken = errors.New("a bearer token is needed: Authorization: Bearer TOKEN")
	ErrUnknown = errors.New("the token is not known")
	ErrRole    = errors.New("the token is not for this")
	ErrTenant  = errors.New("the token is not for this tenant")
	ErrUnnamed = errors.New("name the tenant in the header " + TenantHeader)
	ErrTwice   = errors.New("the header " + TenantHeader + " stands twice")
)

// Caller is who sent a request.
type Caller struct {
	grant Grant
	open  bool // no token is asked for
}

// Caller finds the request's grant.
func (t Tokens) Caller(r *http.Request) (Caller, error) {
	if len(t) == 0 {
		return Caller{open: true}, nil
	}
	kind, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(kind, "Bearer") || token == "" {
		return Caller{}, ErrNoToken
	}
	g, ok := t.find(token)
	if !ok {
		return Caller{}, ErrUnknown
	}
	return Caller{grant: g}, nil
}

// find looks at every token, so that the time tells nothing of them.
func (t Tokens) find(token string) (grant Grant, ok bool) {
	for known, g := range t {
		if subtle.ConstantTimeCompare([]byte(known), []byte(token)) == 1 {
			grant, ok = g, true
		}
	}
	return grant, ok
}

// May tells whether the caller has a role.
func (c Caller) May(role Role) bool { return c.open || slices.Contains(c.grant.Roles, role) }

// Sees tells whether the caller's tokens are for a tenant.
func (c Caller) Sees(tenant event.TenantID) bool {
	if c.open || slices.Contains(c.grant.Tenants, AnyTenant) {
		return true
	}
	return slices.Contains(c.grant.Tenants, string(tenant))
}

// Tenant is the one that the request is for: the header's, or the only one of the token. It is "" with no error if the header is
// not there and the caller may see them all.
func (c Caller) Tenant(r *http.Request) (event.TenantID, error) {
	names := r.Header.Values(TenantHeader)
	if len(names) > 1 {
		return "", ErrTwice
	}
	if len(names) == 0 || names[0] == "" {
		switch {
		case c.Sees(""):
			return "", nil
		case len(c.grant.Tenants) == 1:
			return event.ParseTenant(c.grant.Tenants[0])
		}
		return "", ErrUnnamed
	}
	name := names[0]
	if !c.Sees(event.TenantID(name)) {
		return "", ErrTenant
	}
	if name == string(event.Unroutable) && c.May(Operator) {
		return event.Unroutable, nil
	}
	tenant, err := event.ParseTenant(name)
	if err != nil {
		return "", fmt.Errorf("header %s: %w", TenantHeader, err)
	}
	return tenant, nil
}
