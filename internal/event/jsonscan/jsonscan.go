// Package jsonscan is the one strict JSON decoder of the store. Router and writer
// both judge a document with it, so the router's verdict is the writer's.
//
// # What a document is
//
//  1. A document is one JSON object by RFC 8259, and nothing after it but white
//     space. The whole document is validated always, also by a reader that wants
//     three of its fields: a document is good for all readers or for none.
//  2. A leading UTF-8 byte order mark is skipped. Any other encoding is malformed.
//  3. Strings must be valid UTF-8 (no overlong forms, no encoded surrogates) without
//     raw control characters. An escape of half a surrogate pair (\ud800 alone) is
//     accepted, reads as U+FFFD and is reported by a flag.
//  4. Of equal keys in one object the last one counts, whatever its type: a later
//     one replaces the whole value of an earlier one. Keys are equal if their
//     unescaped bytes are: "a" and "\u0061" are, "a" and "A" are not, and no Unicode
//     normal form is applied.
//  5. A number is any text of the grammar, of any size. It is handed on as the text
//     it is, never as a float.
//  6. Containers nest at most MaxDepth deep, the document's own object included.
//  7. Nothing, white space alone, or the value null is ErrEmpty; another value that is
//     no object is ErrNotObject, after the whole of it was found to be good JSON.
//
// The first fault in the order of the text decides, so that readers which look at
// different fields give the same error.
//
// # Two readers
//
// A Tape is the flat walk of a document: one token a leaf, for building columns. A
// Paths finds the values of a few keys and only validates the rest. Neither
// allocates once its buffers have grown. Both are fast with documents that differ from earlier
// ones in nothing but values (Shapes), and judge them as all others.
package jsonscan

import (
	"errors"
	"fmt"
)

// MaxDepth bounds the nesting of a document: far above what events show, and low
// enough that a reader's stack stays small.
const MaxDepth = 512

// Errors of a document. A malformed one comes as *SyntaxError, which is ErrMalformed.
var (
	ErrEmpty     = errors.New("no value")
	ErrMalformed = errors.New("malformed JSON")
	ErrNotObject = errors.New("not a JSON object")
	ErrTooDeep   = fmt.Errorf("nested deeper than %d", MaxDepth)
)

// SyntaxError says where a document stops being JSON.
type SyntaxError struct {
	Offset int // of the byte that is wrong; the length of the document if it ends early
	What   string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("byte %d: %s", e.Offset, e.What) }
func (e *SyntaxError) Is(target error) bool {
	return target == ErrMalformed
}

// Kind of a value.
type Kind uint8

const (
	Null        Kind = iota + 1
	Bool             // Raw is true or false
	Number           // Raw is the number's text
	String           // Raw is the text between the quotes, escapes untouched
	Array            // Raw is the whole array as JSON text
	EmptyObject      // Raw is {} with the white space it had
	Object           // begins an object with members; no Raw
	End              // ends the innermost Object; no key, no Raw
)

// Flag tells what a reader of a token needs to know beyond its kind.
type Flag uint8

const (
	// Escaped: a String whose Raw holds escapes; AppendString undoes them.
	Escaped Flag = 1 << iota
	// Integer: a Number without fraction and exponent.
	Integer
	// LoneSurrogate: the String, or a string inside the Array, holds the escape of
	// half a surrogate pair.
	LoneSurrogate
	// KeyLoneSurrogate: the same of the key.
	KeyLoneSurrogate
	// KeyEscaped: the key was written with escapes. Key gives it without.
	KeyEscaped
	// Dropped: an equal key follows in the same object and counts instead of this
	// one. A reader passes over the token, and over all up to Next if it is an Object.
	Dropped
)

// Token is one step of the flat walk of a document.
type Token struct {
	keyStart, keyEnd uint32 // in the document, or in the tape's unescaped keys
	start, end       uint32 // of Raw, in the document
	// Next is the index of the token after this one and, for an Object, after its
	// members and End.
	Next  uint32
	Kind  Kind
	Flags Flag
}

// Has tells whether all of the flags are set.
func (t *Token) Has(f Flag) bool { return t.Flags&f == f }

// Tape is the flat walk of one document: the members of its object in the order of
// the text, an inner object as an Object token, its members and an End token; an
// array is one token. The zero value is ready; Parse uses the buffers again.
type Tape struct {
	Tokens []Token
	// RepeatedKeys: some object (outside arrays) holds a key twice; the losers are Dropped.
	RepeatedKeys bool
	// LoneSurrogates: some token has LoneSurrogate or KeyLoneSurrogate.
	LoneSurrogates bool

	doc    []byte
	keys   []byte // unescaped keys, one after the other
	tables []keyTable
}

// Leaf is one value of Each.
type Leaf struct {
	// Path holds the keys from the document's object to the value, unescaped. It is
	// valid until the callback returns.
	Path [][]byte
	// DottedKey: some key of Path itself holds a dot.
	DottedKey bool
	Kind      Kind // never Object or End
	Flags     Flag
	Raw       []byte // as the Kind says; part of the document
}
