package calendar

import (
	"strings"

	"github.com/togodb/togo/query/fail"
)

// Unit is a unit of time or a part of a date.
type Unit uint8

// Units. The first ones, down to UnitNanosecond, are lengths; the others are only parts that can be read.
const (
	NoUnit Unit = iota
	UnitMillennium
	UnitCentury
	UnitDecade
	UnitYear
	UnitQuarter
	UnitMonth
	UnitWeek
	UnitDay
	UnitHour
	UnitMinute
	UnitSecond
	UnitMillisecond
	UnitMicrosecond
	UnitNanosecond
	UnitISOYear
	UnitYearWeek
	UnitDayOfWeek
	UnitISODayOfWeek
	UnitDayOfYear
	UnitEpoch
	UnitEra
	UnitJulian
	UnitTimezone
	UnitTimezoneHour
	UnitTimezoneMinute
)

var unitNames = map[string]Unit{
	"millennium": UnitMillennium, "millennia": UnitMillennium, "millenniums": UnitMillennium, "millenium": UnitMillennium, "mil": UnitMillennium, "mils": UnitMillennium,
	"century": UnitCentury, "centuries": UnitCentury, "c": UnitCentury, "cent": UnitCentury,
	"decade": UnitDecade, "decades": UnitDecade, "dec": UnitDecade, "decs": UnitDecade,
	"year": UnitYear, "years": UnitYear, "y": UnitYear, "yr": UnitYear, "yrs": UnitYear,
	"quarter": UnitQuarter, "quarters": UnitQuarter,
	"month": UnitMonth, "months": UnitMonth, "mon": UnitMonth, "mons": UnitMonth,
	"week": UnitWeek, "weeks": UnitWeek, "w": UnitWeek, "weekofyear": UnitWeek,
	"day": UnitDay, "days": UnitDay, "d": UnitDay, "dayofmonth": UnitDay,
	"hour": UnitHour, "hours": UnitHour, "h": UnitHour, "hr": UnitHour, "hrs": UnitHour,
	"minute": UnitMinute, "minutes": UnitMinute, "m": UnitMinute, "min": UnitMinute, "mins": UnitMinute,
	"second": UnitSecond, "seconds": UnitSecond, "s": UnitSecond, "sec": UnitSecond, "secs": UnitSecond,
	"millisecond": UnitMillisecond, "milliseconds": UnitMillisecond, "ms": UnitMillisecond, "msec": UnitMillisecond, "msecs": UnitMillisecond, "msecond": UnitMillisecond, "mseconds": UnitMillisecond,
	"microsecond": UnitMicrosecond, "microseconds": UnitMicrosecond, "us": UnitMicrosecond, "usec": UnitMicrosecond, "usecs": UnitMicrosecond, "usecond": UnitMicrosecond, "useconds": UnitMicrosecond,
	"nanosecond": UnitNanosecond, "nanoseconds": UnitNanosecond, "ns": UnitNanosecond,
	"isoyear": UnitISOYear, "yearweek": UnitYearWeek, "dow": UnitDayOfWeek, "weekday": UnitDayOfWeek, "dayofweek": UnitDayOfWeek,
	"isodow": UnitISODayOfWeek, "doy": UnitDayOfYear, "dayofyear": UnitDayOfYear, "epoch": UnitEpoch, "era": UnitEra, "julian": UnitJulian,
	"timezone": UnitTimezone, "timezone_hour": UnitTimezoneHour, "timezone_minute": UnitTimezoneMinute,
}

// ParseUnit reads a unit's name, without regard to case.
func ParseUnit(name string) (Unit, error) {
	if u := unitNames[strings.ToLower(name)]; u != NoUnit {
		return u, nil
	}
	return NoUnit, fail.New(fail.Value, "unknown unit of time %q; take one of year, quarter, month, week, day, hour, minute, second, milliseconds, microseconds", short(name))
}

func (u Unit) months() int64 {
	switch u {
	case UnitMillennium:
		return 12000
	case UnitCentury:
		return 1200
	case UnitDecade:
		return 120
	case UnitYear:
		return 12
	case UnitQuarter:
		return 3
	case UnitMonth:
		return 1
	}
	return 0
}

// nanos is the length of a unit that is a fixed number of nanoseconds, else 0.
func (u Unit) nanos() int64 {
	switch u {
	case UnitHour:
		return Hour
	case UnitMinute:
		return Minute
	case UnitSecond, UnitEpoch:
		return Second
	case UnitMillisecond:
		return Millisecond
	case UnitMicrosecond:
		return Microsecond
	case UnitNanosecond:
		return 1
	}
	return 0
}

// TruncDate is the start of the unit that a date lies in; for units below a day the date itself.
func TruncDate(u Unit, date int64) int64 {
	switch u {
	case UnitMillennium, UnitCentury, UnitDecade, UnitYear:
		years := u.months() / 12
		year, _, _ := Civil(date)
		return DateOf(year/years*years, 1, 1)
	case UnitQuarter, UnitMonth:
		year, month, _ := Civil(date)
		per := int(u.months())
		return DateOf(year, (month-1)/per*per+1, 1)
	case UnitWeek, UnitYearWeek:
		return Monday(date)
	case UnitISOYear:
		year, _ := ISOWeek(date)
		return Monday(DateOf(year, 1, 4))
	}
	return date
}

// Trunc is the start of the unit that a time lies in.
func Trunc(u Unit, ns int64) (int64, error) {
	if n := u.nanos(); n != 0 {
		return TruncTo(n, ns)
	}
	date, _ := Split(ns)
	return Join(TruncDate(u, date), 0)
}

// TruncTo is the last multiple of n, above 0, at or before a time.
func TruncTo(n, ns int64) (int64, error) { return add(ns, -floorMod(ns, n)) }

// Fixed tells that the unit is a fixed number of nanoseconds below a day, and how many.
func (u Unit) Fixed() (int64, bool) { n := u.nanos(); return n, n != 0 }

// Months is how many months the unit is long; 0 if it is none of months.
func (u Unit) Months() int64 { return u.months() }
