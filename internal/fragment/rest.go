package fragment

import (
	"bytes"
	"encoding/hex"
	"unicode/utf8"

	"github.com/togodb/togo/internal/event/jsonscan"
)

// restJSON is the object of the tokens in b.rest, nested and named as they were sent.
func (b *builder) restJSON() []byte {
	b.text = append(b.text[:0], '{')
	b.restMembers(0, len(b.tape.Tokens), b.rest)
	b.text = append(b.text, '}')
	return b.text
}

// restMembers appends those members of an object, tokens [from, to), that hold a token of
// rest, and returns what of rest lies behind them.
func (b *builder) restMembers(from, to int, rest []int) []int {
	tokens := b.tape.Tokens
	first := true
	for t := from; t < to && len(rest) > 0 && rest[0] < to; t = int(tokens[t].Next) {
		token := &tokens[t]
		if rest[0] >= int(token.Next) {
			continue
		}
		if !first {
			b.text = append(b.text, ',')
		}
		first = false
		b.text = append(appendString(b.text, b.tape.Key(t)), ':')
		if token.Kind == jsonscan.Object {
			b.text = append(b.text, '{')
			rest = b.restMembers(t+1, int(token.Next), rest)
			b.text = append(b.text, '}')
			continue
		}
		b.restValue(t, token)
		rest = rest[1:]
	}
	return rest
}

func (b *builder) restValue(t int, token *jsonscan.Token) {
	raw := b.tape.Raw(t)
	switch token.Kind {
	case jsonscan.EmptyObject:
		b.text = append(b.text, '{', '}')
	case jsonscan.Array:
		b.text = appendCompact(b.text, raw, token.Has(jsonscan.LoneSurrogate))
	case jsonscan.String:
		b.text = append(b.text, '"')
		if token.Has(jsonscan.LoneSurrogate) {
			b.text = appendWhole(b.text, raw)
		} else {
			b.text = append(b.text, raw...)
		}
		b.text = append(b.text, '"')
	case jsonscan.Null:
		b.text = append(b.text, "null"...)
	default:
		b.text = append(b.text, raw...)
	}
}

// binaryID begins the id column's text of an id that is not UTF-8 (a Kafka key may be any
// bytes); the bytes follow as hex. Ids that users choose never begin with a single
// "@" and those made of a position hold more slashes, so no other id has this form.
const binaryID = "@x/"

func appendID(dst, id []byte) []byte {
	if utf8.Valid(id) {
		return append(dst, id...)
	}
	return hex.AppendEncode(append(dst, binaryID...), id)
}

// idOf undoes appendID.
func idOf(text []byte) []byte {
	if rest, ok := bytes.CutPrefix(text, []byte(binaryID)); ok {
		if id, err := hex.AppendDecode(nil, rest); err == nil && !utf8.Valid(id) {
			return id
		}
	}
	return text
}
