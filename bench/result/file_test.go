package result

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
)

// full is a document with another value in every field, so that a key that is lost or
// mixed up shows.
func full(t *testing.T) *Document {
	t.Helper()
	d := &Document{}
	n := 0
	fill(t, reflect.ValueOf(d).Elem(), &n)
	d.Format = Format
	return d
}

func fill(t *testing.T, v reflect.Value, n *int) {
	*n++
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Unix(int64(*n), 0).UTC()))
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i), n)
		}
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), n)
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(t, v.Index(0), n)
		fill(t, v.Index(1), n)
	case v.Kind() == reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		e := reflect.New(v.Type().Elem()).Elem()
		fill(t, e, n)
		v.SetMapIndex(reflect.ValueOf("writer"), e)
	case v.Kind() == reflect.String:
		v.SetString("text" + string(rune('a'+*n%26)))
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(int64(*n))
	case v.CanUint():
		v.SetUint(uint64(*n))
	case v.CanFloat():
		v.SetFloat(float64(*n) + 0.5)
	default:
		t.Fatalf("no value for %s", v.Type())
	}
}

func TestDocumentComesBack(t *testing.T) {
	d := full(t)
	body, err := d.Encode()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "new", "latest.json")
	for range 2 { // the second time it is there already
		if err := WriteFile(path, body); err != nil {
			t.Fatal(err)
		}
	}
	back, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(d, back) {
		t.Errorf("the document that came back differs:\n%+v\n%+v", d, back)
	}
	left, _ := os.ReadDir(filepath.Dir(path))
	if len(left) != 1 {
		t.Errorf("%d files are left, want the document alone", len(left))
	}
}

func TestOtherDocumentsAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"{":                                    "no result",
		`{"format": 2}`:                        "format 2",
		`{"seconds": []}`:                      "format 0",
		`{"format": 1, "throughput": 1}`:       "throughput",
		`{"format": 1, "run": {"sent": "all"}`: "no result",
	} {
		if _, err := Decode([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", text, err, want)
		}
	}
	d := full(t)
	d.Run.ClosedPerS = math.NaN()
	if _, err := d.Encode(); err == nil {
		t.Error("a NaN was written")
	}
}

func TestThisMachine(t *testing.T) {
	m := ThisMachine()
	if m.Cores < 1 || m.Arch != runtime.GOARCH {
		t.Errorf("%+v", m)
	}
	if runtime.GOOS == "linux" && (m.MemoryBytes < 1<<20 || !strings.Contains(m.OS, "linux ")) {
		t.Errorf("%+v", m)
	}
}
