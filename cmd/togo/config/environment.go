package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// quoting is where in YAML a variable stands.
type quoting byte

const (
	unquoted quoting = 0
	single   quoting = '\''
	double   quoting = '"'
)

// expander replaces ${NAME} while it follows the quotes of YAML.
type expander struct {
	out    strings.Builder
	in     quoting
	line   int
	lookup func(string) (string, bool)
}

// expand replaces ${NAME} by the environment's value, but not in comments. Within
// quotes the value is escaped, so that it is the text whatever it holds; without
// quotes it is YAML, a list for example. A variable that is not set is an error, so
// that a missing secret never becomes an empty one.
func expand(text string, lookup func(string) (string, bool)) (string, error) {
	e := expander{line: 1, lookup: lookup}
	for len(text) > 0 {
		n, err := e.step(text)
		if err != nil {
			return "", fmt.Errorf("line %d: %w", e.line, err)
		}
		text = text[n:]
	}
	return e.out.String(), nil
}

// step copies or replaces what text begins with, and returns its length.
func (e *expander) step(text string) (int, error) {
	c := text[0]
	switch {
	case strings.HasPrefix(text, "${"):
		end := strings.IndexAny(text, "}\n")
		if end < 0 || text[end] == '\n' {
			return 0, fmt.Errorf("${ without an end")
		}
		return end + 1, e.replace(text[2:end])
	case c == '\n':
		e.line++
	case e.in == double && c == '\\' && len(text) > 1 && text[1] != '\n':
		e.out.WriteString(text[:2])
		return 2, nil
	case e.in != unquoted && c == byte(e.in): // a doubled ' ends and begins again, which is the same
		e.in = unquoted
		e.out.WriteByte(c)
		return 1, nil
	case e.in == unquoted && c == '#' && (e.out.Len() == 0 || e.after(" \t\n")):
		end := strings.IndexByte(text, '\n')
		if end < 0 {
			end = len(text)
		}
		e.out.WriteString(text[:end])
		return end, nil
	case e.in == unquoted && (c == '"' || c == '\'') && (e.out.Len() == 0 || e.after(" \t\n[{,:'")):
		e.in = quoting(c)
	}
	e.out.WriteByte(c)
	return 1, nil
}

// after says whether the last character is one of these. # and quotes begin something
// only where a token may begin; elsewhere they are text.
func (e *expander) after(chars string) bool {
	s := e.out.String()
	return s != "" && strings.IndexByte(chars, s[len(s)-1]) >= 0
}

func (e *expander) replace(name string) error {
	v, ok := e.lookup(name)
	switch {
	case !ok:
		return fmt.Errorf("the environment variable %s is not set", name)
	case !utf8.ValidString(v):
		return fmt.Errorf("the environment variable %s is not UTF-8", name)
	}
	switch e.in {
	case double:
		e.out.WriteString(escape(v))
	case single:
		if strings.ContainsFunc(v, unicode.IsControl) {
			return fmt.Errorf("the environment variable %s holds control characters; put it in double quotes", name)
		}
		e.out.WriteString(strings.ReplaceAll(v, "'", "''"))
	default:
		if strings.Contains(v, "\n") || strings.HasPrefix(v, "#") || strings.Contains(v, " #") {
			return fmt.Errorf("the environment variable %s holds a line break or what YAML takes for a comment; put it in quotes", name)
		}
		e.out.WriteString(v)
	}
	return nil
}

// escape writes text for double quotes.
func escape(v string) string {
	var b strings.Builder
	for _, r := range v {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// notSettings are variables of the program and of its tests that are no settings.
var notSettings = regexp.MustCompile(`^TOGO_(CONFIG|DIR|SERVER|TOKEN|VERSITYGW|PYARROW|SEEDS|(TEST|BENCH|READBACK)_.*)$`)

// serviceVariable is what Kubernetes puts into the environment of every container for
// a service whose name begins with "togo".
var serviceVariable = regexp.MustCompile(`_SERVICE_(HOST|PORT(_.*)?)$|_PORT(_[0-9]+_(TCP|UDP|SCTP)(_.*)?)?$`)

// Unknown tells of variables, given as NAME=VALUE, that look like settings and set
// nothing, such as misspelt ones. They are to be warned of and not refused, since
// others may put theirs into the environment.
func Unknown(environment []string) []string {
	names := map[string]setting{}
	for _, s := range settings(Default()) {
		if !s.group {
			names[envName(s.path)] = s
		}
	}
	var out []string
	for _, v := range environment {
		name, _, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(name, "TOGO_") || notSettings.MatchString(name) || serviceVariable.MatchString(name) {
			continue
		}
		if _, ok := names[name]; !ok {
			out = append(out, name+" is no setting"+hint(name, names))
		}
	}
	slices.Sort(out)
	return out
}

// hint is what a wrong name may stand for.
func hint(name string, names map[string]setting) string {
	plain := func(s string) string { return strings.ReplaceAll(s, "_", "") }
	for known, s := range names {
		switch {
		case plain(known) == plain(name):
			return fmt.Sprintf("; is %s meant?", known)
		case strings.HasPrefix(name, known+"_"):
			return fmt.Sprintf("; %s is set whole, as YAML, by %s", s.path, known)
		}
	}
	return ""
}
