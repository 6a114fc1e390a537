package funcs

import (
	"flag"
	"fmt"
	"os"
	"sort"
	"strings"
	"testing"

	"github.com/togodb/togo/query/exec/agg"
	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/sql"
)

var rewrite = flag.Bool("rewrite", false, "write the lists of functions in docs/sql.md anew")

const page = "../../docs/sql.md"

// list is the part of docs/sql.md between <!-- name --> and <!-- end -->.
func list(t *testing.T, text, name, want string) string {
	t.Helper()
	begin, end := "<!-- "+name+" -->\n", "<!-- end -->"
	before, rest, ok := strings.Cut(text, begin)
	have, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no part %s", page, begin)
	}
	if have != want && !*rewrite {
		t.Errorf("%s: the list of %s is not that of the program; go test ./query/funcs -run TestPage -rewrite writes it", page, name)
	}
	return before + begin + want + end + after
}

// The lists of functions in docs/sql.md are those of the program, and each difference from DuckDB that a test knows stands
// there with its reason.
func TestPage(t *testing.T) {
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for _, k := range Kinds() {
		text = list(t, text, strings.ToLower(k.Title), functions(k))
	}
	text = list(t, text, "aggregates", aggregates())
	for _, file := range []string{"testdata/differences.txt", "../expr/testdata/differences.txt"} {
		for _, line := range lines(t, file) {
			if !strings.Contains(strings.ToLower(text), strings.ToLower(line[len(line)-1])) {
				t.Errorf("%s does not say: %s (%s)", page, line[len(line)-1], line[0])
			}
		}
	}
	if *rewrite {
		if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func cell(s string) string { return strings.ReplaceAll(s, "|", "\\|") }

// functions are a kind's as a table, each name once, with the names that mean the same.
func functions(k Kind) string {
	same := map[string][]string{}
	var names []string
	forms := map[string][]*expr.Func{}
	for _, f := range k.Funcs {
		if of, ok := strings.CutPrefix(f.Doc, "The same as "); ok && !strings.Contains(of, "(") {
			of = strings.TrimSuffix(of, ".")
			if had := same[of]; len(had) == 0 || had[len(had)-1] != f.Name {
				same[of] = append(had, f.Name)
			}
			continue
		}
		if len(forms[f.Name]) == 0 {
			names = append(names, f.Name)
		}
		forms[f.Name] = append(forms[f.Name], f)
	}
	type row struct{ names, examples, doc string }
	var rows []row
	for _, name := range names {
		var examples, docs []string
		for _, f := range forms[name] {
			if f.Example != "" {
				examples = append(examples, "`"+cell(f.Example)+"`")
			}
			if !covered(docs, f.Doc) {
				docs = append(docs, f.Doc)
			}
		}
		r := row{"`" + cell(name) + "`", strings.Join(examples, "<br>"), cell(strings.Join(docs, " "))}
		if list := same[name]; len(list) > 0 {
			r.names += ", `" + strings.Join(list, "`, `") + "`"
		}
		r.doc = strings.ReplaceAll(r.doc, "'"+name+"'", "'...'")
		if last := len(rows) - 1; last >= 0 && rows[last].doc == r.doc {
			rows[last].names += ", " + r.names
			rows[last].examples += "<br>" + r.examples
			continue
		}
		rows = append(rows, r)
	}
	var b strings.Builder
	b.WriteString("\n| function | examples | |\n|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", r.names, r.examples, r.doc)
	}
	b.WriteString("\n")
	return b.String()
}

// covered tells whether what is said of another form says it all.
func covered(docs []string, doc string) bool {
	for _, d := range docs {
		if strings.HasPrefix(d, strings.TrimSuffix(doc, ".")) || strings.HasPrefix(doc, strings.TrimSuffix(d, ".")+".") {
			return true
		}
	}
	return false
}

func aggregates() string {
	names, docs := agg.Names()
	order := make([]int, len(names))
	for i := range order {
		order[i] = i
	}
	sort.Slice(order, func(i, j int) bool { return names[order[i]] < names[order[j]] })
	var b strings.Builder
	b.WriteString("\n| aggregate | other names | |\n|---|---|---|\n")
	for _, i := range order {
		call, about, _ := strings.Cut(docs[i], ": ")
		others := ""
		if list := agg.OtherNames(names[i]); len(list) > 0 {
			others = "`" + strings.Join(list, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", cell(call), others, cell(about))
	}
	b.WriteString("\n")
	return b.String()
}

// What stands in the pages as SQL is SQL.
func TestPagesParse(t *testing.T) {
	count := 0
	for _, name := range []string{page, "../../docs/query.md"} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range strings.Split(string(b), "```sql\n")[1:] {
			block, _, _ = strings.Cut(block, "```")
			for _, text := range strings.Split(block, "\nselect")[0:] {
				if text = strings.TrimPrefix(strings.TrimSpace(text), "select"); text == "" {
					continue
				}
				count++
				if _, err := sql.Parse("select " + text); err != nil {
					t.Errorf("%s: %v in\n%s", name, err, text)
				}
			}
		}
	}
	if count < 3 {
		t.Errorf("%d queries", count)
	}
}
