package api

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestFault_cross_tenant: whoever may see shop tries to reach bank by everything of a request but the SQL. Each try is
// refused, or it is a query of shop; no answer tells whether bank is there.
func TestFault_cross_tenant(t *testing.T) {
	const own = "Authorization: Bearer of-shop"
	type try struct {
		name, method, path, body string
		headers                  []string
	}
	var tries []try
	add := func(name, method, path, body string, headers ...string) {
		tries = append(tries, try{name, method, path, body, headers})
	}
	for _, name := range []string{"bank", "nobody", "SHOP", "Shop", "shop2", "sho", "shop.", "shop*", "*", "bank,shop", "shop,bank", "shop|bank", "shop bank", "shop;bank", "shop%2fbank",
		"../bank", "shop/../bank", "shop/bank", `shop\bank`, "..", ".", "_unroutable", "shöp", "shop\tbank", strings.Repeat("b", 151)} {
		add("header "+name, "POST", "/v1/query", "x", own, "X-Scope-OrgID: "+name)
	}
	for _, header := range []string{"X-Scope-Org-ID", "X-ScopeOrgID", "X_Scope_OrgID", "X-Tenant", "X-Org-Id", "X-Forwarded-User", "Togo-Tenant", "Forwarded", "Cookie", "X-Original-URL", "Tenant"} {
		add("another header "+header, "POST", "/v1/query", "x", own, header+": bank")
	}
	for _, p := range []string{"tenant", "Tenant", "tenant_id", "X-Scope-OrgID", "x-scope-orgid", "orgid", "org_id", "database", "schema", "token", "access_token"} {
		add("parameter "+p, "GET", "/v1/query?sql=x&"+url.QueryEscape(p)+"=bank", "", own)
		add("member "+p, "POST", "/v1/query", fmt.Sprintf(`{"sql":"x",%q:"bank"}`, p), own, "Content-Type: application/json")
		add("form "+p, "POST", "/v1/query", "sql=x&"+url.QueryEscape(p)+"=bank", own, "Content-Type: application/x-www-form-urlencoded")
		add("schema "+p, "GET", "/v1/schema?"+url.QueryEscape(p)+"=bank", "", own)
	}
	for _, p := range []string{"/v1/query/bank", "/v1/bank/query", "/v1/tenants/bank/query", "/bank/v1/query", "/v1/query/../bank", "/v1/query%2fbank", "/v1/tenants/../query/bank", "//v1//query//bank", "/v1/schema/bank", "/v1/events/bank"} {
		add("path "+p, "POST", p, "x", own, "X-Scope-OrgID: shop")
	}
	add("two headers", "POST", "/v1/query", "x", own, "X-Scope-OrgID: shop", "X-Scope-OrgID: bank")
	add("two headers of another case", "POST", "/v1/query", "x", own, "X-Scope-OrgID: shop", "x-scope-orgid: bank")
	add("two tokens in one", "POST", "/v1/query", "x", own+",of-bank", "X-Scope-OrgID: bank")
	add("the other's token in the cookie", "POST", "/v1/query", "x", own, "Cookie: token=of-bank", "X-Scope-OrgID: bank")
	add("the other's token in the URL", "GET", "/v1/query?sql=x&token=of-bank", "", own, "X-Scope-OrgID: bank")
	add("a list of the operators", "GET", "/v1/tenants", "", own)
	add("a list for one", "GET", "/v1/tenants?tenant=bank", "", own)
	add("schema of the other", "GET", "/v1/schema", "", own, "X-Scope-OrgID: bank")
	add("another member as an object", "POST", "/v1/query", `{"sql":{"tenant":"bank","text":"x"}}`, own, "Content-Type: application/json")
	add("an object in an object", "POST", "/v1/query", `{"sql":"x","snapshot":{"tenant":"bank"}}`, own, "Content-Type: application/json")
	add("the same member twice", "POST", "/v1/query", `{"sql":"x","sql":"y"}`, own, "Content-Type: application/json")
	add("a method that overrides", "POST", "/v1/query?_method=GET&tenant=bank", "x", own, "X-HTTP-Method-Override: GET")
	for _, auth := range []string{"Bearer of-ban", "Bearer of-bank2", "Bearer OF-BANK", "Bearer", "Bearer  of-bank", "Bearer *", "Bearer of-shop\tof-bank", "Basic b2YtYmFuaw==", "Token of-bank", "of-bank", "Bearer writer", "Bearer null", "Bearer ' or 1=1"} {
		add("token "+auth, "POST", "/v1/query", "x", "Authorization: "+auth, "X-Scope-OrgID: bank")
	}
	add("no token", "POST", "/v1/query", "x", "X-Scope-OrgID: bank")
	if len(tries) < 60 {
		t.Fatalf("only %d tries", len(tries))
	}
	for _, tr := range tries {
		e := &engine{}
		s := serverOf(t, e, func(_ *Config, d *Deps) { d.Tokens = tokens })
		resp, text := call(t, s, tr.method, tr.path, tr.body, tr.headers...)
		for _, r := range e.asked {
			if r.Tenant != "shop" {
				t.Errorf("%s reached %s", tr.name, r.Tenant)
			}
		}
		for _, schema := range e.schema {
			if !strings.HasPrefix(schema, "shop ") {
				t.Errorf("%s reached the schema of %s", tr.name, schema)
			}
		}
		if resp.StatusCode >= 500 || e.count() == 0 && resp.StatusCode < 300 || resp.StatusCode < 400 && !strings.HasPrefix(tr.name, "another header") {
			t.Errorf("%s: %d %s", tr.name, resp.StatusCode, text)
		}
	}
}

