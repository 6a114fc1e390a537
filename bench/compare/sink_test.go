package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestTableRows(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(dir, "metadata"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "metadata", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(want int64) {
		t.Helper()
		if got, err := tableRows(dir); err != nil || got != want {
			t.Errorf("the table has %d rows (%v), want %d", got, err, want)
		}
	}
	expect(0) // no table
	write("00000-b.metadata.json", `{"snapshots": []}`)
	expect(0) // no snapshot
	write("00001-a.metadata.json", `{"current-snapshot-id": 7, "snapshots": [
		{"snapshot-id": 6, "summary": {"total-records": "12"}}, {"snapshot-id": 7, "summary": {"total-records": "34"}}]}`)
	expect(34)
	write("00002-a.metadata.json", `{"current-snap`)
	expect(0) // it is being written: ask again
}

func TestProcessCPU(t *testing.T) {
	before := processCPU(os.Getpid())
	for end := time.Now().Add(20 * time.Second); processCPU(os.Getpid()) < before+20*time.Millisecond; {
		if time.Now().After(end) {
			t.Fatal("a process that counts takes no time")
		}
	}
}
