package api

import (
	"net/http"
	"strconv"
	"time"

	"github.com/togodb/togo/query"
	"github.com/togodb/togo/query/api/format"
	"github.com/togodb/togo/query/exec"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/vec"
)

const (
	// holdBytes is how much of an answer is held back, so that an error up to there has a status.
	holdBytes = 256 << 10
	// flushAfter: rows that are there wait no longer for more.
	flushAfter = time.Second
)

// errLeft: the client left, or takes nothing.
var errLeft = fail.New(fail.Cancelled, "the client left, or takes nothing of its answer")

// errOld: HTTP/1.0 ends a body of unknown length as it ends one that broke off, so that half an answer would look whole.
var errOld = fail.New(fail.Request, "an answer above %d KiB cannot come over HTTP/1.0, which does not tell whether it is whole: ask by HTTP/1.1 (nginx: proxy_http_version 1.1), or add a LIMIT", holdBytes>>10)

// reply holds back the begin of an answer and sends the rest in large parts. It is one goroutine's.
type reply struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
	old     bool          // HTTP/1.0: nothing is sent before all is there
	writer  format.Writer // set once the answer is one of a query
	buf     []byte
	sent    bool // the status is sent
	flushed time.Time
}

// begin makes the reply an answer of a format.
func (r *reply) begin(f format.Format) query.Sink {
	r.w.Header().Set("Content-Type", f.ContentType())
	r.writer = format.New(f, r)
	r.flushed = time.Now()
	return (*sink)(r)
}

// end sends the rest of a whole answer.
func (r *reply) end(s *query.Summary, stats format.Statistics) error {
	if err := r.writer.End(s, stats); err != nil {
		return err
	}
	header := r.w.Header()
	header.Set(format.SnapshotHeader, s.Snapshot)
	header.Set(format.StatisticsHeader, string(stats.Line()))
	if !r.sent {
		header.Set("Content-Length", strconv.Itoa(len(r.buf)))
	}
	return r.flush()
}

// Write keeps p, or sends it with what was kept. A client that does not take it is an error.
func (r *reply) Write(p []byte) (int, error) {
	r.buf = append(r.buf, p...)
	if len(r.buf) < holdBytes {
		return len(p), nil
	}
	if r.old {
		return 0, errOld
	}
	return len(p), r.flush()
}

func (r *reply) flush() error {
	if len(r.buf) == 0 && r.sent {
		return nil
	}
	r.deadline()
	if header := r.w.Header(); !r.sent && header.Get("Content-Length") == "" {
		header.Set("Trailer", format.SnapshotHeader+", "+format.StatisticsHeader)
	}
	r.sent = true
	if _, err := r.w.Write(r.buf); err != nil {
		return errLeft
	}
	if r.buf = r.buf[:0]; cap(r.buf) > 4*holdBytes {
		r.buf = nil
	}
	r.flushed = time.Now()
	if err := r.control.Flush(); err != nil {
		return errLeft
	}
	return nil
}

// deadline is set anew before each write: a client may read slowly, but it must read.
func (r *reply) deadline() {
	_ = r.control.SetWriteDeadline(time.Now().Add(r.timeout)) // servers of tests have none
}

// sink gives the engine's batches to the writer.
type sink reply

func (s *sink) Columns(columns []exec.Output) error { return s.writer.Columns(columns) }

func (s *sink) Batch(b *vec.Batch) error {
	if err := s.writer.Batch(b); err != nil {
		return err
	}
	if !s.old && time.Since(s.flushed) > flushAfter {
		return (*reply)(s).flush()
	}
	return nil
}
