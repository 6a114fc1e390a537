// Package config is the configuration of the program: one tree of settings with
// defaults. A YAML file (strict keys, ${VAR} from the environment) lies over the
// defaults, environment variables (TOGO_STORE_DIR for store.dir) over the file,
// and --set PATH=VALUE over both. Lists and maps are set whole: the last source that
// has one replaces it. Document writes the whole tree with the meaning of each
// setting. No error and no document tells a secret.
package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"github.com/togodb/togo/compactor"
	"github.com/togodb/togo/internal/access"
	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/kafka"
	"github.com/togodb/togo/internal/objstore/s3store"
	"github.com/togodb/togo/router"
	"github.com/togodb/togo/router/intake"
	"github.com/togodb/togo/writer"
)

// Config is the whole tree.
type Config struct {
	Log        Log                            `yaml:"log" doc:"What is logged, to standard error."`
	HTTP       HTTP                           `yaml:"http" doc:"The HTTP server: /metrics, /healthz, /ready, /status, /config, /v1/ingest, /v1/query."`
	Store      Store                          `yaml:"store" doc:"The object store: a local directory, or an S3 bucket. Set one of dir and s3.bucket."`
	Kafka      map[string]kafka.ClusterConfig `yaml:"kafka" doc:"Kafka clusters by name, each with brokers, client_id, rack, tls and sasl (docs/kafka.md)."`
	Intake     Intake                         `yaml:"intake" doc:"Where events come from."`
	ShardTopic ShardTopic                     `yaml:"shard_topic" doc:"The topic between router and writer; its partitions are the shards."`
	Placements Placements                     `yaml:"placements" doc:"Which shards hold a tenant. Used when the store is created; later changes go by 'togo placements sync', 'set' and 'default'."`
	Router     router.Config                  `yaml:"router" doc:"The role that reads intake topics."`
	Writer     writer.Config                  `yaml:"writer" doc:"The role that reads the shard topic and commits."`
	Compactor  compactor.Config               `yaml:"compactor" doc:"The role that merges fragments, raises floors by the tenants' retention, and deletes what nothing names any more."`
	Query      Query                          `yaml:"query" doc:"The role that answers SQL over HTTP (docs/query.md), and 'togo query'."`
}

// Log settings.
type Log struct {
	Level  slog.Level `yaml:"level" doc:"debug, info, warn or error."`
	Format string     `yaml:"format" doc:"text or json."`
}

// HTTP settings.
type HTTP struct {
	Listen string        `yaml:"listen" doc:"host:port; empty: no server."`
	Pprof  bool          `yaml:"pprof" doc:"Serve Go's profiles under /debug/pprof, to everybody who reaches the port: they tell what the program does, and a profile costs CPU time."`
	Tokens access.Tokens `yaml:"tokens" secret:"true" doc:"Bearer tokens: {token: {tenants: [acme], roles: [ingest, query]}}; the tenant '*' is every tenant, the role operator lists tenants. {token: acme} is short for one that may ingest. Empty: no token is asked for."`
}

// Store settings.
type Store struct {
	Dir       string         `yaml:"dir" doc:"A local directory."`
	S3        s3store.Config `yaml:"s3" doc:"An S3 bucket, or any store that honours If-None-Match on PUT."`
	MinTime   string         `yaml:"min_time" doc:"Earlier events are dead as too_far_in_past. Fixed when the store is created; RFC 3339."`
	MaxFuture time.Duration  `yaml:"max_future" doc:"An event may be this much later than its record's Kafka timestamp. Fixed when the store is created."`
}

// Intake settings.
type Intake struct {
	Topics []Topic       `yaml:"topics" doc:"Intake topics: {cluster, name, partitions, mapping}. Mappings go into the store when it is created; see docs/mapping.md."`
	HTTP   string        `yaml:"http_topic" doc:"The topic that POST /v1/ingest writes to; empty: no HTTP intake."`
	Limits intake.Config `yaml:"http" doc:"Limits of POST /v1/ingest."`
}

