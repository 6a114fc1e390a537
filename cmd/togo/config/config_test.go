package config

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/togodb/togo/internal/access"
	"github.com/togodb/togo/internal/kafka"
)

func noEnv(string) (string, bool) { return "", false }

func env(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := vars[name]
		return v, ok
	}
}

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "togo.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func load(t *testing.T, text string, overrides []string, lookup func(string) (string, bool)) *Config {
	t.Helper()
	c, err := Load(file(t, text), overrides, lookup)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestLaterSourcesLieOverEarlierOnes(t *testing.T) {
	text := "writer: {flush_age: 2s, flush_bytes: 16MiB, max_open: 7}\nlog: {level: warn}\n"
	c := load(t, text, []string{"writer.flush_age=4s", "writer.shards=[1, 2]"},
		env(map[string]string{"TOGO_WRITER_FLUSH_AGE": "3s", "TOGO_WRITER_MAX_OPEN": "8", "TOGO_STORE_DIR": "/x"}))
	if c.Writer.FlushAge != 4*time.Second || c.Writer.MaxOpen != 8 || c.Writer.FlushBytes != 16<<20 || c.Store.Dir != "/x" {
		t.Errorf("got %+v, store %q", c.Writer, c.Store.Dir)
	}
	if len(c.Writer.Shards) != 2 || c.Writer.Shards[1] != 2 {
		t.Errorf("shards: %v", c.Writer.Shards)
	}
	if c.Log.Level.String() != "WARN" || c.Router.Group != Default().Router.Group {
		t.Errorf("level %s, group %q", c.Log.Level, c.Router.Group)
	}
}

func TestListsAndMapsReplaceTheDefaults(t *testing.T) {
	c := load(t, `
kafka:
  apps: {brokers: ["a:1"]}
intake:
  topics: [{cluster: apps, name: x}]
`, nil, noEnv)
	if len(c.Kafka) != 1 || c.Kafka["apps"].Brokers[0] != "a:1" {
		t.Errorf("clusters: %+v", c.Kafka)
	}
	if len(c.Intake.Topics) != 1 || c.Intake.Topics[0].Name != "x" || c.Intake.Topics[0].Mapping != nil {
		t.Errorf("topics: %+v", c.Intake.Topics)
	}
}

func TestMistakesAreNamedWithTheirPlace(t *testing.T) {
	for name, tc := range map[string]struct {
		text, want string
		overrides  []string
		vars       map[string]string
	}{
		"unknown key":       {text: "writer:\n  flush_agee: 1s\n", want: `[2:3] unknown field "flush_agee"`},
		"unknown section":   {text: "writers: {}\n", want: `unknown field "writers"`},
		"repeated key":      {text: "log: {level: info}\nlog: {level: warn}\n", want: "[2:1]"},
		"no number":         {text: "writer: {flush_bytes: many}\n", want: "no whole number"},
		"unknown unit":      {text: "writer: {flush_bytes: 5 XB}\n", want: "unknown unit"},
		"overflow":          {text: "writer: {flush_bytes: 99999999TiB}\n", want: "out of range"},
		"no duration":       {text: "writer: {flush_age: soon}\n", want: "soon"},
		"variable":          {text: "a: 1\nstore: {dir: \"${NOWHERE}\"}\n", want: "line 2: the environment variable NOWHERE is not set"},
		"override":          {overrides: []string{"writer.flush_agee=1s"}, want: `no setting "writer.flush_agee"`},
		"override's form":   {overrides: []string{"writer.flush_age"}, want: "PATH=VALUE"},
		"override's value":  {overrides: []string{"writer.max_open=x"}, want: "setting writer.max_open"},
		"unset in a list":   {text: "kafka:\n  main:\n    brokers:\n      - ${A}\n", want: "line 4: the environment variable A is not set"},
		"no end":            {text: "store: {dir: ${A\n", want: "line 1: ${ without an end"},
		"override of group": {overrides: []string{"writer=x"}, want: `no setting "writer"`},
		"environment":       {vars: map[string]string{"TOGO_WRITER_MAX_OPEN": "x"}, want: "TOGO_WRITER_MAX_OPEN"},
	} {
		_, err := Load(file(t, tc.text), tc.overrides, env(tc.vars))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none.yaml"), nil, noEnv); err == nil {
		t.Error("a missing file is no error")
	}
}

