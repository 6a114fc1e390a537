package fragment

import (
	"bytes"
	"fmt"
	"sync"
)

// reading is a range of an input that is read, for one stream or for several whose
// columns lie side by side.
type reading struct {
	in       *mergeInput
	from, to int64
	parts    []readPart
	before   []byte // what the first stream has of the bytes before from

	done chan struct{} // closed when data and err are there
	data []byte
	err  error
}

// readPart is what a stream gets of a reading.
type readPart struct {
	stream   *stream
	from, to int64
}

// maxGathered bounds what is read at once for several columns.
const maxGathered = 1 << 20

// plan reads [from, to) for a stream, which lies in a row group of the input, and on into
// the columns behind it, as far as they are small and their streams are about to begin
// the same row group.
func (m *merger) plan(s *stream, group int, from, to int64) *reading {
	f := &reading{in: s.in, from: from, to: to, parts: []readPart{{s, from, to}}, done: make(chan struct{})}
	chunks := s.in.groups[group].chunks
	if s.in.body != nil || to != chunks[s.column].to {
		return f
	}
	for column := s.column + 1; column < len(chunks); column++ {
		t, c := s.in.ofColumn[column], chunks[column]
		if t.group != group || t.left > 0 || t.ahead != nil || c.from != f.to || c.to-c.from > t.window() || c.to-from > maxGathered || t.has(c.from) {
			break
		}
		f.parts, f.to = append(f.parts, readPart{t, c.from, c.to}), c.to
	}
	return f
}

// has tells that the stream has bytes of its next chunk already.
func (s *stream) has(at int64) bool { return s.at <= at && at < s.at+int64(len(s.buf)) }

// start begins a reading: on a goroutine of its own if it is ahead of its time.
func (m *merger) start(f *reading, ahead bool) {
	for _, p := range f.parts {
		p.stream.ahead = f
	}
	if f.in.body != nil {
		f.data = f.in.body[f.from:f.to:f.to]
		close(f.done)
		return
	}
	read := func() {
		f.data, f.err = m.get(f.in, f.from, f.to-f.from)
		close(f.done)
	}
	if !ahead {
		read()
		return
	}
	m.readers.Go(func() {
		m.tokens <- struct{}{}
		read()
		<-m.tokens
	})
}

// arrive waits for a reading and gives each stream its part.
func (m *merger) arrive(f *reading) error {
	<-f.done
	for _, p := range f.parts {
		p.stream.ahead = nil
	}
	if f.err != nil {
		return f.err
	}
	for i, p := range f.parts {
		data := f.data[p.from-f.from : p.to-f.from]
		at := p.from
		switch {
		case i == 0 && f.before != nil:
			data, at = append(append(make([]byte, 0, len(f.before)+len(data)), f.before...), data...), at-int64(len(f.before))
		case len(f.parts) > 1:
			data = bytes.Clone(data) // one part must not hold all
		}
		p.stream.buf, p.stream.at = data, at
	}
	return nil
}

// readAhead begins to read what the parts of a row group need of a column.
func (m *merger) readAhead(g *rowGroup, column int) {
	if m.spec.Parallel < 2 || column >= len(m.columns) {
		return
	}
	for i := range g.parts {
		p := &g.parts[i]
		s := p.in.streams[column]
		if s == nil || p.rows == 0 || s.ahead != nil || p.in.body != nil {
			continue
		}
		if group, from, to, ok := s.due(p.kept[len(p.kept)-1].to); ok {
			m.start(m.plan(s, group, from, to), true)
		}
	}
}

// due is what to read next if rows below end are needed and their bytes are not there.
func (s *stream) due(end int64) (group int, from, to int64, ok bool) {
	if s.page != nil && s.first+int64(s.page.Rows) >= end {
		return 0, 0, 0, false
	}
	group, from, to = s.group-1, s.next, s.end
	if s.left == 0 {
		if group = s.group; group == len(s.in.groups) {
			return 0, 0, 0, false
		}
		c := s.in.groups[group].chunks[s.column]
		from, to = c.from, c.to
	}
	if s.has(from) {
		return 0, 0, 0, false
	}
	return group, from, min(to, from+s.window()), true
}

// aheadColumns is for how many columns bytes are read before their turn.
const aheadColumns = 4

// get reads a range of an input.
func (m *merger) get(in *mergeInput, from, n int64) ([]byte, error) {
	data, err := m.store.GetRange(m.ctx, in.key, from, n)
	if err != nil {
		return nil, &InputError{in.key, fmt.Errorf("read %d bytes at %d of %s: %w", n, from, in.key, err)}
	}
	if int64(len(data)) != n {
		return nil, &InputError{in.key, fmt.Errorf("%w: %s: %d bytes at %d asked for, %d got: the object is shorter than %d bytes", ErrCorrupt, in.key, n, from, len(data), in.bytes)}
	}
	return data, nil
}

// openAll opens the inputs; small ones are read whole, by one request.
func (m *merger) openAll(inputs []MergeInput) error {
	m.inputs = make([]*mergeInput, len(inputs))
	errs := make([]error, len(inputs))
	var running sync.WaitGroup
	for i, in := range inputs {
		if m.spec.Parallel < 2 {
			if m.inputs[i], errs[i] = m.open(i, in); errs[i] != nil {
				return errs[i]
			}
			continue
		}
		running.Go(func() {
			m.tokens <- struct{}{}
			m.inputs[i], errs[i] = m.open(i, in)
			<-m.tokens
		})
	}
	running.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
