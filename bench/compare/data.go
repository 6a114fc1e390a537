package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/togodb/togo/bench/load"
)

const (
	perPoll     = 1000
	chunkEvents = 50_000 // read into memory at a time, outside of what is measured
	// The clock of Togo's parts goes as if so many events came in a second.
	eventsPerSecond = 100_000
)

// begin is the time of the first event.
var begin = time.Date(2026, 3, 1, 12, 30, 0, 0, time.UTC)

func (o *options) data() string { return filepath.Join(o.dir, "events.ndjson") }

// makeData writes the events, a line each, and returns how many differ.
func makeData(o *options) (unique int64, bytes int64, err error) {
	f, err := os.Create(o.data())
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	events, err := stream()
	if err != nil {
		return 0, 0, err
	}
	var room []byte
	for range o.events {
		e := events.Next(room[:0])
		room = withTenant(e)
		if !e.Duplicate {
			unique++
		}
		n, err := w.Write(room)
		if err != nil {
			return 0, 0, err
		}
		bytes += int64(n)
	}
	if err := w.Flush(); err != nil {
		return 0, 0, err
	}
	return unique, bytes, f.Close()
}

// stream is the workload "small" but for its late events: a tenant's events of another hour are files of their own for Togo alone.
func stream() (*load.Stream, error) {
	w, err := load.Open("small")
	if err != nil {
		return nil, err
	}
	w.Late = load.Late{}
	return w.Events(1, begin), nil
}

// withTenant is the event's line: its payload, with the tenant in it.
func withTenant(e load.Event) []byte {
	return fmt.Appendf(e.Value[:len(e.Value)-1], ",\"tenant\":\"%s\"}\n", e.Tenant)
}

// chunks are the events of the file, some at a time.
type chunks struct {
	file  *os.File
	in    *bufio.Reader
	room  []byte
	lines [][]byte
}

func openChunks(o *options) (*chunks, error) {
	f, err := os.Open(o.data())
	if err != nil {
		return nil, err
	}
	return &chunks{file: f, in: bufio.NewReaderSize(f, 1<<20)}, nil
}

// next gives the next lines, valid until the call after it; none at the end.
func (c *chunks) next() ([][]byte, error) {
	c.room, c.lines = c.room[:0], c.lines[:0]
	var ends []int
	for len(ends) < chunkEvents {
		line, err := c.in.ReadSlice('\n')
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		c.room = append(c.room, bytes.TrimSuffix(line, []byte("\n"))...)
		ends = append(ends, len(c.room))
	}
	from := 0
	for _, end := range ends {
		c.lines = append(c.lines, c.room[from:end:end])
		from = end
	}
	return c.lines, nil
}

func (c *chunks) close() { c.file.Close() }
