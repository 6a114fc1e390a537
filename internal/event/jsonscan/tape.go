package jsonscan

type keyTable struct{}

// Parse reads doc, which must stay unchanged as long as the tape is used. After an
// error the tape is empty.
func (t *Tape) Parse(doc []byte) error { panic("to be filled") }

// Key is the unescaped key of token i.
func (t *Tape) Key(i int) []byte { panic("to be filled") }

// Raw is the text of the value of token i, as its Kind says; part of the document.
func (t *Tape) Raw(i int) []byte { panic("to be filled") }

// AppendString appends the unescaped text of token i, a String.
func (t *Tape) AppendString(dst []byte, i int) []byte { panic("to be filled") }

// Each calls f for every leaf that counts, in the order of the text.
func (t *Tape) Each(f func(Leaf) error) error { panic("to be filled") }

// AppendUnescaped appends the text of a string whose escapes are untouched (Raw of a
// String); half a surrogate pair becomes U+FFFD.
func AppendUnescaped(dst, raw []byte) []byte { panic("to be filled") }
