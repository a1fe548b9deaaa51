package fileio

import (
	"errors"
	"io/fs"
	"iter"
	"os"

	"github.com/iceberg-exporter/iceberg_exporter/uri"
)

// errNotRegular is told of what only looks like a file: opening a pipe or a
// device could wait, or read, for ever.
var errNotRegular = errors.New("not a regular file")

func statLocal(path string) (fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	return info, nil
}

func openLocal(path string) (*os.File, error) {
	if _, err := statLocal(path); err != nil {
		return nil, err
	}
	return os.Open(path)
}

func listLocal(directory, path string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		entries, err := os.ReadDir(path)
		if err != nil {
			yield(Info{}, failed("listing", directory, err))
			return
		}
		for _, entry := range entries {
			info, err := entry.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue // Deleted since.
			}
			if err != nil {
				yield(Info{}, failed("listing", directory, err))
				return
			}
			if !yield(Info{URI: uri.Join(directory, entry.Name()), Size: info.Size(), ModTime: info.ModTime(), IsDir: entry.IsDir()}, nil) {
				return
			}
		}
	}
}
