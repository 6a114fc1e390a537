package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/togodb/togo/internal/event"
	"github.com/togodb/togo/query"
	"github.com/togodb/togo/query/api/client"
	"github.com/togodb/togo/query/api/format"
	"github.com/togodb/togo/query/exec"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/scan"
	"github.com/togodb/togo/query/vec"
)

type queryCmd struct {
	tenantFlags
	SQL      string `arg:"" optional:"" name:"sql" help:"The query; without it, or with -, standard input."`
	File     string `short:"f" help:"Read the query from a file." type:"existingfile" placeholder:"FILE"`
	Server   string `help:"Ask a server, such as http://localhost:8080; without it, the configured store is read." env:"TOGO_SERVER" placeholder:"URL"`
	Token    string `help:"Bearer token for the server; better in the environment than here." env:"TOGO_TOKEN" placeholder:"TOKEN"`
	Format   string `help:"table, csv, json, ndjson or arrow." enum:"table,csv,json,ndjson,arrow" default:"table" placeholder:"FORMAT"`
	Limit    int64  `help:"At most so many rows; 0: all (10000 in a table)." placeholder:"N"`
	Width    int    `help:"Cut cells of a table that are wider; 0: never." default:"80" placeholder:"N"`
	Snapshot string `help:"See what an earlier answer saw; its snapshot is in JSON and in --stats." placeholder:"S"`
	Stats    bool   `help:"Say on standard error what the answer cost."`
}

// tableRows bounds a table, which is in memory until its columns' widths are known.
const tableRows = 10_000

func (c queryCmd) Run(a *app) error {
	r, err := c.request(os.Stdin)
	if err != nil {
		return err
	}
	engine, stop, err := c.answerer(a)
	if err != nil {
		return err
	}
	defer stop()
	summary, err := c.ask(a.ctx, engine, r, a.out, os.Stderr)
	if err != nil {
		return errors.New(located(r.SQL, err))
	}
	if summary.More {
		fmt.Fprintf(os.Stderr, "the first %d rows; there are more (--limit, --format)\n", summary.Rows)
	}
	if c.Stats {
		fmt.Fprintf(os.Stderr, "snapshot %s\nstatistics %s\n", summary.Snapshot, format.StatisticsOf(summary).Line())
	}
	return nil
}

// request is what the flags and the input ask for.
func (c queryCmd) request(stdin io.Reader) (query.Request, error) {
	r := query.Request{From: (*event.Timestamp)(c.From), To: (*event.Timestamp)(c.To), Snapshot: c.Snapshot, Limit: c.Limit}
	var err error
	if r.Tenant, err = anyOwner(c.Tenant); err != nil {
		return r, err
	}
	switch {
	case c.File != "" && c.SQL != "":
		return r, errors.New("give the query or --file, not both")
	case c.Limit < 0:
		return r, fmt.Errorf("--limit %d is negative", c.Limit)
	case c.File != "":
		text, err := os.ReadFile(c.File)
		r.SQL = string(text)
		return r, err
	case c.SQL != "" && c.SQL != "-":
		r.SQL = c.SQL
		return r, nil
	}
	text, err := io.ReadAll(stdin)
	r.SQL = string(text)
	return r, err
}

// answerer is the server, or an engine on the store.
func (c queryCmd) answerer(a *app) (engine query.Answerer, stop func(), err error) {
	if c.Server != "" {
		engine, err = client.New(c.Server, c.Token)
		return engine, func() {}, err
	}
	return a.engine()
}

// ask writes an answer, with progress on the second writer if that is a terminal.
func (c queryCmd) ask(ctx context.Context, engine query.Answerer, r query.Request, out io.Writer, terminal *os.File) (*query.Summary, error) {
	buffered := bufio.NewWriterSize(out, 64<<10)
	var w format.Writer
	if c.Format == "table" {
		if r.Limit == 0 {
			r.Limit = tableRows
		}
		w = &table{out: buffered, cut: c.Width}
	} else {
		w = format.New(format.Format(c.Format), buffered)
	}
	r.Stats = &scan.Stats{}
	p := startProgress(terminal, r.Stats)
	defer p.stop()
	s, err := engine.Query(ctx, r, quietly{w, p, c.Format != "table"})
	p.stop()
	if err != nil {
		var e *fail.Error
		if errors.As(err, &e) {
			_ = w.Fail(e) // the error itself says more
		}
		return s, errors.Join(err, buffered.Flush())
	}
	return s, errors.Join(w.End(s, format.StatisticsOf(s)), buffered.Flush())
}

// quietly ends the progress before the first row is written.
type quietly struct {
	format.Writer
	progress *progress
	streams  bool
}

func (q quietly) Columns(o []exec.Output) error { return q.Writer.Columns(o) }

func (q quietly) Batch(b *vec.Batch) error {
	if q.streams {
		q.progress.stop()
	}
	return q.Writer.Batch(b)
}

// located adds the line of the text that an error is in, and a mark below its place.
func located(sql string, err error) string {
	var e *fail.Error
	if !errors.As(err, &e) || e.Line < 1 {
		return err.Error()
	}
	lines := strings.Split(sql, "\n")
	if e.Line > len(lines) {
		return err.Error()
	}
	line := strings.TrimSuffix(lines[e.Line-1], "\r")
	runes := []rune(line)
	before := string(runes[:min(max(e.Column-1, 0), len(runes))])
	return fmt.Sprintf("%s\n  %s\n  %s^", e.Error(), visible(line), strings.Repeat(" ", width(visible(before))))
}
