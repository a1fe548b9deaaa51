package fileio_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/iceberg-exporter/iceberg_exporter/fileio"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, files fileio.Files, name string) (string, error) {
	t.Helper()
	r, err := files.Open(t.Context(), name)
	if err != nil {
		return "", err
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	return string(text), err
}

func TestLocal(t *testing.T) {
	directory := t.TempDir()
	write(t, filepath.Join(directory, "a"), "hello")
	write(t, filepath.Join(directory, "sub", "b"), "b")
	counter := &fileio.Counter{}
	storage := fileio.New(t.Context(), nil, counter)
	for _, name := range []string{directory + "/a", "file:" + directory + "/a", "file://" + directory + "/a"} {
		if text, err := content(t, storage, name); text != "hello" || err != nil {
			t.Errorf("%s: %q, %v", name, text, err)
		}
		if info, err := storage.Stat(t.Context(), name); info.Size != 5 || info.ModTime.IsZero() || err != nil {
			t.Errorf("%s: %+v, %v", name, info, err)
		}
	}
	if counter.Bytes() != 15 {
		t.Errorf("%d bytes were counted", counter.Bytes())
	}
	var listed []string
	for info, err := range storage.List(t.Context(), "file://"+directory+"/") {
		if err != nil {
			t.Fatal(err)
		}
		if info.IsDir {
			info.URI += "/"
		}
		listed = append(listed, info.URI)
	}
	if want := []string{"file://" + directory + "/a", "file://" + directory + "/sub/"}; !slices.Equal(listed, want) {
		t.Errorf("got %q, want %q", listed, want)
	}
	if _, err := content(t, storage, directory+"/missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	for _, err := range storage.List(t.Context(), directory+"/missing") {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a missing directory: %v", err)
		}
	}
}

// TestOnlyRegularFiles: a pipe would be waited for, and a device read, for ever.
func TestOnlyRegularFiles(t *testing.T) {
	directory := t.TempDir()
	pipe := filepath.Join(directory, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	storage := fileio.New(t.Context(), nil, &fileio.Counter{})
	for _, name := range []string{pipe, directory, "/dev/zero"} {
		if _, err := content(t, storage, name); err == nil {
			t.Errorf("%s was opened", name)
		}
	}
}

func TestCancelled(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a")
	write(t, file, "hello")
	ctx, cancel := context.WithCancel(t.Context())
	storage := fileio.New(t.Context(), nil, &fileio.Counter{})
	r, err := storage.Open(ctx, file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cancel()
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("reading: %v", err)
	}
	if _, err := storage.Open(ctx, file); !errors.Is(err, context.Canceled) {
		t.Errorf("opening: %v", err)
	}
}

func TestUnknownScheme(t *testing.T) {
	storage := fileio.New(t.Context(), nil, &fileio.Counter{})
	for _, name := range []string{"http://localhost/x", "s3://", "gopher://x/y"} {
		if _, err := content(t, storage, name); err == nil {
			t.Errorf("%s was opened", name)
		}
	}
}

func TestMoved(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "ns", "t")
	write(t, filepath.Join(directory, "metadata", "m"), "moved")
	storage := fileio.New(t.Context(), nil, &fileio.Counter{})
	for _, c := range []struct{ recorded, name string }{
		{"s3://bucket/ns/t", "s3://bucket/ns/t/metadata/m"},
		{"s3://bucket/ns/t/", "s3a://bucket/ns/t/metadata/m"},
		{"file:/old/ns/t", "file:///old/ns/t/metadata/m"},
		{"file:///old/ns/t", "/old/ns/t/metadata/m"},
		{"./old/t", "old/t/metadata/m"},
		{"hdfs://node/old/t", "/old/t/metadata/m"},
		// Written from another directory, with a location that says nothing.
		{"gs://bucket/elsewhere", "ns/t/metadata/m"},
	} {
		files := fileio.ForTable(storage, directory+"/metadata/v1.metadata.json", c.recorded).Moved(directory)
		if text, err := content(t, files, c.name); text != "moved" || err != nil {
			t.Errorf("%s under %s: %q, %v", c.name, c.recorded, text, err)
		}
		if info, err := files.Stat(t.Context(), c.name); info.Size != 5 || err != nil {
			t.Errorf("%s under %s: %+v, %v", c.name, c.recorded, info, err)
		}
	}
	files := fileio.ForTable(storage, directory+"/metadata/v1.metadata.json", "/old/t").Moved(directory)
	for _, name := range []string{"/old/tt/metadata/m", "/old/t/../x", "/old/t/metadata/missing", "t/metadata/m/../../../x"} {
		if _, err := content(t, files, name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestObjectStoreTablesReadNoLocalFiles: whoever can write a table's metadata to
// an object store must not have the exporter read its own disk.
func TestObjectStoreTablesReadNoLocalFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	write(t, file, "secret")
	files := fileio.ForTable(fileio.New(t.Context(), nil, &fileio.Counter{}), "s3://bucket/t/metadata/v1.metadata.json", "s3://bucket/t")
	for _, name := range []string{file, "file://" + file, "file:" + file, "etc/passwd"} {
		if _, err := content(t, files, name); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := files.Stat(t.Context(), name); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: %v", name, err)
		}
		for _, err := range files.List(t.Context(), name) {
			if !errors.Is(err, fs.ErrPermission) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