func TestVariables(t *testing.T) {
	c := load(t, "# ${UNSET} in a comment\nstore: {s3: {bucket: \"${B}\", secret_access_key: \"${S}\", access_key_id: k}}\n",
		nil, env(map[string]string{"B": "bucket", "S": ""}))
	if c.Store.S3.Bucket != "bucket" || c.Store.S3.SecretAccessKey != "" {
		t.Errorf("got %+v", c.Store.S3)
	}
}

// TestVariablesStandForTheirText: whatever is in a quoted variable, the setting is that.
func TestVariablesStandForTheirText(t *testing.T) {
	for _, v := range []string{
		"plain", "", " spaces ", `a"b`, "it's", `back\slash`, "#no comment", "x #y", "a: b", "- a", "*a", "&a", "!a", "{a}", "[a", "null", "012", "${A}", "two\nlines", "tab\there", "ü€\x01\u2028",
	} {
		for _, quote := range []string{`"`, `'`} {
			if quote == `'` && strings.ContainsFunc(v, unicode.IsControl) {
				continue // single quotes have no escapes
			}
			c := load(t, "log:\n  level: info # don't read ${NOTHING}, \"or ${THAT}\n  # nor ${THIS}\nstore: {s3: {bucket: "+quote+"<${V}>"+quote+", secret_access_key: "+quote+"${V}"+quote+"}}\n",
				nil, env(map[string]string{"V": v}))
			if c.Store.S3.SecretAccessKey != v || c.Store.S3.Bucket != "<"+v+">" {
				t.Errorf("%s%q%s became %q and %q", quote, v, quote, c.Store.S3.SecretAccessKey, c.Store.S3.Bucket)
			}
		}
	}
	for text, v := range map[string]string{
		"store: {dir: ${V}}":                         "x #y",
		"store: {dir: ${V}} ":                        "#y",
		"store: {dir: ${V} }":                        "two\nlines",
		"store: {dir: '${V}'}":                       "two\nlines",
		"store: {dir: it's}\nlog: {level: \"${V}\"}": "\xff",
	} {
		if _, err := Load(file(t, text), nil, env(map[string]string{"V": v})); err == nil || !strings.Contains(err.Error(), "variable V") {
			t.Errorf("%q with %q: %v", text, v, err)
		}
	}
	// Without quotes a variable is YAML: a number, a list.
	c := load(t, "writer: {max_open: ${N}, shards: ${L}}\nstore: {dir: it's, s3: {prefix: 'it''s ${P}'}}\n", nil,
		env(map[string]string{"N": "7", "L": "[1, 2]", "P": "p"}))
	if c.Writer.MaxOpen != 7 || len(c.Writer.Shards) != 2 || c.Store.Dir != "it's" || c.Store.S3.Prefix != "it's p" {
		t.Errorf("got %+v, %+v", c.Writer, c.Store)
	}
}

// TestErrorsTellNoSecret: neither the mistake's own nor a neighbour's.
func TestErrorsTellNoSecret(t *testing.T) {
	vars := env(map[string]string{"S": "hush"})
	for _, text := range []string{
		"kafka:\n  main:\n    sasl:\n      password: ${S}\n      passwrd: x\n",
		"kafka:\n  main:\n    sasl:\n      password: ${S}\n      username: [1\n",
		"store: {s3: {secret_access_key: ${S}, secret_access_key: b}}\n",
		"http: {tokens: [hush]}\n",
		"http: {tokens: {hush: [1]}}\n",
		"http: {tokens: {hush: {tenants: [a], rolls: [query]}}}\n",
		"store: {s3: {secret_access_key: [hush]}}\n",
	} {
		_, err := Load(file(t, text), nil, vars)
		if err == nil || strings.Contains(err.Error(), "hush") || !strings.Contains(err.Error(), "[") {
			t.Errorf("%s\ngives %v", text, err)
		}
	}
	for _, set := range []string{"http.tokens=[hush]", "kafka={main: {sasl: {password: hush, x: 1}}}", "kafka={main: {sasl: {password: [hush]}}}"} {
		name, value, _ := strings.Cut(set, "=")
		for _, err := range []error{
			second(Load("", []string{set}, noEnv)),
			second(Load("", nil, env(map[string]string{envName(name): value}))),
		} {
			if err == nil || strings.Contains(err.Error(), "hush") || !strings.Contains(err.Error(), name) {
				t.Errorf("%s gives %v", set, err)
			}
		}
	}
}

