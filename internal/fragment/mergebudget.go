package fragment

import "math"

// Shares of the memory: of what streams hold between row groups, and of what the sort
// columns' streams read ahead. The rest is for the column that is copied.
const (
	heldShare  = 0.6
	wholeShare = 0.4 // of heldShare's: inputs that are small enough to be read whole
	keyShare   = 0.1
)

// wholeBytes is the size up to which an input is read whole.
func (m *merger) wholeBytes() int64 {
	return int64(heldShare * wholeShare * float64(m.spec.MemoryBytes) / float64(m.count))
}

// budget parts the memory among the inputs that were begun and are not at their end, and
// an input's share among its columns by the square root of their size, which makes
// reads few. Streams that hold more give it back.
func (m *merger) budget() {
	active, whole := 0, int64(0)
	for _, in := range m.inputs {
		if in.ordered == in.info.Rows && m.parts[in.n].rows == 0 {
			in.body = nil
		}
		whole += int64(len(in.body))
		if m.active(in) {
			active++
		}
	}
	share := (heldShare*float64(m.spec.MemoryBytes) - float64(whole)) / float64(max(1, active))
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
				total += s.weight()
			}
		}
		for _, s := range in.streams {
			if s != nil {
				s.allow = int64(share * s.weight() / total)
				s.settle()
			}
		}
	}
}

// active tells that rows of the input are in this row group or in those around it.
func (m *merger) active(in *mergeInput) bool {
	return m.parts[in.n].rows > 0 || in.ordered > 0 && in.ordered < in.info.Rows
}

// weight is the stream's claim to its input's share: by the root of the size of the chunk
// that is read, and more with a dictionary, as what holds less than that reads it
// again for each row group.
func (s *stream) weight() float64 {
	c := &s.in.groups[max(0, s.group-1)].chunks[s.column]
	size := max(64, c.to-c.from)
	if s.reader != nil {
		size += 4 * s.reader.Dictionary().Kept()
	}
	return math.Sqrt(float64(size))
}

// release drops all that the stream holds; its input is at its end.
func (s *stream) release() {
	s.page, s.buf, s.reader = nil, nil, nil
}
