package access

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/togodb/togo/internal/event"
)

var tokens = Tokens{
	"of-shop":  {Tenants: []string{"shop"}, Roles: []Role{Ingest, Query}},
	"of-two":   {Tenants: []string{"shop", "bank"}, Roles: []Role{Query}},
	"of-all":   {Tenants: []string{AnyTenant}, Roles: []Role{Query}},
	"operator": {Tenants: []string{AnyTenant}, Roles: []Role{Query, Operator}},
}

func TestWhoIsTheTenant(t *testing.T) {
	for name, tc := range map[string]struct {
		auth   string
		tenant []string
		want   event.TenantID
		err    error
	}{
		"none":                    {"", []string{"shop"}, "", ErrNoToken},
		"another scheme":          {"Basic of-shop", nil, "", ErrNoToken},
		"nothing behind":          {"Bearer ", nil, "", ErrNoToken},
		"unknown":                 {"Bearer of-sho", nil, "", ErrUnknown},
		"longer":                  {"Bearer of-shop ", nil, "", ErrUnknown},
		"its own":                 {"Bearer of-shop", nil, "shop", nil},
		"scheme in lower case":    {"bearer of-shop", nil, "shop", nil},
		"its own, named":          {"Bearer of-shop", []string{"shop"}, "shop", nil},
		"empty header":            {"Bearer of-shop", []string{""}, "shop", nil},
		"another's":               {"Bearer of-shop", []string{"bank"}, "", ErrTenant},
		"one that can't be":       {"Bearer of-shop", []string{"../bank"}, "", ErrTenant},
		"another case":            {"Bearer of-shop", []string{"Shop"}, "", ErrTenant},
		"the sign for all":        {"Bearer of-shop", []string{"*"}, "", ErrTenant},
		"no tenant's":             {"Bearer of-shop", []string{"_unroutable"}, "", ErrTenant},
		"two headers":             {"Bearer of-shop", []string{"shop", "bank"}, "", ErrTwice},
		"of two, unnamed":         {"Bearer of-two", nil, "", ErrUnnamed},
		"of two, second":          {"Bearer of-two", []string{"bank"}, "bank", nil},
		"of two, third":           {"Bearer of-two", []string{"mill"}, "", ErrTenant},
		"of all":                  {"Bearer of-all", []string{"mill"}, "mill", nil},
		"of all, unnamed":         {"Bearer of-all", nil, "", nil},
		"of all, not a name":      {"Bearer of-all", []string{"a|b"}, "", event.ErrBadTenant},
		"of all, no tenant's":     {"Bearer of-all", []string{"_unroutable"}, "", event.ErrBadTenant},
		"of operators, no tenant": {"Bearer operator", []string{"_unroutable"}, event.Unroutable, nil},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		if tc.auth != "" {
			r.Header.Set("Authorization", tc.auth)
		}
		r.Header[http.CanonicalHeaderKey(TenantHeader)] = tc.tenant
		c, err := tokens.Caller(r)
		var got event.TenantID
		if err == nil {
			got, err = c.Tenant(r)
		}
		if got != tc.want || !errors.Is(err, tc.err) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestWithoutTokensAllIsOpen(t *testing.T) {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	c, err := Tokens(nil).Caller(r)
	if err != nil || !c.May(Query) || !c.May(Operator) || !c.Sees("shop") {
		t.Errorf("%+v, %v", c, err)
	}
	if tenant, err := c.Tenant(r); tenant != "" || err != nil {
		t.Errorf("%q, %v", tenant, err)
	}
}

func TestRolesAreApart(t *testing.T) {
	for token, want := range map[string][]Role{"of-shop": {Ingest, Query}, "of-two": {Query}, "operator": {Query, Operator}} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		c, err := tokens.Caller(r)
		if err != nil {
			t.Fatal(err)
		}
		for _, role := range roles {
			may := false
			for _, w := range want {
				may = may || w == role
			}
			if c.May(role) != may {
				t.Errorf("%s: %s is %t", token, role, c.May(role))
			}
		}
	}
}

func TestBadTokens(t *testing.T) {
	for name, tc := range map[string]struct {
		tokens Tokens
		want   string
	}{
		"empty token": {Tokens{"": {Tenants: []string{"a"}, Roles: []Role{Query}}}, "an empty token"},
		"no tenant":   {Tokens{"hush": {Roles: []Role{Query}}}, "needs tenants and roles"},
		"no role":     {Tokens{"hush": {Tenants: []string{"a"}}}, "needs tenants and roles"},
		"bad tenant":  {Tokens{"hush": {Tenants: []string{"a/b"}, Roles: []Role{Query}}}, "bad tenant"},
		"bad role":    {Tokens{"hush": {Tenants: []string{"a"}, Roles: []Role{"root"}}}, `no role "root"`},
	} {
		if err := tc.tokens.Validate(); err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := tokens.Validate(); err != nil {
		t.Error(err)
	}
}
