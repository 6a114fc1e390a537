// Package plot draws charts as SVG: text alone, without scripts, fonts or anything from a
// network.
//
// Colors are CSS variables. Inside of an HTML page they are the page's (Style has them, for
// light and for dark); a file of its own (Standalone) brings them along, so that it follows the
// reader's setting where it is shown as a picture, too. Series differ by color and by dashes.
package plot

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// Chart is a set of lines over one axis.
type Chart struct {
	Title  string
	X, Y   string // what the axes show, with their units
	LogX   bool   // powers of ten at equal distances; values of 0 and below are left out
	LogY   bool
	Stack  bool // areas on top of each other; all series have the same X
	Series []Series
	Number func(float64) string // text of a value; %g where it is nil
}

// Series is a line. NaN as Y is a gap.
type Series struct {
	Name   string
	Points []Point
	Level  bool // a limit or a goal: drawn thin and dashed
}

// Point is a value.
type Point struct{ X, Y float64 }

const (
	width, height           = 760.0, 300.0
	left, right, top, below = 66.0, 18.0, 58.0, 44.0
	maxPoints               = 600 // of a line: more would not be seen
	colors                  = 8
)

// SVG is the chart for a page that has Style. A chart without any value says so.
func (c Chart) SVG() string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" class="plot" viewBox="0 0 %g %g" role="img" aria-label="%s">`, width, height, html.EscapeString(c.describe()))
	c.draw(&b)
	b.WriteString("</svg>\n")
	return b.String()
}

// Standalone is the chart as a file of its own.
func (c Chart) Standalone() string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" class="plot" width="%g" height="%g" viewBox="0 0 %g %g" role="img" aria-label="%s">`,
		width, height, width, height, html.EscapeString(c.describe()))
	fmt.Fprintf(&b, "<style>%s</style>", Style)
	fmt.Fprintf(&b, `<rect width="%g" height="%g" fill="var(--paper)"/>`, width, height)
	c.draw(&b)
	b.WriteString("</svg>\n")
	return b.String()
}

// Style is the CSS that charts need.
const Style = `
:root{color-scheme:light dark;--paper:#fff;--ink:#1f2328;--faint:#656d76;--grid:#d8dee4;
--c1:#0969da;--c2:#bc4c00;--c3:#1a7f37;--c4:#8250df;--c5:#bf3989;--c6:#9a6700;--c7:#1b7c83;--c8:#6e7781}
@media (prefers-color-scheme:dark){:root{--paper:#0d1117;--ink:#e6edf3;--faint:#9198a1;--grid:#30363d;
--c1:#58a6ff;--c2:#f0883e;--c3:#56d364;--c4:#bc8cff;--c5:#f778ba;--c6:#e3b341;--c7:#39c5cf;--c8:#b1bac4}}
.plot{font:12px system-ui,sans-serif}.plot text{fill:var(--faint)}.plot .title{fill:var(--ink);font-size:14px;font-weight:600}
.plot .name{fill:var(--ink)}.plot .grid{stroke:var(--grid)}.plot .line{fill:none;stroke-width:1.8;stroke-linejoin:round}
.plot .level{fill:none;stroke-width:1.2;stroke-dasharray:2 4}.plot .area{fill-opacity:.55;stroke-width:1}
`

// dashes of the lines, after which they differ even without colors.
var dashes = [colors]string{"", "7 3", "2 2", "9 3 2 3", "5 2", "1 3", "12 4", "4 4"}

func (c Chart) describe() string {
	var names []string
	for _, s := range c.Series {
		names = append(names, s.Name)
	}
	return fmt.Sprintf("%s: %s over %s (%s)", c.Title, c.Y, c.X, strings.Join(names, ", "))
}

func (c Chart) draw(b *strings.Builder) {
	if c.Number == nil {
		c.Number = func(v float64) string { return fmt.Sprintf("%g", v) }
	}
	fmt.Fprintf(b, `<text class="title" x="%g" y="18">%s</text>`, left, html.EscapeString(c.Title))
	series := c.prepared()
	x, y, ok := c.scales(series)
	if !ok {
		fmt.Fprintf(b, `<text x="%g" y="%g">no values</text>`, left, height/2)
		return
	}
	c.axes(b, x, y)
	c.legend(b)
	if c.Stack {
		drawAreas(b, series, x, y)
		return
	}
	for i, s := range series {
		drawLine(b, i, s, x, y)
	}
}

// prepared is the series with fewer points, stacked if they are to be, and without what a
// logarithm can't show.
func (c Chart) prepared() []Series {
	out := make([]Series, len(c.Series))
	for i, s := range c.Series {
		points := thin(s.Points)
		for j := range points {
			if p := &points[j]; (c.LogX && p.X <= 0) || (c.LogY && p.Y <= 0) || math.IsInf(p.Y, 0) {
				p.Y = math.NaN()
			}
			if c.Stack {
				if math.IsNaN(points[j].Y) {
					points[j].Y = 0
				}
				if i > 0 && j < len(out[i-1].Points) {
					points[j].Y += out[i-1].Points[j].Y
				}
			}
		}
		out[i] = Series{Name: s.Name, Points: points, Level: s.Level}
	}
	return out
}

