package measure_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/iceberg-exporter/iceberg_exporter/config"
	"github.com/iceberg-exporter/iceberg_exporter/fileio"
	"github.com/iceberg-exporter/iceberg_exporter/measure"
	"github.com/iceberg-exporter/iceberg_exporter/metadata"
	"github.com/iceberg-exporter/iceberg_exporter/storage"
)

// clicks is a copy of a sample table with many commits.
func clicks(t *testing.T) (location string) {
	t.Helper()
	location = filepath.Join(t.TempDir(), "clicks")
	if err := os.CopyFS(location, os.DirFS("../testdata/warehouse/streaming/clicks")); err != nil {
		t.Fatal(err)
	}
	return location
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// later is a moment at which nothing is too young.
func later() measure.ScanOptions { return measure.ScanOptions{Now: time.Now().AddDate(1000, 0, 0)} }

func TestScan(t *testing.T) {
	location := clicks(t)
	o := later()
	scan, err := scanTable(t, location, o)
	if err != nil {
		t.Fatal(err)
	}
	whole := scan.Figures
	if whole.Usage[storage.Orphan].Files != 0 || whole.Usage[storage.Live].Files == 0 || whole.Usage[storage.Metadata].Files == 0 || *whole.Missing != 0 {
		t.Errorf("%+v", whole)
	}
	if scan.Location != location || !scan.Time.Equal(o.Now) {
		t.Errorf("%+v", scan)
	}
	write(t, filepath.Join(location, "data", "orphan.parquet"), "12345")
	write(t, filepath.Join(location, "data", "_SUCCESS"), "")
	if scan, err = scanTable(t, location, o); err != nil {
		t.Fatal(err)
	}
	want := maps.Clone(whole.Usage)
	want[storage.Orphan], want[storage.Hidden] = storage.Usage{Files: 1, Bytes: 5}, storage.Usage{Files: 1}
	if !maps.Equal(scan.Figures.Usage, want) {
		t.Errorf("%v, want %v", scan.Figures.Usage, want)
	}
	if scan, err = scanTable(t, location, measure.ScanOptions{Now: time.Now(), OlderThan: time.Hour}); err != nil {
		t.Fatal(err)
	}
	if scan.Figures.Usage[storage.Recent].Files != 1 || scan.Figures.Usage[storage.Orphan].Files != 0 {
		t.Errorf("%v", scan.Figures.Usage)
	}
}

// TestScanMissesFiles: files of the current snapshot that are not there.
func TestScanMissesFiles(t *testing.T) {
	location := clicks(t)
	before, err := scanTable(t, location, later())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(location, "data")); err != nil {
		t.Fatal(err)
	}
	after, err := scanTable(t, location, later())
	if err != nil {
		t.Fatal(err)
	}
	if live := before.Figures.Usage[storage.Live].Files; *after.Figures.Missing != live || after.Figures.Usage[storage.Live].Files != 0 {
		t.Errorf("%d missing, want %d", *after.Figures.Missing, live)
	}
}

// TestScanRacesWithCommit: a commit that comes while the storage is listed takes
// up files that nothing referred to before.
func TestScanRacesWithCommit(t *testing.T) {
	location := clicks(t)
	newest, hint := newestMetadata(t, location)
	content, err := os.ReadFile(newest)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := scanTable(t, location, later())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(newest); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(location, "metadata", "version-hint.text"), fmt.Sprint(hint-1))
	o := later()
	var found []string
	o.Found = func(f fileio.Info, _ storage.State) {
		if len(found) == 0 {
			write(t, newest, string(content))
			write(t, filepath.Join(location, "metadata", "version-hint.text"), fmt.Sprint(hint))
		}
		found = append(found, f.URI)
	}
	// Files come before directories, so this one is found first.
	write(t, filepath.Join(location, "orphan"), "12345")
	scan, err := scanTable(t, location, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 2 {
		t.Errorf("the commit took up nothing: only %q was loose", found)
	}
	if got, want := scan.Figures.Usage[storage.Orphan], (storage.Usage{Files: 1, Bytes: 5}); got != want {
		t.Errorf("%+v orphans, want %+v", got, want)
	}
	if got, want := scan.Figures.Usage[storage.Live], whole.Figures.Usage[storage.Live]; got != want || *scan.Figures.Missing != 0 {
		t.Errorf("%+v live, want %+v; %d missing", got, want, *scan.Figures.Missing)
	}
}

// newestMetadata returns the metadata file that a version hint names.
func newestMetadata(t *testing.T, location string) (file string, version int) {
	t.Helper()
	hint, err := os.ReadFile(filepath.Join(location, "metadata", "version-hint.text"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(string(hint), &version); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(location, "metadata", "v"+strings.TrimSpace(string(hint))+".metadata.json"), version
}

// TestScanFails: what cannot be told is an error, and never a count of a part.
func TestScanFails(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(location string)
		want  error
	}{
		"a manifest of an older snapshot is gone": {func(location string) {
			lists, _ := filepath.Glob(filepath.Join(location, "metadata", "snap-*.avro"))
			_ = os.Remove(lists[0])
		}, fs.ErrNotExist},
		"a manifest is damaged": {func(location string) {
			manifests, _ := filepath.Glob(filepath.Join(location, "metadata", "*-m0.avro"))
			write(t, manifests[0], "Obj")
		}, metadata.ErrCorrupt},
		"a circle of links": {func(location string) {
			_ = os.Symlink("..", filepath.Join(location, "data", "up"))
		}, nil},
	} {
		location := clicks(t)
		c.spoil(location)
		scan, err := scanTable(t, location, later())
		if err == nil || scan != nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %+v, %v", name, scan, err)
		}
	}
}

// TestScanOfStrangeLocations: a location that is not the table's own directory
// gives an error, or figures that are right.
func TestScanOfStrangeLocations(t *testing.T) {
	directory, other := t.TempDir(), t.TempDir()
	write(t, filepath.Join(other, "somebody's"), "12345")
	file := filepath.Join(directory, "metadata", "v1.metadata.json")
	for location, want := range map[string]error{
		directory: nil, directory + "/": nil, "file://" + directory: nil,
		"/": metadata.ErrUnsupported, "file:///": metadata.ErrUnsupported, "": metadata.ErrUnsupported,
		other: storage.ErrElsewhere, directory + "/none": storage.ErrElsewhere,
	} {
		write(t, file, `{"format-version": 2, "location": "`+location+`"}`)
		scan, err := newTable(t, file, false).scan(t, later())
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", location, err, want)
		}
		if err == nil && scan.Figures.Usage[storage.Orphan].Files != 0 {
			t.Errorf("%s: %v", location, scan.Figures.Usage)
		}
	}
}

// TestScanReadsOnce: a second scan reads no manifest, and a refresh after a scan
// none either.
func TestScanReadsOnce(t *testing.T) {
	table := newTable(t, clicks(t), true)
	if _, err := table.scan(t, later()); err != nil {
		t.Fatal(err)
	}
	read := table.ManifestsRead()
	if _, err := table.scan(t, later()); err != nil {
		t.Fatal(err)
	}
	if _, err := table.Measure(t.Context(), table.catalog, table.id, config.Settings{}, nil); err != nil {
		t.Fatal(err)
	}
	if again := table.ManifestsRead() - read; read == 0 || again != 0 {
		t.Errorf("%d manifests read, and %d again", read, again)
	}
}
