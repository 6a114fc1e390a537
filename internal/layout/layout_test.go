// Package layout holds the checks of the project's structure: the order of
// imports, one home for each outside dependency, and no cgo in the program.
package layout

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

const module = "github.com/togodb/togo/"

// rank orders the packages: a package imports only packages of a lower rank, or
// packages of its own folder. Folders that are not named here fail the test.
var rank = map[string]int{
	"internal/objstore": 0,
	"internal/event":    0,
	"internal/kafka":    1,
	"internal/access":   1,
	"internal/chain":    2,
	"placements":        3,
	"internal/tenants":  3,
	"internal/fragment": 4,
	"internal/idseg":    4,
	"internal/shardlog": 5,
	"router":            6,
	"writer":            6,
	"compactor":         6,
	"internal/inspect":  6,
	"query":             6,
	"bench":             7,
	"internal/e2e":      7,
	"internal/sim":      7,
	"cmd":               8,
}

// homes names the only folder whose (non-test) code may import an outside module.
var homes = map[string]string{
	"github.com/aws/":                  "internal/objstore",
	"github.com/zeebo/xxh3":            "internal/objstore internal/event query",
	"github.com/dchest/siphash":        "internal/event",
	"github.com/parquet-go/":           "internal/fragment",
	"github.com/klauspost/compress":    "internal/fragment internal/shardlog",
	"github.com/twmb/franz-go":         "internal/kafka",
	"github.com/RoaringBitmap/":        "internal/shardlog",
	"github.com/bits-and-blooms/":      "internal/idseg",
	"github.com/goccy/go-yaml":         "cmd bench",
	"github.com/alecthomas/kong":       "cmd",
	"github.com/alecthomas/participle": "query",
	"github.com/axiomhq/hyperloglog":   "query",
	"github.com/influxdata/tdigest":    "query",
	"golang.org/x/sys":                 "internal/objstore",
	"github.com/apache/arrow-go":       "query",
	// Metrics are written where they arise, in the metrics.go of each package.
	"github.com/prometheus/client_golang": "*",
}

// folder is the entry of rank that a package folder belongs to.
func folder(dir string) string {
	for d := dir; d != "."; d = filepath.Dir(d) {
		if _, ok := rank[d]; ok {
			return d
		}
	}
	return ""
}

type imp struct{ dir, file, path string }

// imports lists the imports of the program's own files; test files and packages
// that only tests use are left out.
func imports(t *testing.T) []imp {
	t.Helper()
	root := filepath.Join("..", "..")
	var out []imp
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if d.IsDir() {
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil && rel != "." {
				return filepath.SkipDir // a module of its own
			}
			if name := d.Name(); rel != "." && (strings.HasPrefix(name, ".") || name == "testdata") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") || strings.HasSuffix(rel, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, s := range f.Imports {
			out = append(out, imp{filepath.ToSlash(filepath.Dir(rel)), rel, strings.Trim(s.Path.Value, `"`)})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 100 {
		t.Fatalf("found %d imports: the test looks at the wrong folder", len(out))
	}
	return out
}

func TestImportsRunOneWay(t *testing.T) {
	for _, i := range imports(t) {
		if i.path == "C" {
			t.Errorf("%s: imports C; the program builds without cgo", i.file)
		}
		to, own := strings.CutPrefix(i.path, module)
		if !own {
			continue
		}
		from, target := folder(i.dir), folder(to)
		if from == "" || target == "" {
			t.Errorf("%s: imports %s: a folder without a place in the order (see rank)", i.file, i.path)
			continue
		}
		if from != target && rank[target] >= rank[from] {
			t.Errorf("%s: %s may not import %s", i.file, from, target)
		}
	}
}

func TestOneHomeForEachDependency(t *testing.T) {
	used := map[string]bool{}
	for _, i := range imports(t) {
		if !strings.Contains(strings.SplitN(i.path, "/", 2)[0], ".") || strings.HasPrefix(i.path, module) {
			continue
		}
		found := false
		for prefix, home := range homes {
			if !strings.HasPrefix(i.path, prefix) {
				continue
			}
			found, used[prefix] = true, true
			ok := home == "*"
			for _, h := range strings.Fields(home) {
				ok = ok || folder(i.dir) == h
			}
			if !ok {
				t.Errorf("%s: imports %s, whose home is %s", i.file, i.path, home)
			}
		}
		if !found {
			t.Errorf("%s: imports %s, which has no home (see homes)", i.file, i.path)
		}
	}
	var unused []string
	for prefix := range homes {
		if !used[prefix] {
			unused = append(unused, prefix)
		}
	}
	sort.Strings(unused)
	if len(unused) > 0 {
		t.Errorf("homes of dependencies that nothing uses: %v", unused)
	}
}
