package calendar

import (
	"math"
	"testing"
	"time"

	"github.com/togodb/togo/query/vec"
)

func TestCivilAgainstGo(t *testing.T) {
	for date := int64(-800000); date < 800000; date += 37 {
		g := time.Unix(date*86400, 0).UTC()
		year, month, day := Civil(date)
		if year != int64(g.Year()) || month != int(g.Month()) || day != g.Day() {
			t.Fatalf("day %d is %d-%d-%d, want %v", date, year, month, day, g)
		}
		if DateOf(year, month, day) != date || Weekday(date) != int(g.Weekday()) || DatePart(UnitDayOfYear, date) != int64(g.YearDay()) {
			t.Fatalf("day %d: date, weekday or day of the year", date)
		}
		gy, gw := g.ISOWeek()
		if y, w := ISOWeek(date); y != int64(gy) || w != gw {
			t.Fatalf("%v is in week %d of %d, want %d of %d", g, w, y, gw, gy)
		}
	}
}

func TestJoinAtTheEnds(t *testing.T) {
	for _, ns := range []int64{math.MinInt64, math.MinInt64 + 1, -Day, -1, 0, 1, Day, math.MaxInt64} {
		date, clock := Split(ns)
		if got, err := Join(date, clock); err != nil || got != ns {
			t.Errorf("%d: got %d, %v", ns, got, err)
		}
	}
	date, clock := Split(math.MaxInt64)
	for _, c := range [][2]int64{{date, clock + 1}, {date + 1, 0}, {-date - 1, 0}, {-date - 2, clock}, {MinDate, 0}, {MaxDate, 0}} {
		if got, err := Join(c[0], c[1]); err == nil {
			t.Errorf("%v: got %d", c, got)
		}
	}
}

