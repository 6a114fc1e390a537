package calendar

import (
	"cmp"
	"math"

	"github.com/togodb/togo/query/fail"
	"github.com/togodb/togo/query/vec"
)

func intervalRange() error {
	return fail.New(fail.OutOfRange, "an interval beyond what INTERVAL holds (32 bits of months and of days, 64 bits of nanoseconds)")
}

// Add moves a time by an interval: by its months first, where the day of the month is cut to the month's last, then
// by its days, then by its nanoseconds.
func Add(ns int64, by vec.Span) (int64, error) {
	if by.Months != 0 || by.Days != 0 {
		date, clock := Split(ns)
		date = AddMonths(date, int64(by.Months)) + int64(by.Days)
		// With the nanoseconds it may be in range where the date alone is not.
		date, clock = date+by.Nanos/Day, clock+by.Nanos%Day
		if clock < 0 {
			date, clock = date-1, clock+Day
		}
		return Join(date, clock)
	}
	return add(ns, by.Nanos)
}

// Subtract moves a time back by an interval.
func Subtract(ns int64, by vec.Span) (int64, error) {
	by, err := Negate(by)
	if err != nil {
		return 0, err
	}
	return Add(ns, by)
}

// AddMonths moves a date by months; the day of the month is cut to the month's last.
func AddMonths(date, months int64) int64 {
	if months == 0 {
		return date
	}
	year, month, day := Civil(date)
	m := year*12 + int64(month) - 1 + months
	year, month = floorDiv(m, 12), int(floorMod(m, 12))+1
	return DateOf(year, month, min(day, DaysIn(year, month)))
}

// Between is the interval from b to a, in days and nanoseconds, as a - b gives it.
func Between(a, b int64) (vec.Span, error) {
	diff := a - b
	if (a >= 0) != (b >= 0) && (diff >= 0) != (a >= 0) {
		return vec.Span{}, intervalRange()
	}
	days := diff / Day
	return vec.Span{Days: int32(days), Nanos: diff - days*Day}, nil
}

// Sum is a + b.
func Sum(a, b vec.Span) (vec.Span, error) {
	months, days := int64(a.Months)+int64(b.Months), int64(a.Days)+int64(b.Days)
	nanos := a.Nanos + b.Nanos
	if (nanos > a.Nanos) != (b.Nanos > 0) && b.Nanos != 0 {
		return vec.Span{}, intervalRange()
	}
	return span(months, days, nanos)
}

// Negate is -a.
func Negate(a vec.Span) (vec.Span, error) {
	if a.Nanos == math.MinInt64 {
		return vec.Span{}, intervalRange()
	}
	return span(-int64(a.Months), -int64(a.Days), -a.Nanos)
}

// Times is a * n, each part by itself.
func Times(a vec.Span, n int64) (vec.Span, error) {
	if n != int64(int32(n)) && (a.Months != 0 || a.Days != 0) {
		return vec.Span{}, intervalRange()
	}
	nanos := a.Nanos * n
	if a.Nanos != 0 && (nanos/a.Nanos != n || a.Nanos == -1 && n == math.MinInt64) {
		return vec.Span{}, intervalRange()
	}
	return span(int64(a.Months)*n, int64(a.Days)*n, nanos)
}

// Scale is a * f: what is left of the months goes into the days, 30 a month, and of these into
// the nanoseconds. To divide, use Divide.
func Scale(a vec.Span, f float64) (vec.Span, error) {
	return spread(float64(a.Months)*f, float64(a.Days)*f, float64(a.Nanos)*f)
}

// Divide is a / f; f is not 0.
func Divide(a vec.Span, f float64) (vec.Span, error) {
	return spread(float64(a.Months)/f, float64(a.Days)/f, float64(a.Nanos)/f)
}

func spread(months, days, nanos float64) (vec.Span, error) {
	// Rests are rounded as PostgreSQL does, so that 0.1 of a day is a whole number of seconds.
	round := func(x float64) float64 { return math.RoundToEven(x*1e6) / 1e6 }
	wholeMonths, wholeDays := math.Trunc(months), math.Trunc(days)
	restDays := round((months - wholeMonths) * 30)
	wholeRest := math.Trunc(restDays)
	seconds := round((days - wholeDays + restDays - wholeRest) * 86400)
	if math.Abs(seconds) >= 86400 {
		more := math.Trunc(seconds / 86400)
		wholeDays, seconds = wholeDays+more, seconds-more*86400
	}
	wholeDays += wholeRest
	nanos = math.RoundToEven(nanos + seconds*1e9)
	const most = 1 << 31
	if !(math.Abs(wholeMonths) < most && math.Abs(wholeDays) < most && math.Abs(nanos) < 1<<63) {
		return vec.Span{}, intervalRange()
	}
	return vec.Span{Months: int32(wholeMonths), Days: int32(wholeDays), Nanos: int64(nanos)}, nil
}

func span(months, days, nanos int64) (vec.Span, error) {
	if months != int64(int32(months)) || days != int64(int32(days)) {
		return vec.Span{}, intervalRange()
	}
	return vec.Span{Months: int32(months), Days: int32(days), Nanos: nanos}, nil
}

// Normal is the form by which intervals are compared and grouped: 24 hours are a day, 30 days a month. Equal intervals
// have equal normal forms.
func Normal(a vec.Span) (months, days, nanos int64) {
	days = int64(a.Days) + a.Nanos/Day
	nanos = a.Nanos % Day
	months = int64(a.Months) + days/30
	return months, days % 30, nanos
}

// Compare orders intervals.
func Compare(a, b vec.Span) int {
	am, ad, an := Normal(a)
	bm, bd, bn := Normal(b)
	return cmp.Or(cmp.Compare(am, bm), cmp.Compare(ad, bd), cmp.Compare(an, bn))
}
