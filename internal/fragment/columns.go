package fragment

import (
	"encoding/json"
	"fmt"

	"github.com/togodb/togo/internal/event"
)

// DefaultMaxColumns bounds a tenant's list: engines plan over every column of a file,
// and a tenant that sends ids as names would otherwise grow it without end.
const DefaultMaxColumns = 1000

// firstFieldID is the Parquet field id of a tenant's first column; ids below belong to
// our own columns.
const firstFieldID = 100

// Column is one column of a tenant. It never changes.
type Column struct {
	Path    string
	Type    Type
	Name    string // in files and in SQL
	FieldID int32
}

// Columns is one version of a tenant's grow-only column list. It is immutable.
type Columns struct {
	Version uint64 // position in the tenant's chain; 0 is the empty list
	max     int
	list    []Column
	paths   map[string]*[numTypes]int32 // by path: index + 1 into list, by type
	folded  map[string]string           // base names in use, by their fold
	bases   map[string]string           // base name of each path
}

// NewColumns is the empty list with a bound.
func NewColumns(maxColumns int) *Columns {
	return &Columns{max: maxColumns, paths: map[string]*[numTypes]int32{}, folded: map[string]string{}, bases: map[string]string{}}
}

// All lists the columns in the order in which they came. The caller leaves it unchanged.
func (c *Columns) All() []Column { return c.list }

// bounded is the list with another bound; nil stays nil. A bound below what is there takes nothing away.
func (c *Columns) bounded(most int) *Columns {
	if c == nil || c.max == most {
		return c
	}
	next := *c
	next.max = most
	return &next
}

// Full tells that no further column will be granted under the list's bound.
func (c *Columns) Full() bool { return len(c.list) >= c.max }

// Lookup finds the column of a path and type.
func (c *Columns) Lookup(path string, t Type) (Column, bool) {
	if types := c.paths[path]; types != nil && types[t] > 0 {
		return c.list[types[t]-1], true
	}
	return Column{}, false
}

// OfPath lists the columns of a path, over which SQL reads it.
func (c *Columns) OfPath(path string) []Column {
	var out []Column
	if types := c.paths[path]; types != nil {
		for _, i := range types {
			if i > 0 {
				out = append(out, c.list[i-1])
			}
		}
	}
	return out
}

// has tells that all of need is there.
func (c *Columns) has(need []PathType) bool {
	for _, n := range need {
		if _, ok := c.Lookup(n.Path, n.Type); !ok {
			return false
		}
	}
	return true
}

// With is the list with those of need that are not there yet, as far as the bound
// allows, in the order of need. Version is the receiver's.
func (c *Columns) With(need []PathType) *Columns {
	next := &Columns{
		Version: c.Version, max: c.max,
		list:   append(make([]Column, 0, len(c.list)+len(need)), c.list...),
		paths:  make(map[string]*[numTypes]int32, len(c.paths)+len(need)),
		folded: make(map[string]string, len(c.folded)+len(need)),
		bases:  make(map[string]string, len(c.bases)+len(need)),
	}
	for path, types := range c.paths {
		copied := *types
		next.paths[path] = &copied
	}
	for f, b := range c.folded {
		next.folded[f] = b
	}
	for p, b := range c.bases {
		next.bases[p] = b
	}
	for _, n := range need {
		if _, ok := next.Lookup(n.Path, n.Type); !ok && !next.Full() && len(n.Path) <= MaxPathBytes {
			next.add(n)
		}
	}
	return next
}

func (c *Columns) add(n PathType) {
	name, known := c.bases[n.Path]
	if known {
		name += "@" + n.Type.String()
	} else {
		name = baseName(n.Path, func(folded string) string { return c.folded[folded] })
		c.bases[n.Path] = name
		if f := foldName(name); c.folded[f] == "" {
			c.folded[f] = name
		}
		c.paths[n.Path] = new([numTypes]int32)
	}
	c.list = append(c.list, Column{Path: n.Path, Type: n.Type, Name: name, FieldID: firstFieldID + int32(len(c.list))})
	c.paths[n.Path][n.Type] = int32(len(c.list))
}

// columnBytes is what a column of a list costs in memory beside its texts: the entry,
// and its parts of the maps.
const columnBytes = 320

// bytes estimates the list's memory.
func (c *Columns) bytes() int64 {
	n := int64(512)
	for i := range c.list {
		n += columnBytes + 3*int64(len(c.list[i].Path)+len(c.list[i].Name))
	}
	return n
}

// listRecord is one version of a list as it stands in the tenant's chain. Names and
// field ids follow from the order by the rule; they are written down for people and
// for other engines, and checked on read.
type listRecord struct {
	Format  int            `json:"format"`
	Tenant  event.TenantID `json:"tenant"`
	Nonce   string         `json:"nonce"`
	Columns []listColumn   `json:"columns"`
}

type listColumn struct {
	Path    string `json:"path"`
	Type    string `json:"type"`
	Name    string `json:"name"`
	FieldID int32  `json:"field_id"`
}

func (c *Columns) encode(tenant event.TenantID, nonce string) []byte {
	r := listRecord{Format: FormatVersion, Tenant: tenant, Nonce: nonce, Columns: make([]listColumn, len(c.list))}
	for i, col := range c.list {
		r.Columns[i] = listColumn{col.Path, col.Type.String(), col.Name, col.FieldID}
	}
	body, err := json.Marshal(r)
	if err != nil {
		panic(fmt.Sprintf("fragment: encode a column list: %v", err))
	}
	return body
}

// decodeColumns reads what encode wrote; nonce is the record's.
func decodeColumns(body []byte, tenant event.TenantID, version uint64, maxColumns int) (c *Columns, nonce string, err error) {
	var format struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(body, &format); err != nil {
		return nil, "", fmt.Errorf("%w: column list: %w", ErrCorrupt, err)
	}
	if format.Format > FormatVersion {
		return nil, "", fmt.Errorf("%w: column list has format %d, this version reads up to %d", ErrNewerFormat, format.Format, FormatVersion)
	}
	var r listRecord
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, "", fmt.Errorf("%w: column list: %w", ErrCorrupt, err)
	}
	if format.Format < 1 || r.Tenant != tenant {
		return nil, "", fmt.Errorf("%w: column list of format %d, tenant %q", ErrCorrupt, r.Format, r.Tenant)
	}
	// The bound holds for what is added; a list made under a higher one stays whole.
	c = NewColumns(len(r.Columns))
	for i, col := range r.Columns {
		n := PathType{Path: col.Path, Type: typeOf(col.Type)}
		if _, repeated := c.Lookup(n.Path, n.Type); n.Type == 0 || repeated {
			return nil, "", fmt.Errorf("%w: column list: entry %d (%q, %q)", ErrCorrupt, i, col.Path, col.Type)
		}
		c.add(n)
		if got := c.list[i]; got.Name != col.Name || got.FieldID != col.FieldID {
			return nil, "", fmt.Errorf("%w: column list: entry %d is %q (%d), by the rule of names %q (%d)", ErrCorrupt, i, col.Name, col.FieldID, got.Name, got.FieldID)
		}
	}
	c.max, c.Version = maxColumns, version
	return c, r.Nonce, nil
}

func typeOf(name string) Type {
	for t := Boolean; t <= JSON; t++ {
		if typeNames[t] == name {
			return t
		}
	}
	return 0
}