// TestATenantThatIsNotSeenIsAsIfItWereNone: the same status, headers and words.
func TestATenantThatIsNotSeenIsAsIfItWereNone(t *testing.T) {
	s := serverOf(t, &engine{}, func(_ *Config, d *Deps) { d.Tokens = tokens })
	var first string
	for _, name := range []string{"bank", "nobody", "../bank", "_unroutable", "a b"} {
		for _, path := range []string{"/v1/query?sql=x", "/v1/schema"} {
			resp, text := call(t, s, "GET", path, "", "Authorization: Bearer of-shop", "X-Scope-OrgID: "+name)
			resp.Header.Del("Date")
			answer := fmt.Sprint(resp.StatusCode, resp.Header, text)
			if first == "" {
				first = answer
			}
			if resp.StatusCode != http.StatusNotFound || answer != first {
				t.Errorf("%s of %s: %s, want %s", path, name, answer, first)
			}
		}
	}
}

// TestWhoMayWhat: roles are apart, and operators see the tenants of their token.
func TestWhoMayWhat(t *testing.T) {
	s := serverOf(t, &engine{}, func(_ *Config, d *Deps) { d.Tokens = tokens })
	for _, tc := range []struct {
		path, token, tenant string
		status              int
		want                string
	}{
		{"/v1/query?sql=x", "of-shop", "", 200, "rows"},
		{"/v1/query?sql=x", "of-two", "", 400, "name the tenant"},
		{"/v1/query?sql=x", "of-two", "mill", 200, "rows"},
		{"/v1/query?sql=x", "writer", "", 401, "has not the role query"},
		{"/v1/query?sql=x", "operator", "", 400, "name the tenant"},
		{"/v1/query?sql=x", "operator", "_unroutable", 200, "rows"},
		{"/v1/query?sql=x", "operator", "bank", 200, "rows"},
		{"/v1/tenants", "operator", "", 200, "bank"},
		{"/v1/tenants", "of-two", "", 200, "mill"},
		{"/v1/tenants", "of-shop", "", 401, "has not the role operator"},
		{"/v1/tenants", "nonsense", "", 401, "not known"},
	} {
		headers := []string{"Authorization: Bearer " + tc.token}
		if tc.tenant != "" {
			headers = append(headers, "X-Scope-OrgID: "+tc.tenant)
		}
		resp, text := call(t, s, "GET", tc.path, "", headers...)
		if resp.StatusCode != tc.status || !strings.Contains(text, tc.want) || tc.token == "of-two" && strings.Contains(text, "bank") {
			t.Errorf("%+v: %d %s", tc, resp.StatusCode, text)
		}
		if (resp.Header.Get("WWW-Authenticate") != "") != (tc.status == 401) {
			t.Errorf("%+v: %v", tc, resp.Header)
		}
	}
}
