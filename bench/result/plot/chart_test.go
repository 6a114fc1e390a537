package plot

import (
	"encoding/xml"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func line(name string, ys ...float64) Series {
	s := Series{Name: name}
	for i, y := range ys {
		s.Points = append(s.Points, Point{float64(i), y})
	}
	return s
}

// wellFormed fails unless text is XML that brings nothing from elsewhere.
func wellFormed(t *testing.T, text string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
	}
	for _, bad := range []string{"NaN", "Inf", "<script", "href", "@import", "url("} {
		if strings.Contains(text, bad) {
			t.Errorf("%q in\n%s", bad, text)
		}
	}
}

func TestChartsAreWellFormed(t *testing.T) {
	nan := math.NaN()
	for name, c := range map[string]Chart{
		"nothing":     {Title: "nothing"},
		"no points":   {Title: "no points", Series: []Series{{Name: "a"}}},
		"gaps":        {Title: "gaps", Series: []Series{line("a", 1, nan, 3, nan), line("b", nan, nan)}},
		"one point":   {Title: "one", Series: []Series{line("a", 5)}},
		"zeroes":      {Title: "zeroes", Series: []Series{line("a", 0, 0, 0)}},
		"negative":    {Title: "negative", Series: []Series{line("a", -3, 4)}},
		"infinite":    {Title: "infinite", Series: []Series{line("a", 1, math.Inf(1))}},
		"markup":      {Title: `<b>&"`, X: "<x>", Y: "&y", Series: []Series{line(`"<i>`, 1, 2)}},
		"logarithms":  {Title: "log", LogX: true, LogY: true, Series: []Series{line("a", 0, 10, 1000)}},
		"log of none": {Title: "log", LogY: true, Series: []Series{line("a", 0, 0)}},
		"log of one":  {Title: "log", LogX: true, LogY: true, Series: []Series{{Name: "a", Points: []Point{{7, 7}}}}},
		"stack":       {Title: "stack", Stack: true, Series: []Series{line("a", 1, 2), line("b", 3, nan), line("c", 1, 1)}},
		"many":        {Title: "many", Series: []Series{line("a", make([]float64, 5000)...)}},
	} {
		t.Run(name, func(t *testing.T) {
			wellFormed(t, c.SVG())
			wellFormed(t, c.Standalone())
		})
	}
}

// path returns the places of the last path of a class.
func path(t *testing.T, svg, class string) []Point {
	t.Helper()
	all := regexp.MustCompile(`class="`+class+`"[^>]* d="([^"]*)"`).FindAllStringSubmatch(svg, -1)
	if len(all) == 0 {
		t.Fatalf("no path of %q in\n%s", class, svg)
	}
	var out []Point
	for _, m := range regexp.MustCompile(`[ML]([\d.]+) ([\d.]+)`).FindAllStringSubmatch(all[len(all)-1][1], -1) {
		x, _ := strconv.ParseFloat(m[1], 64)
		y, _ := strconv.ParseFloat(m[2], 64)
		out = append(out, Point{x, y})
	}
	return out
}

func TestLinesLieWhereTheValuesAre(t *testing.T) {
	c := Chart{Series: []Series{line("a", 0, 50, 100)}}
	got := path(t, c.SVG(), "line")
	want := []Point{{left, height - below}, {(left + width - right) / 2, (height - below + top) / 2}, {width - right, top}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	c = Chart{LogY: true, Series: []Series{line("a", 1, 10, 100)}}
	if got := path(t, c.SVG(), "line"); !slices.Equal(got, want) {
		t.Errorf("logarithmic: %v, want %v", got, want)
	}
}

func TestStackAddsUp(t *testing.T) {
	c := Chart{Stack: true, Series: []Series{line("a", 10, 10), line("b", 10, 40), line("c", 30, 50)}}
	svg := c.SVG()
	// areas are drawn from the topmost down, so the last path is the lowest series: 10 of 100
	lowest := path(t, svg, "area")
	if y := lowest[0].Y; math.Abs(y-(height-below-(height-below-top)/10)) > 0.1 {
		t.Errorf("the lowest area begins at %v", y)
	}
	if !strings.Contains(svg, ">100</text>") {
		t.Errorf("the axis does not reach the sum: %s", svg)
	}
}

func TestThinKeepsMeansAndGaps(t *testing.T) {
	points := make([]Point, 4*maxPoints)
	for i := range points {
		points[i] = Point{float64(i), float64(i % 4)}
		if i < 8 {
			points[i].Y = math.NaN()
		}
	}
	points[9].Y = math.NaN()
	got := thin(points)
	if len(got) != maxPoints || !math.IsNaN(got[0].Y) || !math.IsNaN(got[1].Y) || got[2].Y != 5.0/3 || got[3] != (Point{13.5, 1.5}) {
		t.Errorf("%d points: %v", len(got), got[:4])
	}
	if len(points) != 4*maxPoints || points[3].X != 3 {
		t.Error("the caller's points were changed")
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		from, to float64
		log      bool
		want     []float64
	}{
		{0, 100, false, []float64{0, 20, 40, 60, 80, 100}},
		{0, 7, false, []float64{0, 2, 4, 6}},
		{0, 0.3, false, []float64{0, 0.1, 0.2, 0.3}},
		{-3, 4, false, []float64{-2, 0, 2, 4}},
		{1, 1000, true, []float64{1, 10, 100, 1000}},
		{1, 1e12, true, []float64{1, 1e3, 1e6, 1e9, 1e12}},
	} {
		got := newScale(c.from, c.to, c.log, 0, 1).ticks(5)
		if !slices.EqualFunc(got, c.want, func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) }) {
			t.Errorf("[%v, %v] log=%v: %v, want %v", c.from, c.to, c.log, got, c.want)
		}
	}
}
