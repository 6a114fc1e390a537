package objstore

import "context"

// Versions says what a store keeps of deleted and replaced objects.
type Versions string

const (
	VersionsNever     Versions = "never"     // nothing
	VersionsKept      Versions = "kept"      // all of them, until its own rules end them
	VersionsSuspended Versions = "suspended" // those from before it was told to keep no more
)

// KeepsVersions asks a store what it keeps; stores without such a notion keep nothing.
func KeepsVersions(ctx context.Context, s Store) (Versions, error) {
	if v, ok := s.(interface {
		KeepsVersions(context.Context) (Versions, error)
	}); ok {
		return v.KeepsVersions(ctx)
	}
	return VersionsNever, nil
}
