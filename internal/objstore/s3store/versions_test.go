package s3store

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/togodb/togo/internal/objstore"
)

func TestVersions(t *testing.T) {
	for status, want := range map[string]objstore.Versions{
		"<Status>Enabled</Status>": objstore.VersionsKept, "<Status>Suspended</Status>": objstore.VersionsSuspended, "": objstore.VersionsNever,
	} {
		s := fakeStore(t, false, nil, func(w http.ResponseWriter, r *http.Request) {
			if _, asked := r.URL.Query()["versioning"]; !asked || r.URL.Path != "/bucket" && r.URL.Path != "/bucket/" {
				t.Errorf("asked for %s", r.URL)
			}
			_, _ = io.WriteString(w, fmt.Sprintf(`<VersioningConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/">%s</VersioningConfiguration>`, status))
		})
		if got, err := objstore.KeepsVersions(t.Context(), s); err != nil || got != want {
			t.Errorf("%q: %q, %v", status, got, err)
		}
	}
	s := fakeStore(t, false, nil, func(w http.ResponseWriter, _ *http.Request) { refuse(w, 403, "AccessDenied") })
	if got, err := objstore.KeepsVersions(t.Context(), s); err == nil {
		t.Errorf("refused: %q", got)
	}
	if got, err := objstore.KeepsVersions(t.Context(), objstore.NewMemory()); err != nil || got != objstore.VersionsNever {
		t.Errorf("memory: %q, %v", got, err)
	}
}
