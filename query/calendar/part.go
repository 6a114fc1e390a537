package calendar

import (
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/vec"
)

// DatePart is a part of a date, one that is a whole number. Times of the day are 0.
func DatePart(u Unit, date int64) int64 {
	switch u {
	case UnitDayOfWeek:
		return int64(Weekday(date))
	case UnitISODayOfWeek:
		return floorMod(date+3, 7) + 1
	case UnitWeek:
		_, week := ISOWeek(date)
		return int64(week)
	case UnitISOYear:
		year, _ := ISOWeek(date)
		return year
	case UnitYearWeek:
		year, week := ISOWeek(date)
		if year < 0 {
			return year*100 - int64(week)
		}
		return year*100 + int64(week)
	}
	year, month, day := Civil(date)
	switch u {
	case UnitMillennium:
		return since(year, 1000)
	case UnitCentury:
		return since(year, 100)
	case UnitDecade:
		return year / 10
	case UnitYear:
		return year
	case UnitQuarter:
		return int64(month-1)/3 + 1
	case UnitMonth:
		return int64(month)
	case UnitDay:
		return int64(day)
	case UnitDayOfYear:
		return date - DateOf(year, 1, 1) + 1
	case UnitEra:
		if year > 0 {
			return 1
		}
	}
	return 0
}

// since numbers centuries and millennia: from 1 on, and from -1 on backwards.
func since(year, n int64) int64 {
	if year > 0 {
		return (year-1)/n + 1
	}
	return -(-year/n + 1)
}

// TimePart is a part of a time, one that is a whole number. Seconds are without their fraction; milliseconds,
// microseconds and nanoseconds are those of the minute.
func TimePart(u Unit, ns int64) int64 {
	date, clock := Split(ns)
	switch u {
	case UnitHour:
		return clock / Hour
	case UnitMinute:
		return clock / Minute % 60
	case UnitSecond, UnitMillisecond, UnitMicrosecond, UnitNanosecond:
		return clock % Minute / u.nanos()
	case UnitTimezone, UnitTimezoneHour, UnitTimezoneMinute:
		return 0 // the session's zone is UTC
	}
	return DatePart(u, date)
}

// IntervalPart is a part of an interval, one that is a whole number.
func IntervalPart(u Unit, s vec.Span) (int64, error) {
	months := int64(s.Months)
	switch u {
	case UnitMillennium, UnitCentury, UnitDecade, UnitYear:
		return months / u.months(), nil
	case UnitQuarter:
		return months%12/3 + 1, nil
	case UnitMonth:
		return months % 12, nil
	case UnitDay:
		return int64(s.Days), nil
	case UnitHour:
		return s.Nanos / Hour, nil
	case UnitMinute:
		return s.Nanos / Minute % 60, nil
	case UnitSecond, UnitMillisecond, UnitMicrosecond, UnitNanosecond:
		return s.Nanos % Minute / u.nanos(), nil
	}
	return 0, fail.New(fail.Value, "an INTERVAL has no such part")
}

// Seconds are those since 1970, with their fraction.
func Seconds(ns int64) float64 { return float64(ns/1000) / 1e6 }

// IntervalSeconds is the length of an interval, with months of 30 days and years of 365.25.
func IntervalSeconds(s vec.Span) float64 {
	days := float64(s.Months/12)*365.25 + float64(s.Months%12)*30 + float64(s.Days)
	return days*86400 + float64(s.Nanos)/1e9
}

// JulianDay of a time, with the part of the day that has passed since midnight.
func JulianDay(ns int64) float64 {
	date, clock := Split(ns)
	return JulianDate(date) + float64(clock)/float64(Day)
}

// JulianDate is the Julian day of a date.
func JulianDate(date int64) float64 { return float64(date + 2440588) }
