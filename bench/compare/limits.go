package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"runtime"

	"github.com/buger/jsonparser"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	parquetzstd "github.com/parquet-go/parquet-go/compress/zstd"
	"github.com/togodb/togo/internal/event/jsonscan"
	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/objstore/s3store"
)

// The limits: what one step takes for the same events if nothing else is done.

// parse has every event parsed whole, by Togo's scanner: the fastest one known to us that checks all of JSON.
func parse(_ context.Context, o *options) (figures, error) {
	var tape jsonscan.Tape
	return overLines(o, func(line []byte) error { return tape.Parse(line) })
}

// parseJSONParser has every leaf handed out by a public parser, which checks less.
func parseJSONParser(_ context.Context, o *options) (figures, error) {
	var leaves int
	var object func(key, value []byte, kind jsonparser.ValueType, offset int) error
	object = func(_, value []byte, kind jsonparser.ValueType, _ int) error {
		if kind == jsonparser.Object {
			return jsonparser.ObjectEach(value, object)
		}
		leaves++
		return nil
	}
	return overLines(o, func(line []byte) error { return jsonparser.ObjectEach(line, object) })
}

func overLines(o *options, do func(line []byte) error) (figures, error) {
	in, err := openChunks(o)
	if err != nil {
		return figures{}, err
	}
	defer in.close()
	m := meter{figures: figures{Events: int64(o.events)}}
	for {
		lines, err := in.next()
		if err != nil || len(lines) == 0 {
			return m.figures, err
		}
		m.start()
		for _, line := range lines {
			if err := do(line); err != nil {
				return figures{}, fmt.Errorf("%w in %s", err, line)
			}
		}
		m.stop()
	}
}

// row is an event as parquet-go writes it fastest: a struct known when the program is built. Text that comes again and again has a
// dictionary.
type row struct {
	Timestamp string `json:"timestamp" parquet:"-"`
	Time      int64  `json:"-" parquet:"timestamp,timestamp(microsecond)"`
	ID        string `json:"event_id" parquet:"event_id"`
	Tenant    string `json:"tenant" parquet:"-"`
	Service   string `json:"service" parquet:"service,dict"`
	Status    int64  `json:"status" parquet:"status,dict"`
	Level     string `json:"level" parquet:"level,dict"`
	Host      string `json:"host" parquet:"host,dict"`
	Region    string `json:"region" parquet:"region,dict"`
	Env       string `json:"env" parquet:"env,dict"`
	Version   string `json:"version" parquet:"version,dict"`
	HTTP      struct {
		Method   string  `json:"method" parquet:"method,dict"`
		Path     string  `json:"path" parquet:"path"`
		Route    string  `json:"route" parquet:"route,dict"`
		Bytes    int64   `json:"bytes" parquet:"bytes"`
		Duration float64 `json:"duration_ms" parquet:"duration_ms"`
	} `json:"http" parquet:"http"`
	User struct {
		ID      int64  `json:"id" parquet:"id"`
		Plan    string `json:"plan" parquet:"plan,dict"`
		Country string `json:"country" parquet:"country,dict"`
	} `json:"user" parquet:"user"`
	Trace   string `json:"trace_id" parquet:"trace_id"`
	Span    string `json:"span_id" parquet:"span_id"`
	Cached  bool   `json:"cached" parquet:"cached"`
	Retries int64  `json:"retries" parquet:"retries,dict"`
	Queue   string `json:"queue" parquet:"queue,dict"`
	Pod     string `json:"pod" parquet:"pod"`
	Message string `json:"message" parquet:"message"`
}

// columns has parquet-go write rows that lie ready in memory, as many to a file as Togo's writer has in one, to nowhere.
func columns(_ context.Context, o *options) (figures, error) {
	in, err := openChunks(o)
	if err != nil {
		return figures{}, err
	}
	defer in.close()
	rowsPerFile := max(1, o.events/max(1, o.files))
	out := parquet.NewGenericWriter[row](io.Discard, parquet.Compression(&parquetzstd.Codec{Level: zstd.SpeedFastest}))
	m := meter{figures: figures{Events: int64(o.events)}}
	var rows []row
	flush := func() error {
		runtime.GC() // of what the rows were made from
		m.start()
		defer m.stop()
		for len(rows) > 0 {
			n := min(rowsPerFile, len(rows))
			out.Reset(io.Discard)
			if _, err := out.Write(rows[:n]); err != nil {
				return err
			}
			if err := out.Close(); err != nil {
				return err
			}
			m.Files++
			rows = rows[n:]
		}
		return nil
	}
	for {
		lines, err := in.next()
		if err != nil || len(lines) == 0 {
			return m.figures, err
		}
		rows = make([]row, len(lines))
		for i, line := range lines {
			if err := json.Unmarshal(line, &rows[i]); err != nil {
				return figures{}, err
			}
			rows[i].Time = int64(i)
		}
		if err := flush(); err != nil {
			return figures{}, err
		}
	}
}

// put has as many bodies put as Togo's writer put files, of their mean size, one after the other: into a local folder, each synced, or to S3.
func put(ctx context.Context, o *options) (figures, error) {
	store, err := openPut(ctx, o)
	if err != nil {
		return figures{}, err
	}
	body := bytes.Repeat([]byte("Parquet."), int(o.fileBytes)/max(1, o.files)/8+1)
	m := meter{figures: figures{Events: int64(o.events), Files: o.files}}
	m.start()
	for i := range o.files {
		if err := store.Put(ctx, fmt.Sprintf("data/tenant-%03d/%d.parquet", i%200, i), body); err != nil {
			return figures{}, err
		}
	}
	m.stop()
	return m.figures, nil
}

func openPut(ctx context.Context, o *options) (objstore.Store, error) {
	if o.s3 == "" {
		return objstore.OpenDir(filepath.Join(o.dir, "put"))
	}
	var c s3store.Config
	if err := json.Unmarshal([]byte(o.s3), &c); err != nil {
		return nil, err
	}
	return s3store.New(ctx, c)
}