// TestTokens: both forms, side by side.
func TestTokens(t *testing.T) {
	c := load(t, "http: {tokens: {a: acme, b: {tenants: [acme, globex], roles: [query]}}}\n", nil, noEnv)
	want := access.Tokens{
		"a": {Tenants: []string{"acme"}, Roles: []access.Role{access.Ingest}},
		"b": {Tenants: []string{"acme", "globex"}, Roles: []access.Role{access.Query}},
	}
	if !reflect.DeepEqual(c.HTTP.Tokens, want) {
		t.Errorf("%+v", c.HTTP.Tokens)
	}
	c.Store.Dir = "x"
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	c.HTTP.Tokens["c"] = access.Grant{Tenants: []string{"acme"}, Roles: []access.Role{"admin"}}
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), `no role "admin"`) {
		t.Error(err)
	}
}

func second[T any](_ T, err error) error { return err }

// TestListsAndMapsAreSetWhole: of several sources the last one counts, and nothing of those before it.
func TestListsAndMapsAreSetWhole(t *testing.T) {
	text := "kafka: {a: {brokers: [\"a:1\"]}}\nwriter: {shards: [1, 2, 3]}\nhttp: {tokens: {x: acme}}\n"
	vars := env(map[string]string{"TOGO_KAFKA": `{b: {brokers: ["b:1"]}}`, "TOGO_WRITER_SHARDS": "[4]", "TOGO_HTTP_TOKENS": "{y: globex}"})
	for name, tc := range map[string]struct {
		set             []string
		lookup          func(string) (string, bool)
		cluster, tenant string
		shards          int
	}{
		"file":        {nil, noEnv, "a", "x", 3},
		"environment": {nil, vars, "b", "y", 1},
		"--set":       {[]string{`kafka={c: {brokers: ["c:1"]}}`, "writer.shards=[]", "http.tokens={z: initech}"}, vars, "c", "z", 0},
	} {
		c := load(t, text, tc.set, tc.lookup)
		if len(c.Kafka) != 1 || len(c.Kafka[tc.cluster].Brokers) != 1 || len(c.Writer.Shards) != tc.shards || len(c.HTTP.Tokens) != 1 || len(c.HTTP.Tokens[tc.tenant].Tenants) != 1 {
			t.Errorf("%s: %+v, %v, %v", name, c.Kafka, c.Writer.Shards, c.HTTP.Tokens)
		}
	}
}

