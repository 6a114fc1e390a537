package sql

import (
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/alecthomas/participle/v2/lexer"

	"github.com/togodb/togo/query/fail"
)

// Kinds of tokens. The value of each is the text as written, with its quotes: so a constant never equals a word of
// the grammar. Kinds are finer than a grammar needs, so that it seldom has to try.
const (
	tWord     lexer.TokenType = iota + 1 // an unquoted name, also left and right before a parenthesis
	tKeyword                             // a word that is no name unless quoted
	tQuoted                              // "a name"
	tText                                // 'text', e'text', $$text$$
	tNumber                              //
	tConstant                            // NULL, TRUE, FALSE
	tForm                                // a word that begins an operand of a form of its own: CASE, CAST, EXTRACT before its parenthesis
	tOperator                            // between two operands alone, AND and OR too
	tSign                                // + - ~, before an operand too
	tStar                                // *
	tTail                                // what begins a tail of an operand that is no operator: IS, IN, LIKE, ::
	tSymbol                              // all others
)

// definition is the lexer that the grammar is built with; texts are cut by lex.
type definition struct{}

func (definition) Symbols() map[string]lexer.TokenType {
	return map[string]lexer.TokenType{"EOF": lexer.EOF, "Word": tWord, "Keyword": tKeyword, "Quoted": tQuoted, "Text": tText,
		"Number": tNumber, "Constant": tConstant, "Form": tForm, "Operator": tOperator, "Sign": tSign, "Star": tStar, "Tail": tTail, "Symbol": tSymbol}
}

func (definition) Lex(_ string, r io.Reader) (lexer.Lexer, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	tokens, err := lex(string(b))
	return &tokenSlice{tokens}, err
}

// tokenSlice gives out tokens that are there; the last is the end.
type tokenSlice struct{ rest []lexer.Token }

func (s *tokenSlice) Next() (lexer.Token, error) {
	t := s.rest[0]
	if len(s.rest) > 1 {
		s.rest = s.rest[1:]
	}
	return t, nil
}

// symbols, the longest first.
var symbols = []string{
	"!~~*", "->>", "~~*", "!~~", "!~*", "#>>", "->", "||", "<=", ">=", "<>", "!=", "==", "::", ":=", "=>", "//", "**", "~~", "!~",
	"~*", "<<", ">>", "@>", "<@", "^@", "&&", "#>", "+", "-", "*", "/", "%", "^", "<", ">", "=", "(", ")", "[", "]", "{", "}", ",",
	".", ";", ":", "&", "|", "#", "@", "!", "~", "?", "$",
}

type scanner struct {
	text         string
	at           int
	line, column int
}

func (s *scanner) pos() lexer.Position {
	return lexer.Position{Offset: s.at, Line: s.line, Column: s.column}
}

// advance passes over n bytes.
func (s *scanner) advance(n int) string {
	part := s.text[s.at : s.at+n]
	s.at += n
	if i := strings.LastIndexByte(part, '\n'); i >= 0 {
		s.line += strings.Count(part, "\n")
		s.column, part = 1, part[i+1:]
	}
	s.column += utf8.RuneCountInString(part)
	return s.text[s.at-n : s.at]
}

func place(p lexer.Position) Pos { return Pos{Line: p.Line, Column: p.Column} }

func (s *scanner) fail(format string, args ...any) *fail.Error {
	return fail.At(place(s.pos()), fail.Syntax, format, args...)
}

// lex cuts a text into tokens, the end among them; comments and space are left out.
func lex(text string) ([]lexer.Token, error) {
	s := &scanner{text: text, line: 1, column: 1}
	var out []lexer.Token
	for {
		if err := s.space(); err != nil {
			return nil, err
		}
		if s.at == len(text) {
			out = append(out, lexer.EOFToken(s.pos()))
			for i := range out[:len(out)-1] {
				out[i].Type = kind(out[i], out[i+1])
			}
			return out, nil
		}
		if len(out) == maxTokens {
			return nil, fail.At(place(s.pos()), fail.TooLarge, "the query has more than %d words and signs: make it shorter", maxTokens)
		}
		start := s.pos()
		class, n, err := s.token()
		if err != nil {
			return nil, err
		}
		out = append(out, lexer.Token{Type: class, Value: s.advance(n), Pos: start})
	}
}

// kind is the finer kind of a token, by what comes next.
func kind(t, next lexer.Token) lexer.TokenType {
	switch t.Type {
	case tSymbol:
		switch t.Value {
		case "+", "-", "~":
			return tSign
		case "*":
			return tStar
		case "::":
			return tTail
		}
		if precedence[t.Value] > 0 {
			return tOperator
		}
	case tKeyword, tWord:
		upper := strings.ToUpper(t.Value)
		if k := kinds[upper]; k != 0 && (k != tForm && k != tWord || next.Value == "(" || upper == "CASE" || upper == "INTERVAL" && (next.Type == tText || next.Type == tNumber)) &&
			(upper != "AT" || strings.EqualFold(next.Value, "TIME")) {
			return k
		}
	}
	return t.Type
}

