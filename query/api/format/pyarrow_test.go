package format

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// pyarrow prints the rows of a stream as Python has them.
const pyarrow = `
import sys, pyarrow
t = pyarrow.ipc.open_stream(sys.stdin.buffer).read_all()
for i in range(t.num_rows):
    print([c[i].value if str(c.type).startswith('timestamp') else c[i].as_py() for c in t.columns])
`

// TestPyarrowReadsStreams: another reader has the same values.
func TestPyarrowReadsStreams(t *testing.T) {
	python := os.Getenv("TOGO_PYARROW")
	if python == "" {
		if os.Getenv("CI_REQUIRE_SERVERS") == "1" {
			t.Fatal("TOGO_PYARROW names no Python with pyarrow")
		}
		t.Skip("TOGO_PYARROW names no Python with pyarrow")
	}
	columns, batch := everything()
	cmd := exec.CommandContext(t.Context(), python, "-c", pyarrow)
	cmd.Stdin = strings.NewReader(write(t, Arrow, columns, batch, batch))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	want := `[True, -9223372036854775808, 0.1, 'line\nbreak "q" \x01` + "\ufffd" + `€', '{"a":\n [1e400, "\\ud800"]}', b'\x00\xff', 1793613600123456789, 1793613600123456789, datetime.date(1969, 12, 31), MonthDayNano(months=14, days=-1, nanoseconds=3723500000000), None, '', 7]
[None, None, None, None, None, None, 1793613600123456789, None, None, None, None, None, 7]
[False, 9007199254740993, -inf, 'x,y', 'no json', b'', 1793613600123456789, -1, datetime.date(2026, 11, 2), MonthDayNano(months=0, days=0, nanoseconds=0), None, ' x', 7]
`
	if want += want; string(out) != want {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
}
