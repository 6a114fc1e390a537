package jsonpath

import "github.com/togodb/togo/query/fail"

// maxCompared bounds the values that one Contains compares: some tenths of a second.
const maxCompared = 1 << 22

// node is a value of a document as a tree. Scalars are compared by their normal form.
type node struct {
	kind   byte // { [ or 0
	scalar string
	keys   []string
	subs   []node
}

func parse(raw string) node {
	if raw[0] != '{' && raw[0] != '[' {
		return node{scalar: string(appendScalar(nil, raw))}
	}
	n := node{kind: raw[0]}
	Each(raw, func(key, value string) error {
		if n.kind == '{' {
			n.keys = append(n.keys, key)
		}
		n.subs = append(n.subs, parse(value))
		return nil
	})
	return n
}

// Contains tells whether a good value is in another anywhere: equal to it or to one of its parts; an array with some of
// the elements and an object with some of the members are in it too.
func Contains(raw, part string) (bool, error) {
	c := comparison{}
	found := c.contains(parse(raw), parse(part))
	if c.compared > maxCompared {
		return false, fail.New(fail.TooLarge, "json_contains of two values with more than %d pairs to compare", maxCompared)
	}
	return found, nil
}

type comparison struct{ compared int }

func (c *comparison) contains(n, part node) bool {
	if c.covers(n, part) {
		return true
	}
	for _, sub := range n.subs {
		if c.contains(sub, part) {
			return true
		}
	}
	return false
}

// covers tells whether n has all that part has.
func (c *comparison) covers(n, part node) bool {
	if c.compared++; c.compared > maxCompared || n.kind != part.kind {
		return false
	}
	switch n.kind {
	case '{':
		for i, key := range part.keys {
			at := 0
			for at < len(n.keys) && n.keys[at] != key {
				at++
			}
			if c.compared += at; at == len(n.keys) || !c.covers(n.subs[at], part.subs[i]) {
				return false
			}
		}
		return true
	case '[':
		for _, p := range part.subs {
			found := false
			for _, sub := range n.subs {
				if found = c.covers(sub, p); found {
					break
				}
			}
			if !found {
				return false
			}
		}
		return true
	}
	return n.scalar == part.scalar
}
