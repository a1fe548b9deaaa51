package manifest_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/flate"
	"github.com/twmb/avro/ocf"

	"github.com/iceberg-exporter/iceberg_exporter/manifest"
	"github.com/iceberg-exporter/iceberg_exporter/manifest/manifesttest"
	"github.com/iceberg-exporter/iceberg_exporter/metadata"
)

// encode writes an Avro file with a schema of the test's own.
func encode(t testing.TB, schema string, header map[string]string, codec ocf.Codec, records ...any) []byte {
	t.Helper()
	properties := map[string][]byte{}
	for key, value := range header {
		properties[key] = []byte(value)
	}
	options := []ocf.WriterOpt{ocf.WithMetadata(properties)}
	if codec != nil {
		options = append(options, ocf.WithCodec(codec))
	}
	return manifesttest.Encode(t, schema, records, options...)
}

// entrySchema is the schema of a manifest with one partition field, and room
// for more fields of entries and data files.
func entrySchema(partition, entryFields, fileFields string) string {
	return `{"type": "record", "name": "manifest_entry", "fields": [
		{"name": "status", "type": "int", "field-id": 0}` + entryFields + `,
		{"name": "data_file", "field-id": 2, "type": {"type": "record", "name": "r2", "fields": [
			{"name": "content", "type": "int", "field-id": 134},
			{"name": "file_path", "type": "string", "field-id": 100},
			{"name": "file_format", "type": "string", "field-id": 101},
			{"name": "partition", "field-id": 102, "type": {"type": "record", "name": "r102", "fields": [
				{"name": "p", "field-id": 1000, "type": ` + partition + `}]}},
			{"name": "record_count", "type": "long", "field-id": 103},
			{"name": "file_size_in_bytes", "type": "long", "field-id": 104}` + fileFields + `]}}]}`
}

type values = map[string]any

func dataFile(path string, partition any, more values) values {
	file := values{"content": 0, "file_path": path, "file_format": "PARQUET", "partition": values{"p": partition}, "record_count": 10, "file_size_in_bytes": 100}
	maps.Copy(file, more)
	return values{"status": 1, "data_file": file}
}

func with(entry values, more values) values {
	maps.Copy(entry, more)
	return entry
}

func read(t testing.TB, content []byte, file manifest.File) *manifest.Record {
	t.Helper()
	record, err := manifest.ReadRecord(bytes.NewReader(content), file, manifesttest.Files{})
	if err != nil {
		t.Fatal(err)
	}
	return record
}

func TestReadRecord(t *testing.T) {
	content := encode(t, entrySchema(`["null", "string"]`, `, {"name": "sequence_number", "type": ["null", "long"], "field-id": 3}`, ""), nil, nil,
		with(dataFile("s3://b/t/1", "x", nil), values{"sequence_number": int64(7)}),
		with(dataFile("s3://b/t/2", "y", values{"record_count": 20, "file_size_in_bytes": 200}), values{"sequence_number": nil}),
		with(dataFile("s3://b/t/gone", "x", nil), values{"sequence_number": nil, "status": 2}),
		with(dataFile("s3://b/t/3", nil, nil), values{"sequence_number": nil, "status": 0}))
	record := read(t, content, manifest.File{SpecID: 4, SequenceNumber: 9})
	want := []manifest.Entry{
		{PathHash: manifest.PathHash("/t/1"), Size: 100, Rows: 10, Partition: 0, SequenceNumber: 7},
		{PathHash: manifest.PathHash("/t/2"), Size: 200, Rows: 20, Partition: 1, SequenceNumber: 9},
		{PathHash: manifest.PathHash("/t/3"), Size: 100, Rows: 10, Partition: 2, SequenceNumber: 9},
	}
	// The header has a sync marker besides, and lengths.
	if end := bytes.LastIndex(content, content[len(content)-16:]); record.HeaderBytes < 500 || record.HeaderBytes > int64(end) {
		t.Errorf("a header of %d bytes", record.HeaderBytes)
	}
	if record.Len() != len(want) || record.SpecID != 4 {
		t.Fatalf("%d files of spec %d", record.Len(), record.SpecID)
	}
	for i, entry := range want {
		if record.Entry(i) != entry {
			t.Errorf("file %d: got %+v, want %+v", i, record.Entry(i), entry)
		}
	}
	for i, value := range []any{"x", "y", nil} {
		if got := record.Partitions()[i].Values(); !reflect.DeepEqual(got, []any{value}) {
			t.Errorf("partition %d: got %v, want %v", i, got, value)
		}
	}
	if f := record.PartitionFields; len(f) != 1 || f[0].ID != 1000 || f[0].Name != "p" {
		t.Errorf("partition fields: %+v", f)
	}
}

