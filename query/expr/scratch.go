package expr

import (
	"context"

	"github.com/togodb/togo/query/fail"
)

const (
	// maxMade bounds the bytes of text that functions make between two Begins: a value may be large, but not all of
	// thousands of rows, nor those of hundreds of calls at the same time.
	maxMade = 128 << 20
	// maxKept bounds the bytes of text that results by dictionary entry take; beyond it they are made again for each batch.
	maxKept = 16 << 20
)

// ended is why the context ended, if it did. It is asked before each operator, as an expression may have thousands.
func (s *Scratch) ended() error {
	if s.Ctx == nil || s.Ctx.Err() == nil {
		return nil
	}
	return context.Cause(s.Ctx)
}

// Begin tells that what was evaluated before is no longer used. It is called before the expressions of each batch.
func (s *Scratch) Begin() { s.made = 0 }

// Make accounts for text that is made; it is an error if there is too much of it since Begin.
func (s *Scratch) Make(bytes int) error {
	if s == nil {
		return nil
	}
	if s.made += bytes; s.made > maxMade {
		return fail.New(fail.TooLarge, "texts of more than %d MiB are made in one step; make shorter ones", maxMade>>20)
	}
	return nil
}
