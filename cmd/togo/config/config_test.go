package config

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

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
	c.HTTP.Tokens = map[string]string{"hush": "acme"}
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

func TestUnsafeSettingsAreRefused(t *testing.T) {
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

func FuzzLoad(f *testing.F) {
	f.Add(Document(Default()))
	f.Add("writer: {flush_bytes: 64MiB}")
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