// The texts and what DuckDB 1.5.6 makes of them; "" is an error.
func TestParse(t *testing.T) {
	tz := func(s string) (string, error) {
		ns, err := ParseTimestampTZ(s)
		return string(AppendTimestampTZ(nil, ns)), err
	}
	ts := func(s string) (string, error) {
		ns, err := ParseTimestamp(s)
		return string(AppendTimestamp(nil, ns)), err
	}
	date := func(s string) (string, error) {
		d, err := ParseDate(s)
		return string(AppendDate(nil, d)), err
	}
	interval := func(s string) (string, error) {
		i, err := ParseInterval(s)
		return string(AppendInterval(nil, i)), err
	}
	for _, c := range []struct {
		name  string
		parse func(string) (string, error)
		texts [][2]string
	}{
		{"TIMESTAMPTZ", tz, [][2]string{
			{"2026-01-01", "2026-01-01 00:00:00+00"},
			{"2026-01-01T00:00:00Z", "2026-01-01 00:00:00+00"},
			{"2026-01-01T00:00:00+05:30", "2025-12-31 18:30:00+00"},
			{"2026-01-01T00:00:00 Europe/Berlin", "2025-12-31 23:00:00+00"},
			{"2026-01-01 10:20", "2026-01-01 10:20:00+00"},
			{"2026-01-01 10", ""},
			{"2026-01-01 10:20:30+01", "2026-01-01 09:20:30+00"},
			{"2026-01-01 10:20:30+0130", "2026-01-01 08:50:30+00"},
			{"2026-01-01 10:20:30+01:30:15", "2026-01-01 08:50:15+00"},
			{"2026-01-01 10:20:30 UTC", "2026-01-01 10:20:30+00"},
			{"2026-01-01 10:20:30-00:30", "2026-01-01 10:50:30+00"},
			{"2026-01-01 10:20:30+1", ""}, {"2026-01-01 10:20:30+01:3", ""}, {"2026-01-01 10:20:30+1:30", ""},
			{"2026-01-01 10:20:30 Z", ""}, {"2026-01-01 10:20:30z", ""}, {"2026-01-01t10:20:30", ""},
			{"2026-01-01 10:20:30,5", ""}, {"2026-01-01 10:20:30UTC", ""}, {"2026-01-01+01:00", ""}, {"2026-01-01Z", ""}, {"2026-01-01 ", ""},
			{"2026-01-01 10:20:30 foo", ""}, {"2026-01-01 25:20:30", ""}, {"2026-01-01 10:60:30", ""}, {"2026-01-01 24:00:01", ""},
			{"2026-01-01  10:20:30", "2026-01-01 10:20:30+00"},
			{"2026-01-01 10:20:30.", "2026-01-01 10:20:30+00"},
			{"2026-01-01 10:2:3", "2026-01-01 10:02:03+00"},
			{"1677-09-21 00:12:43.145224192", "1677-09-21 00:12:43.145224192+00"},
			{"1677-09-21 00:12:43.145224191", ""},
			{"2262-04-11 23:47:16.854775807", "2262-04-11 23:47:16.854775807+00"},
			{"2262-04-11 23:47:16.854775808", ""}, {"2263-01-01", ""},
		}},
		{"TIMESTAMP", ts, [][2]string{
			{"2026-01-01 00:00:00.123456789", "2026-01-01 00:00:00.123456789"},
			{"2026-01-01 10:20:30.1234567890123", "2026-01-01 10:20:30.123456789"},
			{"2026-01-01 10:20:30.12", "2026-01-01 10:20:30.12"},
			{"2026-1-1 1:2:3", "2026-01-01 01:02:03"},
			{"2026-01-01T00:00:00+05:30", "2026-01-01 00:00:00"},
			{"2026-01-01T00:00:00Z", "2026-01-01 00:00:00"},
			{"  2026-01-01 00:00:00 ", "2026-01-01 00:00:00"},
			{"2026-01", ""}, {"20260101", ""}, {"2026-02-30", ""}, {"2026-01-01 23:59:60", ""}, {"now", ""},
			{"2026/01/02", "2026-01-02 00:00:00"},
			{"2026-01-01 24:00:00", "2026-01-02 00:00:00"},
			{"epoch", "1970-01-01 00:00:00"},
			{"2026-01-01 10:20:30 Europe/Berlin", ""},
			{"1969-12-31 23:59:58.5", "1969-12-31 23:59:58.5"},
		}},
		{"DATE", date, [][2]string{
			{"epoch", "1970-01-01"}, {"-5-01-01", "0006-01-01 (BC)"}, {"2026-01-02 10:00:00", "2026-01-02"}, {"2026-01-02T", "2026-01-02"},
			{"2026 01 02", "2026-01-02"}, {`2026\01\02`, "2026-01-02"}, {"0044-03-15 (BC)", "0044-03-15 (BC)"},
			{"26-01-01", "0026-01-01"}, {"12026-01-01", "12026-01-01"}, {"2026-13-01", ""}, {"2026-00-01", ""}, {"2026-001-01", ""}, {"2026-1-001", ""},
			{"2026-01/01", ""}, {"2024-02-29", "2024-02-29"}, {"2026-02-29", ""}, {"", ""}, {"+2026-01-01", ""}, {"2026.01.01", ""},
			{"  2026-01-01", "2026-01-01"},
		}},
		{"INTERVAL", interval, [][2]string{
			{"1 day 2 hours", "1 day 02:00:00"}, {"1.5 days", "1 day 12:00:00"}, {"1.5 months", "1 month 15 days"}, {"1.5 years", "1 year 6 months"},
			{"1.5 seconds", "00:00:01.5"}, {"1:02:03.5", "01:02:03.5"}, {"-1:02:03.5", "-01:02:03.5"}, {"1 day -02:03", "1 day -02:03:00"},
			{"1 year 2 months 3 days 04:05:06.789", "1 year 2 months 3 days 04:05:06.789"}, {"3 weeks", "21 days"}, {"1 quarter", "3 months"},
			{"1 millennium", "1000 years"}, {"1 us", "00:00:00.000001"}, {"1 ns", "00:00:00.000000001"}, {"1h30m", "01:30:00"},
			{"1 hour ago", "-01:00:00"}, {"@ 1 hour", "01:00:00"}, {"+ 1 hour", ""}, {"P1Y", ""}, {"", ""}, {"5", "00:00:05"}, {"1.5", "00:00:01.5"},
			{"-5", "-00:00:05"}, {"1 day 5", ""}, {"1.55 years", "1 year 6 months"}, {"1.55 quarter", "4 months 19 days"},
			{"1.123456789 months", "1 month 3 days"}, {"1.1234567 weeks", "7 days 20:44:26.1888"}, {"1.1234567 days", "1 day 02:57:46.5984"},
			{"0.5 week", "3 days 12:00:00"}, {"1.5 decades", "15 years"}, {"1 day ago 2 hours", ""}, {"1 day 2 hours ago", "-1 day -02:00:00"},
			{"1 day, 2 hours", ""}, {"1 day 100:00:00", "1 day 100:00:00"}, {"1:60:00", ""}, {"-1 day 02:00", "-1 day 02:00:00"}, {"--1 day", ""}, {"- 1 day", ""},
			{"1 DAY", "1 day"}, {"99999999999 days", ""}, {"9999999999999999999999 days", ""}, {"999999999999 hours", ""}, {"1 dow", ""}, {"1 foo", ""},
			{"0 seconds", "00:00:00"}, {"-0.5 seconds", "-00:00:00.5"}, {"1 month -1 day", "1 month -1 day"}, {"-13 months", "-1 year -1 month"},
			{"1 year 13 months 400 days 1000 hours", "2 years 1 month 400 days 1000:00:00"}, {"-1 hour -30 minutes", "-01:30:00"},
		}},
	} {
		for _, text := range c.texts {
			got, err := c.parse(text[0])
			if (err != nil) != (text[1] == "") || err == nil && got != text[1] {
				t.Errorf("%s %q: got %q, %v, want %q", c.name, text[0], got, err, text[1])
			}
		}
	}
}

