package fragment

import "math"

// Shares of the memory: of what streams hold between row groups, and of what the sort
// columns' streams read ahead. The rest is for the column that is copied.
const (
	heldShare = 0.6
	keyShare  = 0.1
)

// budget parts the memory among the inputs that were begun and are not at their end, and
// an input's share among its columns by the square root of their size, which makes
// reads few. Streams that hold more give it back.
func (m *merger) budget() {
	active := 0
	for _, in := range m.inputs {
		if m.active(in) {
			active++
		}
	}
	share := heldShare * float64(m.spec.MemoryBytes) / float64(max(1, active))
	for _, in := range m.inputs {
		if !m.active(in) {
			for _, s := range in.streams {
				if s != nil && in.ordered == in.info.Rows {
					s.release()
				}
			}
			continue
		}
		total := 0.0
		for _, s := range in.streams {
			if s != nil {
				total += math.Sqrt(float64(s.chunkBytes()))
			}
		}
		for _, s := range in.streams {
			if s != nil {
				s.allow = int64(share * math.Sqrt(float64(s.chunkBytes())) / total)
				s.settle()
			}
		}
	}
}

// active tells that rows of the input are in this row group or in those around it.
func (m *merger) active(in *mergeInput) bool {
	return m.parts[in.n].rows > 0 || in.ordered > 0 && in.ordered < in.info.Rows
}

// chunkBytes is the size of the chunk that is read, at least that of small one.
func (s *stream) chunkBytes() int64 {
	c := &s.in.groups[max(0, s.group-1)].chunks[s.column]
	return max(64, c.to-c.from)
}

// release drops all that the stream holds; its input is at its end.
func (s *stream) release() {
	s.page, s.buf, s.reader = nil, nil, nil
}