// space passes over white space and comments.
func (s *scanner) space() error {
	for s.at < len(s.text) {
		rest := s.text[s.at:]
		switch {
		case strings.HasPrefix(rest, "--"):
			n := strings.IndexByte(rest, '\n')
			if n < 0 {
				n = len(rest)
			}
			s.advance(n)
		case strings.HasPrefix(rest, "/*"):
			n := comment(rest)
			if n < 0 {
				return s.fail("the comment that begins here is never closed: end it with */")
			}
			s.advance(n)
		default:
			r, n := utf8.DecodeRuneInString(rest)
			if !unicode.IsSpace(r) && r != '\ufeff' {
				return nil
			}
			s.advance(n)
		}
	}
	return nil
}

// comment is the length of the comment at the start, which may hold others; < 0 if it has no end.
func comment(s string) int {
	depth := 0
	for i := 0; i+1 < len(s); i++ {
		switch s[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			depth--
			i++
			if depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// token is the kind and the length of the next token.
func (s *scanner) token() (lexer.TokenType, int, error) {
	rest := s.text[s.at:]
	r, width := utf8.DecodeRuneInString(rest)
	switch {
	case r == utf8.RuneError && width == 1:
		return 0, 0, s.fail("the query is not UTF-8 here")
	case r == '\'':
		n, err := s.quoted(rest, 0, false)
		return tText, n, err
	case (r == 'e' || r == 'E') && len(rest) > 1 && rest[1] == '\'':
		n, err := s.quoted(rest, 1, true)
		return tText, n, err
	case r == '"':
		n, err := s.quoted(rest, 0, false)
		if n == 2 {
			err = s.fail(`"" names nothing: a text is written in single quotes, ''`)
		}
		return tQuoted, n, err
	case r == '$' && dollarTag(rest) != "":
		tag := dollarTag(rest)
		end := strings.Index(rest[len(tag):], tag)
		if end < 0 {
			return 0, 0, s.fail("the text that begins here is never closed: end it with %s", tag)
		}
		return tText, 2*len(tag) + end, nil
	case isDigit(rest, 0) || r == '.' && isDigit(rest, 1):
		n, err := s.number(rest)
		return tNumber, n, err
	case r == '_' || unicode.IsLetter(r):
		n := word(rest)
		if keywords[strings.ToUpper(rest[:n])] {
			return tKeyword, n, nil
		}
		return tWord, n, nil
	}
	for _, symbol := range symbols {
		if strings.HasPrefix(rest, symbol) {
			return tSymbol, len(symbol), nil
		}
	}
	switch r {
	case '`', '“', '”':
		return 0, 0, s.fail(`%c is no quote in SQL: a name is written as "name", a text as 'text'`, r)
	case '‘', '’':
		return 0, 0, s.fail("%c is no quote in SQL: a text is written as 'text'", r)
	}
	return 0, 0, s.fail("the character %q has no meaning in SQL", r)
}

// quoted is the length of a text or name in quotes, which begins at from; a quote within is written twice or, with
// escapes, behind a backslash.
func (s *scanner) quoted(rest string, from int, escapes bool) (int, error) {
	quote := rest[from]
	for i := from + 1; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == 0:
			return 0, s.fail("a text or name may not hold the character NUL")
		case escapes && c == '\\':
			i++
		case c == quote && i+1 < len(rest) && rest[i+1] == quote:
			i++
		case c == quote:
			if !utf8.ValidString(rest[:i]) {
				return 0, s.fail("the query is not UTF-8 here")
			}
			return i + 1, nil
		}
	}
	return 0, s.fail("the quote that begins here is never closed: end it with %c (and write %c%c for a quote within)", quote, quote, quote)
}

// dollarTag is $tag$ at the start of a text in dollar quotes, or "".
func dollarTag(s string) string {
	for i := 1; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '$':
			return s[:i+1]
		case c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || i > 1 && isDigit(s, i):
		default:
			return ""
		}
	}
	return ""
}

func isDigit(s string, i int) bool { return i < len(s) && s[i] >= '0' && s[i] <= '9' }

// digits is the length of the digits, with single _ between them, that begin at i.
func digits(s string, i int) int {
	from := i
	for isDigit(s, i) || i > from && i < len(s) && s[i] == '_' && isDigit(s, i+1) {
		i++
	}
	return i - from
}

func (s *scanner) number(rest string) (int, error) {
	n := digits(rest, 0)
	if n < len(rest) && rest[n] == '.' {
		n++
		n += digits(rest, n)
	}
	if n < len(rest) && (rest[n] == 'e' || rest[n] == 'E') {
		exponent := n + 1
		if exponent < len(rest) && (rest[exponent] == '+' || rest[exponent] == '-') {
			exponent++
		}
		if isDigit(rest, exponent) {
			n = exponent + digits(rest, exponent)
		}
	}
	if m := word(rest[n:]); m > 0 || n < len(rest) && rest[n] == '.' {
		return 0, s.fail("%q is no number: digits, with a point and an exponent", rest[:n+max(m, 1)])
	}
	return n, nil
}

// word is the length of the name at the start: letters, digits, _ and $.
func word(s string) int {
	for i, r := range s {
		if r != '_' && r != '$' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r) {
			return i
		}
		if r == utf8.RuneError {
			return i
		}
	}
	return len(s)
}