func TestVariablesThatSetNothing(t *testing.T) {
	got := strings.Join(Unknown([]string{
		"PATH=/bin", "TOGO_WRITER_FLUSH_AGE=1s", "TOGO_KAFKA={}", "TOGO_CONFIG=x", "TOGO_DIR=x", "TOGO_TEST_DATA=x", "TOGO_VERSITYGW=x", "TOGO_PYARROW=x",
		"TOGO_PORT=tcp://10.0.0.1:8080", "TOGO_SERVICE_HOST=10.0.0.1", "TOGO_WRITER_SERVICE_PORT_HTTP=80", "TOGO_WRITER_PORT_8080_TCP_ADDR=10.0.0.1", // a Kubernetes service
		"TOGO_WRITER_FLUSHAGE=secret", "TOGO_KAFKA_MAIN_SASL_PASSWORD=secret", "TOGO_NONSENSE=secret", "TOGO_STORE=secret",
	}), "\n")
	want := `TOGO_KAFKA_MAIN_SASL_PASSWORD is no setting; kafka is set whole, as YAML, by TOGO_KAFKA
TOGO_NONSENSE is no setting
TOGO_STORE is no setting
TOGO_WRITER_FLUSHAGE is no setting; is TOGO_WRITER_FLUSH_AGE meant?`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestSecretsHaveTheirTag: what is named like a secret is treated as one, at any depth.
func TestSecretsHaveTheirTag(t *testing.T) {
	found := 0
	var walk func(reflect.Type, string)
	walk = func(typ reflect.Type, path string) {
		switch typ.Kind() {
		case reflect.Map, reflect.Slice, reflect.Pointer:
			walk(typ.Elem(), path)
		case reflect.Struct:
			for i := range typ.NumField() {
				f := typ.Field(i)
				name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
				if name == "" || name == "-" {
					continue
				}
				if secretName.MatchString(name) {
					found++
					if f.Tag.Get("secret") != "true" {
						t.Errorf("%s.%s is not tagged as a secret", path, name)
					}
				}
				walk(f.Type, path+"."+name)
			}
		}
	}
	walk(reflect.TypeFor[Config](), "")
	if found < 7 {
		t.Errorf("found %d secrets", found)
	}
}

var secretName = regexp.MustCompile(`^(.*password|.*secret.*|tokens?|.*_token)$`)

func TestBytesHaveUnits(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "7": 7, "1_000": 1000, "64MiB": 64 << 20, "5 GB": 5e9, "3kb": 3000, "2TiB": 2 << 40} {
		c := load(t, "writer: {flush_bytes: "+text+"}\n", nil, noEnv)
		if c.Writer.FlushBytes != want {
			t.Errorf("%s: %d, want %d", text, c.Writer.FlushBytes, want)
		}
	}
}

func TestEverySettingSaysWhatItIs(t *testing.T) {
	for _, s := range settings(Default()) {
		if s.doc == "" && s.path != "shard_topic.name" {
			t.Errorf("%s has no meaning", s.path)
		}
	}
}

func TestTheDocumentIsAConfiguration(t *testing.T) {
	c := load(t, Document(Default()), nil, noEnv)
	if got, want := Document(c), Document(Default()); got != want {
		t.Errorf("the document reads back as\n%s\nwant\n%s", got, want)
	}
}

func TestSecretsAreNeverShown(t *testing.T) {
	c := Default()
	c.Store.S3.SecretAccessKey = "hush"
	c.HTTP.Tokens = access.Tokens{"hush": {Tenants: []string{"acme"}, Roles: []access.Role{access.Ingest}}}
	c.Kafka["main"] = kafka.ClusterConfig{
		Brokers: []string{"b:1"},
		SASL:    kafka.SASLConfig{Mechanism: "PLAIN", Username: "u", Password: "hush", OAuth: kafka.OAuthConfig{ClientSecret: "hush"}},
	}
	text := Document(c)
	if strings.Contains(text, "hush") || !strings.Contains(text, hidden) || !strings.Contains(text, "username: u") {
		t.Errorf("got\n%s", text)
	}
	if c.Kafka["main"].SASL.Password != "hush" {
		t.Error("showing the configuration changed it")
	}
}

