package expr

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/togodb/togo/query/value"
	"github.com/togodb/togo/query/vec"
)

func TestJudge(t *testing.T) {
	num := func(v int64) vec.Value { return vec.Value{Type: vec.Int, Int: v} }
	str := func(v string) vec.Value { return vec.Value{Type: vec.Text, Text: v} }
	at := func(v int64) vec.Value { return vec.Value{Type: vec.TimestampTZ, Int: v} }
	const hour = int64(3600e9)
	known := map[int]Bounds{
		0: {Rows: 10, Known: true, Min: num(3), Max: num(7)},                                     // i
		1: {Rows: 10, Nulls: 10, Known: true},                                                    // d: all NULL
		2: {Rows: 10, Known: true, Min: str("ab"), Max: str("ad")},                               // t
		3: {Rows: 10, Nulls: -1},                                                                 // b: nothing
		4: {Rows: 10, Known: true, Min: at(1767225600e9 + hour), Max: at(1767225600e9 + 2*hour)}, // ts: 01:00 to 02:00
		7: {Rows: 10, Nulls: 2, Known: true, Min: num(5), Max: num(5)},                           // k: 5 or NULL
		8: {Rows: 10, Nulls: -1, Known: true, Min: str("k"), Max: str("m")},                      // s
	}
	names := [...]string{"Maybe", "Never", "Always"}
	for text, want := range map[string]Verdict{
		"i = 2": Never, "i = 3": Maybe, "i = 8": Never, "i >= 3": Always, "i > 3": Maybe, "i < 3": Never, "7 >= i": Always,
		"i <> 2": Always, "i + 1 = 3": Never, "i * 2 > 14": Never, "i / 2 >= 1.5": Always, "i = 2.5": Never, "i = 3.5": Maybe,
		"d = 1": Never, "d IS NULL": Always, "d IS NOT NULL": Never, "NOT d = 1": Never, "coalesce(d, 1) = 1": Always, "d IS DISTINCT FROM 1": Always,
		"k = 5": Maybe, "k <> 5": Never, "k IS NOT DISTINCT FROM 5": Maybe, "k = 5 AND k IS NOT NULL": Maybe, "k = 4 OR i = 2": Never, "k = 4 OR i >= 3": Always,
		"i IN (1, 2, 8)": Never, "i IN (1, 5)": Maybe, "i NOT IN (1, 2)": Always, "i NOT IN (1, NULL)": Never, "i BETWEEN 3 AND 7": Always, "i NOT BETWEEN 3 AND 7": Never,
		"t LIKE 'ac%'": Maybe, "t LIKE 'ae%'": Never, "t LIKE 'aa%'": Never, "t LIKE 'a%'": Maybe, "t LIKE 'abc_%'": Maybe, "t LIKE 'b_'": Never, "t LIKE 'ab'": Maybe, "t NOT LIKE 'x%'": Maybe, "t ILIKE 'X%'": Maybe,
		"t = 'ac'": Maybe, "t < 'b'": Always, "s = 'z'": Never, "s >= 'k'": Maybe,
		"ts >= '2026-01-01'": Always, "ts < '2026-01-01T01:00:00Z'": Never, "ts - INTERVAL 2 HOUR < '2026-01-01'": Maybe, "ts - INTERVAL 3 HOUR < '2026-01-01'": Always,
		"CAST(ts AS DATE) = '2026-01-01'": Always, "CAST(ts AS DATE) > '2026-01-01'": Never, "(ts, i) > ('2026-01-02', 0)": Never, "(ts, i) < ('2026-01-02', 0)": Always,
		"b": Maybe, "b AND i = 2": Never, "b IS NULL": Maybe, "halved(i) < 4": Maybe, "halved(i) > 3": Never, "i = 2 AND CAST(t AS BIGINT) = 1": Never,
		"CASE WHEN i = 2 THEN true END": Maybe, "(b IS NULL) IS NULL": Never, "NULL": Never, "true": Always, "i <= k": Maybe, "ts < ts": Maybe,
	} {
		e, err := BindCondition(parse(t, text), wide, testEnv)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := Judge(e, func(slot int) Bounds { return known[slot] }); got != want {
			t.Errorf("%s: %s, not %s", text, names[got], names[want])
		}
	}
}

