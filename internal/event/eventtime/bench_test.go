package eventtime

import (
	"testing"

	"github.com/togodb/togo/bench/cpu"
	"github.com/togodb/togo/internal/event/jsonscan"
)

func BenchmarkParse(b *testing.B) {
	for _, test := range []struct{ name, text string }{
		{"rfc3339", "2024-03-17T09:26:53.589793Z"}, {"offset", "2024-03-17T09:26:53+01:00"},
		{"milliseconds", "1710667613589"}, {"float", "1710667613.589793"},
	} {
		b.Run(test.name, func(b *testing.B) {
			text := []byte(test.text)
			m := cpu.Start(b)
			for b.Loop() {
				if _, err := Parse(jsonscan.String, text, Auto); err != nil {
					b.Fatal(err)
				}
			}
			m.PerEvent(b.N)
		})
	}
}
