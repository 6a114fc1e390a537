package main

import (
	"errors"
	"go/format"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const small = `# The answer is wrong:
# nobody would believe it.
--- a/one/a.go
+++ b/one/a.go
@@ -1,3 +1,3 @@
 func answer() int {
-	return 42
+	return 41
 }
--- a/one/b.go
+++ b/one/b.go
@@ -7 +7,2 @@ func question() {
 	ask()
+	ask()
`

func tree(files map[string]string) func(string) (string, error) {
	return func(file string) (string, error) {
		if text, ok := files[file]; ok {
			return text, nil
		}
		return "", errors.New("no file " + file)
	}
}

func TestPatchApplies(t *testing.T) {
	m, err := parse("small", small)
	if err != nil {
		t.Fatal(err)
	}
	if m.about != "The answer is wrong: nobody would believe it." {
		t.Errorf("about %q", m.about)
	}
	if got := strings.Join(m.packages(), " "); got != "./one" {
		t.Errorf("packages %s", got)
	}
	got, err := m.apply(tree(map[string]string{
		"one/a.go": "package one\n\nfunc answer() int {\n\treturn 42\n}\n",
		"one/b.go": "package one\n\nfunc question() {\n\task()\n}\n",
	}))
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"one/a.go": "package one\n\nfunc answer() int {\n\treturn 41\n}\n",
		"one/b.go": "package one\n\nfunc question() {\n\task()\n\task()\n}\n",
	} {
		if got[file] != want {
			t.Errorf("%s became\n%s", file, got[file])
		}
	}
}

// TestPatchOfOtherCodeIsRefused: a patch that fits nowhere, or in two places, would
// break something else than it says.
func TestPatchOfOtherCodeIsRefused(t *testing.T) {
	m, err := parse("small", small)
	if err != nil {
		t.Fatal(err)
	}
	answer := "func answer() int {\n\treturn 42\n}\n"
	for name, files := range map[string]map[string]string{
		"nowhere":            {"one/a.go": "func answer() int {\n\treturn 40\n}\n", "one/b.go": "\task()\n"},
		"twice":              {"one/a.go": answer + answer, "one/b.go": "\task()\n"},
		"in a line's middle": {"one/a.go": "// " + answer, "one/b.go": "\task()\n"},
		"no file":            {"one/a.go": answer},
	} {
		if out, err := m.apply(tree(files)); err == nil {
			t.Errorf("%s: it became %v", name, out)
		}
	}
	same, err := parse("same", "# nothing\n--- a/x.go\n+++ b/x.go\n@@ -1 +1 @@\n a\n")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := same.apply(tree(map[string]string{"x.go": "a\n"})); err == nil {
		t.Error("a hunk that changes nothing was taken")
	}
}

func TestDamagedPatchIsRefused(t *testing.T) {
	for name, text := range map[string]string{
		"no word of what it breaks": strings.TrimPrefix(small, "# The answer is wrong:\n# nobody would believe it.\n"),
		"no hunk":                   "# words\n--- a/x.go\n+++ b/x.go\n",
		"text between":              "# words\nthen\n" + small,
		"no diff":                   strings.Replace(small, "-\treturn 42", "*\treturn 42", 1),
	} {
		if m, err := parse("x", text); err == nil {
			t.Errorf("%s: it was read as %+v", name, m)
		}
	}
}

// TestMutantsApply holds the patches against the code of today: each applies and gives
// Go code.
func TestMutantsApply(t *testing.T) {
	root := filepath.Join("..", "..")
	list, err := load(filepath.Join(root, "mutants"), "*")
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 30 {
		t.Errorf("%d mutants: the test looks at the wrong folder", len(list))
	}
	for _, m := range list {
		changed, err := m.apply(func(file string) (string, error) {
			text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
			return string(text), err
		})
		if err != nil {
			t.Errorf("%v\nThe code has changed: make the same mistake in mutants/%s.patch by the new code.", err, m.name)
			continue
		}
		for file, text := range changed {
			if _, err := format.Source([]byte(text)); err != nil {
				t.Errorf("%s: %s is no Go code any more: %v", m.name, file, err)
			}
		}
	}
}
