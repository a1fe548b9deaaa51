package layout_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/iceberg-exporter/iceberg_exporter/layout"
	"github.com/iceberg-exporter/iceberg_exporter/manifest"
	"github.com/iceberg-exporter/iceberg_exporter/manifest/manifesttest"
	"github.com/iceberg-exporter/iceberg_exporter/metadata"
)

type values = map[string]any

// record makes a record out of files, by way of a manifest.
func record(t *testing.T, file manifest.File, fields string, files ...values) *manifest.Record {
	t.Helper()
	schema := `{"type": "record", "name": "e", "fields": [{"name": "status", "type": "int", "field-id": 0},
		{"name": "data_file", "field-id": 2, "type": {"type": "record", "name": "f", "fields": [
			{"name": "content", "type": "int", "field-id": 134}, {"name": "file_path", "type": "string", "field-id": 100}, {"name": "file_format", "type": "string", "field-id": 101},
			{"name": "partition", "field-id": 102, "type": {"type": "record", "name": "p", "fields": [` + fields + `]}},
			{"name": "record_count", "type": "long", "field-id": 103}, {"name": "file_size_in_bytes", "type": "long", "field-id": 104}]}}]}`
	var entries []any
	for i, f := range files {
		all := values{"content": 0, "file_path": fmt.Sprint(i), "file_format": "parquet", "partition": values{}, "record_count": 1, "file_size_in_bytes": 1}
		maps.Copy(all, f)
		entries = append(entries, values{"status": 1, "data_file": all})
	}
	r, err := manifest.ReadRecord(bytes.NewReader(manifesttest.Encode(t, schema, entries)), file, manifesttest.Files{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func size(n int64) values { return values{"file_size_in_bytes": n} }

func table(t *testing.T, fields string) *metadata.Table {
	t.Helper()
	parsed, err := metadata.Parse(strings.NewReader(`{"format-version": 2, `+fields+`}`), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

const mib = 1 << 20

func TestMeasure(t *testing.T) {
	data := manifest.File{Path: "a", Length: 10}
	deletes := manifest.File{Path: "b", Length: 5, Content: manifest.Deletes}
	l, err := layout.Measure(table(t, `"partition-specs": []`), []manifest.File{data, deletes}, []*manifest.Record{
		record(t, data, "", size(1), size(mib), size(mib+1), size(128*mib-1), size(128*mib), size(2048*mib), values{"file_size_in_bytes": 3, "record_count": 7}),
		record(t, deletes, "", values{"content": 1, "file_size_in_bytes": 11, "record_count": 2}, values{"content": 2, "file_size_in_bytes": 13}, values{"content": 1, "file_format": "puffin", "file_size_in_bytes": 17}),
	}, layout.Options{SmallFileThreshold: 128 * mib, PartitionsTop: 5})
	if err != nil {
		t.Fatal(err)
	}
	bytes := int64(1 + mib + mib + 1 + 128*mib - 1 + 128*mib + 2048*mib + 3)
	want := layout.Layout{
		DataFiles: 7, DataBytes: bytes, Records: 13, MinBytes: 1, MaxBytes: 2048 * mib, SmallDataFiles: 5, Partitions: 1,
		WorstPartitions: []layout.Partition{{Name: "", DataFiles: 7, DataBytes: bytes}},
		PositionDeletes: layout.Deletes{Files: 1, Bytes: 11, Records: 2}, EqualityDeletes: layout.Deletes{Files: 1, Bytes: 13, Records: 1},
		DeletionVectors: layout.Deletes{Files: 1, Bytes: 17, Records: 1},
		DataManifests:   layout.Manifests{Count: 1, Bytes: 10}, DeleteManifests: layout.Manifests{Count: 1, Bytes: 5},
	}
	// Up to 1 MiB: three; up to 4: one; up to 128: two; above all: one.
	want.SizeBuckets[0], want.SizeBuckets[1], want.SizeBuckets[6] = 3, 1, 2
	if !reflect.DeepEqual(*l, want) {
		t.Errorf("got  %+v\nwant %+v", *l, want)
	}
}

func TestMeasureNothing(t *testing.T) {
	l, err := layout.Measure(table(t, `"schemas": []`), nil, nil, layout.Options{PartitionsTop: 5})
	if err != nil || !reflect.DeepEqual(*l, layout.Layout{}) {
		t.Errorf("%+v, %v", l, err)
	}
}

func TestSumsThatDoNotFit(t *testing.T) {
	data := manifest.File{}
	huge := make([]values, 1500)
	for i := range huge {
		huge[i] = size(1 << 53)
	}
	r := record(t, data, "", huge...)
	if _, err := layout.Measure(table(t, `"schemas": []`), []manifest.File{data}, []*manifest.Record{r}, layout.Options{}); !errors.Is(err, metadata.ErrCorrupt) {
		t.Error(err)
	}
	long := []manifest.File{{Length: math.MaxInt64}, {Length: 1}}
	empty := record(t, data, "")
	if _, err := layout.Measure(table(t, `"schemas": []`), long, []*manifest.Record{empty, empty}, layout.Options{}); !errors.Is(err, metadata.ErrCorrupt) {
		t.Error(err)
	}
}

// TestPartitions: tuples of different specs are different partitions, and one
// row of the engine's GROUP BY where their values are the same.
func TestPartitions(t *testing.T) {
	m := table(t, `"partition-specs": [
		{"spec-id": 0, "fields": [{"name": "region", "transform": "identity", "field-id": 1000}]},
		{"spec-id": 1, "fields": [{"name": "region", "transform": "identity", "field-id": 1000}, {"name": "day", "transform": "day", "field-id": 1001}]}]`)
	zero, one := manifest.File{SpecID: 0}, manifest.File{SpecID: 1}
	region := `{"name": "region", "type": ["null", "string"], "field-id": 1000}`
	day := region + `, {"name": "day", "type": ["null", "int"], "field-id": 1001}`
	in := func(region, day any, n int64) values {
		return values{"partition": values{"region": region, "day": day}, "file_size_in_bytes": n}
	}
	l, err := layout.Measure(m, []manifest.File{zero, one, one}, []*manifest.Record{
		record(t, zero, region, in("a", nil, 1), in("b", nil, 2), in(nil, nil, 4)),
		record(t, one, day, in("a", nil, 8), in("a", 20000, 16)),
		record(t, one, day, in("a", 20000, 32), in(nil, 20000, 64), in(nil, nil, 128), in("a", 20000, 256)),
	}, layout.Options{PartitionsTop: 4})
	if err != nil {
		t.Fatal(err)
	}
	if l.Partitions != 7 {
		t.Errorf("%d partitions", l.Partitions)
	}
	want := []layout.Partition{
		{Name: "region=a/day=2024-10-04", DataFiles: 3, DataBytes: 304},
		{Name: "region=a/day=null", DataFiles: 2, DataBytes: 9},
		{Name: "region=null/day=null", DataFiles: 2, DataBytes: 132},
		{Name: "region=b", DataFiles: 1, DataBytes: 2},
	}
	if !reflect.DeepEqual(l.WorstPartitions, want) {
		t.Errorf("got %+v", l.WorstPartitions)
	}
}

func TestPartitionNames(t *testing.T) {
	for _, c := range []struct {
		transform, kind string
		value           any
		want            string
	}{
		{"identity", `"string"`, "a/b=c%d é", "p=a%2Fb%3Dc%25d é"},
		{"identity", `["null", "string"]`, nil, "p=null"},
		{"identity", `"int"`, 7, "p=7"},
		{"identity", `{"type": "int", "logicalType": "date"}`, 20000, "p=2024-10-04"},
		{"identity", `{"type": "long", "logicalType": "time-micros"}`, int64(3_723_000_004), "p=01:02:03.000004"},
		{"identity", `{"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": true}`, int64(1_000_001), "p=1970-01-01T00:00:01.000001+00:00"},
		{"identity", `{"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": false}`, int64(-1_000_000), "p=1969-12-31T23:59:59"},
		{"identity", `"boolean"`, true, "p=true"},
		{"identity", `"double"`, 0.1, "p=0.1"},
		{"identity", `"bytes"`, []byte{0xab, 1}, "p=ab01"},
		{"year", `"int"`, 54, "p=2024"},
		{"year", `"int"`, -1, "p=1969"},
		{"month", `"int"`, 658, "p=2024-11"},
		{"month", `"int"`, -1, "p=1969-12"},
		{"day", `"int"`, -1, "p=1969-12-31"},
		{"day", `{"type": "int", "logicalType": "date"}`, 0, "p=1970-01-01"},
		{"hour", `"int"`, 481000, "p=2024-11-14-16"},
		{"hour", `"int"`, -1, "p=1969-12-31-23"},
		{"bucket[16]", `"int"`, 3, "p=3"},
		{"truncate[10]", `"string"`, "abc", "p=abc"},
		{"truncate[10]", `"int"`, 20, "p=20"},
		{"void", `["null", "int"]`, nil, ""},
		{"zorder[2]", `"int"`, 5, "p=5"},
	} {
		r := record(t, manifest.File{}, `{"name": "p", "field-id": 1000, "type": `+c.kind+`}`, values{"partition": values{"p": c.value}})
		spec := metadata.Spec{Fields: []metadata.SpecField{{ID: 1000, Name: "p", Transform: c.transform}}}
		if got := layout.PartitionName(spec, r.PartitionFields, r.Partitions()[0]); got != c.want {
			t.Errorf("%s of %s %v: got %q, want %q", c.transform, c.kind, c.value, got, c.want)
		}
	}
}

const hour = 3600_000

func snapshot(id int, at int64, summary string) string {
	return fmt.Sprintf(`{"snapshot-id": %d, "parent-snapshot-id": %d, "timestamp-ms": %d, "summary": {%s}}`, id, id-1, at, summary)
}

func TestHistory(t *testing.T) {
	h := layout.MeasureHistory(table(t, `"current-snapshot-id": 7, "properties": {"history.expire.max-snapshot-age-ms": "7000"},
		"refs": {"main": {"snapshot-id": 7, "type": "branch"}, "audit": {"snapshot-id": 3, "type": "branch"}, "t1": {"snapshot-id": 2, "type": "tag"}, "gone": {"snapshot-id": 99, "type": "tag"}},
		"snapshots": [`+strings.Join([]string{
		snapshot(1, 1*hour, `"operation": "append", "added-data-files": "1"`),
		snapshot(2, 2*hour, `"operation": "replace", "deleted-data-files": "1", "added-data-files": "1"`),
		snapshot(3, 3*hour, `"operation": "append"`),
		snapshot(4, 4*hour, `"operation": "replace", "entries-processed": "3"`),
		snapshot(5, 5*hour, `"operation": "append"`),
		snapshot(6, 6*hour, `"operation": "strange"`),
		snapshot(7, 7*hour, `"operation": "delete", "deleted-data-files": "1"`),
	}, ",")+`]`))
	at := func(hours int64) *time.Time { t := time.UnixMilli(hours * hour); return &t }
	for _, c := range []struct {
		what      string
		got, want any
	}{
		{"snapshots", h.Snapshots, 7},
		{"operations", h.Operations, map[metadata.Operation]int{"append": 3, "replace": 2, "delete": 1, "other": 1}},
		{"branches", h.Branches, 2},
		{"tags", h.Tags, 2},
		{"current", h.CurrentSnapshot, at(7)},
		{"oldest", h.OldestSnapshot, at(1)},
		{"oldest of a ref", h.OldestRefSnapshot, at(2)},
		{"policy", h.MaxSnapshotAgeMs, int64(7000)},
		{"compaction", h.LastCompaction, at(2)},
		{"appends since", h.AppendsSinceCompaction, 2},
		{"manifest rewrite", h.LastManifestRewrite, at(4)},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%s: got %v, want %v", c.what, c.got, c.want)
		}
	}
}

func TestHistoryOfNothing(t *testing.T) {
	h := layout.MeasureHistory(table(t, `"schemas": []`))
	if h.CurrentSnapshot != nil || h.OldestSnapshot != nil || h.LastCompaction != nil || h.OldestRefSnapshot != nil || h.MaxSnapshotAgeMs != 432_000_000 {
		t.Errorf("%+v", h)
	}
	if r := h.Recent(time.Now(), time.Hour); r.Commits != 0 || *r.AddedDataFiles != 0 || *r.AddedBytes != 0 {
		t.Errorf("%+v", r)
	}
}

func TestRecent(t *testing.T) {
	for _, c := range []struct {
		name      string
		summaries []string
		commits   int64
		files     any
		bytes     any
	}{
		{"appends", []string{`"operation": "append", "added-data-files": "2", "added-files-size": "20"`, `"operation": "append", "added-data-files": "3", "added-files-size": "30"`}, 2, int64(5), int64(50)},
		{"replaces are excluded", []string{`"operation": "replace", "added-data-files": "2", "added-files-size": "20", "deleted-data-files": "9"`}, 0, int64(0), int64(0)},
		{"counts of zero are left out", []string{`"operation": "delete", "deleted-data-files": "1", "total-data-files": "3"`}, 1, int64(0), int64(0)},
		{"a size that is not told", []string{`"operation": "append", "added-data-files": "2"`}, 1, int64(2), nil},
		{"a summary that tells nothing", []string{`"operation": "append", "added-data-files": "2", "added-files-size": "20"`, `"operation": "append", "app": "x"`}, 2, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var snapshots []string
			for i, summary := range c.summaries {
				snapshots = append(snapshots, snapshot(i+1, 100*hour, summary))
			}
			h := layout.MeasureHistory(table(t, fmt.Sprintf(`"current-snapshot-id": %d, "snapshots": [%s]`, len(snapshots), strings.Join(snapshots, ","))))
			r := h.Recent(time.UnixMilli(101*hour), time.Hour)
			if r.Commits != c.commits || deref(r.AddedDataFiles) != c.files || deref(r.AddedBytes) != c.bytes {
				t.Errorf("got %d commits, %v files, %v bytes", r.Commits, deref(r.AddedDataFiles), deref(r.AddedBytes))
			}
			if r := h.Recent(time.UnixMilli(101*hour+1), time.Hour); r.Commits != 0 {
				t.Errorf("%d commits a millisecond later", r.Commits)
			}
		})
	}
}

func deref(n *int64) any {
	if n == nil {
		return nil
	}
	return *n
}

func TestInfo(t *testing.T) {
	info := layout.MeasureInfo(table(t, `"table-uuid": "u", "location": "l", "default-spec-id": 1, "schemas": [{}, {}],
		"partition-specs": [{"spec-id": 0, "fields": []}, {"spec-id": 1, "fields": [{"name": "x", "transform": "day"}]}],
		"properties": {"write.distribution-mode": "hash", "write.target-file-size-bytes": "1024", "write.metadata.previous-versions-max": "x"},
		"metadata-log": [{"metadata-file": "a", "timestamp-ms": 1}]`))
	want := layout.Info{
		UUID: "u", FormatVersion: 2, Location: "l", Partitioned: true, DistributionMode: "hash", TargetFileSize: 1024,
		MetadataLogEntries: 1, MetadataLogLimit: 100, PartitionSpecs: 2, Schemas: 2,
	}
	if info != want {
		t.Errorf("got %+v, want %+v", info, want)
	}
}
