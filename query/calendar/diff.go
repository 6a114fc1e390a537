package calendar

import (
	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/vec"
)

// Boundaries counts how many starts of the unit lie after a and at or before b; it is negative if b is
// before a. Weeks are the exception: days by seven.
func Boundaries(u Unit, a, b int64) (int64, error) {
	if n := u.nanos(); n != 0 {
		x, y := floorDiv(a, n), floorDiv(b, n)
		if d := y - x; (x < 0) == (y < 0) || (d < 0) == (y < 0) {
			return d, nil
		}
		return 0, fail.New(fail.OutOfRange, "a difference of times that BIGINT does not hold")
	}
	from, _ := Split(a)
	to, _ := Split(b)
	return DateBoundaries(u, from, to)
}

// DateBoundaries is Boundaries of dates, for units of a day and more.
func DateBoundaries(u Unit, from, to int64) (int64, error) {
	switch u {
	case UnitTimezone, UnitTimezoneHour, UnitTimezoneMinute:
		return 0, fail.New(fail.Value, "a zone is no unit of time")
	case UnitEra:
		return DatePart(u, to) - DatePart(u, from), nil
	case UnitWeek, UnitYearWeek:
		return (to - from) / 7, nil // whole ones, as DuckDB counts them
	case UnitISOYear:
		x, _ := ISOWeek(from)
		y, _ := ISOWeek(to)
		return y - x, nil
	}
	if per := u.months(); per != 0 {
		return floorDiv(monthOf(to), per) - floorDiv(monthOf(from), per), nil
	}
	return to - from, nil
}

func monthOf(date int64) int64 {
	year, month, _ := Civil(date)
	return year*12 + int64(month) - 1
}

// Whole counts the whole units from a to b; it is negative if b is before a.
func Whole(u Unit, a, b int64) (int64, error) {
	if n := u.nanos(); n != 0 {
		return wholeOf(a, b, n)
	}
	switch u {
	case UnitTimezone, UnitTimezoneHour, UnitTimezoneMinute, UnitEra:
		return 0, fail.New(fail.Value, "not a length of time")
	case UnitWeek, UnitYearWeek:
		return wholeOf(a, b, 7*Day)
	case UnitISOYear:
		u = UnitYear
	}
	per := u.months()
	if per == 0 {
		return wholeOf(a, b, Day)
	}
	if a > b {
		n, err := wholeMonths(b, a)
		return -n / per, err
	}
	n, err := wholeMonths(a, b)
	return n / per, err
}

func wholeOf(a, b, n int64) (int64, error) {
	d := b - a
	if (a < 0) != (b < 0) && (d < 0) != (b < 0) {
		return 0, fail.New(fail.OutOfRange, "a difference of times that nanoseconds in 64 bits do not hold")
	}
	return d / n, nil
}

// wholeMonths from a to b, which is not before it. The last day of a month is a whole month after each later day of
// another one.
func wholeMonths(a, b int64) (int64, error) {
	from, fromClock := Split(a)
	to, toClock := Split(b)
	n := monthOf(to) - monthOf(from)
	_, _, day := Civil(from)
	year, month, last := Civil(to)
	if last == DaysIn(year, month) && day > last {
		day = last
	}
	if last < day || last == day && toClock < fromClock {
		n--
	}
	return n, nil
}

// Age is the interval from b to a in years, months, days and time, as one counts on a calendar.
func Age(a, b int64) vec.Span {
	if a < b {
		s := age(b, a)
		return vec.Span{Months: -s.Months, Days: -s.Days, Nanos: -s.Nanos}
	}
	return age(a, b)
}

// age of the later time. Days that are missing are borrowed from the month of the earlier one.
func age(late, early int64) vec.Span {
	lateDate, lateClock := Split(late)
	earlyDate, earlyClock := Split(early)
	months := monthOf(lateDate) - monthOf(earlyDate)
	_, _, lateDay := Civil(lateDate)
	earlyYear, earlyMonth, earlyDay := Civil(earlyDate)
	days, clock := lateDay-earlyDay, lateClock-earlyClock
	if clock < 0 {
		clock, days = clock+Day, days-1
	}
	for days < 0 {
		days += DaysIn(earlyYear, earlyMonth)
		months--
	}
	return vec.Span{Months: int32(months), Days: int32(days), Nanos: clock}
}
