package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/togodb/togo/bench/traffic"
)

const (
	repeatEvery = 50 // one event of so many is an exact repeat of a recent one: 2%
	maxTenants  = 1000
	// Times of events rise as if so many came in a second; the writer's clock follows them.
	eventsPerSecond = 100_000
	perPoll         = 1000
	chunkEvents     = 50_000 // read into memory at a time, outside of what is measured
)

func (o *options) data() string { return filepath.Join(o.dir, "events.ndjson") }

// makeData writes the events, a line each, and returns how many differ.
func makeData(o *options) (unique int64, bytes int64, err error) {
	f, err := os.Create(o.data())
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	events := traffic.Plain(1, repeatEvery)
	at := traffic.Start
	for range o.events {
		at = at.Add(time.Second / eventsPerSecond)
		e := events.Next(o.tenants, at, nil)
		if !e.Repeat {
			unique++
		}
		n, err := w.Write(withTenant(e))
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

// withTenant is the event's line: its payload, with the tenant in it.
func withTenant(e traffic.Event) []byte {
	return fmt.Appendf(e.Payload[:len(e.Payload)-1:len(e.Payload)-1], ",\"tenant\":\"tenant-%03d\"}\n", e.Tenant)
}

// chunks are the events of the file, some at a time.
type chunks struct {
	file  *os.File
	in    *bufio.Reader
	room  []byte
	lines [][]byte
	at    time.Time // of the last line handed out
}

func openChunks(o *options) (*chunks, error) {
	f, err := os.Open(o.data())
	if err != nil {
		return nil, err
	}
	return &chunks{file: f, in: bufio.NewReaderSize(f, 1<<20), at: traffic.Start}, nil
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
