package config

import (
	"fmt"
	"path/filepath"

	"github.com/togodb/togo/placements"
)

// Genesis is the first placement table of a new store.
func (c *Config) Genesis() placements.Genesis {
	g := placements.NewGenesis(int(c.ShardTopic.Partitions))
	g.Default.Spread = c.Placements.Spread
	g.Admission.Unknown = placements.Unknown(c.Placements.UnknownTenants)
	g.Admission.MaxTenants = c.Placements.MaxTenants
	for _, t := range c.Intake.Topics {
		if t.Mapping != nil {
			g.Mappings[t.Name] = *t.Mapping
		}
	}
	return g
}

// Location is where other programs find an object of the store.
func (s Store) Location(key string) string {
	if s.Dir == "" {
		prefix := s.S3.Prefix
		if prefix != "" {
			prefix += "/"
		}
		return fmt.Sprintf("s3://%s/%s%s", s.S3.Bucket, prefix, key)
	}
	path := filepath.Join(s.Dir, filepath.FromSlash(key))
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}
