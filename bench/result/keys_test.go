package result

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write the list of keys into docs/bench.md")

const (
	keysBegin = "<!-- keys: go test ./bench/result -run TestKeysAreDocumented -rewrite -->\n"
	keysEnd   = "<!-- end of keys -->\n"
	docsPath  = "../../docs/bench.md"
)

func TestKeysAreDocumented(t *testing.T) {
	for _, k := range Keys[Document]() {
		if k.Doc == "" || strings.HasSuffix(k.Path, ".") {
			t.Errorf("key %q has no name or no meaning (tags json and doc)", k.Path)
		}
		if strings.Contains(k.Doc, "|") {
			t.Errorf("key %q: its meaning breaks the table", k.Path)
		}
	}
	body, err := os.ReadFile(docsPath)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(body), keysBegin)
	table, after, ok2 := strings.Cut(rest, keysEnd)
	if !ok || !ok2 {
		t.Fatalf("%s lacks the marks around its list of keys", docsPath)
	}
	if *rewrite {
		if err := os.WriteFile(docsPath, []byte(before+keysBegin+Table[Document]()+keysEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if table != Table[Document]() {
		t.Errorf("%s has another list of keys than the document; -rewrite makes it anew", docsPath)
	}
}
