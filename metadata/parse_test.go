package metadata_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/iceberg-exporter/iceberg_exporter/metadata"
)

const limit = 1 << 20

// table is a metadata file with some fields put in place of others.
func table(fields string) string {
	return `{"format-version": 2, "location": "s3://b/t", ` + fields + `}`
}

const twoSnapshots = `"current-snapshot-id": 2, "snapshots": [
	{"snapshot-id": 1, "timestamp-ms": 1000, "manifest-list": "l1", "summary": {"operation": "append", "added-data-files": "3", "added-files-size": "99"}},
	{"snapshot-id": 2, "parent-snapshot-id": 1, "timestamp-ms": 2000, "manifest-list": "l2", "sequence-number": 2, "summary": {"operation": "replace", "deleted-data-files": "3"}}]`

func parse(t *testing.T, text string) *metadata.Table {
	t.Helper()
	parsed, err := metadata.Parse(strings.NewReader(text), limit)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestParse(t *testing.T) {
	m := parse(t, table(`"table-uuid": "u", "schemas": [{"a": [1, {}]}, {}], "default-spec-id": 1,
		"partition-specs": [{"spec-id": 0, "fields": []}, {"spec-id": 1, "fields": [{"name": "d", "transform": "day", "field-id": 1000, "source-id": 1}]}],
		"properties": {"write.format.default": "orc", "n": "7"}, "unknown": {"x": [null, {"y": 1.5}]},
		"refs": {"main": {"snapshot-id": 2, "type": "branch"}, "old": {"snapshot-id": 1, "type": "tag", "max-ref-age-ms": 5}},
		"metadata-log": [{"metadata-file": "m1", "timestamp-ms": 1}], "statistics": [{"statistics-path": "s"}], "partition-statistics": [{"statistics-path": "p"}], `+twoSnapshots))
	current, ok := m.Current()
	spec, _ := m.Spec(1)
	for _, c := range []struct {
		what      string
		got, want any
	}{
		{"uuid", m.UUID, "u"},
		{"schemas", m.Schemas, 2},
		{"specs", len(m.Specs), 2},
		{"spec 1 is partitioned", spec.IsPartitioned(), true},
		{"property", m.Properties["write.format.default"], "orc"},
		{"whole number property", m.IntProperty("n", 1), int64(7)},
		{"property that is no number", m.IntProperty("write.format.default", 1), int64(1)},
		{"there is a current snapshot", ok, true},
		{"current", current.ID, metadata.SnapshotID(2)},
		{"manifest list", current.ManifestList, "l2"},
		{"sequence number", current.SequenceNumber, int64(2)},
		{"data compaction", current.IsDataCompaction(), true},
		{"refs", len(m.Refs), 2},
		{"log", m.MetadataLog[0].File, "m1"},
		{"statistics", fmt.Sprint(m.StatisticsFiles), "[s p]"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %v, want %v", c.what, c.got, c.want)
		}
	}
	first, _ := m.Snapshot(1)
	if s := first.Summary; s.AddedDataFiles != 3 || s.AddedFilesSize == nil || *s.AddedFilesSize != 99 || !s.Counted {
		t.Errorf("summary of snapshot 1: %+v", s)
	}
}

func dropped(m *metadata.Table) (dropped []bool) {
	for _, f := range m.Specs[0].Fields {
		dropped = append(dropped, f.Dropped)
	}
	return dropped
}

func TestParseVariants(t *testing.T) {
	hasCurrent := func(m *metadata.Table) bool { _, ok := m.Current(); return ok }
	for _, c := range []struct {
		name, text string
		holds      func(*metadata.Table) bool
	}{
		{"no snapshots at all", table(`"schemas": []`), func(m *metadata.Table) bool { return !hasCurrent(m) && len(m.Refs) == 0 }},
		{"current snapshot null", table(`"current-snapshot-id": null, "snapshots": null`), func(m *metadata.Table) bool { return !hasCurrent(m) }},
		{"current snapshot -1", table(`"current-snapshot-id": -1`), func(m *metadata.Table) bool { return !hasCurrent(m) }},
		{"main without current snapshot", table(`"refs": {"main": {"snapshot-id": 1, "type": "branch"}}, "snapshots": [{"timestamp-ms": 1, "snapshot-id": 1}]`), hasCurrent},
		{"the last of two fields counts", table(twoSnapshots + `, "schemas": [{}], "schemas": [{}, {}], ` + twoSnapshots), func(m *metadata.Table) bool { return len(m.Snapshots) == 2 && m.Schemas == 2 }},
		{"a negative property is none", table(`"properties": {"n": "-5"}`), func(m *metadata.Table) bool { return m.IntProperty("n", 7) == 7 }},
		{"main is implied", table(twoSnapshots), func(m *metadata.Table) bool {
			return len(m.Refs) == 1 && m.Refs[0].Name == "main" && m.Refs[0].SnapshotID == 2 && m.Refs[0].Type == metadata.Branch
		}},
		{
			"v1 with one schema and one spec", `{"format-version": 1, "schema": {"fields": []}, "partition-spec": [{"name": "p", "transform": "identity", "source-id": 1}]}`,
			func(m *metadata.Table) bool { return m.Schemas == 1 && len(m.Specs) == 1 && m.Specs[0].IsPartitioned() },
		},
		{
			"v1 with both forms", `{"format-version": 1, "schema": {}, "schemas": [{}, {}], "partition-spec": [], "partition-specs": [{"spec-id": 3, "fields": []}]}`,
			func(m *metadata.Table) bool { return m.Schemas == 2 && len(m.Specs) == 1 && m.Specs[0].ID == 3 },
		},
		{
			"v1 manifests", `{"format-version": 1, "current-snapshot-id": 1, "snapshots": [{"timestamp-ms": 1, "snapshot-id": 1, "manifests": ["a", "b"]}]}`,
			func(m *metadata.Table) bool {
				s, _ := m.Current()
				return len(s.Manifests) == 2 && s.ManifestList == ""
			},
		},
		{
			"void transforms do not partition", table(`"partition-specs": [{"spec-id": 0, "fields": [{"name": "x", "transform": "void"}]}]`),
			func(m *metadata.Table) bool { return !m.Specs[0].IsPartitioned() },
		},
		{
			"dropped columns",
			table(`"partition-specs": [{"spec-id": 0, "fields": [{"source-id": 1}, {"source-id": 2}, {"source-id": 3}, {"source-id": 4}, {}]}], "current-schema-id": 7,
				"schemas": [{"schema-id": 0, "fields": [{"id": 2, "type": "int"}]}, {"schema-id": 7, "fields": [{"id": 1, "type": "int"},
					{"id": 5, "type": {"type": "struct", "fields": [{"id": 3, "type": "int"}]}}, {"id": 6, "type": {"type": "list", "element-id": 4, "element": "int"}}]}]`),
			func(m *metadata.Table) bool {
				return reflect.DeepEqual(dropped(m), []bool{false, true, false, true, false})
			},
		},
		{
			"dropped columns in v1", `{"format-version": 1, "schema": {"fields": [{"id": 1, "type": "int"}]}, "partition-spec": [{"source-id": 1}, {"source-id": 2}]}`,
			func(m *metadata.Table) bool { return reflect.DeepEqual(dropped(m), []bool{false, true}) },
		},
		{
			"a schema that nobody reads", table(`"partition-specs": [{"spec-id": 0, "fields": [{"source-id": 2}]}], "current-schema-id": 0, "schemas": [{"schema-id": 0, "fields": "none"}]`),
			func(m *metadata.Table) bool { return reflect.DeepEqual(dropped(m), []bool{false}) },
		},
		{"unsigned snapshot ids", table(`"current-snapshot-id": 9876543210123456789, "snapshots": [{"timestamp-ms": 1, "snapshot-id": 9876543210123456789}]`), hasCurrent},
		{
			"no operation is an overwrite", table(`"snapshots": [{"timestamp-ms": 1, "snapshot-id": 1, "summary": {}}, {"timestamp-ms": 1, "snapshot-id": 2}]`),
			func(m *metadata.Table) bool {
				return m.Snapshots[0].Operation == metadata.Overwrite && m.Snapshots[1].Operation == metadata.Overwrite && !m.Snapshots[1].Summary.Counted
			},
		},
		{
			"manifest rewrite", table(`"snapshots": [{"timestamp-ms": 1, "snapshot-id": 1, "summary": {"operation": "replace", "entries-processed": "5", "manifests-created": "1"}}]`),
			func(m *metadata.Table) bool {
				return m.Snapshots[0].IsManifestRewrite() && !m.Snapshots[0].IsDataCompaction()
			},
		},
		{
			"a replace that counts manifests only", table(`"snapshots": [{"timestamp-ms": 1, "snapshot-id": 1, "summary": {"operation": "replace", "manifests-created": "1", "removed-delete-files": "2"}}]`),
			func(m *metadata.Table) bool {
				return !m.Snapshots[0].IsManifestRewrite() && !m.Snapshots[0].IsDataCompaction()
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if m := parse(t, c.text); !c.holds(m) {
				t.Errorf("%+v", m)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       error
	}{
		{"nothing", "", metadata.ErrCorrupt},
		{"no object", "[]", metadata.ErrCorrupt},
		{"null", "null", metadata.ErrCorrupt},
		{"cut short", table(twoSnapshots)[:100], metadata.ErrCorrupt},
		{"no version", `{"location": "x"}`, metadata.ErrCorrupt},
		{"version 0", `{"format-version": 0}`, metadata.ErrCorrupt},
		{"negative version", `{"format-version": -1}`, metadata.ErrCorrupt},
		{"version is a text", `{"format-version": "2"}`, metadata.ErrCorrupt},
		{"version 4", `{"format-version": 4}`, metadata.ErrUnsupported},
		{"encrypted by a snapshot", table(`"snapshots": [{"timestamp-ms": 1, "snapshot-id": 1, "key-id": "k"}]`), metadata.ErrUnsupported},
		{"encrypted by a property", table(`"properties": {"encryption.key-id": "k"}`), metadata.ErrUnsupported},
		{"current snapshot is missing", table(`"current-snapshot-id": 5, "snapshots": []`), metadata.ErrCorrupt},
		{"snapshot without time", table(`"snapshots": [{"snapshot-id": 1}]`), metadata.ErrCorrupt},
		{"snapshot before time began", table(`"snapshots": [{"snapshot-id": 1, "timestamp-ms": -1}]`), metadata.ErrCorrupt},
		{"two snapshots of one id", table(`"snapshots": [{"snapshot-id": 1, "timestamp-ms": 1}, {"snapshot-id": 1, "timestamp-ms": 2}]`), metadata.ErrCorrupt},
		{"a bomb of empty elements", table(`"partition-specs": [` + strings.Repeat("{},", 300_000) + `{}]`), metadata.ErrUnsupported},
		{"snapshot without id", table(`"snapshots": [{"timestamp-ms": 1}]`), metadata.ErrCorrupt},
		{"snapshot id is a text", table(`"snapshots": [{"timestamp-ms": 1, "snapshot-id": "1"}]`), metadata.ErrCorrupt},
		{"snapshot id does not fit", table(`"current-snapshot-id": 99999999999999999999`), metadata.ErrCorrupt},
		{"timestamp does not fit", table(`"snapshots": [{"snapshot-id": 1, "timestamp-ms": 1e30}]`), metadata.ErrCorrupt},
		{"count is negative", table(`"snapshots": [{"timestamp-ms": 1, "snapshot-id": 1, "summary": {"added-data-files": "-3"}}]`), metadata.ErrCorrupt},
		{"count does not fit", table(`"snapshots": [{"timestamp-ms": 1, "snapshot-id": 1, "summary": {"deleted-data-files": "99999999999999999999"}}]`), metadata.ErrCorrupt},
		{"size is no number", table(`"snapshots": [{"timestamp-ms": 1, "snapshot-id": 1, "summary": {"added-files-size": "big"}}]`), metadata.ErrCorrupt},
		{"snapshots is an object", table(`"snapshots": {}`), metadata.ErrCorrupt},
		{"ref without snapshot", table(`"refs": {"main": {"type": "branch"}}`), metadata.ErrCorrupt},
		{"ref of no type", table(`"refs": {"x": {"snapshot-id": 1, "type": "leaf"}}`), metadata.ErrCorrupt},
		{"damaged gzip", "\x1f\x8b\x08garbage", metadata.ErrCorrupt},
		{"too large", table(`"x": "` + strings.Repeat("a", limit) + `"`), metadata.ErrUnsupported},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := metadata.Parse(strings.NewReader(c.text), limit)
			if !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

func TestParseGzip(t *testing.T) {
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, _ = io.WriteString(w, table(twoSnapshots))
	_ = w.Close()
	m, err := metadata.Parse(bytes.NewReader(zipped.Bytes()), limit)
	if err != nil || len(m.Snapshots) != 2 {
		t.Fatal(m, err)
	}
	if _, err := metadata.Parse(bytes.NewReader(zipped.Bytes()[:zipped.Len()-10]), limit); !errors.Is(err, metadata.ErrCorrupt) {
		t.Errorf("cut short: %v", err)
	}
	damaged := bytes.Clone(zipped.Bytes())
	for i := range damaged {
		damaged[i] ^= 0x55
		if _, err := metadata.Parse(bytes.NewReader(damaged), limit); err != nil && !errors.Is(err, metadata.ErrCorrupt) && !errors.Is(err, metadata.ErrUnsupported) {
			t.Errorf("damaged at %d: %v", i, err)
		}
		damaged[i] ^= 0x55
	}
	// A bomb: the limit is on what it inflates to.
	zipped.Reset()
	w = gzip.NewWriter(&zipped)
	_, _ = io.WriteString(w, table(`"x": "`+strings.Repeat("a", 100*limit)+`"`))
	_ = w.Close()
	if _, err := metadata.Parse(&zipped, limit); !errors.Is(err, metadata.ErrUnsupported) {
		t.Errorf("bomb: %v", err)
	}
}

// TestParseKeepsStorageErrors: a store that fails says nothing about the file.
func TestParseKeepsStorageErrors(t *testing.T) {
	broken := errors.New("connection reset")
	r := io.MultiReader(strings.NewReader(table(twoSnapshots)[:50]), iotest.ErrReader(broken))
	if _, err := metadata.Parse(r, limit); !errors.Is(err, broken) || errors.Is(err, metadata.ErrCorrupt) {
		t.Error(err)
	}
}

func TestAncestors(t *testing.T) {
	m := parse(t, table(`"snapshots": [
		{"timestamp-ms": 1, "snapshot-id": 1, "parent-snapshot-id": 3}, {"timestamp-ms": 1, "snapshot-id": 2, "parent-snapshot-id": 1},
		{"timestamp-ms": 1, "snapshot-id": 3, "parent-snapshot-id": 2}, {"timestamp-ms": 1, "snapshot-id": 4, "parent-snapshot-id": 99}]`))
	for start, want := range map[metadata.SnapshotID]int{3: 3, 4: 1, 99: 0} {
		n := 0
		for range m.Ancestors(start) {
			n++
		}
		if n != want {
			t.Errorf("from %d: %d ancestors, want %d", start, n, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("../testdata/warehouse/*/*/metadata/*.json")
	if err != nil || len(files) == 0 {
		f.Fatal("no fixtures", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		if len(text) < 20_000 {
			f.Add(text)
		}
	}
	f.Add([]byte(table(twoSnapshots)))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := metadata.Parse(bytes.NewReader(text), limit)
		if err != nil {
			if !errors.Is(err, metadata.ErrCorrupt) && !errors.Is(err, metadata.ErrUnsupported) {
				t.Errorf("an error of no kind: %v", err)
			}
			return
		}
		if current, ok := m.Current(); ok {
			for range m.Ancestors(current.ID) {
			}
		}
	})
}
