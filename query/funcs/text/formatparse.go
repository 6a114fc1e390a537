package text

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/togodb/togo/query/fail"
)

// maxWidth bounds widths and precisions.
const maxWidth = 10000

// spec says how one value is written.
type spec struct {
	fill      rune // 0: a space
	align     byte // < > ^ or 0
	sign      byte // + or a space, before what is not negative
	alternate bool
	zero      bool
	width     int
	thousands string
	precision int // -1: none
	verb      byte
	c         bool // of printf: an integer has no verbs of text
}

// piece is a text and what follows it: an argument, or nothing at the end.
type piece struct {
	text string
	arg  int // -1: none
	spec spec
}

func badFormat(what string) error {
	return fail.New(fail.Value, "a format with %s", what)
}

func parseBraces(s string) (out []piece, err error) {
	var b strings.Builder
	next, manual := 0, false
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '{' && c != '}' {
			b.WriteByte(c)
			continue
		}
		if i+1 < len(s) && s[i+1] == c {
			b.WriteByte(c)
			i++
			continue
		}
		if c == '}' {
			return nil, badFormat("a } that ends nothing; write }} for a brace")
		}
		end := strings.IndexByte(s[i:], '}')
		if end < 0 {
			return nil, badFormat("a { that is not ended; write {{ for a brace")
		}
		index, about, _ := strings.Cut(s[i+1:i+end], ":")
		i += end
		arg := next
		if index != "" {
			if arg, err = strconv.Atoi(index); err != nil || arg < 0 || arg > maxWidth {
				return nil, badFormat("{" + short(index) + "}; between the braces stands the argument's number, from 0, or nothing")
			}
			manual = true
		} else {
			next++
		}
		if manual && next > 0 {
			return nil, badFormat("both {} and {0}; number all of them or none")
		}
		sp, err := parseSpec(about)
		if err != nil {
			return nil, err
		}
		out = append(out, piece{b.String(), arg, sp})
		b.Reset()
	}
	return append(out, piece{text: b.String(), arg: -1}), nil
}

func short(s string) string {
	if len(s) > 40 {
		return s[:40] + "..."
	}
	return s
}

// parseSpec reads [[fill]align][sign][#][0][width][,][.precision][type].
func parseSpec(s string) (spec, error) {
	all, out := s, spec{precision: -1}
	if r, n := utf8.DecodeRuneInString(s); n > 0 && len(s) > n && strings.IndexByte("<>^", s[n]) >= 0 {
		out.fill, out.align, s = r, s[n], s[n+1:]
	} else if s != "" && strings.IndexByte("<>^", s[0]) >= 0 {
		out.align, s = s[0], s[1:]
	}
	if s != "" && strings.IndexByte("+- ", s[0]) >= 0 {
		if s[0] != '-' {
			out.sign = s[0]
		}
		s = s[1:]
	}
	if s != "" && s[0] == '#' {
		out.alternate, s = true, s[1:]
	}
	if s != "" && s[0] == '0' {
		out.zero, s = true, s[1:]
	}
	ok := true
	if out.width, s, ok = digits(s); !ok {
		return out, badFormat("a width above the limit")
	}
	if s != "" && strings.IndexByte(",_'", s[0]) >= 0 {
		out.thousands, s = s[:1], s[1:]
	}
	if s != "" && s[0] == '.' {
		if len(s) < 2 || s[1] < '0' || s[1] > '9' {
			return out, badFormat("a point without a precision")
		}
		if out.precision, s, ok = digits(s[1:]); !ok {
			return out, badFormat("a precision above the limit")
		}
	}
	if len(s) == 1 && strings.IndexByte("dxXobBeEfFgGs", s[0]) >= 0 {
		out.verb, s = s[0], ""
	}
	if s != "" {
		return out, badFormat("{:" + short(all) + "}, which is not [[fill]align][sign][#][0][width][,][.precision][type]")
	}
	return out, nil
}

func digits(s string) (n int, rest string, ok bool) {
	i := 0
	for ; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
		if n = n*10 + int(s[i]-'0'); n > maxWidth {
			return 0, s, false
		}
	}
	return n, s[i:], true
}

func parsePercents(s string) (out []piece, err error) {
	var b strings.Builder
	next := 0
	for {
		at := strings.IndexByte(s, '%')
		if at < 0 {
			b.WriteString(s)
			return append(out, piece{text: b.String(), arg: -1}), nil
		}
		b.WriteString(s[:at])
		s = s[at+1:]
		if strings.HasPrefix(s, "%") {
			b.WriteByte('%')
			s = s[1:]
			continue
		}
		sp := spec{precision: -1, align: '>', c: true}
		for ; s != "" && strings.IndexByte("-+ #0,'", s[0]) >= 0; s = s[1:] {
			switch s[0] {
			case '-':
				sp.align = '<'
			case '+', ' ':
				sp.sign = s[0]
			case '#':
				sp.alternate = true
			case '0':
				sp.zero = true
			default:
				sp.thousands = s[:1]
			}
		}
		ok := true
		if sp.width, s, ok = digits(s); !ok {
			return nil, badFormat("a width above the limit")
		}
		if strings.HasPrefix(s, ".") {
			if sp.precision, s, ok = digits(s[1:]); !ok {
				return nil, badFormat("a precision above the limit")
			}
		}
		s = strings.TrimLeft(s, "hlLjzt")
		if s == "" || strings.IndexByte("diuxXoceEfFgGs", s[0]) < 0 {
			return nil, badFormat("a % that no type follows; there are %d %i %u %x %X %o %c %e %E %f %g %G %s, and %% for the sign itself")
		}
		if sp.verb, s = s[0], s[1:]; sp.verb == 'i' || sp.verb == 'u' {
			sp.verb = 'd'
		}
		out = append(out, piece{b.String(), next, sp})
		next++
		b.Reset()
	}
}
