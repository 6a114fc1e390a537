package jsonpath

import (
	"strings"

	"github.com/togodb/togo/query/fail"
)

// scanner walks over a document.
type scanner struct {
	s string
	i int
}

func (r *scanner) broken(what string) error {
	return fail.New(fail.Value, "not JSON: %s at byte %d", what, r.i)
}

func (r *scanner) space() {
	for r.i < len(r.s) && (r.s[r.i] == ' ' || r.s[r.i] == '\n' || r.s[r.i] == '\t' || r.s[r.i] == '\r') {
		r.i++
	}
}

// value passes over one value and checks it.
func (r *scanner) value(depth int) error {
	if r.i >= len(r.s) {
		return r.broken("the text ends")
	}
	switch c := r.s[r.i]; {
	case c == '"':
		return r.text()
	case c == '{' || c == '[':
		if depth >= MaxDepth {
			return fail.New(fail.TooLarge, "JSON nested deeper than %d", MaxDepth)
		}
		return r.container(depth, c == '{')
	case c == '-' || c >= '0' && c <= '9':
		return r.number()
	}
	for _, word := range []string{"true", "false", "null"} {
		if strings.HasPrefix(r.s[r.i:], word) {
			r.i += len(word)
			return nil
		}
	}
	return r.broken("no value")
}

func (r *scanner) container(depth int, object bool) error {
	r.i++
	for first := true; ; first = false {
		more, err := r.next(first, object)
		if err != nil || !more {
			return err
		}
		if object {
			if _, err := r.rawKey(); err != nil {
				return err
			}
		}
		if err := r.value(depth + 1); err != nil {
			return err
		}
	}
}

// next goes to the next element or member of the container that it is in; more is false behind its end.
func (r *scanner) next(first, object bool) (more bool, err error) {
	end := byte(']')
	if object {
		end = '}'
	}
	r.space()
	if r.i >= len(r.s) {
		return false, r.broken("the text ends")
	}
	if r.s[r.i] == end {
		r.i++
		return false, nil
	}
	if first {
		return true, nil
	}
	if r.s[r.i] != ',' {
		return false, r.broken("no comma")
	}
	r.i++
	r.space()
	return true, nil
}

// rawKey reads a key with its quotes and the colon behind it.
func (r *scanner) rawKey() (string, error) {
	if r.i >= len(r.s) || r.s[r.i] != '"' {
		return "", r.broken("no key")
	}
	start := r.i
	if err := r.text(); err != nil {
		return "", err
	}
	key := r.s[start:r.i]
	r.space()
	if r.i >= len(r.s) || r.s[r.i] != ':' {
		return "", r.broken("no colon")
	}
	r.i++
	r.space()
	return key, nil
}

// member goes to the value of a key in the object at which it is.
func (r *scanner) member(key string) (found bool, err error) {
	r.i++
	for first := true; ; first = false {
		more, err := r.next(first, true)
		if err != nil || !more {
			return false, err
		}
		raw, err := r.rawKey()
		if err != nil {
			return false, err
		}
		if raw[1:len(raw)-1] == key && !strings.Contains(key, `\`) || strings.Contains(raw, `\`) && Unquote(raw) == key {
			return true, nil
		}
		if err := r.value(0); err != nil {
			return false, err
		}
	}
}

// element goes to an element of the array at which it is.
func (r *scanner) element(s step) (found bool, err error) {
	index := s.index
	if s.backward {
		count := int64(0)
		ahead := *r
		ahead.i++
		for first := true; ; first = false {
			more, err := ahead.next(first, false)
			if err != nil {
				return false, err
			}
			if !more {
				break
			}
			if err := ahead.value(0); err != nil {
				return false, err
			}
			count++
		}
		if index = count - s.index; index < 0 || s.index == 0 {
			return false, nil
		}
	}
	r.i++
	for at := int64(0); ; at++ {
		more, err := r.next(at == 0, false)
		if err != nil || !more {
			return false, err
		}
		if at == index {
			return true, nil
		}
		if err := r.value(0); err != nil {
			return false, err
		}
	}
}

// text passes over a string.
func (r *scanner) text() error {
	for i := r.i + 1; i < len(r.s); i++ {
		c := r.s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		switch c {
		case '"':
			r.i = i + 1
			return nil
		case '\\':
			i++
			if i >= len(r.s) {
				break
			}
			if r.s[i] == 'u' {
				if len(r.s) < i+5 || !isHex(r.s[i+1:i+5]) {
					r.i = i
					return r.broken("an escape without four hexadecimal digits")
				}
				i += 4
			} else if strings.IndexByte(`"\/bfnrt`, r.s[i]) < 0 {
				r.i = i
				return r.broken("an unknown escape")
			}
		default:
			r.i = i
			return r.broken("a control character in a string")
		}
	}
	r.i = len(r.s)
	return r.broken("the text ends")
}

func isHex(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !(c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f') {
			return false
		}
	}
	return true
}

func (r *scanner) number() error {
	if r.s[r.i] == '-' {
		r.i++
	}
	if r.i < len(r.s) && r.s[r.i] == '0' {
		r.i++
	} else if !r.digits() {
		return r.broken("a number without digits")
	}
	if r.i < len(r.s) && r.s[r.i] == '.' {
		r.i++
		if !r.digits() {
			return r.broken("a number without digits behind the point")
		}
	}
	if r.i < len(r.s) && r.s[r.i]|0x20 == 'e' {
		r.i++
		if r.i < len(r.s) && (r.s[r.i] == '+' || r.s[r.i] == '-') {
			r.i++
		}
		if !r.digits() {
			return r.broken("a number without digits in the exponent")
		}
	}
	return nil
}

func (r *scanner) digits() bool {
	start := r.i
	for r.i < len(r.s) && r.s[r.i] >= '0' && r.s[r.i] <= '9' {
		r.i++
	}
	return r.i > start
}
