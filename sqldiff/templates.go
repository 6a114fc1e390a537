package main

import "strings"

// template is a form of expression. In t, and in d where DuckDB is asked in another way, $1 to $9 are the arguments; args says of what kind
// each is: a type, or one of the letters of choice.
type template struct {
	k      kind
	t      string
	args   string
	d      string
	weight int  // 0 is 1
	auto   bool // of the library, not by hand
	forms  int  // that a function has for as many arguments
}

// The letters of constants that functions take: n a number 0 to 8, p a pattern of LIKE, r a regular expression, u a unit of
// date_trunc, f a part of a date, z a zone, F a format, c a short text, I an interval, J a path of JSON, k a type of comparison, m -4 to 6, q 0 to 1.
var templates = []template{
	// Conditions.
	{k: kBool, t: "$1 $2 $3", args: "iki", weight: 3}, {k: kBool, t: "$1 $2 $3", args: "dkd", weight: 3}, {k: kBool, t: "$1 $2 $3", args: "sks", weight: 3}, {k: kBool, t: "$1 $2 $3", args: "tkt"},
	{k: kBool, t: "$1 AND $2", args: "bb", weight: 4}, {k: kBool, t: "$1 OR $2", args: "bb", weight: 4}, {k: kBool, t: "NOT $1", args: "b", weight: 2},
	{k: kBool, t: "$1 LIKE $2", args: "sp", weight: 2}, {k: kBool, t: "$1 NOT LIKE $2", args: "sp"}, {k: kBool, t: "$1 ILIKE $2", args: "sp"}, {k: kBool, t: "$1 NOT ILIKE $2", args: "sp"},
	{k: kBool, t: "regexp_matches($1, $2)", args: "sr"}, {k: kBool, t: "$1 IS NULL", args: "s"}, {k: kBool, t: "$1 IS NOT NULL", args: "i"}, {k: kBool, t: "$1 IS NULL", args: "d"},
	{k: kBool, t: "$1 IS NOT DISTINCT FROM $2", args: "ii"}, {k: kBool, t: "$1 IS DISTINCT FROM $2", args: "ss"}, {k: kBool, t: "$1 IS TRUE", args: "b"}, {k: kBool, t: "$1 IS NOT FALSE", args: "b"},
	{k: kBool, t: "$1 BETWEEN $2 AND $3", args: "iii"}, {k: kBool, t: "$1 NOT BETWEEN $2 AND $3", args: "ddd"}, {k: kBool, t: "$1 BETWEEN $2 AND $3", args: "sss"},
	{k: kBool, t: "$1 IN ($2, $3, $4)", args: "iiii"}, {k: kBool, t: "$1 NOT IN ($2, $3)", args: "sss"}, {k: kBool, t: "$1 IN ($2, NULL)", args: "ss"},
	{k: kBool, t: "contains($1, $2)", args: "sc"}, {k: kBool, t: "starts_with($1, $2)", args: "sc"}, {k: kBool, t: "ends_with($1, $2)", args: "sc", d: "suffix($1, $2)"},
	{k: kBool, t: "isnan($1)", args: "d"}, {k: kBool, t: "isinf($1)", args: "d"}, {k: kBool, t: "isfinite($1)", args: "d"}, {k: kBool, t: "coalesce($1, $2)", args: "bb"}, {k: kBool, t: "json_valid($1)", args: "s"},
	{k: kBool, t: "($1, $2) < ($3, $4)", args: "iiii"}, {k: kBool, t: "json_exists($1, $2)", args: "jJ"},

	{k: kBool, t: "$1 $2 $3", args: "tkT", weight: 3}, {k: kBool, t: "$1 BETWEEN $2 AND $3", args: "tTT"}, {k: kBool, t: "$1 IN ('200', '404', '7')", args: "i"}, {k: kBool, t: "$1 = '200'", args: "i"}, {k: kBool, t: "$1 LIKE 'a!_%' ESCAPE '!'", args: "s"},
	{k: kBool, t: "$1 $2 $3", args: "aka"}, {k: kBool, t: "$1 > INTERVAL '10 minutes'", args: "v"}, {k: kBool, t: "regexp_full_match($1, $2)", args: "sr"},

	// Numbers.
	{k: kInt, t: "$1 + $2", args: "ii", weight: 2}, {k: kInt, t: "$1 - $2", args: "ii"}, {k: kInt, t: "$1 * $2", args: "im"}, {k: kInt, t: "$1 // $2", args: "ii"}, {k: kInt, t: "$1 % $2", args: "ii"}, {k: kInt, t: "-$1", args: "i"},
	{k: kInt, t: "abs($1)", args: "i"}, {k: kInt, t: "sign($1)", args: "i"}, {k: kInt, t: "length($1)", args: "s", weight: 3}, {k: kInt, t: "strlen($1)", args: "s"}, {k: kInt, t: "strpos($1, $2)", args: "sc"}, {k: kInt, t: "ascii($1)", args: "s"},
	{k: kInt, t: "coalesce($1, $2)", args: "ii"}, {k: kInt, t: "nullif($1, $2)", args: "ii"}, {k: kInt, t: "greatest($1, $2)", args: "ii"}, {k: kInt, t: "least($1, $2, $3)", args: "iii"},
	{k: kInt, t: "CASE WHEN $1 THEN $2 ELSE $3 END", args: "bii"}, {k: kInt, t: "CASE $1 WHEN $2 THEN $3 WHEN $4 THEN $5 END", args: "ssisi"}, {k: kInt, t: "if($1, $2, $3)", args: "bii"},
	{k: kInt, t: "TRY_CAST($1 AS BIGINT)", args: "s"}, {k: kInt, t: "CAST($1 AS BIGINT)", args: "b"}, {k: kInt, t: "TRY_CAST($1 AS BIGINT)", args: "d"},
	{k: kInt, t: "extract($2 FROM $1)", args: "tf"}, {k: kInt, t: "date_part('$2', $1)", args: "tf"}, {k: kInt, t: "epoch_ms($1)", args: "t"}, {k: kInt, t: "date_diff('$3', $1, $2)", args: "ttu"}, {k: kInt, t: "epoch_us($1)", args: "t"},
	{k: kInt, t: "year($1)", args: "t"}, {k: kInt, t: "hour($1)", args: "t"}, {k: kInt, t: "json_array_length($1)", args: "j"}, {k: kInt, t: "levenshtein($1, $2)", args: "sc"}, {k: kInt, t: "$1 & $2", args: "ii"}, {k: kInt, t: "xor($1, $2)", args: "ii"},
	{k: kDouble, t: "$1 + $2", args: "dd", weight: 2}, {k: kDouble, t: "$1 - $2", args: "dd"}, {k: kDouble, t: "$1 * $2", args: "dd"}, {k: kDouble, t: "$1 / $2", args: "dd"}, {k: kDouble, t: "$1 / $2", args: "ii", weight: 2}, {k: kDouble, t: "$1 + $2", args: "id"},
	{k: kDouble, t: "abs($1)", args: "d"}, {k: kDouble, t: "round($1, $2)", args: "dn"}, {k: kDouble, t: "round($1)", args: "d"}, {k: kDouble, t: "floor($1)", args: "d"}, {k: kDouble, t: "ceil($1)", args: "d"}, {k: kDouble, t: "trunc($1)", args: "d"},
	{k: kDouble, t: "sqrt(abs($1))", args: "d"}, {k: kDouble, t: "ln(abs($1) + 1)", args: "d"}, {k: kDouble, t: "log10(abs($1) + 1)", args: "d"}, {k: kDouble, t: "log2(abs($1) + 1)", args: "d"}, {k: kDouble, t: "exp(least($1, 20))", args: "d", d: "exp(least($1, 20e0))"},
	{k: kDouble, t: "pow($1, 2)", args: "d"}, {k: kDouble, t: "sin($1)", args: "i"}, {k: kDouble, t: "atan2($1, $2)", args: "dd"}, {k: kDouble, t: "TRY_CAST($1 AS DOUBLE)", args: "s"}, {k: kDouble, t: "$1::DOUBLE", args: "i"}, {k: kDouble, t: "coalesce($1, $2)", args: "dd"},
	{k: kDouble, t: "CASE WHEN $1 THEN $2 END", args: "bd"}, {k: kDouble, t: "epoch($1)", args: "t"}, {k: kDouble, t: "nullif($1, $2)", args: "dd"}, {k: kDouble, t: "greatest($1, $2)", args: "dd"},

	{k: kDouble, t: "CASE WHEN $1 THEN 'nan'::DOUBLE ELSE $2 END", args: "bd"}, {k: kDouble, t: "$1 / ($2 % 3)", args: "dd", d: "$1 / ($2 % 3)"},
	{k: kBool, t: "$1 IN ($2, $3, $4, $5, $6, $7)", args: "sssssss"}, {k: kBool, t: "$1 NOT IN ($2, $3, $4)", args: "dddd"}, {k: kBool, t: "$1 IN ($2, $3)", args: "ttt"}, {k: kBool, t: "$1 NOT IN ($2, NULL)", args: "ii"},
	{k: kBool, t: "($1, $2) >= ($3, $4)", args: "tsts"}, {k: kBool, t: "($1, $2) = ($3, $4)", args: "sisi"}, {k: kBool, t: "($1, $2, $3) <= ($4, $5, $6)", args: "sdisdi"}, {k: kBool, t: "($1, $2) IN (($3, $4), ($5, $6))", args: "sisisi"}, {k: kBool, t: "($1, $2) <> ($3, $4)", args: "dsds"},

	// Texts.
	{k: kText, t: "upper($1)", args: "s"}, {k: kText, t: "lower($1)", args: "s"}, {k: kText, t: "substr($1, $2)", args: "sm"}, {k: kText, t: "substring($1, $2, $3)", args: "smn"}, {k: kText, t: "substring($1 FROM $2 FOR $3)", args: "snn"}, {k: kText, t: "left($1, $2)", args: "sm"},
	{k: kText, t: "right($1, $2)", args: "sm"}, {k: kText, t: "trim($1)", args: "s"}, {k: kText, t: "ltrim($1, $2)", args: "sc"}, {k: kText, t: "rtrim($1)", args: "s"}, {k: kText, t: "replace($1, $2, $3)", args: "scs"}, {k: kText, t: "split_part($1, $2, $3)", args: "scm"},
	{k: kText, t: "concat($1, $2)", args: "ss"}, {k: kText, t: "concat_ws($1, $2, $3)", args: "css"}, {k: kText, t: "$1 || $2", args: "ss", weight: 2}, {k: kText, t: "reverse(md5($1))", args: "s"}, {k: kText, t: "repeat($1, $2)", args: "sn"}, {k: kText, t: "lpad($1, $2, $3)", args: "snc"},
	{k: kText, t: "rpad($1, $2, $3)", args: "snc"}, {k: kText, t: "md5($1)", args: "s"}, {k: kText, t: "sha256($1)", args: "s"}, {k: kText, t: "regexp_extract($1, $2)", args: "sr"}, {k: kText, t: "regexp_extract($1, '([a-z]+) ([a-z]+)', 2)", args: "s"},
	{k: kText, t: "regexp_replace($1, $2, '<\\0>')", args: "sr"}, {k: kText, t: "regexp_replace($1, $2, '', 'g')", args: "sr"}, {k: kText, t: "CAST($1 AS VARCHAR)", args: "i"}, {k: kText, t: "$1::VARCHAR", args: "b"}, {k: kText, t: "$1::VARCHAR", args: "d"},
	{k: kText, t: "coalesce($1, $2)", args: "ss", weight: 2}, {k: kText, t: "nullif($1, $2)", args: "ss"}, {k: kText, t: "CASE WHEN $1 THEN $2 ELSE $3 END", args: "bss", weight: 2}, {k: kText, t: "strftime($1, $2)", args: "tF"}, {k: kText, t: "greatest($1, $2)", args: "ss"},
	{k: kText, t: "$1 ->> $2", args: "jJ"}, {k: kText, t: "json_extract_string($1, $2)", args: "jJ"}, {k: kText, t: "json_type($1)", args: "j"}, {k: kText, t: "translate($1, 'abc', 'xy')", args: "s"}, {k: kText, t: "chr($1 % 90 + 100)", args: "i", d: "chr(($1 % 90 + 100)::INTEGER)"},
	{k: kText, t: "dayname($1)", args: "t"}, {k: kText, t: "$1::DATE::VARCHAR || ''", args: "t"},

	{k: kText, t: "strftime($1, $2)", args: "wF"}, {k: kText, t: "$1::VARCHAR || ''", args: "w"}, {k: kText, t: "$1::VARCHAR || ''", args: "a"}, {k: kText, t: "$1::VARCHAR || ''", args: "v"}, {k: kText, t: "$1::VARCHAR || ''", args: "t"},

	// JSON.
	{k: kJSON, t: "$1 -> $2", args: "jJ"}, {k: kJSON, t: "json_keys($1)", args: "j", d: "to_json(json_keys($1))"}, {k: kJSON, t: "json_extract($1, $2)", args: "jJ"}, {k: kJSON, t: "TRY_CAST($1 AS JSON)", args: "s"},

	// Times.
	{k: kTime, t: "date_trunc('$2', $1)", args: "tu", weight: 3}, {k: kTime, t: "time_bucket($2, $1)", args: "tI", weight: 2}, {k: kTime, t: "$1 + $2", args: "tI"}, {k: kTime, t: "$1 - $2", args: "tI"}, {k: kTime, t: "to_timestamp(length($1) * 1000000)", args: "s"},
	{k: kTime, t: "coalesce($1, $2)", args: "tt"}, {k: kTime, t: "TRY_CAST(left($1, 26) AS TIMESTAMPTZ)", args: "s"}, {k: kTime, t: "greatest($1, $2)", args: "tt"},
	{k: kWall, t: "$1 AT TIME ZONE $2", args: "tz", weight: 3}, {k: kWall, t: "date_trunc('$2', $1)", args: "wu"}, {k: kWall, t: "TRY_CAST(left($1, 26) AS TIMESTAMP)", args: "s"}, {k: kWall, t: "$1 + $2", args: "wI"}, {k: kWall, t: "time_bucket($2, $1)", args: "wI"},
	{k: kInt, t: "extract($2 FROM $1)", args: "wf"}, {k: kInt, t: "extract($2 FROM $1)", args: "af"}, {k: kInt, t: "date_diff('day', $1, $2)", args: "aa"}, {k: kInt, t: "extract(minute FROM $1)", args: "v"}, {k: kTime, t: "$1 AT TIME ZONE $2", args: "wz"},
	{k: kInt, t: "$1 - $2", args: "aa"}, {k: kInt, t: "$1 | $2", args: "ii"}, {k: kInt, t: "$1 << $2", args: "in"}, {k: kInt, t: "$1 >> $2", args: "in"}, {k: kInt, t: "date_sub('$3', $1, $2)", args: "ttu"}, {k: kInt, t: "date_diff('$3', $1, $2)", args: "wwu"},
	{k: kInt, t: "date_diff('$3', $1, $2)", args: "aau"}, {k: kInt, t: "date_part('$2', $1)", args: "vg"}, {k: kText, t: "strftime($1, $2)", args: "aF"}, {k: kText, t: "printf('%d-%s', $1, $2)", args: "is"}, {k: kText, t: "format('{}|{}', $1, $2)", args: "si"},
	{k: kWall, t: "strptime(strftime($1, '%Y-%m-%d %H:%M:%S'), '%Y-%m-%d %H:%M:%S')", args: "w"}, {k: kWall, t: "try_strptime($1, '%Y-%m-%d')", args: "s"}, {k: kTime, t: "date_trunc('$2', $1, $3)", args: "tuz", d: "date_trunc('$2', $1 AT TIME ZONE $3) AT TIME ZONE $3"},
	{k: kTime, t: "time_bucket($2, $1, $3)", args: "tIz"}, {k: kSpan, t: "$1 + $2", args: "vv"}, {k: kSpan, t: "$1 - $2", args: "vv"}, {k: kSpan, t: "$1 * $2", args: "vn"}, {k: kSpan, t: "-$1", args: "v"}, {k: kBool, t: "$1 $2 $3", args: "vkv"}, {k: kBool, t: "$1 $2 $3", args: "wkw"},
	{k: kWall, t: "$1 - $2", args: "wI"}, {k: kSpan, t: "$1 - $2", args: "ww"}, {k: kWall, t: "$1 + $2", args: "aI"}, {k: kWall, t: "$1::TIMESTAMP", args: "t"}, {k: kTime, t: "$1::TIMESTAMPTZ", args: "w"}, {k: kWall, t: "$1::TIMESTAMP", args: "a"}, {k: kDate, t: "$1::DATE", args: "w"},
	{k: kSpan, t: "TRY_CAST($1 AS INTERVAL)", args: "s"}, {k: kBool, t: "TRY_CAST($1 AS BOOLEAN)", args: "s"}, {k: kBool, t: "$1::BOOLEAN", args: "i"}, {k: kBool, t: "$1::BOOLEAN", args: "d"}, {k: kInt, t: "CAST($1 AS BIGINT)", args: "s"}, {k: kDouble, t: "CAST($1 AS DOUBLE)", args: "s"},
	{k: kDate, t: "$1::DATE", args: "t"}, {k: kDate, t: "$1 + $2", args: "am", d: "$1 + ($2)::INTEGER"}, {k: kWall, t: "date_trunc('$2', $1)", args: "au"}, {k: kDate, t: "TRY_CAST($1 AS DATE)", args: "s"},
	{k: kSpan, t: "$1 - $2", args: "tt"}, {k: kSpan, t: "$1", args: "I"},
}

