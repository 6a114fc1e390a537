package intake

import (
	"errors"
	"net/http"
	"sync"

	"github.com/togodb/togo/internal/kafka"
)

// lines collects what became of the lines of a request.
type lines struct {
	all chan struct{} // closed when every line has its outcome

	mu       sync.Mutex
	outcomes []outcome // guarded by mu
	pending  int       // lines without one, and 1 until end; guarded by mu
}

type outcome struct {
	line int
	err  error
}

func newLines() *lines { return &lines{all: make(chan struct{}), pending: 1} }

// begin adds a line; the function that it returns says its outcome.
func (l *lines) begin(line int) func(error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := len(l.outcomes)
	l.outcomes = append(l.outcomes, outcome{line, errPending})
	l.pending++
	return func(err error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.outcomes[at].err = err
		l.settle()
	}
}

// end says that no more lines come.
func (l *lines) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settle()
}

// settle needs mu.
func (l *lines) settle() {
	l.pending--
	if l.pending == 0 {
		close(l.all)
	}
}

// answer sums up: the status says what the sender should do with the lines in Errors.
func (l *lines) answer() (int, Answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var a Answer
	var full, failed bool
	for _, o := range l.outcomes {
		switch {
		case o.err == nil:
			a.Accepted++
			continue
		case errors.Is(o.err, kafka.ErrBufferFull):
			full = true
		case !errors.Is(o.err, kafka.ErrTooLarge) && !errors.Is(o.err, errLine):
			failed = true
		}
		a.Errors = append(a.Errors, LineError{o.line, o.err.Error()})
	}
	switch {
	case len(a.Errors) == 0:
		return http.StatusOK, a
	case failed:
		a.Error = "Kafka did not acknowledge all lines; those named may or may not be stored: send them again if they carry ids"
		return http.StatusServiceUnavailable, a
	case full:
		a.Error = "Kafka is slower than the senders; send the lines named again, later"
		return http.StatusTooManyRequests, a
	}
	a.Error = "the lines named are refused"
	return http.StatusBadRequest, a
}
