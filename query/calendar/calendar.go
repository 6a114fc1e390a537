// Package calendar is the arithmetic of time that SQL needs: civil dates, intervals, zones, and their texts.
//
// Instants and clocks on a wall are nanoseconds since 1970-01-01 in an int64, from 1677-09-21 to 2262-04-11; what lies
// beyond is an error. Dates are days since 1970-01-01. The calendar is the proleptic Gregorian one; there is a year 0, which
// is written as 0001 (BC). Days have 24 hours: there are no leap seconds.
//
// The rules are DuckDB's, but to the nanosecond. Errors are *fail.Error.
package calendar

import (
	"math"

	"github.com/togodb/togo/query/fail"
)

// Spans of time in nanoseconds.
const (
	Microsecond int64 = 1000
	Millisecond       = 1000 * Microsecond
	Second            = 1000 * Millisecond
	Minute            = 60 * Second
	Hour              = 60 * Minute
	Day               = 24 * Hour
)

// MinDate and MaxDate bound a DATE: the years -5877641 to 5881580.
const (
	MinDate int64 = math.MinInt32 + 2
	MaxDate int64 = math.MaxInt32 - 1
)

// Civil gives the year, the month (1 to 12) and the day of the month of a date.
func Civil(date int64) (year int64, month, day int) {
	z := date + 719468
	era := floorDiv(z, 146097)
	doe := z - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	day = int(doy - (153*mp+2)/5 + 1)
	month = int(mp) + 3
	if month > 12 {
		month -= 12
	}
	year = yoe + era*400
	if month <= 2 {
		year++
	}
	return year, month, day
}

// DateOf is the date of a year, a month from 1 to 12 and a day, which may lie outside of the month.
func DateOf(year int64, month, day int) int64 {
	if month <= 2 {
		year--
		month += 12
	}
	era := floorDiv(year, 400)
	yoe := year - era*400
	doy := int64((153*(month-3)+2)/5 + day - 1)
	return era*146097 + yoe*365 + yoe/4 - yoe/100 + doy - 719468
}

// DaysIn is the number of days of a month from 1 to 12.
func DaysIn(year int64, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// Valid tells whether there is such a date.
func Valid(year int64, month, day int) bool {
	if year < -5877641 || year > 5881580 || month < 1 || month > 12 || day < 1 || day > DaysIn(year, month) {
		return false
	}
	d := DateOf(year, month, day)
	return d >= MinDate && d <= MaxDate
}

// Weekday of a date: Sunday is 0.
func Weekday(date int64) int { return int(floorMod(date+4, 7)) }

// Monday is the Monday at or before a date.
func Monday(date int64) int64 { return date - floorMod(date+3, 7) }

// ISOWeek gives the ISO year and week (1 to 53) of a date.
func ISOWeek(date int64) (year int64, week int) {
	thursday := Monday(date) + 3
	year, _, _ = Civil(thursday)
	return year, int((thursday-DateOf(year, 1, 1))/7) + 1
}

// Split gives the date of a time and the nanoseconds within the day.
func Split(ns int64) (date, clock int64) {
	date = floorDiv(ns, Day)
	return date, ns - date*Day
}

// Join is the time at a clock of a date. It is an error if 64 bits do not hold it.
func Join(date, clock int64) (int64, error) {
	if days := clock / Day; days != 0 {
		date, clock = date+days, clock-days*Day
	}
	if date < 0 && clock > 0 { // so that the product of the first day does not overflow
		date, clock = date+1, clock-Day
	}
	const most = math.MaxInt64 / Day
	if date > most || date < -most {
		return 0, outOfRange()
	}
	return add(date*Day, clock)
}

// FromDate is the midnight at which a date begins.
func FromDate(date int64) (int64, error) { return Join(date, 0) }

func outOfRange() error {
	return fail.New(fail.OutOfRange, "a time outside of 1677-09-21 to 2262-04-11, which nanoseconds in 64 bits hold")
}

func add(a, b int64) (int64, error) {
	sum := a + b
	if (sum > a) != (b > 0) {
		if b == 0 {
			return a, nil
		}
		return 0, outOfRange()
	}
	return sum, nil
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func floorMod(a, b int64) int64 {
	if m := a % b; m >= 0 {
		return m
	} else {
		return m + b
	}
}