// Topic is one intake topic.
type Topic struct {
	Cluster string         `yaml:"cluster"`
	Name    string         `yaml:"name"`
	Mapping *event.Mapping `yaml:"mapping,omitempty"`
	// Partitions > 0 creates the topic if it is missing; `togo dev` creates it anyway.
	Partitions int32 `yaml:"partitions,omitempty"`
}

// ShardTopic settings.
type ShardTopic struct {
	Cluster    string `yaml:"cluster" doc:"Name of the cluster; may be another than the intake's."`
	Name       string `yaml:"name"`
	Replicated bool   `yaml:"replicated" doc:"Create the topic with min.insync.replicas=2. Set it wherever there is more than one broker."`
	Partitions int32  `yaml:"partitions" doc:"The number of shards. More may be added later, fewer never."`
}

// Placements settings.
type Placements struct {
	UnknownTenants string `yaml:"unknown_tenants" doc:"accept or deny tenants that have no placement."`
	MaxTenants     int    `yaml:"max_tenants" doc:"How many tenants without a placement are accepted; 0: any number."`
	Spread         int    `yaml:"spread" doc:"On how many shards the default rule spreads a tenant."`
}

// Default is the configuration without a file.
func Default() *Config {
	return &Config{
		Log:  Log{Level: slog.LevelInfo, Format: "text"},
		HTTP: HTTP{Listen: "127.0.0.1:8080"},
		Store: Store{
			S3:        s3store.Default(),
			MinTime:   "2000-01-01T00:00:00Z",
			MaxFuture: 10 * time.Minute,
		},
		Kafka:      map[string]kafka.ClusterConfig{"main": {Brokers: []string{"127.0.0.1:9092"}}},
		Intake:     Intake{Topics: []Topic{{Cluster: "main", Name: "events"}}, HTTP: "events", Limits: intake.DefaultConfig()},
		ShardTopic: ShardTopic{Cluster: "main", Name: "togo-shards", Partitions: 4},
		Placements: Placements{UnknownTenants: "accept", Spread: 1},
		Router:     router.DefaultConfig(),
		Writer:     writer.DefaultConfig(),
		Compactor:  compactor.DefaultConfig(),
		Query:      defaultQuery(),
	}
}

