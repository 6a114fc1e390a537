package fragment

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The rule of names. A key becomes a piece of a path, a path becomes a column's name:
//
//   - In a key, "%" and control characters (U+0000-U+001F, U+007F-U+009F) are written
//     as %XX, one for each byte. An empty key is written %-. A key that ends like the
//     type in a column's name ("x@int64", in any case) has a % put before that @.
//   - A path is its keys joined by dots. A dot within a key stays as it is, so that
//     {"a.b":1} and {"a":{"b":1}} share a path; its parts count as keys here.
//   - A path that is, in any case, the name of one of our own columns has a % put
//     before it: %timestamp, %id.
//   - A path that differs from an earlier path of the tenant only in case (DuckDB and
//     others ignore case in names) has the letters that differ written as %XX.
//   - A further type of a path adds @ and the type.
//
// Backwards: %XX is that byte, %- is nothing, any other % is dropped. So the name alone
// gives the path and the type suffix, without the list.

// MaxPathBytes bounds a path as written. Longer ones are shown by deep nesting or by
// data in place of names; engines and people handle names of this length.
const MaxPathBytes = 256

// ownColumns are the names that attributes may not have; in lower case.
var ownColumns = map[string]bool{
	colTimestamp: true, colNanos: true, colID: true, colIngestedAt: true,
	colSourcePartition: true, colSourceOffset: true, colSeq: true,
	colRest: true, colKeys: true, colRaw: true, EventName: true,
}

const (
	colTimestamp       = "timestamp"
	colNanos           = "nanos"
	colID              = "id"
	colIngestedAt      = "ingested_at"
	colSourcePartition = "source_partition"
	colSourceOffset    = "source_offset"
	colSeq             = "_seq"
	colRest            = "_rest"
	colKeys            = "_keys"
	colRaw             = "_raw"

	// EventName is the event as it was sent, in SQL; no file has such a column.
	EventName = "_event"

	// Of dead letters only, which have no attributes.
	colReason        = "reason"
	colDetail        = "detail"
	colSourceCluster = "source_cluster"
	colSourceTopic   = "source_topic"
	colFormat        = "format"
	colPayload       = "payload"
)

const upperHex = "0123456789ABCDEF"

func appendHexByte(dst []byte, b byte) []byte {
	return append(dst, '%', upperHex[b>>4], upperHex[b&15])
}

// appendKey appends a key as it stands in a path.
func appendKey(dst, key []byte) []byte {
	if plainKey(key) {
		return append(dst, key...)
	}
	for {
		dot := indexDot(key)
		if dot < 0 {
			return appendPiece(dst, key)
		}
		dst = append(appendPiece(dst, key[:dot]), '.')
		key = key[dot+1:]
	}
}

// plainKey tells that a key stands in a path as it is: what nearly all keys are.
func plainKey(key []byte) bool {
	dot := true
	for _, c := range key {
		switch {
		case c == '.':
			if dot {
				return false
			}
			dot = true
			continue
		case c < ' ' || c == '%' || c == '@' || c == 0x7F || c == 0xC2:
			return false
		}
		dot = false
	}
	return !dot
}

func indexDot(key []byte) int {
	for i, c := range key {
		if c == '.' {
			return i
		}
	}
	return -1
}

func appendPiece(dst, piece []byte) []byte {
	if len(piece) == 0 {
		return append(dst, '%', '-')
	}
	mark := typeSuffix(string(piece))
	for i := 0; i < len(piece); {
		c := piece[i]
		switch {
		case i == mark:
			dst = append(dst, '%', '@')
			i++
		case c == '%' || c < ' ' || c == 0x7F:
			dst = appendHexByte(dst, c)
			i++
		case c == 0xC2 && i+1 < len(piece) && piece[i+1] >= 0x80 && piece[i+1] <= 0x9F:
			dst = appendHexByte(appendHexByte(dst, c), piece[i+1])
			i += 2
		default:
			dst = append(dst, c)
			i++
		}
	}
	return dst
}

// typeSuffix is where a name's @type begins, or -1.
func typeSuffix(name string) int {
	at := strings.LastIndexByte(name, '@')
	if at < 0 {
		return -1
	}
	for t := Boolean; t <= JSON; t++ {
		if strings.EqualFold(name[at+1:], typeNames[t]) {
			return at
		}
	}
	return -1
}

// baseName is the name of a path's first column: taken gives the base name that is
// in use already and equals the path's in all but case, or "".
func baseName(path string, taken func(folded string) string) string {
	base := path
	if ownColumns[foldName(path)] {
		base = "%" + path
	}
	twin := taken(foldName(base))
	if twin == "" {
		return base
	}
	var out []byte
	for base != "" {
		r, n := utf8.DecodeRuneInString(base)
		q, m := utf8.DecodeRuneInString(twin)
		if r == q {
			out = append(out, base[:n]...)
		} else {
			for i := range n {
				out = appendHexByte(out, base[i])
			}
		}
		base, twin = base[n:], twin[m:]
	}
	return string(out)
}

// foldName maps names that differ only in case to one: each rune to the least of those
// that it folds to. The number of runes stays the same.
func foldName(s string) string {
	return strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf {
			if 'A' <= r && r <= 'Z' {
				return r + 'a' - 'A'
			}
			return r
		}
		least := r
		for q := unicode.SimpleFold(r); q != r; q = unicode.SimpleFold(q) {
			least = min(least, q)
		}
		if 'A' <= least && least <= 'Z' {
			return least + 'a' - 'A'
		}
		return least
	}, s)
}

// splitName gives a column name's path without type suffix, and tells the suffix ("").
func splitName(name string) (base, suffix string) {
	at := typeSuffix(name)
	if at < 0 || at > 0 && name[at-1] == '%' {
		return name, ""
	}
	return name[:at], name[at+1:]
}

// pathOfName is the path of a column by its name: own-column marks and case escapes
// undone, key escapes kept in their one written form.
func pathOfName(name string) string {
	base, _ := splitName(name)
	var out []byte
	for i, piece := range strings.Split(base, ".") {
		if i > 0 {
			out = append(out, '.')
		}
		out = appendPiece(out, unescape(piece))
	}
	return string(out)
}

// keysOfPath are the keys of a path if all its dots mean nesting.
func keysOfPath(path string) []string {
	pieces := strings.Split(path, ".")
	for i, p := range pieces {
		pieces[i] = string(unescape(p))
	}
	return pieces
}

func unescape(piece string) []byte {
	out := make([]byte, 0, len(piece))
	for i := 0; i < len(piece); i++ {
		c := piece[i]
		if c != '%' {
			out = append(out, c)
			continue
		}
		if i+2 < len(piece) {
			hi, lo := strings.IndexByte(upperHex, piece[i+1]), strings.IndexByte(upperHex, piece[i+2])
			if hi >= 0 && lo >= 0 {
				out = append(out, byte(hi<<4|lo))
				i += 2
				continue
			}
		}
		if i+1 < len(piece) && piece[i+1] == '-' {
			i++
		}
	}
	return out
}
