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
	// recorded and actual are where the table was and where it is.
	recorded, actual string
}

// ForTable returns the files of a table whose metadata was found at this URI. A
// table in an object store cannot name local files: whoever can write to the
// store would read the exporter's disk.
func ForTable(files Files, metadataFile string) *TableFiles {
	_, local := uri.Local(metadataFile)
	return &TableFiles{files: files, local: local}
}

// Moved returns the files of a table that was moved from the location that its
// metadata records: paths under it are read under the actual location.
func (t *TableFiles) Moved(recorded, actual string) *TableFiles {
	moved := *t
	moved.recorded, moved.actual = uri.Path(recorded), strings.TrimRight(actual, "/")
	return &moved
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

// Resolve returns the URI that a file of the table is read at.
func (t *TableFiles) Resolve(file string) (string, error) {
	if t.actual != "" {
		path := uri.Path(file)
		if below, ok := uri.Below(t.recorded, path); ok {
			return t.actual + below, nil
		}
		if below, ok := belowTail(t.actual, path); ok {
			return t.actual + below, nil
		}
	}
	if _, local := uri.Local(file); local && !t.local {
		return "", fmt.Errorf("%s: a table in an object store names a local file: %w", file, fs.ErrPermission)
	}
	return file, nil
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