// Load reads the file (none if path is empty) and lays the environment and the
// overrides over it. It does not validate.
func Load(path string, overrides []string, lookupEnv func(string) (string, bool)) (*Config, error) {
	c := Default()
	if path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("configuration: %w", err)
		}
		expanded, err := expand(string(text), lookupEnv)
		if err != nil {
			return nil, fmt.Errorf("configuration %s: %w", path, err)
		}
		if err := decode([]byte(expanded), c); err != nil {
			return nil, fmt.Errorf("configuration %s: %w", path, err)
		}
	}
	for _, s := range settings(c) {
		if s.group {
			continue
		}
		if v, ok := lookupEnv(envName(s.path)); ok {
			if err := set(c, s.path, v); err != nil {
				return nil, fmt.Errorf("environment variable %s: %w", envName(s.path), err)
			}
		}
	}
	for _, o := range overrides {
		name, value, ok := strings.Cut(o, "=")
		if !ok {
			return nil, fmt.Errorf("--set %s: not of the form PATH=VALUE", o)
		}
		if err := set(c, name, value); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Validate reports every mistake, and refuses settings that void a promise.
func (c *Config) Validate() error {
	var errs []error
	bad := func(path, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s: %s", path, fmt.Sprintf(format, args...)))
	}
	if c.Log.Format != "text" && c.Log.Format != "json" {
		bad("log.format", "%q is neither text nor json", c.Log.Format)
	}
	if c.HTTP.Listen != "" {
		if _, _, err := net.SplitHostPort(c.HTTP.Listen); err != nil {
			bad("http.listen", "%v", err)
		}
	}
	errs = append(errs, c.Store.validate()...)
	for name, k := range c.Kafka {
		if err := k.Validate(); err != nil {
			bad("kafka."+name, "%v", err)
		}
	}
	c.validateTopics(bad)
	if u := c.Placements.UnknownTenants; u != "accept" && u != "deny" {
		bad("placements.unknown_tenants", "%q is neither accept nor deny", u)
	}
	if s := c.Placements.Spread; s < 1 || int64(s) > int64(c.ShardTopic.Partitions) {
		bad("placements.spread", "%d is not from 1 to the number of shards, %d", s, c.ShardTopic.Partitions)
	}
	if c.Placements.MaxTenants < 0 {
		bad("placements.max_tenants", "%d is negative", c.Placements.MaxTenants)
	}
	if err := c.Router.Validate(); err != nil {
		bad("router", "%v", err)
	}
	if err := c.Writer.Validate(); err != nil {
		bad("writer", "%v", err)
	}
	if err := c.Compactor.Validate(); err != nil {
		bad("compactor", "%v", err)
	}
	if err := c.Query.validate(c.Compactor.QueryGrace); err != nil {
		bad("query", "%v", err)
	}
	return errors.Join(errs...)
}

func (s *Store) validate() (errs []error) {
	switch {
	case (s.Dir == "") == (s.S3.Bucket == ""):
		errs = append(errs, errors.New("store: set exactly one of dir and s3.bucket"))
	case s.S3.Bucket != "":
		if err := s.S3.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("store.s3: %w", err))
		}
	}
	if s3 := s.S3; s3.Bucket == "" && (s3.Endpoint != "" || s3.Prefix != "" || s3.AccessKeyID != "") {
		errs = append(errs, errors.New("store.s3: settings of a bucket without store.s3.bucket"))
	}
	if _, err := time.Parse(time.RFC3339, s.MinTime); err != nil {
		errs = append(errs, fmt.Errorf("store.min_time: %w", err))
	}
	if s.MaxFuture <= 0 {
		errs = append(errs, fmt.Errorf("store.max_future: %s is not positive", s.MaxFuture))
	}
	return errs
}

func (c *Config) validateTopics(bad func(path, format string, args ...any)) {
	seen := map[string]bool{}
	for i, t := range c.Intake.Topics {
		path := fmt.Sprintf("intake.topics[%d]", i)
		if t.Name == "" {
			bad(path, "no name")
		}
		if seen[t.Name] {
			bad(path, "topic %s stands twice (mappings go by the topic's name)", t.Name)
		}
		seen[t.Name] = true
		if _, ok := c.Kafka[t.Cluster]; !ok {
			bad(path, "cluster %q is not under kafka", t.Cluster)
		}
		if t.Name == c.ShardTopic.Name && t.Cluster == c.ShardTopic.Cluster {
			bad(path, "%s is the shard topic", t.Name)
		}
		if t.Mapping != nil {
			if err := t.Mapping.Validate(); err != nil {
				bad(path+".mapping", "%v", err)
			}
		}
	}
	if len(c.Intake.Topics) == 0 {
		bad("intake.topics", "none")
	}
	if c.Intake.HTTP != "" && !seen[c.Intake.HTTP] {
		bad("intake.http_topic", "%q is none of intake.topics", c.Intake.HTTP)
	}
	limits := c.Intake.Limits
	limits.Tokens = c.HTTP.Tokens
	if err := limits.Validate(); err != nil {
		bad("intake.http", "%v", err)
	}
	if _, ok := c.Kafka[c.ShardTopic.Cluster]; !ok {
		bad("shard_topic.cluster", "%q is not under kafka", c.ShardTopic.Cluster)
	}
	if c.ShardTopic.Name == "" {
		bad("shard_topic.name", "empty")
	}
	if c.ShardTopic.Partitions < 1 {
		bad("shard_topic.partitions", "%d is not positive", c.ShardTopic.Partitions)
	}
}