func TestFault_config_change(t *testing.T) {
	for name, tc := range map[string]struct {
		set  []string
		want string
	}{
		"two stores":              {[]string{"store.s3.bucket=b"}, "exactly one of"},
		"no store":                {[]string{"store.dir="}, "exactly one of"},
		"spread":                  {[]string{"placements.spread=5"}, "placements.spread"},
		"no spread":               {[]string{"placements.spread=0"}, "placements.spread"},
		"rule":                    {[]string{"placements.unknown_tenants=maybe"}, "unknown_tenants"},
		"tenants":                 {[]string{"placements.max_tenants=-1"}, "max_tenants"},
		"no shards":               {[]string{"shard_topic.partitions=0"}, "partitions"},
		"cluster of shard topic":  {[]string{"shard_topic.cluster=x"}, `cluster`},
		"cluster of intake":       {[]string{`intake.topics=[{cluster: x, name: events}]`}, `cluster "x"`},
		"intake is shard topic":   {[]string{"shard_topic.name=events"}, "is the shard topic"},
		"topic twice":             {[]string{`intake.topics=[{cluster: main, name: events}, {cluster: main, name: events}]`}, "twice"},
		"no topics":               {[]string{`intake.topics=[]`}, "none"},
		"HTTP topic":              {[]string{"intake.http_topic=x"}, "http_topic"},
		"mapping":                 {[]string{`intake.topics=[{cluster: main, name: events, mapping: {format: xml, tenant: [{fixed: a}]}}]`}, "mapping"},
		"queries' time":           {[]string{"query.max_time=1h"}, "max_time: 1h0m0s is not below compactor.query_grace"},
		"queries' memory":         {[]string{"query.max_memory=0"}, "max_memory"},
		"queries at a time":       {[]string{"query.max_concurrent=0"}, "max_concurrent"},
		"tokens":                  {[]string{"http.tokens={x: {tenants: [a], roles: [root]}}"}, "no role"},
		"brokers":                 {[]string{`kafka={main: {brokers: []}}`}, "brokers"},
		"sasl without mechanism":  {[]string{`kafka={main: {brokers: ["a:1"], sasl: {username: u}}}`}, "mechanism"},
		"listen":                  {[]string{"http.listen=nowhere"}, "http.listen"},
		"log format":              {[]string{"log.format=xml"}, "log.format"},
		"min_time":                {[]string{"store.min_time=then"}, "min_time"},
		"max_future":              {[]string{"store.max_future=0s"}, "max_future"},
		"no flush":                {[]string{"writer.flush_age=0s"}, "flush_age"},
		"small tenants go first":  {[]string{"writer.small_tenant_age=1s"}, "small_tenant_age"},
		"quota":                   {[]string{"writer.dedup_quota=2"}, "dedup_quota"},
		"shard twice":             {[]string{"writer.shards=[1, 1]"}, "twice"},
		"negative bytes":          {[]string{"writer.flush_bytes=-1"}, "flush_bytes"},
		"negative budget":         {[]string{"writer.memory_budget=-1MiB"}, "memory_bytes"},
		"negative dedup budget":   {[]string{"writer.dedup_budget=-1"}, "dedup_bytes"},
		"negative small tenants":  {[]string{"writer.small_tenant_bytes=-1"}, "small_tenant_bytes"},
		"negative fetch":          {[]string{"writer.fetch_bytes=-5"}, "fetch_bytes"},
		"negative open":           {[]string{"writer.max_open=-1"}, "max_open"},
		"negative router bytes":   {[]string{"router.max_bytes=-1"}, "max_bytes"},
		"negative linger":         {[]string{"router.linger=-1ms"}, "linger"},
		"negative body":           {[]string{"intake.http.max_body_bytes=-1"}, "max_body_bytes"},
		"negative shard":          {[]string{"writer.shards=[-1]"}, "negative"},
		"attempts":                {[]string{"store.dir=", "store.s3.bucket=b", "store.s3.max_attempts=99"}, "attempts"},
		"columns":                 {[]string{"writer.max_columns=0"}, "max_columns"},
		"router's group":          {[]string{"router.group="}, "group"},
		"compression":             {[]string{"router.compression=brotli"}, "compression"},
		"token of a wrong tenant": {[]string{`http.tokens={secret: "a/b"}`}, "tokens"},
	} {
		c, err := Load("", append([]string{"store.dir=/x"}, tc.set...), noEnv)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error tells a secret: %v", name, err)
		}
	}
	// What others let users set, and must not be set at all here.
	for _, setting := range []string{"router.acks=1", "router.idempotent=false", "router.auto_commit=true", "writer.auto_commit=true", "writer.fsync=false", "kafka={main: {brokers: [a:1], enable_auto_commit: true}}", "kafka={main: {brokers: [a:1], acks: 1}}", "store.s3.conditional_writes=false"} {
		if _, err := Load("", []string{"store.dir=/x", setting}, noEnv); err == nil {
			t.Errorf("%s is accepted", setting)
		}
	}
	c, err := Load("", []string{"store.dir=/x"}, noEnv)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Validate(); err != nil {
		t.Errorf("the defaults are refused: %v", err)
	}
}

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// TestTheDocsConfigurationsAreValid loads every YAML block of the documentation.
func TestTheDocsConfigurationsAreValid(t *testing.T) {
	pages, err := filepath.Glob("../../../docs/*.md")
	if err != nil || len(pages) < 4 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	blocks := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range yamlBlock.FindAllStringSubmatch(string(text), -1) {
			blocks++
			all := func(string) (string, bool) { return "value", true }
			c, err := Load(file(t, m[1]), nil, func(name string) (string, bool) {
				if strings.HasPrefix(name, "TOGO_") {
					return "", false
				}
				return all(name)
			})
			if err == nil {
				if c.Store.Dir == "" && c.Store.S3.Bucket == "" {
					c.Store.Dir = "/x"
				}
				if c.Intake.HTTP != "" && len(c.Intake.Topics) > 0 && c.Intake.Topics[0].Name != c.Intake.HTTP {
					c.Intake.HTTP = c.Intake.Topics[0].Name
				}
				err = c.Validate()
			}
			if err != nil {
				t.Errorf("%s: %v in\n%s", page, err, m[1])
			}
		}
	}
	if blocks < 6 {
		t.Errorf("found %d blocks", blocks)
	}
}