// TestReadSplits: offsets of row groups are believed where they make sense.
func TestReadSplits(t *testing.T) {
	schema := entrySchema(`["null", "int"]`, "", `, {"name": "split_offsets", "type": ["null", {"type": "array", "items": "long"}], "field-id": 132}`)
	ascending := make([]int64, 300)
	for i := range ascending {
		ascending[i] = int64(i)
	}
	for name, c := range map[string]struct {
		offsets any
		size    int
		want    uint8
	}{
		"none": {nil, 100, 0}, "of none": {[]int64{}, 100, 0}, "one": {[]int64{4}, 100, 1}, "three": {[]int64{4, 50, 99}, 100, 3},
		"not ascending": {[]int64{4, 50, 50}, 100, 0}, "beyond the file": {[]int64{4, 100}, 100, 0}, "more than are counted": {ascending, 1000, manifest.MaxSplits},
	} {
		entry := dataFile("a", 1, values{"split_offsets": c.offsets, "file_size_in_bytes": c.size})
		record := read(t, encode(t, schema, nil, nil, entry), manifest.File{})
		if got := record.Entry(0).Splits; got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}

// TestOddOptionalFields: a field that is of some use, and of a type that is of
// none, is passed over like any other, though it may have no bytes at all.
func TestOddOptionalFields(t *testing.T) {
	for _, kind := range []string{`"null"`, `{"type": "fixed", "name": "nothing", "size": 0}`, `{"type": "record", "name": "empty", "fields": []}`} {
		schema := entrySchema(`["null", "int"]`, "", `, {"name": "a", "field-id": 132, "type": `+kind+`}, {"name": "b", "field-id": 125, "type": "null"}`)
		var odd any
		switch {
		case strings.Contains(kind, "fixed"):
			odd = []byte{}
		case strings.Contains(kind, "record"):
			odd = values{}
		}
		content := encode(t, schema, nil, nil, dataFile("1", 1, values{"a": odd, "b": nil}), dataFile("2", 1, values{"a": odd, "b": nil}))
		for _, of := range []manifest.Content{manifest.Data, manifest.Deletes} {
			if record := read(t, content, manifest.File{Content: of}); record.Len() != 2 || record.Entry(1).PathHash != manifest.PathHash("2") {
				t.Errorf("%s: %d files", kind, record.Len())
			}
		}
	}
}

func TestPartitionFields(t *testing.T) {
	for partition, fieldValues := range map[string][]any{
		`["null", "long"]`:    {int64(-1), int64(63), int64(64), int64(math.MinInt64)},
		`["null", "string"]`:  {"", "n", strings.Repeat("x", 200)},
		`["null", "double"]`:  {1.5},
		`["null", "boolean"]`: {true, false},
		`["null", "bytes"]`:   {[]byte{0x80, 0xff}},
	} {
		for _, value := range fieldValues {
			schema := strings.Replace(entrySchema(partition, "", ""), `{"name": "p"`, `{"name": "q", "field-id": 1001, "type": `+partition+`}, {"name": "p"`, 1)
			entry := dataFile("a", value, values{"partition": values{"q": nil, "p": value}})
			tuple := read(t, encode(t, schema, nil, nil, entry), manifest.File{}).Partitions()[0]
			fields := slices.Collect(tuple.Fields())
			if len(fields) != 2 || fields[0] != manifest.NullPartition(1) || !reflect.DeepEqual(fields[1].Values(), []any{value}) {
				t.Errorf("%s %v: %q", partition, value, fields)
			}
		}
	}
	if got := manifest.NullPartition(2).Values(); !reflect.DeepEqual(got, []any{nil, nil}) {
		t.Errorf("got %v", got)
	}
}

func TestReadDeletes(t *testing.T) {
	bounds := func(id int) string {
		return fmt.Sprintf(`["null", {"type": "array", "logicalType": "map", "items": {"type": "record", "name": "k%d", "fields": [
			{"name": "key", "type": "int"}, {"name": "value", "type": "bytes"}]}}]`, id)
	}
	schema := entrySchema(`"int"`, "", `,
		{"name": "lower_bounds", "field-id": 125, "type": `+bounds(126)+`},
		{"name": "upper_bounds", "field-id": 128, "type": `+bounds(129)+`},
		{"name": "referenced_data_file", "field-id": 143, "type": ["null", "string"]},
		{"name": "content_size_in_bytes", "field-id": 145, "type": ["null", "long"]}`)
	bound := func(path string) []values {
		return []values{{"key": 1, "value": []byte("other")}, {"key": 2147483546, "value": []byte(path)}}
	}
	deletes := func(more values) values {
		return dataFile("d", 1, with(values{"content": 1, "lower_bounds": nil, "upper_bounds": nil, "referenced_data_file": nil, "content_size_in_bytes": nil}, more))
	}
	content := encode(t, schema, nil, nil,
		deletes(nil),
		deletes(values{"lower_bounds": bound("/a"), "upper_bounds": bound("/a")}),
		deletes(values{"lower_bounds": bound("/a"), "upper_bounds": bound("/b")}),
		deletes(values{"lower_bounds": bound("/a")}),
		deletes(values{"referenced_data_file": "/r"}),
		deletes(values{"content": 2, "lower_bounds": bound("/a"), "upper_bounds": bound("/a")}),
		deletes(values{"file_format": "Puffin", "referenced_data_file": "/v", "content_size_in_bytes": 33}),
		deletes(values{"file_format": "PUFFIN"}))
	a := manifest.PathHash("/a")
	record := read(t, content, manifest.File{Content: manifest.Deletes})
	for i, want := range []manifest.Entry{
		{Kind: manifest.PositionDeletes, Size: 100},
		{Kind: manifest.PositionDeletes, Size: 100, Referenced: a},
		{Kind: manifest.PositionDeletes, Size: 100},
		{Kind: manifest.PositionDeletes, Size: 100},
		{Kind: manifest.PositionDeletes, Size: 100, Referenced: manifest.PathHash("/r")},
		{Kind: manifest.EqualityDeletes, Size: 100},
		{Kind: manifest.DeletionVector, Size: 33, Referenced: manifest.PathHash("/v")},
		{Kind: manifest.DeletionVector, Size: 100},
	} {
		want.PathHash, want.Rows = manifest.PathHash("d"), 10
		if got := record.Entry(i); got != want {
			t.Errorf("file %d: got %+v, want %+v", i, got, want)
		}
	}
}

// TestPartitionValuesAreCanonical: tuples are equal whatever types writers chose.
func TestPartitionValuesAreCanonical(t *testing.T) {
	tuple := func(kind string, value any) manifest.Partition {
		return read(t, encode(t, entrySchema(kind, "", ""), nil, nil, dataFile("f", value, nil)), manifest.File{}).Partitions()[0]
	}
	for _, c := range []struct {
		name  string
		forms []manifest.Partition
		want  any
	}{
		{"integers", []manifest.Partition{tuple(`"int"`, 5), tuple(`"long"`, 5), tuple(`["null", "int"]`, 5), tuple(`["long", "null"]`, int64(5)), tuple(`[{"type": "int"}, "null"]`, 5)}, int64(5)},
		{"dates", []manifest.Partition{tuple(`"int"`, -3), tuple(`["null", {"type": "int", "logicalType": "date"}]`, -3)}, int64(-3)},
		{"floats", []manifest.Partition{tuple(`"float"`, float32(1.5)), tuple(`["null", "double"]`, 1.5)}, 1.5},
		{"booleans", []manifest.Partition{tuple(`"boolean"`, true), tuple(`["null", "boolean"]`, true)}, true},
		{"nulls", []manifest.Partition{tuple(`"null"`, nil), tuple(`["null", "string"]`, nil), tuple(`["int", "null"]`, nil)}, nil},
		{"bytes", []manifest.Partition{tuple(`"bytes"`, []byte{1, 2}), tuple(`{"type": "fixed", "name": "f", "size": 2}`, []byte{1, 2})}, []byte{1, 2}},
	} {
		for i, form := range c.forms {
			if form != c.forms[0] {
				t.Errorf("%s: form %d is another", c.name, i)
			}
			if got := form.Values(); !reflect.DeepEqual(got, []any{c.want}) {
				t.Errorf("%s: form %d has %v, want %v", c.name, i, got, c.want)
			}
		}
	}
	if tuple(`"string"`, "5") == tuple(`"int"`, 5) || tuple(`"string"`, "a") == tuple(`"bytes"`, []byte("a")) {
		t.Error("values of different kinds are equal")
	}
}

// TestDecimalsAreCanonical: the number of bytes does not matter, the sign does.
func TestDecimalsAreCanonical(t *testing.T) {
	decimal := func(size int, unscaled ...byte) manifest.Partition {
		// The library encodes decimals as rationals, so write the bytes without
		// the annotation and put it into the header afterwards.
		plain := fmt.Sprintf(`{"type":"fixed","name":"d","size":%d,"xx":"%s"}`, size, strings.Repeat("-", len(`lType":"decimal","precision":2,"scale":2`)))
		content := encode(t, entrySchema(plain, "", ""), nil, nil, dataFile("f", unscaled, nil))
		marked := bytes.Replace(content, []byte(`"xx":"`+strings.Repeat("-", len(`lType":"decimal","precision":2,"scale":2`))+`"`),
			[]byte(`"logicalType":"decimal","precision":2,"scale":2`), 1)
		if len(marked) != len(content) {
			t.Fatal("the header has changed its length")
		}
		return read(t, marked, manifest.File{}).Partitions()[0]
	}
	if a, b := decimal(2, 0, 5), decimal(4, 0, 0, 0, 5); a != b {
		t.Errorf("5 differs from 5: %q, %q", a, b)
	}
	if a, b := decimal(1, 0xfb), decimal(3, 0xff, 0xff, 0xfb); a != b {
		t.Errorf("-5 differs from -5: %q, %q", a, b)
	}
	if a, b := decimal(1, 0xfb), decimal(2, 0, 0xfb); a == b {
		t.Error("-5 equals 251")
	}
}

// TestSchemasDiffer: fields are found by their ids, whatever they are called
// and however they are wrapped, and by their names where there are no ids.
func TestSchemasDiffer(t *testing.T) {
	for _, c := range []struct{ name, schema string }{
		{"other names", `{"type": "record", "name": "e", "fields": [
			{"name": "a", "type": "int", "field-id": 0}, {"name": "b", "field-id": 2, "type": {"type": "record", "name": "f", "fields": [
				{"name": "c", "type": "string", "field-id": 100}, {"name": "d", "type": "long", "field-id": 103}, {"name": "e", "type": "long", "field-id": 104}]}}]}`},
		{"names that lie", `{"type": "record", "name": "e", "fields": [
			{"name": "a", "type": "int", "field-id": 0}, {"name": "b", "field-id": 2, "type": {"type": "record", "name": "f", "fields": [
				{"name": "c", "type": "string", "field-id": 100}, {"name": "d", "type": "long", "field-id": 103}, {"name": "e", "type": "long", "field-id": 104},
				{"name": "file_path", "type": "string", "field-id": 9000, "default": ""}]}}]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			record := values{"a": 1, "b": values{"c": "p", "d": 10, "e": 100, "file_path": "lie"}}
			got := read(t, encode(t, c.schema, nil, nil, record), manifest.File{}).Entry(0)
			if want := (manifest.Entry{PathHash: manifest.PathHash("p"), Size: 100, Rows: 10}); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
	t.Run("everything nullable", func(t *testing.T) {
		schema := `{"type": "record", "name": "e", "fields": [
			{"name": "status", "type": ["null", "int"], "field-id": 0},
			{"name": "data_file", "field-id": 2, "type": ["null", {"type": "record", "name": "f", "fields": [
				{"name": "file_path", "type": ["null", {"type": "string"}], "field-id": 100},
				{"name": "partition", "field-id": 102, "type": ["null", {"type": "record", "name": "p", "fields": [{"name": "x", "type": ["null", "int"], "field-id": 1000}]}]},
				{"name": "record_count", "type": ["null", "long"], "field-id": 103},
				{"name": "file_size_in_bytes", "type": ["null", "long"], "field-id": 104}]}]}]}`
		content := encode(t, schema, nil, nil, values{"status": 1, "data_file": values{"file_path": "p", "partition": values{"x": 3}, "record_count": 10, "file_size_in_bytes": 100}})
		if got := read(t, content, manifest.File{}); got.Entry(0).Size != 100 || got.Partitions()[0].Values()[0] != int64(3) {
			t.Errorf("%+v", got.Entry(0))
		}
		content = encode(t, schema, nil, nil, values{"status": 1, "data_file": values{"file_path": nil, "partition": nil, "record_count": 10, "file_size_in_bytes": 100}})
		if _, err := manifest.ReadRecord(bytes.NewReader(content), manifest.File{}, manifesttest.Files{}); !errors.Is(err, metadata.ErrCorrupt) {
			t.Errorf("a file without path: %v", err)
		}
	})
	t.Run("no ids", func(t *testing.T) {
		schema := `{"type": "record", "name": "e", "fields": [
			{"name": "status", "type": "int"}, {"name": "data_file", "type": {"type": "record", "name": "f", "fields": [
				{"name": "file_path", "type": "string"}, {"name": "record_count", "type": "long"}, {"name": "file_size_in_bytes", "type": "long"}]}}]}`
		content := encode(t, schema, nil, nil, values{"status": 1, "data_file": values{"file_path": "p", "record_count": 10, "file_size_in_bytes": 100}})
		if got := read(t, content, manifest.File{}).Entry(0); got.Size != 100 {
			t.Errorf("%+v", got)
		}
	})
}

// TestSkipsEveryType: fields that nobody wants are passed over, of whatever type.
func TestSkipsEveryType(t *testing.T) {
	schema := entrySchema(`"int"`, "", `,
		{"name": "a", "type": "null"}, {"name": "b", "type": "boolean"}, {"name": "c", "type": "float"}, {"name": "d", "type": "double"},
		{"name": "e", "type": {"type": "fixed", "name": "fx", "size": 3}}, {"name": "f", "type": {"type": "enum", "name": "en", "symbols": ["X", "Y"]}},
		{"name": "g", "type": {"type": "map", "values": {"type": "array", "items": "long"}}}, {"name": "h", "type": ["null", "string", "fx"]},
		{"name": "i", "type": {"type": "record", "name": "again", "fields": [{"name": "x", "type": "bytes"}]}}, {"name": "j", "type": {"type": "array", "items": "again"}}`)
	more := values{
		"a": nil, "b": true, "c": float32(1), "d": 2.0, "e": []byte{1, 2, 3}, "f": "Y", "g": map[string]any{"k": []any{int64(1), int64(math.MinInt64)}},
		"h": "text", "i": values{"x": []byte{9}}, "j": []any{values{"x": []byte{}}, values{"x": []byte{8, 8}}},
	}
	record := read(t, encode(t, schema, nil, nil, dataFile("1", 1, more), dataFile("2", 1, more)), manifest.File{})
	if record.Len() != 2 || record.Entry(1).PathHash != manifest.PathHash("2") {
		t.Errorf("%d files", record.Len())
	}
}

func TestCodecs(t *testing.T) {
	zstandard, err := ocf.ZstdCodec(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, codec := range map[string]ocf.Codec{"null": nil, "deflate": ocf.DeflateCodec(6), "snappy": ocf.SnappyCodec(), "zstandard": zstandard} {
		t.Run(name, func(t *testing.T) {
			var entries []any
			for i := range 3000 {
				entries = append(entries, dataFile(fmt.Sprint(i), i%3, nil))
			}
			content := encode(t, entrySchema(`"int"`, "", ""), nil, codec, entries...)
			if record := read(t, content, manifest.File{}); record.Len() != 3000 || len(record.Partitions()) != 3 {
				t.Errorf("%d files in %d partitions", record.Len(), len(record.Partitions()))
			}
			damaged := bytes.Clone(content)
			damaged[len(damaged)-40] ^= 0xff
			if _, err := manifest.ReadRecord(bytes.NewReader(damaged), manifest.File{}, manifesttest.Files{}); name != "null" && err == nil {
				t.Log("the damage goes unnoticed") // Only snappy blocks carry a checksum.
			}
		})
	}
	content := bytes.Replace(encode(t, entrySchema(`"int"`, "", ""), nil, ocf.SnappyCodec()), []byte("snappy"), []byte("bzip2x"), 1)
	if _, err := manifest.ReadRecord(bytes.NewReader(content), manifest.File{}, manifesttest.Files{}); !errors.Is(err, metadata.ErrUnsupported) {
		t.Errorf("an unknown codec: %v", err)
	}
}

// TestLongIntegers: Avro's Java decoder drops bits above the 64th, and so must
// whoever reads what Java reads.
func TestLongIntegers(t *testing.T) {
	schema := `{"type": "record", "name": "e", "fields": [{"name": "status", "type": "int", "field-id": 0}, {"name": "snapshot_id", "type": "long", "field-id": 1},
		{"name": "data_file", "field-id": 2, "type": {"type": "record", "name": "f", "fields": [
			{"name": "file_path", "type": "string", "field-id": 100}, {"name": "record_count", "type": "long", "field-id": 103}, {"name": "file_size_in_bytes", "type": "long", "field-id": 104}]}}]}`
	content := encode(t, schema, nil, nil, values{"status": 1, "snapshot_id": int64(math.MinInt64), "data_file": values{"file_path": "p", "record_count": 10, "file_size_in_bytes": 100}})
	longest := binary.AppendVarint(nil, math.MinInt64)
	wider := bytes.Clone(longest)
	wider[len(wider)-1] = 0x02 // One bit beyond the 64th.
	content = bytes.Replace(content, longest, wider, 1)
	if got := read(t, content, manifest.File{}).Entry(0); got.Size != 100 {
		t.Errorf("%+v", got)
	}
}

func TestReadErrors(t *testing.T) {
	schema := entrySchema(`"int"`, "", "")
	valid := encode(t, schema, nil, ocf.DeflateCodec(6), dataFile("f", 1, nil))
	laughs := `{"name": "l0", "type": {"type": "record", "name": "t0", "fields": [{"name": "x", "type": "null"}]}}`
	for i := 1; i < 12; i++ {
		laughs += fmt.Sprintf(`, {"name": "l%d", "type": {"type": "record", "name": "t%d", "fields": [`, i, i)
		for j := range 8 {
			laughs += fmt.Sprintf(`{"name": "f%d", "type": "t%d"},`, j, i-1)
		}
		laughs = strings.TrimSuffix(laughs, ",") + `]}}`
	}
	for _, c := range []struct {
		name    string
		content []byte
		want    error
	}{
		{"nothing", nil, metadata.ErrCorrupt},
		{"text", []byte("this is no Avro file at all"), metadata.ErrCorrupt},
		{"Parquet", []byte("PAR1xxxxxxxxxxxx"), metadata.ErrUnsupported},
		{"encrypted", []byte("AGS1xxxxxxxxxxxx"), metadata.ErrUnsupported},
		{"cut short", valid[:len(valid)-20], metadata.ErrCorrupt},
		{"header alone, cut", valid[:40], metadata.ErrCorrupt},
		{"wrong sync marker", append(bytes.Clone(valid[:len(valid)-1]), valid[len(valid)-1]^1), metadata.ErrCorrupt},
		{"trailing bytes", append(bytes.Clone(valid), 1, 2, 3), metadata.ErrCorrupt},
		{"another schema", encode(t, `{"type": "record", "name": "x", "fields": [{"name": "a", "type": "int", "field-id": 0}]}`, nil, nil), metadata.ErrCorrupt},
		{"no record", encode(t, `"string"`, nil, nil), metadata.ErrCorrupt},
		{"path is a number", encode(t, strings.Replace(schema, `"file_path", "type": "string"`, `"file_path", "type": "int"`, 1), nil, nil), metadata.ErrCorrupt},
		{"partition of lists", encode(t, entrySchema(`{"type": "array", "items": "int"}`, "", ""), nil, nil), metadata.ErrUnsupported},
		{"negative size", encode(t, schema, nil, nil, dataFile("f", 1, values{"file_size_in_bytes": -1})), metadata.ErrCorrupt},
		{"negative rows", encode(t, schema, nil, nil, dataFile("f", 1, values{"record_count": -1})), metadata.ErrCorrupt},
		{"a size beyond belief", encode(t, schema, nil, nil, dataFile("f", 1, values{"file_size_in_bytes": int64(math.MaxInt64)})), metadata.ErrCorrupt},
		{"a long path", encode(t, schema, nil, nil, dataFile(strings.Repeat("x", 40_000), 1, nil)), metadata.ErrUnsupported},
		{"a long partition", encode(t, entrySchema(`"string"`, "", ""), nil, nil, dataFile("f", strings.Repeat("x", 70_000), nil)), metadata.ErrUnsupported},
		{"unknown status", encode(t, schema, nil, nil, with(dataFile("f", 1, nil), values{"status": 9})), metadata.ErrUnsupported},
		{"unknown content", encode(t, schema, nil, nil, dataFile("f", 1, values{"content": 7})), metadata.ErrUnsupported},
		{"types within types", encode(t, entrySchema(`"int"`, "", ","+laughs), nil, nil), metadata.ErrUnsupported},
	} {
		t.Run(c.name, func(t *testing.T) {
			if record, err := manifest.ReadRecord(bytes.NewReader(c.content), manifest.File{}, manifesttest.Files{}); !errors.Is(err, c.want) {
				t.Errorf("got %v, %v, want %v", record, err, c.want)
			}
		})
	}
	broken := errors.New("connection reset")
	for _, at := range []int{2, 60, len(valid) - 10} {
		r := io.MultiReader(bytes.NewReader(valid[:at]), iotest.ErrReader(broken))
		if _, err := manifest.ReadRecord(r, manifest.File{}, manifesttest.Files{}); !errors.Is(err, broken) || errors.Is(err, metadata.ErrCorrupt) {
			t.Errorf("storage that fails at %d: %v", at, err)
		}
	}
}

// TestBombs: what a small file can make the reader allocate is bounded.
func TestBombs(t *testing.T) {
	header := encode(t, entrySchema(`"int"`, "", ""), nil, ocf.DeflateCodec(9))
	block := func(count, size int64, payload []byte) []byte {
		content := binary.AppendVarint(bytes.Clone(header), count)
		content = append(binary.AppendVarint(content, size), payload...)
		return append(content, header[len(header)-16:]...)
	}
	var bomb bytes.Buffer
	w, _ := flate.NewWriter(&bomb, 9)
	zeros := make([]byte, 1<<20)
	for range 100 {
		_, _ = w.Write(zeros)
	}
	_ = w.Close()
	for name, content := range map[string][]byte{
		"a block that inflates to 100 MiB": block(1, int64(bomb.Len()), bomb.Bytes()),
		"a block of announced 2^60 bytes":  block(1, 1<<60, nil),
		"a block of announced 60 MB":       block(1, 60e6, nil),
		"a block of 2^60 records":          block(1<<60, 1, []byte{0}),
		"a negative count":                 block(-5, 1, []byte{0}),
		"a negative size":                  block(1, -1, nil),
		"a header of 2^60 bytes":           append([]byte("Obj\x01\x02"), binary.AppendVarint(nil, 1<<60)...),
		"a header of 2^60 properties":      append([]byte("Obj\x01"), binary.AppendVarint(nil, 1<<60)...),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if _, err := manifest.ReadRecord(bytes.NewReader(content), manifest.File{}, manifesttest.Files{}); !errors.Is(err, metadata.ErrCorrupt) {
				t.Error(err)
			}
			runtime.ReadMemStats(&after)
			// The buffer for 64 MiB doubles on its way there, with the race detector twice as often.
			if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 600<<20 {
				t.Errorf("%d bytes were allocated", allocated)
			}
		})
	}
}

func fixtures(t testing.TB, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob("../testdata/warehouse/*/*/metadata/" + pattern)
	if err != nil || len(files) == 0 {
		t.Fatal("no fixtures", err)
	}
	return files
}

// seeds adds one fixture of every table to a fuzz target: enough of a variety,
// and few enough to mutate.
func seeds(f *testing.F, pattern string) {
	seen := map[string]bool{}
	for _, path := range fixtures(f, pattern) {
		if seen[filepath.Dir(path)] {
			continue
		}
		seen[filepath.Dir(path)] = true
		content, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
	}
}

// checkKind fails for an error that is not the file's fault by name.
func checkKind(t *testing.T, err error) {
	if err != nil && !errors.Is(err, metadata.ErrCorrupt) && !errors.Is(err, metadata.ErrUnsupported) {
		t.Errorf("an error of no kind: %v", err)
	}
}

func FuzzReadRecord(f *testing.F) {
	seeds(f, "*-m*.avro")
	f.Fuzz(func(t *testing.T, content []byte) {
		for _, kind := range []manifest.Content{manifest.Data, manifest.Deletes} {
			record, err := manifest.ReadRecord(bytes.NewReader(content), manifest.File{Content: kind}, manifesttest.Files{})
			checkKind(t, err)
			if err != nil {
				continue
			}
			for i := range record.Len() {
				e := record.Entry(i)
				if e.Size < 0 || e.Rows < 0 || e.Partition >= len(record.Partitions()) {
					t.Errorf("file %d: %+v", i, e)
				}
			}
			for _, p := range record.Partitions() {
				if got := len(p.Values()); got != len(record.PartitionFields) {
					t.Errorf("a tuple of %d values for %d fields", got, len(record.PartitionFields))
				}
			}
		}
	})
}

func FuzzReadList(f *testing.F) {
	seeds(f, "snap-*.avro")
	f.Fuzz(func(t *testing.T, content []byte) {
		files, err := manifest.ReadList(bytes.NewReader(content))
		checkKind(t, err)
		for _, file := range files {
			if file.Path == "" || file.Length < 0 {
				t.Errorf("%+v", file)
			}
		}
	})
}
