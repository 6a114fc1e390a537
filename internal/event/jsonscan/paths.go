package jsonscan

// Value is what Paths found. Raw is as in Token.
type Value struct {
	Kind  Kind // 0: not in the document; Object and EmptyObject both come as Object
	Flags Flag
	Raw   []byte
}

// Paths finds the values at a few paths of a document and validates the rest. It is
// not safe for concurrent use.
type Paths struct{}

// NewPaths prepares a reader of the paths, each a list of keys from the document's object.
func NewPaths(paths ...[]string) *Paths { panic("to be filled") }

// Find reads doc. The value of path i is found at values[i], which must be as long as
// the paths.
func (p *Paths) Find(doc []byte, values []Value) error { panic("to be filled") }
