package fileio_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/iceberg-exporter/iceberg_exporter/fileio"
)

// walk returns the names below a directory of a local disk, sorted.
func walk(ctx context.Context, t *testing.T, directory string) ([]string, error) {
	t.Helper()
	var names []string
	err := fileio.New(t.Context(), nil, &fileio.Counter{}).Walk(ctx, directory, func(files []fileio.Info) error {
		for _, f := range files {
			names = append(names, strings.TrimPrefix(f.URI, directory))
		}
		return nil
	})
	slices.Sort(names)
	return names, err
}

func link(t *testing.T, to, name string) {
	t.Helper()
	if err := os.Symlink(to, name); err != nil {
		t.Fatal(err)
	}
}

func TestWalkLocal(t *testing.T) {
	directory := t.TempDir()
	for _, name := range []string{"a", "d/b", "d/e/c", "_x/.y", "not\xffutf8", "a b%20c"} {
		write(t, filepath.Join(directory, name), name)
	}
	if err := os.MkdirAll(filepath.Join(directory, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	elsewhere := t.TempDir()
	write(t, filepath.Join(elsewhere, "f"), "f")
	link(t, elsewhere, filepath.Join(directory, "to-directory"))
	link(t, filepath.Join(elsewhere, "f"), filepath.Join(directory, "to-file"))
	link(t, filepath.Join(elsewhere, "none"), filepath.Join(directory, "to-nothing"))
	link(t, "to-itself", filepath.Join(directory, "to-itself"))
	want := []string{"/_x/.y", "/a", "/a b%20c", "/d/b", "/d/e/c", "/not\xffutf8", "/to-directory/f", "/to-file"}
	for _, spelled := range []string{directory, "file:" + directory, "file://" + directory} {
		if got, err := walk(t.Context(), t, spelled); !slices.Equal(got, want) || err != nil {
			t.Errorf("%s: %q, %v, want %q", spelled, got, err, want)
		}
	}
}

// TestWalkFails: a listing that is not whole is an error, whatever was wrong.
func TestWalkFails(t *testing.T) {
	circle := t.TempDir()
	write(t, filepath.Join(circle, "d", "a"), "a")
	link(t, "..", filepath.Join(circle, "d", "up"))
	if _, err := walk(t.Context(), t, circle); err == nil || !strings.Contains(err.Error(), "leads back") {
		t.Errorf("a link that leads back: %v", err)
	}
	if _, err := walk(t.Context(), t, filepath.Join(circle, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := walk(cancelled, t, circle); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	stop := errors.New("stop")
	err := fileio.New(t.Context(), nil, &fileio.Counter{}).Walk(t.Context(), circle, func([]fileio.Info) error { return stop })
	if !errors.Is(err, stop) {
		t.Errorf("stopped: %v", err)
	}
	if os.Geteuid() == 0 {
		return // Root may read everything.
	}
	if err := os.Chmod(filepath.Join(circle, "d"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := walk(t.Context(), t, circle); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a forbidden directory: %v", err)
	}
}
