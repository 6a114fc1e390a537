package each

import "unsafe"

// Texts makes the texts of one call over one batch, many in one piece of memory, which lives as long as one of them.
type Texts struct{ piece []byte }

// Pieces grow with what a call makes, so that a constant costs little and a batch few of them.
const (
	firstPiece = 1 << 10
	lastPiece  = 64 << 10
)

// Make is the bytes as a text of its own.
func (t *Texts) Make(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if len(b) > cap(t.piece)-len(t.piece) {
		size := max(firstPiece, min(2*cap(t.piece), lastPiece))
		t.piece = make([]byte, 0, max(size, len(b)))
	}
	start := len(t.piece)
	t.piece = append(t.piece, b...) // never beyond its capacity: what was made stays where it is
	return unsafe.String(&t.piece[start], len(b))
}
