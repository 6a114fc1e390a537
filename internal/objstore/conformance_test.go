package objstore_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/togodb/togo/internal/objstore"
	"github.com/togodb/togo/internal/objstore/conformance"
)

func openDir(t testing.TB) *objstore.Dir {
	t.Helper()
	d, err := objstore.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestMemoryConforms(t *testing.T) {
	conformance.Run(t, func(t *testing.T) objstore.Store { return objstore.NewMemory() })
}

func TestDirConforms(t *testing.T) {
	conformance.Run(t, func(t *testing.T) objstore.Store { return openDir(t) })
}

func TestFaultConforms(t *testing.T) {
	conformance.Run(t, func(t *testing.T) objstore.Store { return objstore.NewFault(objstore.NewMemory()) })
}

func TestInstrumentedConforms(t *testing.T) {
	conformance.Run(t, func(t *testing.T) objstore.Store {
		return objstore.Instrument(objstore.NewMemory(), prometheus.NewRegistry())
	})
}

// TestInstrumentedUploadsConform: the uploads of the wrapped store, not collected bodies.
func TestInstrumentedUploadsConform(t *testing.T) {
	conformance.Run(t, func(t *testing.T) objstore.Store {
		return objstore.Instrument(openDir(t), prometheus.NewRegistry())
	})
}