// choices of the constant letters.
var choices = map[byte][]string{
	'n': {"0", "1", "2", "3", "5", "8"}, 'm': {"-3", "-1", "0", "1", "2", "4", "6"}, 'k': {"=", "<>", "<", "<=", ">", ">="},
	'p': {"'%error%'", "'%Error%'", "'%timeout'", "'GET%'", "'%100\\%%'", "'%a_b%'", "'_eb'", "'%é%'", "''", "'%'", "'host-0_'", "'web'", "'%日本%'", "'%a%e%'", "'%ß%'", "'x'", "'%''s%'", "'%\\\\%'"},
	'r': {"'err'", "'^[a-z]+'", "'[0-9]+$'", "'(?i)ERROR'", "'a|e'", "'\\d{2,}'", "'\\bms\\b'", "'^$'", "'.'", "'[^a-z ]+'", "'é'", "'o{2}'"},
	'u': {"hour", "minute", "second", "day", "month", "week", "quarter", "year"}, 'f': {"year", "month", "day", "hour", "minute", "dow", "doy", "week", "quarter", "isodow", "second"},
	'z': {"'Europe/Berlin'", "'America/New_York'", "'UTC'"}, 'F': {"'%Y-%m-%d'", "'%H:%M:%S'", "'%a %b %d %Y %I:%M %p'", "'%j %U %%'", "'%y%m%d %-d/%-m %-H %p %B %A'", "'%f %g %w %u %W %V %G'", "'%c | %x | %X'"},
	'c': {"'a'", "'e'", "' '", "'er'", "'日'", "'-'", "'web'", "'x'", "'0'"}, 'J': {"'a'", "'$.a'", "'$.b.c'", "'b'", "'$[0]'", "'$.l[1]'", "'$.nothing'", "'$[1]'", "'id'"},
	'T': {"'2025-06-30T23:00:00Z'", "'2025-07-01'", "'2025-06-30 23:30:00.25'", "'2025-07-01T02:00:00+02:00'", "'2025-06-30 22:00'", "'2025-07-01T00:00:00.000001Z'"},
	'g': {"year", "month", "day", "hour", "minute", "second", "millisecond", "quarter"}, 'I': {"INTERVAL '5 minutes'", "INTERVAL '1 hour'", "INTERVAL '90 seconds'", "INTERVAL 1 DAY", "INTERVAL '17 minutes'", "INTERVAL '1 month'", "INTERVAL '2 weeks'"}, 'q': {"0.5", "0.9", "0.99", "0", "1", "0.25"},
}

func fill(format string, parts []string) string {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] == '$' && i+1 < len(format) && format[i+1] >= '1' && format[i+1] <= '9' && int(format[i+1]-'1') < len(parts) {
			b.WriteString(parts[format[i+1]-'1'])
			i++
			continue
		}
		b.WriteByte(format[i])
	}
	return b.String()
}
