package sql

import (
	"errors"
	"strings"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"

	"github.com/togodb/togo/query/fail"
)

// What a query's text may be at most. Generated texts (long lists, wide selects) stay below; above them reading alone
// would cost more than a query should.
const (
	maxText   = 256 << 10 // bytes
	maxTokens = 60_000    // a list of maxNodes constants has twice as many
	maxNodes  = 20_000    // of the tree
	maxDepth  = 200       // of parentheses, calls, CASE and prefixes within each other
)

// Parse reads one query. An error is a *fail.Error with its place: Syntax, Unsupported or TooLarge.
func Parse(text string) (*Statement, error) {
	if len(text) > maxText {
		return nil, fail.New(fail.TooLarge, "the query has %d bytes, and may have %d: make it shorter", len(text), maxText)
	}
	tokens, err := lex(text)
	if err != nil {
		return nil, err
	}
	if tokens, err = single(tokens); err != nil {
		return nil, err
	}
	if err := nesting(tokens); err != nil {
		return nil, err
	}
	stream, err := lexer.Upgrade(&tokenSlice{tokens})
	if err != nil {
		return nil, err
	}
	read, err := grammar.ParseFromLexer(stream)
	if err != nil {
		return nil, explain(tokens, err)
	}
	return build(read)
}

// single cuts off the semicolons at the end, and refuses what is no SELECT and what is more than one.
func single(tokens []lexer.Token) ([]lexer.Token, error) {
	end := tokens[len(tokens)-1]
	rest := tokens[:len(tokens)-1]
	for len(rest) > 0 && rest[len(rest)-1].Value == ";" {
		rest = rest[:len(rest)-1]
	}
	if len(rest) == 0 {
		return nil, fail.At(place(end.Pos), fail.Syntax, "there is no query: write SELECT ... FROM events")
	}
	if err := statement(rest); err != nil {
		return nil, err
	}
	for i, t := range rest {
		if t.Value == ";" {
			return nil, fail.At(place(rest[i+1].Pos), fail.Unsupported, "a second statement begins here: send one SELECT at a time")
		}
	}
	return append(rest[:len(rest):len(rest)], end), nil
}

// nesting bounds how deep parentheses and CASE lie within each other, before anything recurs over them, and
// finds those that are never closed.
func nesting(tokens []lexer.Token) error {
	var open []lexer.Token
	for _, t := range tokens {
		switch {
		case t.Value == "(" || t.Value == "[" || t.Value == "{" || t.Type == tForm && strings.EqualFold(t.Value, "CASE"):
			if open = append(open, t); len(open) > maxDepth {
				return tooDeep(place(t.Pos))
			}
		case t.Value == ")" || t.Value == "]" || t.Value == "}":
			if len(open) == 0 {
				return fail.At(place(t.Pos), fail.Syntax, "%s closes nothing: leave it out, or open it before", t.Value)
			}
			open = open[:len(open)-1]
		case t.Type == tKeyword && strings.EqualFold(t.Value, "END") && len(open) > 0 && len(open[len(open)-1].Value) == len("CASE"):
			open = open[:len(open)-1]
		}
	}
	return nil
}

func tooDeep(at Pos) *fail.Error {
	return fail.At(at, fail.TooLarge, "the query is nested deeper than %d levels: make it flatter", maxDepth)
}

// explain makes the answer of what the grammar could not read.
func explain(tokens []lexer.Token, err error) error {
	var at lexer.Position
	var unexpected *participle.UnexpectedTokenError
	var known participle.Error
	switch {
	case errors.As(err, &unexpected):
		at = unexpected.Unexpected.Pos
	case errors.As(err, &known):
		at = known.Position()
	}
	i := 0
	for i < len(tokens)-1 && tokens[i].Pos.Offset < at.Offset {
		i++
	}
	code, message := hint(tokens, i)
	return fail.At(place(tokens[i].Pos), code, "%s", message)
}
