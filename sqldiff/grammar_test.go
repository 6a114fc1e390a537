package main

import (
	"database/sql"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	togosql "github.com/togodb/togo/query/sql"
)

// Togo's parser must read an expression as DuckDB's does: what Togo writes of its tree, with all its parentheses, must be the same tree to
// DuckDB as the text that Togo read. Left out are -> and ->>,
// of which DuckDB's left operand is all that stands before it, AND and OR too.
func TestGrammarIsDuckDBs(t *testing.T) {
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	r := rand.New(rand.NewPCG(5, 5))
	read, refused, wrong := 0, 0, 0
	for range 4000 {
		text := "SELECT " + expression(r, 5)
		want, wantErr := duckTree(db, text)
		s, err := togosql.Parse(text)
		switch {
		case err != nil && wantErr != "":
			refused++
			continue
		case err != nil:
			t.Errorf("%s\n  only Togo refuses it: %v", text, err)
		case wantErr != "":
			t.Errorf("%s\n  only DuckDB refuses it: %s", text, wantErr)
		default:
			read++
			got, gotErr := duckTree(db, s.String())
			if gotErr == "" && reflect.DeepEqual(got, want) {
				continue
			}
			t.Errorf("%s\n  Togo reads it as\n%s\n  %s", text, s, gotErr)
		}
		if wrong++; wrong > 10 {
			t.Fatal("and so on")
		}
	}
	if read < 1000 || refused < 50 {
		t.Errorf("%d read, %d refused by both: the generator is worth little", read, refused)
	}
}

// duckTree is DuckDB's tree of a query, without places and with one name for what has several.
func duckTree(db *sql.DB, text string) (tree any, refused string) {
	var raw any
	if err := db.QueryRow("SELECT json_serialize_sql(" + literal(text) + ")").Scan(&raw); err != nil {
		return nil, err.Error()
	}
	b, err := json.Marshal(raw)
	if err != nil {
		return nil, err.Error()
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, err.Error()
	}
	if m["error"] != false {
		return nil, strings.TrimSpace(string(b))
	}
	return plainTree(m), ""
}

var sameName = map[string]string{"^": "pow", "**": "pow", "~": "regexp_full_match", "^@": "starts_with"}

func plainTree(v any) any {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "query_location")
		delete(v, "is_operator")
		delete(v, "schema")
		delete(v, "catalog")
		if name, ok := v["function_name"].(string); ok && sameName[name] != "" {
			v["function_name"] = sameName[name]
		}
		for k, x := range v {
			v[k] = plainTree(x)
		}
	case []any:
		for i, x := range v {
			v[i] = plainTree(x)
		}
	}
	return v
}

// expression is a text of operators and operands in any order that may be one, mostly without parentheses.
func expression(r *rand.Rand, n int) string {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	var b strings.Builder
	condition := true // where NOT may stand: within another operator Togo wants parentheses around it
	operand := func() {
		switch {
		case condition && r.IntN(4) == 0:
			b.WriteString(pick("NOT ", "NOT NOT ", "NOT - "))
		case r.IntN(4) == 0:
			b.WriteString(pick("- ", "+ ", "- - ", "~ ", "~ -", "- ~ "))
		}
		condition = false
		switch r.IntN(8) {
		case 0:
			b.WriteString("(" + expression(r, r.IntN(3)) + ")")
		case 1:
			b.WriteString("f(" + expression(r, r.IntN(3)) + ", b)")
		case 2:
			b.WriteString("CASE WHEN " + expression(r, r.IntN(2)) + " THEN " + expression(r, r.IntN(2)) + " ELSE c END")
		default:
			b.WriteString(pick("a", "b", `"c d"`, "1", "2.5", "'x'", "NULL", "TRUE", "t.e"))
		}
	}
	operand()
	for range r.IntN(n + 1) {
		switch r.IntN(12) {
		case 0:
			b.WriteString(pick(" BETWEEN ", " NOT BETWEEN "))
			operand()
			b.WriteString(" AND ")
			operand()
		case 1:
			b.WriteString(pick(" IN (1, a)", " NOT IN (b + 1)", " IN ('x')"))
		case 2:
			b.WriteString(pick(" LIKE ", " NOT LIKE ", " ILIKE ", " NOT ILIKE "))
			operand()
			if r.IntN(3) == 0 {
				b.WriteString(" ESCAPE '!'")
			}
		case 3:
			b.WriteString(pick(" IS NULL", " IS NOT NULL", " ISNULL", " NOTNULL", " IS DISTINCT FROM a", " IS NOT DISTINCT FROM b", " NOT NULL"))
		case 4:
			b.WriteString(pick("::INT", "::VARCHAR", "::DECIMAL(10, 2)"))
		case 5:
			b.WriteString(pick(" AND ", " OR "))
			condition = true
			operand()
		case 6:
			b.WriteString(pick(" = ", " <> ", " < ", " <= ", " > ", " >= ", " == ", " != "))
			operand()
		default:
			b.WriteString(pick(" + ", " - ", " * ", " / ", " // ", " % ", " || ", " & ", " | ", " << ", " >> ", " ^ ", " ** ", " ^@ ", " ~ ", " !~ ", " AT TIME ZONE ", " ~~ ", " SIMILAR TO "))
			operand()
		}
	}
	return b.String()
}
