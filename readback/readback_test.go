// Package readback reads fragments with other engines and compares every value with
// what was sent. It is a module of its own, because DuckDB needs cgo and the
// program must not.
package readback

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/internal/fragment"
	"github.com/togodb/togo/internal/objstore"
)

const tenant = "readback"

// record is a row as another engine gives it: non-null values by column name, as int64,
// float64, bool, string (JSON columns too) or []byte.
type record map[string]any

func openDuckDB(t testing.TB) *sql.DB {
	t.Helper()
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// duckRows reads files whole. JSON columns are read as their text, times as microseconds.
func duckRows(db *sql.DB, files ...string) ([]record, error) {
	from := fmt.Sprintf("read_parquet(['%s'], union_by_name=true)", strings.Join(files, "','"))
	names, err := db.Query("DESCRIBE SELECT * FROM " + from)
	if err != nil {
		return nil, err
	}
	defer names.Close()
	var columns []string
	for names.Next() {
		var name, kind string
		var ignored any
		if err := names.Scan(&name, &kind, &ignored, &ignored, &ignored, &ignored); err != nil {
			return nil, err
		}
		quoted := `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
		switch kind {
		case "JSON":
			quoted += "::VARCHAR"
		case "TIMESTAMP WITH TIME ZONE":
			quoted = "epoch_us(" + quoted + ")"
		}
		columns = append(columns, quoted+` AS "`+strings.ReplaceAll(name, `"`, `""`)+`"`)
	}
	rows, err := db.Query("SELECT " + strings.Join(columns, ", ") + " FROM " + from)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	header, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var out []record
	values, places := make([]any, len(header)), make([]any, len(header))
	for i := range places {
		places[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(places...); err != nil {
			return nil, err
		}
		r := record{}
		for i, v := range values {
			if v == nil {
				continue
			}
			if n, ok := v.(int32); ok {
				v = int64(n)
			}
			r[header[i]] = v
		}
		out = append(out, r)
	}
	return out, rows.Err()
}

// sent is what a test hands to Encode, with its registry.
type sent struct {
	registry *fragment.Registry
	rows     []fragment.Row
}

func newRegistry() *fragment.Registry {
	return fragment.NewRegistry(objstore.NewMemory(), fragment.RegistryConfig{})
}

func eventRows(payloads ...string) []fragment.Row {
	rows := make([]fragment.Row, len(payloads))
	for i, p := range payloads {
		rows[i] = fragment.Row{
			Timestamp: event.Timestamp(1_700_000_000_000_000_000 + int64(i)*1_000_001), ID: fmt.Appendf(nil, "id-%d", i),
			IngestedAt: 1_700_000_100_000_000_000, Format: event.FormatJSON, Payload: []byte(p),
			Source: &event.Source{Cluster: "c", Partition: 2}, Offset: int64(i),
		}
	}
	return rows
}

// write encodes the rows into a file.
func (s *sent) write(dir, name string) (string, error) {
	f, err := fragment.Encode(context.Background(), fragment.Input{Tenant: tenant, Kind: fragment.Events, Seq: 5, Rows: s.rows}, s.registry)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	return path, os.WriteFile(path, f.Body, 0o644)
}

// leaf is a value of an event with the keys that lead to it.
type leaf struct {
	keys  []string
	value any // as encoding/json with UseNumber gives it
}

func leavesOf(payload []byte) ([]leaf, error) {
	d := json.NewDecoder(bytes.NewReader(payload))
	d.UseNumber()
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	var out []leaf
	var walk func(keys []string, v any)
	walk = func(keys []string, v any) {
		if m, ok := v.(map[string]any); ok && len(m) > 0 {
			for k, w := range m {
				walk(append(keys[:len(keys):len(keys)], k), w)
			}
			return
		}
		out = append(out, leaf{keys, v})
	}
	walk(nil, v)
	return out, nil
}

var ownNames = map[string]bool{
	"timestamp": true, "nanos": true, "id": true, "ingested_at": true, "source_partition": true, "source_offset": true,
	"_seq": true, "_rest": true, "_keys": true, "_raw": true,
}

// check compares what an engine read with what was sent, value for value. Names of keys
// must be plain: the rule of names has tests of its own.
func (s *sent) check(got []record) error {
	columns, err := s.registry.Ensure(context.Background(), tenant, nil)
	if err != nil {
		return err
	}
	byID := map[string]record{}
	for _, r := range got {
		byID[r["id"].(string)] = r
	}
	if len(got) != len(s.rows) || len(byID) != len(s.rows) {
		return fmt.Errorf("%d rows, %d ids, %d sent", len(got), len(byID), len(s.rows))
	}
	for i := range s.rows {
		row := &s.rows[i]
		r := byID[string(row.ID)]
		if r == nil {
			return fmt.Errorf("no row %q", row.ID)
		}
		nanos, _ := r["nanos"].(int64)
		if at := r["timestamp"].(int64)*1000 + nanos; at != int64(row.Timestamp) || r["source_offset"] != row.Offset || r["_seq"] != int64(5) {
			return fmt.Errorf("row %q: %v", row.ID, r)
		}
		leaves, err := leavesOf(row.Payload)
		if err != nil {
			return err
		}
		if err := checkLeaves(columns, r, leaves); err != nil {
			return fmt.Errorf("row %q, sent %.500s: %w", row.ID, row.Payload, err)
		}
	}
	return nil
}

func checkLeaves(columns *fragment.Columns, r record, leaves []leaf) error {
	attributes := 0
	for name := range r {
		if !ownNames[name] {
			attributes++
		}
	}
	var rest []leaf
	if text, ok := r["_rest"].(string); ok {
		var err error
		if rest, err = leavesOf([]byte(text)); err != nil {
			return fmt.Errorf("_rest %q: %w", text, err)
		}
	}
	for _, l := range leaves {
		found := 0
		for _, c := range columns.OfPath(strings.Join(l.keys, ".")) {
			v, ok := r[c.Name]
			if !ok {
				continue
			}
			found++
			if !sameValue(c.Type, v, l.value) {
				return fmt.Errorf("column %q holds %v (%T)", c.Name, v, v)
			}
		}
		attributes -= found
		for _, o := range rest {
			if strings.Join(o.keys, "\x00") == strings.Join(l.keys, "\x00") && fmt.Sprint(o.value) == fmt.Sprint(l.value) {
				found++
			}
		}
		if found != 1 {
			return fmt.Errorf("%q is in %d places: %v", l.keys, found, r)
		}
	}
	if attributes != 0 {
		return fmt.Errorf("%d values that were not sent: %v", attributes, r)
	}
	return nil
}

func sameValue(t fragment.Type, got, want any) bool {
	number, isNumber := want.(json.Number)
	switch t {
	case fragment.Boolean, fragment.String:
		return got == want
	case fragment.Int64:
		return isNumber && strconv.FormatInt(got.(int64), 10) == string(number)
	case fragment.Double:
		f, err := strconv.ParseFloat(string(number), 64)
		exact, ok := new(big.Rat).SetString(string(number))
		shortest, ok2 := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
		return isNumber && err == nil && got == f && ok && ok2 && exact.Cmp(shortest) == 0
	}
	if isNumber {
		return got == string(number)
	}
	d := json.NewDecoder(strings.NewReader(got.(string)))
	d.UseNumber()
	var v any
	return d.Decode(&v) == nil && fmt.Sprint(v) == fmt.Sprint(want)
}