func mustSpan(t *testing.T, s string) vec.Span {
	t.Helper()
	i, err := ParseInterval(s)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func TestAdd(t *testing.T) {
	for _, c := range []struct{ at, by, want string }{
		{"2026-01-31", "1 month 1 day", "2026-03-01 00:00:00"},
		{"2026-01-31", "13 months", "2027-02-28 00:00:00"},
		{"2026-01-31", "-1 month -1 day", "2025-12-30 00:00:00"},
		{"2024-02-29", "1 year", "2025-02-28 00:00:00"},
		{"1969-12-31 12:00", "-1 month 1 second", "1969-11-30 12:00:01"},
		{"2026-01-01", "300 years", ""},
		{"2262-04-11 23:47:16.854775807", "1 ns", ""},
		{"2262-04-11 23:47:16", "1 day -24 hours", "2262-04-11 23:47:16"},
	} {
		at, err := ParseTimestamp(c.at)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Add(at, mustSpan(t, c.by))
		if (err != nil) != (c.want == "") || err == nil && string(AppendTimestamp(nil, got)) != c.want {
			t.Errorf("%s + %s: got %s, %v, want %s", c.at, c.by, AppendTimestamp(nil, got), err, c.want)
		}
	}
}

func TestIntervalArithmetic(t *testing.T) {
	for _, c := range []struct {
		got  func() (vec.Span, error)
		want string
	}{
		{func() (vec.Span, error) { return Times(mustSpan(t, "1 day"), 3) }, "3 days"},
		{func() (vec.Span, error) { return Times(mustSpan(t, "1 hour"), math.MaxInt64) }, ""},
		{func() (vec.Span, error) { return Times(mustSpan(t, "1 day"), 1<<33) }, ""},
		{func() (vec.Span, error) { return Scale(mustSpan(t, "1 month"), 1.5) }, "1 month 15 days"},
		{func() (vec.Span, error) { return Scale(mustSpan(t, "1 month 1 day"), 1.55) }, "1 month 18 days 01:12:00"},
		{func() (vec.Span, error) { return Scale(mustSpan(t, "1 hour"), 1e300) }, ""},
		{func() (vec.Span, error) { return Scale(mustSpan(t, "1 hour"), math.NaN()) }, ""},
		{func() (vec.Span, error) { return Divide(mustSpan(t, "1 day"), 1.5) }, "16:00:00"},
		{func() (vec.Span, error) { return Divide(mustSpan(t, "1 month"), 7) }, "4 days 06:51:25.6896"},
		{func() (vec.Span, error) { return Divide(mustSpan(t, "1 month"), 2) }, "15 days"},
		{func() (vec.Span, error) { return Between(-1<<63, 1) }, ""},
		{func() (vec.Span, error) { return Between(0, 89*Day+10*Hour) }, "-89 days -10:00:00"},
		{func() (vec.Span, error) { return Sum(vec.Span{Nanos: math.MaxInt64}, vec.Span{Nanos: 1}) }, ""},
		{func() (vec.Span, error) { return Sum(vec.Span{Nanos: math.MinInt64}, vec.Span{Nanos: -1}) }, ""},
	} {
		got, err := c.got()
		if (err != nil) != (c.want == "") || err == nil && string(AppendInterval(nil, got)) != c.want {
			t.Errorf("got %s, %v, want %s", AppendInterval(nil, got), err, c.want)
		}
	}
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"30 days", "1 month", 0}, {"24 hours", "1 day", 0}, {"29 days 24 hours", "1 month", 0}, {"1 month -30 days", "0 days", 0},
		{"1 month -1 day", "30 days", -1}, {"1 month -1 day", "29 days", 1}, {"1 day -1 hour", "23 hours", 1}, {"-1 day", "-24 hours", 0}, {"-1 day", "-23 hours", -1},
	} {
		if got := Compare(mustSpan(t, c.a), mustSpan(t, c.b)); got != c.want {
			t.Errorf("%s against %s: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestZones(t *testing.T) {
	for _, c := range []struct{ zone, local, utc string }{
		{"Europe/Berlin", "2026-03-31 10:20:30", "2026-03-31 08:20:30"},
		{"europe/berlin", "2026-01-31 10:20:30", "2026-01-31 09:20:30"},
		{"Europe/Berlin", "2026-03-29 02:20:30", "2026-03-29 01:20:30"}, // never shown
		{"Europe/Berlin", "2026-10-25 02:20:30", "2026-10-25 01:20:30"}, // shown twice
		{"Europe/Berlin", "2026-10-25 01:59:59", "2026-10-24 23:59:59"},
		{"Europe/Berlin", "2026-10-25 03:00:00", "2026-10-25 02:00:00"},
		{"America/New_York", "2026-11-01 01:30:00", "2026-11-01 06:30:00"},
		{"Australia/Lord_Howe", "2026-04-05 01:45:00", "2026-04-04 15:15:00"},
		{"Asia/Kolkata", "2026-04-05 01:45:00", "2026-04-04 20:15:00"},
		{"UTC", "2026-04-05 01:45:00", "2026-04-05 01:45:00"},
		{"utc", "2026-04-05 01:45:00", "2026-04-05 01:45:00"},
		{"america/port_of_spain", "2026-04-05 00:00:00", "2026-04-05 04:00:00"},
	} {
		z, err := LoadZone(c.zone)
		if err != nil {
			t.Error(err)
			continue
		}
		local, _ := ParseTimestamp(c.local)
		got, err := z.Cursor().ToUTC(local)
		if err != nil || string(AppendTimestamp(nil, got)) != c.utc {
			t.Errorf("%s in %s: got %s, %v, want %s", c.local, c.zone, AppendTimestamp(nil, got), err, c.utc)
		}
	}
	// One cursor over a year gives what Go gives, whatever came before.
	z, _ := LoadZone("Europe/Berlin")
	c := z.Cursor()
	for i := range int64(3000) {
		ns := i * 7 % 3000 * 3 * Hour
		_, want := time.Unix(0, ns+1767225600*Second).In(z.location).Zone()
		if got := c.Offset(ns + 1767225600*Second); got != int64(want)*Second {
			t.Fatalf("offset at %d: %d, want %d", ns, got, want)
		}
	}
	// Also from the ends of time.
	c = z.Cursor()
	for _, ns := range []int64{math.MaxInt64, 0, math.MinInt64, 0, math.MaxInt64, 1774952430 * Second, math.MinInt64} {
		_, want := time.Unix(0, ns).In(z.location).Zone()
		if got := c.Offset(ns); got != int64(want)*Second {
			t.Errorf("offset at %d: %d, want %d", ns, got, want)
		}
	}
	for _, name := range []string{"", "Local", "local", "foo", "+02:00", "../etc/passwd", "PST8", "/etc/localtime"} {
		if _, err := LoadZone(name); err == nil {
			t.Errorf("%q is a zone", name)
		}
	}
}

func TestUnits(t *testing.T) {
	at, _ := ParseTimestamp("2026-03-31 10:20:30.123456789")
	for unit, want := range map[string]string{
		"week": "2026-03-30 00:00:00", "quarter": "2026-01-01 00:00:00", "decade": "2020-01-01 00:00:00", "century": "2000-01-01 00:00:00",
		"millennium": "2000-01-01 00:00:00", "isoyear": "2025-12-29 00:00:00", "ms": "2026-03-31 10:20:30.123", "us": "2026-03-31 10:20:30.123456",
		"dow": "2026-03-31 00:00:00", "yearweek": "2026-03-30 00:00:00", "epoch": "2026-03-31 10:20:30", "HOUR": "2026-03-31 10:00:00", "minute": "2026-03-31 10:20:00",
		"day": "2026-03-31 00:00:00", "month": "2026-03-01 00:00:00", "ns": "2026-03-31 10:20:30.123456789",
	} {
		u, err := ParseUnit(unit)
		if err != nil {
			t.Error(err)
			continue
		}
		if got, err := Trunc(u, at); err != nil || string(AppendTimestamp(nil, got)) != want {
			t.Errorf("%s: got %s, %v, want %s", unit, AppendTimestamp(nil, got), err, want)
		}
	}
	for unit, want := range map[string]int64{
		"year": 2026, "second": 30, "ms": 30123, "us": 30123456, "dow": 2, "doy": 90, "week": 14, "quarter": 1, "decade": 202, "century": 21,
		"millennium": 3, "era": 1, "yearweek": 202614, "hour": 10, "minute": 20, "isodow": 2,
	} {
		u, _ := ParseUnit(unit)
		if got := TimePart(u, at); got != want {
			t.Errorf("%s: got %d, want %d", unit, got, want)
		}
	}
	before, _ := ParseTimestamp("1969-12-31 23:59:58.5")
	if got := TimePart(UnitSecond, before); got != 58 {
		t.Errorf("second before 1970: %d", got)
	}
	if got, err := Trunc(UnitHour, math.MinInt64); err == nil {
		t.Errorf("the first hour that there is begins at %d", got)
	}
}