var (
	settingInDocs = regexp.MustCompile("`((?:log|http|store|intake|shard_topic|placements|router|writer|compactor|query)\\.[a-z0-9_.]+)(?:=[^`]*)?`")
	metricInDocs  = regexp.MustCompile(`togo_[a-z_]+`)
)

// TestTheDocsNameWhatThereIs: settings and metrics.
func TestTheDocsNameWhatThereIs(t *testing.T) {
	known := map[string]bool{}
	for _, s := range settings(Default()) {
		known[s.path] = true
	}
	var code strings.Builder
	sources, err := filepath.Glob("../../../*/metrics.go")
	more, err2 := filepath.Glob("../../../*/*/metrics.go")
	if err != nil || err2 != nil || len(sources)+len(more) < 6 {
		t.Fatalf("%d files, %v, %v", len(sources)+len(more), err, err2)
	}
	for _, path := range append(sources, more...) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		code.Write(text)
	}
	metrics := code.String()
	pages, _ := filepath.Glob("../../../docs/*.md")
	names := 0
	for _, page := range append(pages, "../../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range settingInDocs.FindAllStringSubmatch(string(text), -1) {
			names++
			if !known[m[1]] {
				t.Errorf("%s: there is no setting %s", page, m[1])
			}
		}
		for _, name := range metricInDocs.FindAllString(string(text), -1) {
			names++
			short := name // their metrics.go add both
			for _, prefix := range []string{"togo_writer_", "togo_compactor_", "togo_query_cache_", "togo_query_"} {
				short = strings.TrimPrefix(short, prefix)
			}
			counter := strings.TrimSuffix(short, "_total")
			if !strings.Contains(metrics, `"`+name+`"`) && (short == name || !strings.Contains(metrics, `("`+short+`"`) && !strings.Contains(metrics, `("`+counter+`"`)) {
				t.Errorf("%s: there is no metric %s", page, name)
			}
		}
	}
	if names < 30 {
		t.Errorf("found %d names", names)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(Document(Default()))
	f.Add("writer: {flush_bytes: 64MiB}")
	f.Add("store: {dir: \"${\"}  # '${A}'\n'it''s': \"\\\"${B\"")
	f.Add("intake: {topics: [{cluster: main, name: x, mapping: {format: json, tenant: [{fixed: a}]}}]}")
	f.Fuzz(func(t *testing.T, text string) {
		c := Default()
		expanded, err := expand(text, noEnv)
		if err == nil {
			err = decode([]byte(expanded), c)
		}
		if err == nil {
			_ = c.Validate() // must not panic, whatever was read
		}
	})
}
