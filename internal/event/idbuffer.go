package event

// idChunk is the memory that holds made ids, some hundreds each. A chunk is never
// written twice, so an id stays good as long as somebody holds it.
const idChunk = 16 << 10

// idBuffer makes ids in chunks: one allocation for many.
type idBuffer struct{ free []byte }

// room is an empty slice that size bytes may be appended to.
func (b *idBuffer) room(size int) []byte {
	if cap(b.free)-len(b.free) < size {
		b.free = make([]byte, 0, max(idChunk, size))
	}
	return b.free[len(b.free):]
}

// keep marks what was appended to room's slice as taken.
func (b *idBuffer) keep(id []byte) []byte {
	b.free = b.free[:len(b.free)+len(id)]
	return id[:len(id):len(id)]
}

// positionSize bounds the size of a letter's id beside the cluster: "@", five "/", 32
// hex digits, the numbers with signs, "/dead".
const positionSize = 1 + 5 + 32 + 11 + 11 + 20 + 11 + 5

func (b *idBuffer) position(o Origin) []byte {
	return b.keep(AppendPositionID(b.room(positionSize+len(o.Cluster)), o))
}

func (b *idBuffer) letter(o Origin) []byte {
	return b.keep(AppendLetterID(b.room(positionSize+len(o.Cluster)), o))
}
