package measure

import (
	"strconv"
	"strings"
)

// metrics are the values of a process's /metrics; labels are as they stand there: a="b",c="d".
type metrics []metric

type metric struct {
	name, labels string
	value        float64
}

// parseMetrics reads Prometheus' text form as client_golang writes it: no time stamps, no escapes in the labels that are asked for.
func parseMetrics(text string) metrics {
	var out metrics
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		if at < 0 {
			continue
		}
		v, err := strconv.ParseFloat(line[at+1:], 64)
		if err != nil {
			continue
		}
		name, labels, _ := strings.Cut(line[:at], "{")
		out = append(out, metric{name, strings.TrimSuffix(labels, "}"), v})
	}
	return out
}

// sum adds up a metric over all its labels.
func (m metrics) sum(name string) (v float64) {
	for _, x := range m {
		if x.name == name {
			v += x.value
		}
	}
	return v
}

// by adds up a metric by the value of one label.
func (m metrics) by(name, label string) map[string]float64 {
	out := map[string]float64{}
	for _, x := range m {
		if x.name == name {
			out[x.label(label)] += x.value
		}
	}
	return out
}

func (x metric) label(name string) string {
	for labels := x.labels; labels != ""; {
		key, rest, _ := strings.Cut(labels, `="`)
		value, after, _ := strings.Cut(rest, `"`)
		if key == name {
			return value
		}
		labels = strings.TrimPrefix(after, ",")
	}
	return ""
}