func TestValues(t *testing.T) {
	for text, want := range map[string]string{
		"i = 2": "[2] true", "2 = i": "[2] true", "i = 2 OR i IN (3, 4)": "[2 3 4] true", "i = 2 OR k = 1": "[] false", "i IN (1, 2) AND i = 2": "[2] true",
		"i = 2.0": "[2] true", "i = 2.5": "[] true", "i > 2": "[] false", "i IN (1, NULL)": "[1] true", "i NOT IN (1)": "[] false", "i <> 1": "[] false",
		"i = 9007199254740992.0": "[] false", "i IS NOT DISTINCT FROM 2": "[2] true", "i IN (1, k)": "[] false", "i = 1 AND t LIKE 'a%'": "[1] true", "false": "[] true",
		"i + 1 = 2": "[] false", "(i, t) = (1, 'a')": "[1] true",
	} {
		list, ok := Values(bind(t, wide, text), 0)
		if list == nil {
			list = []vec.Value{}
		}
		texts := make([]string, len(list))
		for i, v := range list {
			texts[i] = value.Format(v)
		}
		if got := fmt.Sprint(texts, ok); got != want {
			t.Errorf("%s: %s, not %s", text, got, want)
		}
	}
}

// TestLimitsEnd: of thousands of conditions no more are asked once the query has ended, and the range is none that leaves rows out.
func TestLimitsEnd(t *testing.T) {
	e := bind(t, wide, "ts >= '2026-01-01' AND ts < '2026-01-02'")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if low, high := Limits(ctx, e, 4); low != math.MinInt64 || high != math.MaxInt64 {
		t.Errorf("[%d, %d]", low, high)
	}
}

func TestLimits(t *testing.T) {
	all := "[1677-09-21 00:12:43.145224192+00 2262-04-11 23:47:16.854775807+00]"
	for text, want := range map[string]string{
		"ts >= '2026-01-01'":                                 "[2026-01-01 00:00:00+00 2262-04-11 23:47:16.854775807+00]",
		"ts > '2026-01-01' AND ts < '2026-01-02'":            "[2026-01-01 00:00:00.000000001+00 2026-01-01 23:59:59.999999999+00]",
		"ts BETWEEN '2026-01-01' AND '2026-01-02' AND i = 3": "[2026-01-01 00:00:00+00 2026-01-02 00:00:00+00]",
		"ts = '2026-01-01' OR ts = '2026-02-01'":             "[2026-01-01 00:00:00+00 2026-02-01 00:00:00+00]",
		"ts = '2026-01-01' OR i = 3":                         all,
		"i = 3":                                              all,
		"ts IN ('2026-01-01', '2025-01-01')":                 "[2025-01-01 00:00:00+00 2026-01-01 00:00:00+00]",
		"(ts, i) > ('2026-01-01', 7)":                        "[2026-01-01 00:00:00+00 2262-04-11 23:47:16.854775807+00]",
		"CAST(ts AS DATE) = '2026-01-01'":                    "[2026-01-01 00:00:00+00 2026-01-01 23:59:59.999999999+00]",
		"ts + INTERVAL 1 HOUR >= '2026-01-01'":               "[2025-12-31 23:00:00+00 2262-04-11 23:47:16.854775807+00]",
		"ts - INTERVAL 1 MONTH < '2026-01-01'":               "[1677-09-21 00:12:43.145224192+00 2026-01-31 23:59:59.999999999+00]",
		"ts > '2026-01-01' AND ts < '2026-01-01'":            "none",
		"NOT (ts < '2026-01-01')":                            "[2026-01-01 00:00:00+00 2262-04-11 23:47:16.854775807+00]",
		"ts IS NULL":                                         "none",
		"coalesce(ts, ts) > '2026-01-01' AND t LIKE 'a%'":    "[2026-01-01 00:00:00.000000001+00 2262-04-11 23:47:16.854775807+00]",
	} {
		low, high := Limits(t.Context(), bind(t, wide, text), 4)
		got := "none"
		if low <= high {
			got = fmt.Sprintf("[%s %s]", value.Format(vec.Value{Type: vec.TimestampTZ, Int: low}), value.Format(vec.Value{Type: vec.TimestampTZ, Int: high}))
		}
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", text, got, want)
		}
	}
}
