package text

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/togodb/togo/query/expr"
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/funcs/each"
	"github.com/togodb/togo/query/vec"
)

func codes() []*expr.Func {
	var out []*expr.Func
	digest := func(name, example, doc string, f func(string) string) {
		for _, t := range []vec.Type{text, vec.Blob} {
			out = append(out, one(name, example, doc, text, each.One(text, each.Sure(f)), t))
		}
	}
	digest("md5", "md5('a') = '0cc175b9c0f1b6a831c399e269772661'", "MD5, in hexadecimal digits.", func(s string) string { h := md5.Sum([]byte(s)); return hex.EncodeToString(h[:]) })
	digest("sha1", "sha1('a') = '86f7e437faa5a7fce15d1ddcb9eaeaea377667b8'", "SHA-1, in hexadecimal digits.", func(s string) string { h := sha1.Sum([]byte(s)); return hex.EncodeToString(h[:]) })
	digest("sha256", "sha256('a') = 'ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb'", "SHA-256, in hexadecimal digits.", func(s string) string { h := sha256.Sum256([]byte(s)); return hex.EncodeToString(h[:]) })

	upperHex := func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) }
	hexText := one("hex", "hex('ab') = '6162'", "The bytes in hexadecimal digits; of a number its digits, two's complement if it is negative.", text, each.One(text, each.Sure(upperHex)), text)
	hexBlob := one("hex", "hex(encode('ab')) = '6162'", "The bytes in hexadecimal digits.", text, each.One(text, each.Sure(upperHex)), vec.Blob)
	hexInt := one("hex", "hex(255) = 'FF'", "The number in hexadecimal digits.", text, each.One(text, each.Sure(func(n int64) string { return strings.ToUpper(strconv.FormatUint(uint64(n), 16)) })), num)
	unhex := one("unhex", "unhex('6162') = encode('ab')", "The bytes of hexadecimal digits.", vec.Blob, each.One(vec.Blob, fromHex), text)
	base := one("base64", "base64(encode('a')) = 'YQ=='", "The bytes in Base64.", text, each.One(text, each.Sure(func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) })), vec.Blob)
	binary := one("bin", "bin(5) = '101'", "The number in binary digits, two's complement if it is negative.", text, each.One(text, each.Sure(func(n int64) string { return strconv.FormatUint(uint64(n), 2) })), num)
	return append(out,
		hexText, also("to_hex", hexText), hexBlob, also("to_hex", hexBlob), hexInt, also("to_hex", hexInt), unhex, also("from_hex", unhex),
		binary, also("to_binary", binary),
		base, also("to_base64", base),
		one("from_base64", "from_base64('YQ==') = encode('a')", "The bytes of a text in Base64.", vec.Blob, each.One(vec.Blob, fromBase64), text),
		one("encode", "encode('a') = unhex('61')", "The UTF-8 bytes of the text.", vec.Blob, each.One(vec.Blob, each.Sure(func(s string) string { return s })), text),
		one("decode", "decode(unhex('61')) = 'a'", "The text of UTF-8 bytes.", text, each.One(text, decode), vec.Blob),
		one("url_encode", "url_encode('a b&c') = 'a%20b%26c'", "The text as part of a URL.", text, each.One(text, each.Sure(urlEncode)), text),
		one("url_decode", "url_decode('a%20b') = 'a b'", "What url_encode made; what is no escape stays.", text, each.One(text, urlDecode), text),
	)
}

func fromHex(s string) (string, error) {
	if len(s)%2 == 1 {
		s = "0" + s
	}
	b, err := hex.DecodeString(s)
	if err != nil {
		return "", fail.New(fail.Value, "unhex: a text that is not hexadecimal digits")
	}
	return string(b), nil
}

func fromBase64(s string) (string, error) {
	b, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil || strings.ContainsAny(s, "\r\n") {
		return "", fail.New(fail.Value, "from_base64: a text that is not Base64 with its padding")
	}
	return string(b), nil
}

func decode(s string) (string, error) {
	if !utf8.ValidString(s) {
		return "", fail.New(fail.Value, "decode: bytes that are not UTF-8")
	}
	return s, nil
}

func urlEncode(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c|0x20 >= 'a' && c|0x20 <= 'z', c >= '0' && c <= '9', c == '-', c == '_', c == '.', c == '~':
			b.WriteByte(c)
		default:
			const digits = "0123456789ABCDEF"
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
		}
	}
	return b.String()
}

func urlDecode(s string) (string, error) {
	if !strings.Contains(s, "%") {
		return s, nil
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b = append(b, byte(n))
				i += 2
				continue
			}
		}
		b = append(b, s[i])
	}
	return decode(string(b))
}
