package storage_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/iceberg-exporter/iceberg_exporter/fileio"
	"github.com/iceberg-exporter/iceberg_exporter/manifest"
	"github.com/iceberg-exporter/iceberg_exporter/manifest/manifesttest"
	"github.com/iceberg-exporter/iceberg_exporter/storage"
	"github.com/iceberg-exporter/iceberg_exporter/uri"
)

const location = "s3://b/t"

// manifestOf is the record of a manifest of these files, those whose name starts
// with a minus deleted.
func manifestOf(t *testing.T, files ...string) *manifest.Record {
	t.Helper()
	var entries []any
	for _, file := range files {
		status := 1
		if file[0] == '-' {
			status, file = 2, file[1:]
		}
		entries = append(entries, map[string]any{"status": status, "data_file": map[string]any{
			"file_path": file, "partition": map[string]any{}, "record_count": 1, "file_size_in_bytes": 1,
		}})
	}
	record, err := manifest.ReadRecord(bytes.NewReader(manifesttest.Encode(t, manifesttest.PlainSchema, entries)), manifest.File{}, uri.LocationOf(location))
	if err != nil {
		t.Fatal(err)
	}
	return record
}

// table is what a table refers to.
type table struct {
	current, retained, expirable []string
	metadata, optional           []string
}

func (tb table) references(t *testing.T) *storage.References {
	r := storage.NewReferences()
	for _, file := range tb.metadata {
		r.AddMetadata(uri.LocationOf(location).Place(file))
	}
	for _, file := range tb.optional {
		r.AddOptional(uri.LocationOf(location).Place(file))
	}
	r.AddContent(storage.Current, manifestOf(t, tb.current...))
	r.AddContent(storage.Retained, manifestOf(t, tb.retained...))
	r.AddContent(storage.Expirable, manifestOf(t, tb.expirable...))
	r.Seal()
	return r
}

var (
	window = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	old    = window.Add(-time.Nanosecond)
	young  = window
)

// file is a listed file below the table's location.
func file(name string, size int64, written time.Time) fileio.Info {
	return fileio.Info{URI: location + "/" + name, Size: size, ModTime: written}
}

func account(t *testing.T, tb table, fields []string, files ...fileio.Info) *storage.Account {
	a := storage.NewAccount(tb.references(t), storage.Rules{OlderThan: window, Location: location, Fields: fields})
	// A listing comes in pages, from several goroutines.
	var pages sync.WaitGroup
	for page := range slices.Chunk(files, 2) {
		pages.Go(func() { a.Add(page) })
	}
	pages.Wait()
	return a
}

