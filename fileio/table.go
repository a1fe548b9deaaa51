package fileio

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"strings"

	"github.com/iceberg-exporter/iceberg_exporter/uri"
)

// TableFiles are the files of one table, under the paths that its metadata
// records.
type TableFiles struct {
	files Files
	// local is whether the table itself lies on a local disk.
	local bool
	// location is where the table is.
	location string
	within   uri.Location
	// recorded is the path that a table that was moved was at, and origin all of
	// that; else they are empty.
	recorded string
	origin   uri.Location
}

// ForTable returns the files of a table whose metadata was found at this URI and
// records this location. A table in an object store cannot name local files:
// whoever can write to the store would read the exporter's disk.
func ForTable(files Files, metadataFile, location string) *TableFiles {
	_, local := uri.Local(metadataFile)
	return &TableFiles{files: files, local: local, location: strings.TrimRight(location, "/"), within: uri.LocationOf(location)}
}

// Moved returns the files of a table that was moved from the location that its
// metadata records: paths under it are read under the actual location.
func (t *TableFiles) Moved(actual string) *TableFiles {
	moved := *t
	moved.location, moved.within = strings.TrimRight(actual, "/"), uri.LocationOf(actual)
	moved.recorded, moved.origin = uri.Path(t.location), uri.RecordedLocation(t.location)
	return &moved
}

// Location is the directory that the table is in.
func (t *TableFiles) Location() string { return t.location }

// Place returns the path at which a file of the table is, and where that is,
// seen from the table's location.
func (t *TableFiles) Place(file string) (path string, place uri.Place) {
	path, place = t.within.Place(t.actual(file))
	if t.recorded != "" {
		// What could not be told apart where the table was can still not be.
		if _, before := t.origin.Place(file); before == uri.Mistaken {
			place = before
		}
	}
	return path, place
}

// Open implements Files.
func (t *TableFiles) Open(ctx context.Context, file string) (io.ReadCloser, error) {
	resolved, err := t.Resolve(file)
	if err != nil {
		return nil, err
	}
	return t.files.Open(ctx, resolved)
}

// Stat implements Files.
func (t *TableFiles) Stat(ctx context.Context, file string) (Info, error) {
	resolved, err := t.Resolve(file)
	if err != nil {
		return Info{}, err
	}
	return t.files.Stat(ctx, resolved)
}

// List implements Files.
func (t *TableFiles) List(ctx context.Context, directory string) iter.Seq2[Info, error] {
	resolved, err := t.Resolve(directory)
	if err != nil {
		return func(yield func(Info, error) bool) { yield(Info{}, err) }
	}
	return t.files.List(ctx, resolved)
}

// Walk implements Files.
func (t *TableFiles) Walk(ctx context.Context, directory string, visit func([]Info) error) error {
	resolved, err := t.Resolve(directory)
	if err != nil {
		return err
	}
	return t.files.Walk(ctx, resolved, visit)
}

// Resolve returns the URI that a file of the table is read at.
func (t *TableFiles) Resolve(file string) (string, error) {
	actual := t.actual(file)
	if _, local := uri.Local(actual); local && !t.local {
		return "", fmt.Errorf("%s: a table in an object store names a local file: %w", file, fs.ErrPermission)
	}
	return actual, nil
}

// actual returns where a file is that the metadata names, also of a table that
// was moved.
func (t *TableFiles) actual(file string) string {
	if t.recorded == "" {
		return file
	}
	path := uri.Path(file)
	if below, ok := uri.Below(t.recorded, path); ok {
		return t.location + below
	}
	if below, ok := belowTail(t.location, path); ok {
		return t.location + below
	}
	return file
}

// belowTail returns what follows the table's directory in a relative path. Such a
// path was written from another working directory, but where it starts with the
// last elements of the table's directory, that is what it means.
func belowTail(directory, path string) (string, bool) {
	for i := len(path) - 1; i > 0; i-- {
		if path[i] == '/' && path[0] != '/' && strings.HasSuffix(directory, "/"+path[:i]) {
			return path[i:], true
		}
	}
	return "", false
}
