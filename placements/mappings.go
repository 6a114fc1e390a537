package placements

import "github.com/togodb/togo/internal/event"

// NewestMapping is the mapping that a topic has of its own from the latest time on;
// ok is false if it shares the one of "".
func (t *Table) NewestMapping(topic string) (m event.Mapping, ok bool) {
	line := t.mappings[topic]
	if len(line) == 0 {
		return event.Mapping{}, false
	}
	return line[len(line)-1].Mapping, true
}