func figures(t *testing.T, a *storage.Account, newer *storage.References) *storage.Figures {
	t.Helper()
	f, err := a.Figures(newer)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestStates(t *testing.T) {
	tb := table{
		current:   []string{"s3://b/t/data/live", "s3a://b/t/data/spelled", "/t/data/_hidden-live", "s3://b/elsewhere/x", "s3://b/t/data/_p=1/x"},
		retained:  []string{"s3://b/t/data/kept", "s3://b/t/data/live"},
		expirable: []string{"s3://b/t/data/expirable", "s3://b/t//data/kept", "-s3://b/t/data/gone"},
		metadata:  []string{"s3://b/t/metadata/m.avro"},
		optional:  []string{"s3://b/t/metadata/old.json", "s3://b/t/metadata/never.json"},
	}
	for name, c := range map[string]struct {
		file   string
		at     time.Time
		fields []string
		want   storage.State
	}{
		"of the current snapshot":             {"data/live", old, nil, storage.Live},
		"of another spelling":                 {"data/spelled", old, nil, storage.Live},
		"of a hidden name":                    {"data/_hidden-live", old, nil, storage.Live},
		"of an older snapshot":                {"data/kept", young, nil, storage.Historical},
		"of a snapshot that can expire":       {"data/expirable", young, nil, storage.Historical},
		"metadata":                            {"metadata/m.avro", old, nil, storage.Metadata},
		"older metadata":                      {"metadata/old.json", old, nil, storage.Metadata},
		"old":                                 {"data/x", old, nil, storage.Orphan},
		"not older than the window":           {"data/x", young, nil, storage.Recent},
		"deleted by the manifest's commit":    {"data/gone", old, nil, storage.Orphan},
		"directly in the location":            {"x", old, nil, storage.Orphan},
		"hidden by an underscore":             {"data/_x", old, nil, storage.Hidden},
		"hidden by a dot, young":              {"data/.x.crc", young, nil, storage.Hidden},
		"in a hidden directory":               {"_temporary/0/x", old, nil, storage.Hidden},
		"partition field that starts so":      {"data/_p=2/x", old, []string{"a", "_p"}, storage.Orphan},
		"file named like such a partition":    {"data/_p=2", old, []string{"_p"}, storage.Orphan},
		"another field's name":                {"data/_pq=2/x", old, []string{"_p"}, storage.Hidden},
		"a field's name and nothing":          {"data/_p/x", old, []string{"_p"}, storage.Hidden},
		"hidden below a partition":            {"data/_p=2/_x", old, []string{"_p"}, storage.Hidden},
		"partition of a field with a dot":     {"data/.p=2/x", old, []string{".p"}, storage.Orphan},
		"two slashes in a row":                {"data//live", old, nil, storage.Live},
		"a space is no percent-encoded space": {"data/li%76e", old, nil, storage.Orphan},
	} {
		a := account(t, tb, c.fields, file(c.file, 7, c.at), file("metadata/m.avro", 0, old))
		if got := a.State(file(c.file, 7, c.at)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		f := figures(t, a, nil)
		if got := f.Usage[c.want]; got.Bytes != 7 {
			t.Errorf("%s: %v", name, f.Usage)
		}
		if total := f.Total(); total != (storage.Usage{Files: 2, Bytes: 7}) {
			t.Errorf("%s: %+v in all", name, total)
		}
	}
}

func TestMissing(t *testing.T) {
	tb := table{current: []string{"s3://b/t/1", "s3://b/t/2", "s3://b/t/2", "s3://c/else/3"}, retained: []string{"s3://b/t/4"}}
	for listed, want := range map[string]int64{"1": 1, "2": 1, "4": 2} {
		if f := figures(t, account(t, tb, nil, file(listed, 1, old)), nil); *f.Missing != want {
			t.Errorf("%s: %d missing, want %d", listed, *f.Missing, want)
		}
	}
}

func TestExpirableBytes(t *testing.T) {
	listed := []fileio.Info{file("1", 1, old), file("2", 10, old), file("3", 100, old), file("4", 1000, old)}
	tb := table{current: []string{"s3://b/t/1"}, retained: []string{"s3://b/t/2"}, expirable: []string{"s3://b/t/1", "s3://b/t/2", "s3://b/t/3", "s3://b/t/3"}}
	if f := figures(t, account(t, tb, nil, listed...), nil); *f.ExpirableBytes != 100 || f.Usage[storage.Historical].Bytes != 110 {
		t.Errorf("%+v, %d", f, *f.ExpirableBytes)
	}
	tb.expirable = append(tb.expirable, "s3://elsewhere/x")
	if f := figures(t, account(t, tb, nil, listed...), nil); f.ExpirableBytes != nil {
		t.Errorf("%d bytes, of which some are elsewhere", *f.ExpirableBytes)
	}
}

// TestMistaken: where the engine cannot tell, nor can we.
func TestMistaken(t *testing.T) {
	tb := table{current: []string{"s3://b/t/1", "s3://other/t/2"}}
	if f := figures(t, account(t, tb, nil, file("1", 1, old)), nil); f.Refusal != "" || *f.Missing != 0 {
		t.Errorf("%+v", f)
	}
	// The engine looks at no file that is young or hidden.
	tb.current = append(tb.current, "s3://other/t/_2")
	f := figures(t, account(t, tb, nil, file("1", 1, old), file("2", 1, young), file("_2", 1, old)), nil)
	if f.Refusal != "" || f.Usage[storage.Recent].Files != 1 || f.Usage[storage.Hidden].Files != 1 {
		t.Errorf("%+v", f)
	}
	// A file that a snapshot has in both stores is there.
	tb.current = append(tb.current, "s3://b/t/2")
	f = figures(t, account(t, tb, nil, file("1", 1, old), file("2", 1, old), file("3", 1, old)), nil)
	if *f.Missing != 0 {
		t.Errorf("%d missing", *f.Missing)
	}
	if f.Refusal == "" || f.Usage[storage.Live].Files != 1 || f.Usage[storage.Orphan].Files != 1 {
		t.Errorf("%+v", f)
	}
}

// TestElsewhere: a directory that has nothing of the table is not the table's.
func TestElsewhere(t *testing.T) {
	some := table{current: []string{"s3://b/t/1"}, optional: []string{"s3://b/t/metadata/version-hint.text"}}
	outside := table{current: []string{"s3://else/1"}, optional: []string{"s3://b/t/metadata/version-hint.text"}}
	for name, c := range map[string]struct {
		table  table
		listed []fileio.Info
		fails  bool
	}{
		"nothing of what must be there":       {some, nil, true},
		"only what is not the table's":        {some, []fileio.Info{file("x", 1, old)}, true},
		"all elsewhere, nothing here":         {outside, nil, false},
		"all elsewhere, but other files here": {outside, []fileio.Info{file("x", 1, old)}, true},
		"something":                           {some, []fileio.Info{file("1", 1, old)}, false},
	} {
		if _, err := account(t, c.table, nil, c.listed...).Figures(nil); errors.Is(err, storage.ErrElsewhere) != c.fails {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCommitDuringListing: what a commit takes up is no orphan, whatever its age,
// and what it drops is not missing.
func TestCommitDuringListing(t *testing.T) {
	before := table{current: []string{"s3://b/t/stays", "s3://b/t/dropped", "s3://b/t/lost"}, metadata: []string{"s3://b/t/1.json"}}
	after := table{
		current:  []string{"s3://b/t/stays", "s3://b/t/lost", "s3://b/t/added-old", "s3://b/t/added-young", "s3://b/t/added-late"},
		retained: []string{"s3://b/t/dropped", "s3://b/t/staged"}, metadata: []string{"s3://b/t/1.json", "s3://b/t/2.json"},
	}
	a := account(t, before, nil, file("stays", 1, old), file("1.json", 1, old), file("2.json", 2, young),
		file("added-old", 4, old), file("added-young", 8, young), file("staged", 16, old), file("orphan", 32, old), file("young", 64, young))
	f := figures(t, a, after.references(t))
	want := map[storage.State]storage.Usage{
		storage.Live: {Files: 3, Bytes: 13}, storage.Historical: {Files: 1, Bytes: 16}, storage.Metadata: {Files: 2, Bytes: 3},
		storage.Orphan: {Files: 1, Bytes: 32}, storage.Recent: {Files: 1, Bytes: 64},
	}
	if !maps.Equal(f.Usage, want) || *f.Missing != 1 {
		t.Errorf("%v, %d missing", f.Usage, *f.Missing)
	}
}

func TestFound(t *testing.T) {
	a := storage.NewAccount(table{metadata: []string{"s3://b/t/m"}}.references(t), storage.Rules{OlderThan: window, Location: location})
	var found []string
	a.Found = func(f fileio.Info, s storage.State) { found = append(found, fmt.Sprint(f.URI, " ", s)) }
	a.Add([]fileio.Info{file("m", 1, old), file("x", 1, old), file("_y", 1, old)})
	if want := []string{"s3://b/t/x orphan", "s3://b/t/_y hidden"}; !slices.Equal(found, want) {
		t.Errorf("%q", found)
	}
}
