package interop_test

import (
	"archive/zip"
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/iceberg-exporter/iceberg_exporter/interop"
)

// answer is what the engine or the exporter says of a table: its orphans, or why
// they cannot be told.
type answer struct {
	Orphans []string `json:"orphans"`
	Error   string   `json:"error"`
}

// orphanCase is a table's location and what remove_orphan_files said of it.
type orphanCase struct {
	Case string `json:"case"`
	// Metadata is the name of the metadata file in the archive.
	Metadata string `json:"metadata"`
	// Files has the size and the age in seconds of every file, by names below
	// the location.
	Files map[string][2]float64 `json:"files"`
	// Links has the target of every link.
	Links  map[string]string `json:"links"`
	Engine answer            `json:"engine"`
	// Exporter is what the exporter shall say where that is not the same.
	Exporter *answer `json:"exporter"`
}

// TestRecordedOrphans compares the orphans that scans find with what the engine
// answered when run.sh recorded it, file for file.
func TestRecordedOrphans(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("file systems elsewhere take some of the names for the same")
	}
	text, err := os.ReadFile("testdata/orphans.json")
	if err != nil {
		t.Fatal(err)
	}
	var recorded struct {
		Cases []orphanCase `json:"cases"`
	}
	if err := json.Unmarshal(text, &recorded); err != nil {
		t.Fatal(err)
	}
	if len(recorded.Cases) < 100 {
		t.Errorf("only %d cases are recorded", len(recorded.Cases))
	}
	tables, err := zip.OpenReader("testdata/orphans.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer tables.Close()
	found, refused := 0, 0
	for _, c := range recorded.Cases {
		t.Run(c.Case, func(t *testing.T) {
			now := time.Now()
			metadataFile := c.layOut(t, tables, now)
			orphans, err := interop.Orphans(t.Context(), metadataFile, true, now)
			want := c.Engine
			if c.Exporter != nil {
				want = *c.Exporter
			}
			if (err != nil) != (want.Error != "") {
				t.Fatalf("found %q, %v; the engine answered %+v", orphans, err, want)
			}
			// Python sorts strings in the order of their characters, as Go does.
			if !slices.Equal(orphans, want.Orphans) {
				t.Errorf("found %q\nthe engine %q", orphans, want.Orphans)
			}
			if err != nil {
				refused++
			}
			found += len(orphans)
		})
	}
	if found == 0 || refused == 0 {
		t.Errorf("%d orphans were found, and %d tables refused", found, refused)
	}
}

// layOut makes all that was under the table's location, in a directory of its
// own, and returns its metadata file.
func (c *orphanCase) layOut(t *testing.T, tables fs.FS, now time.Time) string {
	t.Helper()
	table, metadataFile, _ := strings.Cut(c.Metadata, "/")
	location := filepath.Join(t.TempDir(), table)
	for name, file := range c.Files {
		size, age := int64(file[0]), time.Duration(file[1]*float64(time.Second))
		at := filepath.Join(location, name)
		makeDirectory(t, filepath.Dir(at))
		content, err := fs.ReadFile(tables, path.Join(table, name))
		if err != nil {
			content = nil // Of data files only the names are recorded.
		}
		if err := os.WriteFile(at, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(at, size); err != nil {
			t.Fatal(err)
		}
		written := now.Add(-age)
		if err := os.Chtimes(at, written, written); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range c.Links {
		at := filepath.Join(location, name)
		makeDirectory(t, filepath.Dir(at))
		if err := os.Symlink(target, at); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(location, metadataFile)
}

func makeDirectory(t *testing.T, directory string) {
	t.Helper()
	if err := os.MkdirAll(directory, 0o700); err != nil {
		t.Fatal(err)
	}
}