// thin is a copy with at most maxPoints points, each the mean of those it stands for. A
// gap is kept if all of them are gaps.
func thin(points []Point) []Point {
	each := (len(points) + maxPoints - 1) / maxPoints
	if each <= 1 {
		return append([]Point(nil), points...)
	}
	var out []Point
	for len(points) > 0 {
		n := min(each, len(points))
		var sum Point
		values := 0.0
		for _, p := range points[:n] {
			sum.X += p.X
			if !math.IsNaN(p.Y) {
				sum.Y += p.Y
				values++
			}
		}
		out = append(out, Point{sum.X / float64(n), sum.Y / values}) // 0/0 is the gap
		points = points[n:]
	}
	return out
}

// scales are those that hold all points; not ok if there is none.
func (c Chart) scales(series []Series) (x, y scale, ok bool) {
	minX, maxX, minY, maxY := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, s := range series {
		for _, p := range s.Points {
			if math.IsNaN(p.Y) {
				continue
			}
			minX, maxX = min(minX, p.X), max(maxX, p.X)
			minY, maxY = min(minY, p.Y), max(maxY, p.Y)
		}
	}
	if minX > maxX {
		return x, y, false
	}
	if !c.LogY {
		minY = min(0, minY) // lengths can be compared only from zero
	}
	x = newScale(minX, maxX, c.LogX, left, width-right)
	y = newScale(minY, maxY, c.LogY, height-below, top).rounded()
	return x, y, true
}

func (c Chart) axes(b *strings.Builder, x, y scale) {
	for _, v := range y.ticks(5) {
		at := y.at(v)
		fmt.Fprintf(b, `<line class="grid" x1="%g" x2="%g" y1="%.1f" y2="%.1f"/><text x="%g" y="%.1f" text-anchor="end">%s</text>`,
			left, width-right, at, at, left-8, at+4, html.EscapeString(c.Number(v)))
	}
	for _, v := range x.ticks(8) {
		fmt.Fprintf(b, `<text x="%.1f" y="%g" text-anchor="middle">%s</text>`, x.at(v), height-below+16, html.EscapeString(c.Number(v)))
	}
	fmt.Fprintf(b, `<text x="%g" y="%g" text-anchor="end">%s</text>`, width-right, height-8, html.EscapeString(c.X))
	fmt.Fprintf(b, `<text x="%g" y="%g">%s</text>`, left, height-8, html.EscapeString(c.Y))
}

// legend names the series in a row below the title, two rows if they don't fit.
func (c Chart) legend(b *strings.Builder) {
	at, row := left, 0.0
	for i, s := range c.Series {
		needs := 30 + 6.6*float64(len([]rune(s.Name)))
		if at+needs > width && row == 0 {
			at, row = left, 14
		}
		fmt.Fprintf(b, `<path class="%s" stroke="var(--c%d)" stroke-dasharray="%s" d="M%.1f %.1fh18"/><text class="name" x="%.1f" y="%.1f">%s</text>`,
			class(s), i%colors+1, dash(i, s), at, 32+row, at+23, 36+row, html.EscapeString(s.Name))
		at += needs + 8
	}
}

func class(s Series) string {
	if s.Level {
		return "level"
	}
	return "line"
}

func dash(i int, s Series) string {
	if s.Level {
		return "2 4"
	}
	return dashes[i%colors]
}

func drawLine(b *strings.Builder, i int, s Series, x, y scale) {
	var d strings.Builder
	pen := "M"
	for _, p := range s.Points {
		if math.IsNaN(p.Y) {
			pen = "M"
			continue
		}
		fmt.Fprintf(&d, "%s%.1f %.1f", pen, x.at(p.X), y.at(p.Y))
		if pen == "M" {
			d.WriteString("h.1") // a lone point shows, too
		}
		pen = "L"
	}
	fmt.Fprintf(b, `<path class="%s" stroke="var(--c%d)" stroke-dasharray="%s" d="%s"/>`, class(s), i%colors+1, dash(i, s), d.String())
}

// drawAreas fills between each line and the one below it.
func drawAreas(b *strings.Builder, series []Series, x, y scale) {
	for i := len(series) - 1; i >= 0; i-- {
		points := series[i].Points
		if len(points) == 0 {
			continue
		}
		var d strings.Builder
		for j, p := range points {
			fmt.Fprintf(&d, "%s%.1f %.1f", map[bool]string{true: "M", false: "L"}[j == 0], x.at(p.X), y.at(p.Y))
		}
		for j := len(points) - 1; j >= 0; j-- {
			floor := 0.0
			if i > 0 && j < len(series[i-1].Points) {
				floor = series[i-1].Points[j].Y
			}
			fmt.Fprintf(&d, "L%.1f %.1f", x.at(points[j].X), y.at(floor))
		}
		fmt.Fprintf(b, `<path class="area" fill="var(--c%d)" stroke="var(--c%d)" d="%sz"/>`, i%colors+1, i%colors+1, d.String())
	}
}
